"""The steps of formulas.

A formula is a closed Function of numbers: its parameters are of one float dtype, or conditions.
"""

from __future__ import annotations

import functools
from typing import TypeAlias

from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Value

Operand: TypeAlias = int | float  # the number of a value, or a number

# The words of plain arithmetic.
ARITHMETIC = frozenset({"neg", "abs", "sqrt", "add", "sub", "mul", "div", "power"})


class Step(NamedTuple):
    """One op of a formula: operands are counted first, then what the steps make."""

    word: str
    operands: tuple[Operand, ...]


class Steps(NamedTuple):
    """Steps in an order, and which values are results."""

    steps: tuple[Step, ...]
    results: tuple[int, ...]


def steps_of(body: Function) -> Steps:
    """Return the steps of formulas, in the order in which they were built; constants stand in them.

    Those that are built by passes come as they do in the function, of which they are taken.
    """
    places: dict[Value, Operand] = {param: i for i, param in enumerate(body.params)}
    steps: list[Step] = []
    for node in sorted(body.body, key=lambda node: node.serial):
        (value,) = node.results
        if node.op.name == "constant":
            places[value] = float(node.attributes["value"].array)
        else:
            places[value] = len(body.params) + len(steps)
            steps.append(Step(node.op.name, tuple([places[x] for x in node.operands])))
    return Steps(tuple(steps), tuple([int(places[result]) for result in body.results]))


@functools.lru_cache(maxsize=256)
def made_of(body: Function) -> tuple[frozenset[int], ...]:
    """Return the places of the parameters that each result of formulas is made of."""
    found = {param: frozenset([i]) for i, param in enumerate(body.params)}
    for node in body.body:
        of = [found[operand] for operand in node.operands]
        found[node.results[0]] = frozenset().union(*of)
    return tuple(found[result] for result in body.results)
