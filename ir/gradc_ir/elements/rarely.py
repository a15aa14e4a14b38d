"""What is computed in rare cases only, in place of something else."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradc_ir.build import Builder
from gradc_ir.build_control import cond
from gradc_ir.core.graph import Function, Value
from gradc_ir.elements.numbers import build_of

Make = Callable[[list[Value]], list[Value]]


def rarely(flag: Value, given: Sequence[Value], make: Make, usual: Sequence[Value]) -> list[Value]:
    """Return what is made of given values where a flag is set, the usual ones elsewhere.

    Of numbers it is a branch, of arrays a choice of elements, for which both are computed.
    """
    if any(value.type.shape for value in (flag, *given, *usual)):
        made = make(list(given))
        return [build_of("select", flag, x, y) for x, y in zip(made, usual, strict=True)]
    distinct = list(dict.fromkeys((*given, *usual)))

    def body(results: Callable[[dict[Value, Value]], list[Value]]) -> Function:
        with Builder() as builder:
            params = [builder.param(i, value.type) for i, value in enumerate(distinct)]
            found = results(dict(zip(distinct, params)))
            return builder.function("rarely", params, found)

    then = body(lambda here: make([here[value] for value in given]))
    otherwise = body(lambda here: [here[value] for value in usual])
    return list(cond(flag, then, otherwise, distinct))
