"""What is measured: gradc with its defaults, and naive NumPy with a mechanical derivative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import gradc
from benchmarks.accuracy.case import Case
from benchmarks.accuracy.partials import PARTIALS
from benchmarks.accuracy.tape import Tape
from gradc_ir.core.types import Array

# From a case and points, shape (arguments, n), to values (n) and gradients (arguments, n).
Engine = Callable[[Case, Array], tuple[Array, Array]]


def compiled(case: Case, points: Array) -> tuple[Array, Array]:
    """Return what gradc's kernel of value and gradient computes, all points in one call."""

    def total(*arguments: Any) -> Any:
        values = case.function(*arguments)
        return np.sum(values), values

    kernel = gradc.compile(gradc.value_and_grad(total, tuple(range(len(points))), has_aux=True))
    (_, values), gradients = kernel(*points)
    return full(values, points), np.stack([full(row, points) for row in gradients])


def naive(case: Case, points: Array) -> tuple[Array, Array]:
    """Return what NumPy computes, and reverse mode with textbook partials in plain doubles."""
    with np.errstate(all="ignore"):
        values = full(case.function(*points), points)
        tape = Tape(_Doubles())
        arguments = [tape.argument(row) for row in points]
        rows = tape.gradient(case.function(*arguments), arguments, np.ones(points.shape[1]))
    return values, np.stack([full(0.0 if row is None else row, points) for row in rows])


ENGINES: dict[str, Engine] = {"gradc": compiled, "naive": naive}


class _Doubles:
    """NumPy's arrays of float64 as the arithmetic of a tape."""

    def number(self, constant: Any) -> Any:
        return constant

    def value(self, function: Any, *operands: Any) -> Any:
        return function(*operands)

    def partials(self, function: Any, result: Any, *operands: Any) -> Sequence[Any]:
        if function in _CORNERS:
            return _CORNERS[function](*operands)
        return PARTIALS[function](self.value, result, *operands)

    def select(self, condition: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
        taken = np.where(condition, 1.0, 0.0)
        return np.where(condition, x, y), taken, 1 - taken


def _power(x: Any, y: Any) -> Sequence[Any]:
    # a base of 0 has a logarithm that is no use; this is what reverse-mode libraries do
    safe = np.where(np.equal(x, 0), 1.0, x)
    return y * np.power(x, np.where(np.equal(y, 0), 1.0, y - 1.0)), np.log(safe) * np.power(x, y)


_CORNERS: dict[Any, Callable[..., Sequence[Any]]] = {
    np.absolute: lambda x: (np.sign(x),),
    np.maximum: lambda x, y: (np.greater(x, y) * 1.0, np.less_equal(x, y) * 1.0),
    np.minimum: lambda x, y: (np.less(x, y) * 1.0, np.greater_equal(x, y) * 1.0),
    np.power: _power,
}


def full(values: Any, points: Array) -> Array:
    """Return values as one double a point."""
    return np.array(np.broadcast_to(np.asarray(values, np.float64), points.shape[1:]))
