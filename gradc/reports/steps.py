"""What each pass changed on the way of a function: statements that were not there before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gradc.reading.python_text import Statements, python_statements, wrapped
from gradc_ir.core.graph import Function
from gradc_ir.core.walk import nested

_WIDTH = 110


@dataclass(frozen=True)
class Step:
    """One pass, and what it changed.

    Parameters
    ----------
    name: the pass.
    nodes: how many nodes there are after it.
    new: the lines of the statements that are new, or say something else.
    gone: the variables that are not there any more.
    """

    name: str
    nodes: int
    new: tuple[str, ...]
    gone: tuple[str, ...]


def changed(steps: Iterable[tuple[str, Function]]) -> Iterator[Step]:
    """Yield the steps with what they changed, which of the first one is all of it.

    A statement that only stands elsewhere, or has its operands in another order, is the same.
    """
    before: Statements = {}
    for name, function in steps:
        now = python_statements(function, brief=True)
        known = {one for each in before.values() for one in (each.meaning, each.lines)}
        left = {one for each in now.values() for one in (each.meaning, each.lines)}
        new = [
            line
            for each in now.values()
            if each.meaning not in known and each.lines not in known
            for line in each.lines
        ]
        gone = [
            name for name, each in before.items() if name not in now and each.meaning not in left
        ]
        yield Step(name, count(function), tuple(new), tuple(gone))
        before = now


def print_steps(steps: Iterable[Step]) -> str:
    """Return steps as text; those that changed nothing are only named."""
    lines: list[str] = []
    idle: list[str] = []
    for step in steps:
        if not step.new and not step.gone:
            idle.append(step.name)
            continue
        lines += _nothing(idle)
        idle = []
        lines.append(f"## {step.name}: {step.nodes} nodes")
        lines += [f"+ {line}" for line in step.new]
        if step.gone:
            lines += wrapped("- gone: ", ", ".join(step.gone), _WIDTH, "-   ")
    return "\n".join([*lines, *_nothing(idle)])


def _nothing(names: list[str]) -> list[str]:
    """Return the lines that name passes which changed nothing."""
    return wrapped("## ", f"{', '.join(names)}: nothing changed", _WIDTH, "##   ") if names else []


def count(function: Function) -> int:
    """Return the number of nodes, those of bodies included."""
    return sum(1 for _ in nested(function))
