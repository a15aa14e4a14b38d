"""Carries of a loop that have one value in all steps, and the loop without them."""

from __future__ import annotations

from collections.abc import Sequence

from gradc_ir.core.graph import Function, Value
from gradc_ir.passes.bodies import param_place, specialise


def steady_carries(body: Function, consts: Sequence[Value], init: Sequence[Value]) -> set[int]:
    """Return which carries have their first value in all steps."""
    given = (*consts, *init)
    ends = [param_place(result) for result in body.results[: len(init)]]
    found: set[int] = set()
    while True:
        settled = {*range(len(consts)), *(len(consts) + i for i in found)}
        more = {
            i
            for i, index in enumerate(ends)
            if index is not None
            and (index == len(consts) + i or (index in settled and given[index] is init[i]))
        }
        if more == found:
            return found
        found = more


def at(values: Sequence[Value], places: set[int], others: bool = False) -> list[Value]:
    """Return the values at some places, or those at the others."""
    return [value for i, value in enumerate(values) if (i in places) is not others]


def merged(init: Sequence[Value], steady: set[int], last: Sequence[Value]) -> list[Value]:
    """Return the last values of all carries: a steady one's is its first."""
    changed = iter(last)
    return [value if i in steady else next(changed) for i, value in enumerate(init)]


def with_consts(
    body: Function, consts: int, carries: int, steady: set[int], results: bool = True
) -> Function:
    """Return a body whose steady carries are its last consts, and no results."""
    if not steady:
        return body
    order = [
        *range(consts),
        *(consts + i for i in sorted(steady)),
        *(consts + i for i in range(carries) if i not in steady),
        *range(consts + carries, len(body.params)),
    ]
    places = {old: new for new, old in enumerate(order)}
    ends = [i for i in range(len(body.results)) if not (results and i in steady)]
    return specialise(body, [places[i] for i in range(len(order))], len(order), ends)
