"""Correctly rounded results of a graph, in balls of growing precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc.rules.verify.arithmetic import NoMeaning
from gradc.rules.verify.balls import Undecided, balls, growing, is_nan, rounded
from gradc_ir.core.binding import bind_sizes
from gradc_ir.core.graph import Function
from gradc_ir.core.types import Array
from gradc_ir.errors import TraceError
from gradc_ir.interpreter.interpret import interpret, numbers


def truths(function: Function, arrays: Sequence[Array]) -> list[Array]:
    """Return the float results of a function as if computed without rounding; nan if not known.

    Elements that are not decided by one precision are computed again with more. Raises TraceError
    when an op has no formula.
    """
    symbols = bind_sizes(function.param_types, [np.shape(array) for array in arrays])
    made: list[Array] = [
        np.full(numbers(type_.shape, symbols), np.nan) for type_ in function.result_types
    ]
    for _ in growing():
        try:
            results = interpret(function, arrays, balls())
        except Undecided:
            continue
        except NoMeaning as op:
            raise TraceError(
                f"{function.name}: the op {op} has no formula, so its truth is not known",
                at=function.location,
            ) from None
        pairs = [pair for pair in zip(results, made, strict=True) if pair[0].dtype == object]
        if not any([_round(*pair) for pair in pairs]):
            break
    return made


def _round(result: Array, into: Array) -> bool:
    """Round what is known of a result into an array; tell whether more precision may help."""
    more = False
    for index in np.ndindex(*result.shape):
        number: Any = result[index]
        into[index] = rounded(number)
        more = more or bool(np.isnan(into[index]) and not is_nan(number))
    return more
