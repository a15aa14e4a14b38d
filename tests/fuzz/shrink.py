"""Smaller programs that are still wrong."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.grammar import Program


def shrunk(program: Program, is_wrong: Callable[[Program], bool]) -> Program:
    """Return the program of one result, as early as can be, at one point; still wrong."""
    for name, _ in program.statements:
        alone = program.sliced([name])
        if is_wrong(alone):
            program = alone
            break
    for point in program.points[1:]:
        # the first point is the one of the gradient, so it stays
        fewer = Program(
            program.params, program.statements, program.results, [program.points[0], point]
        )
        if is_wrong(fewer):
            return fewer
    first = Program(program.params, program.statements, program.results, program.points[:1])
    return first if is_wrong(first) else program
