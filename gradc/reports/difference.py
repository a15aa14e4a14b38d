"""What differs between two graphs: their statements, each with a sign of the side it stands on."""

from __future__ import annotations

from dataclasses import dataclass

from gradc.reading.python_text import python_statements
from gradc.reports.steps import count
from gradc_ir.core.graph import Function
from gradc_ir.text.printer import print_function


@dataclass(frozen=True)
class Difference:
    """How two graphs differ.

    Parameters
    ----------
    same: whether they are equal: the same ops on the same operands.
    nodes: how many each has.
    lines: what stands on one side alone, behind ``-`` for the left and ``+`` for the right.
    """

    same: bool
    nodes: tuple[int, int]
    lines: tuple[str, ...]


def difference(left: Function, right: Function, *, exactly: bool = False) -> Difference:
    """Return how two graphs differ: by statements, or ``exactly`` by the lines of their text.

    Statements are the same when they differ in the order in which things are added.
    """
    nodes = count(left), count(right)
    if left == right:
        return Difference(True, nodes, ())
    lines = _of_texts(left, right) if exactly else _of_statements(left, right)
    return Difference(False, nodes, tuple(lines))


def _of_texts(left: Function, right: Function) -> list[str]:
    import difflib  # which few need

    before, after = (print_function(side, locations=False).splitlines() for side in (left, right))
    return [line.rstrip() for line in difflib.ndiff(before, after) if line[0] in "+-"]


def _of_statements(left: Function, right: Function) -> list[str]:
    before, after = (python_statements(side, brief=True) for side in (left, right))
    known = {one for each in before.values() for one in (each.meaning, each.lines)}
    left_over = {one for each in after.values() for one in (each.meaning, each.lines)}
    gone = {
        name: each
        for name, each in before.items()
        if each.meaning not in left_over and each.lines not in left_over
    }
    lines: list[str] = []
    for name, each in after.items():
        if each.meaning in known or each.lines in known:
            continue
        if name in gone:
            lines += [f"- {line}" for line in gone.pop(name).lines]
        lines += [f"+ {line}" for line in each.lines]
    for each in gone.values():
        lines += [f"- {line}" for line in each.lines]
    return lines
