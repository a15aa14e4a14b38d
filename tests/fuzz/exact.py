"""What a program computes in numbers of thousands of bits, whose exponents have no bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import mpmath
import numpy as np
from mpmath import mp, mpf

from gradc.rules.verify.arithmetic import Wide
from gradc.tracing import PythonNumber, trace
from gradc_ir.core.types import Type, dtype_of
from gradc_ir.interpreter.interpret import interpret
from tests.fuzz.grammar import function_of

Array = Any

# Enough for 1 + t with the smallest double t, and for limits.
_BITS = 6000
# An exponential of more than this has no number that fits into memory.
_MOST = mpf(10) ** 1200
# Stand for infinities, and their inverses for zeros, where a limit is looked for.
_LARGE = (400, 1000)


def exact(text: str, point: Sequence[Any]) -> list[Array] | None:
    """Return the results of a program's traced graph, rounded to doubles; None if not known.

    Elements are nan where there is no real number.
    """
    return _run(text, point, lambda x: mpf(x))


def limit(text: str, point: Sequence[Any]) -> list[Array] | None:
    """Return the results where infinities and zeros are approached; nan where sizes disagree."""
    sides = []
    for exponent in _LARGE:
        large = mpf(10) ** exponent

        def moved(x: float, large: Any = large) -> Any:
            if math.isinf(x) or x == 0:
                return mpf(math.copysign(1.0, x)) * (large if x else 1 / large)
            return mpf(x)

        found = _run(text, point, moved)
        if found is None:
            return None
        sides.append(found)
    return [_common(one, other) for one, other in zip(*sides, strict=True)]


def _common(one: Array, other: Array) -> Array:
    """Return what two points on the way to a limit agree in, nan where they do not."""
    if np.asarray(one).dtype.kind != "f":
        return one
    same = np.isclose(one, other, rtol=1e-9, atol=0)
    far = [_beyond(each) for each in (one, other)]
    going = np.isclose(*far, rtol=1e-9, atol=0)
    return np.where(same, other, np.where(going, far[1], np.nan))


def _beyond(x: Array) -> Array:
    """Return infinity and zero for what is that when the point moves on."""
    if x.dtype.kind != "f":
        return x
    with np.errstate(all="ignore"):
        return np.where(
            np.abs(x) > 1e300, np.copysign(np.inf, x), np.where(np.abs(x) < 1e-300, x * 0, x)
        )


def _run(text: str, point: Sequence[Any], number: Callable[[float], Any]) -> list[Array] | None:
    types = [_type(each) for each in point]
    arrays = []
    with mp.workprec(_BITS):
        for each in map(np.asarray, point):
            if each.dtype.kind == "f":
                wide = np.empty(each.shape, object)
                for place in np.ndindex(each.shape):
                    wide[place] = number(float(each[place]))
                arrays.append(wide)
            else:
                arrays.append(each)
        try:
            graph = trace(function_of(text), types).function
            found = interpret(graph, arrays, _numbers(any(map(_has_nan, point))))
        except Exception:  # an op has no meaning in these numbers, or its operands have none
            return None
        return [_rounded(each) for each in map(np.asarray, found)]


def _type(each: Any) -> Any:
    if type(each) in (int, float):
        return PythonNumber(dtype_of(np.asarray(each).dtype))
    array = np.asarray(each)
    return Type(dtype_of(array.dtype), array.shape)


def _has_nan(x: Any) -> bool:
    array = np.asarray(x)
    return array.dtype.kind == "f" and bool(np.isnan(array).any())


def _rounded(x: Array) -> Array:
    if x.dtype != object:
        return x
    made = np.empty(x.shape)
    for place in np.ndindex(x.shape):
        made[place] = float(x[place]) if isinstance(x[place], mpf) else math.nan
    return made


def _real(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of real numbers, nan where it has no real value or no value at all."""

    def real(*operands: Any) -> Any:
        # NumPy hands a function an array without axes where there is one
        operands = tuple(x.item() if isinstance(x, np.ndarray) else x for x in operands)
        if any(mpmath.isnan(x) for x in operands):
            return mp.nan
        try:
            found = function(*operands)
        except (ValueError, ZeroDivisionError, OverflowError, TypeError):
            return mp.nan
        return mp.nan if isinstance(found, mpmath.mpc) else mpf(found)

    return real


def _log(x: Any) -> Any:
    # what is zero in as many bits may be a small number
    return mp.log(x) if x else mp.nan


def _exp(x: Any) -> Any:
    if abs(x) > _MOST:
        return mp.inf if x > 0 else mpf(0)
    return mp.exp(x)


def _power(x: Any, y: Any) -> Any:
    if x == 0 or y == 0 or mpmath.isinf(x) or mpmath.isinf(y) or x < 0:
        return mpmath.power(x, y) if x < 0 else mpf(float(np.power(float(x), float(y))))
    return _exp(y * mp.log(x))


def _arctan2(y: Any, x: Any) -> Any:
    # of two infinities it is what IEEE 754 says
    both = mpmath.isinf(x) and mpmath.isinf(y)
    return mpf(float(np.arctan2(float(y), float(x)))) if both else mp.atan2(y, x)


def _argsort(x: Array, axis: int) -> Array:
    """Return the order of numbers along an axis, nan last."""
    missing = np.asarray(x != x, bool)
    order = np.argsort(np.where(missing, 0, x), axis=axis, kind="stable")
    last = np.argsort(np.take_along_axis(missing, order, axis), axis=axis, kind="stable")
    return np.take_along_axis(order, last, axis)


def _compared(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a comparison of numbers: what has no real value has no order either."""

    def compared(*operands: Any, **attributes: Any) -> Any:
        if any((x != x).any() for x in map(np.asarray, operands)):
            raise ArithmeticError("no real value")
        return function(*operands, **attributes)

    return compared


def _over_axes(function: Any) -> Callable[..., Any]:
    """Return the reduction by a function of two numbers."""

    def over(x: Array, axes: Sequence[int]) -> Array:
        for axis in sorted(axes, reverse=True):
            x = function.reduce(x, axis=axis)
        return x

    return over


@cache
def _numbers(has_nan: bool) -> Wide:
    """Return the arithmetic; ``has_nan``: arguments are nan, so that comparisons see such."""
    names = {"atan": "arctan", "asinh": "arcsinh", "acos": "arccos", "asin": "arcsin"}
    names |= {"atanh": "arctanh", "acosh": "arccosh"}
    names |= {name: name for name in ("log", "sin", "cos", "tan", "sqrt", "floor")}
    functions: dict[str, Callable[..., Any]] = {op: getattr(mp, name) for name, op in names.items()}
    functions["log"] = _log
    functions |= {
        "exp": _exp,
        "expm1": lambda x: _exp(x) - 1,
        "exp2": lambda x: _exp(x * mp.log(2)),
        "log1p": lambda x: _log(1 + x),
        "log2": lambda x: _log(x) / mp.log(2),
        "log10": lambda x: _log(x) / mp.log(10),
        "cosh": lambda x: (_exp(x) + _exp(-x)) / 2,
        "sinh": lambda x: (_exp(x) - _exp(-x)) / 2,
        "tanh": lambda x: mp.sign(x) if abs(x) > 1e5 else mp.tanh(x),
        "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
        "div": lambda x, y: x / y,
        "power": _power,
        "abs": abs,
        "sign": mp.sign,
        "hypot": lambda x, y: mp.sqrt(x * x + y * y),
        "arctan2": _arctan2,
        "logaddexp": lambda x, y: max(x, y) + mp.log(1 + _exp(min(x, y) - max(x, y))),
        "maximum": max,
        "minimum": min,
        "remainder": lambda x, y: x - y * mp.floor(x / y),
        "floor_divide": lambda x, y: mp.floor(x / y),
    }
    meanings = {
        name: np.frompyfunc(_real(function), function_operands(name), 1)
        for name, function in functions.items()
    }
    largest, smallest, length = (meanings[name] for name in ("maximum", "minimum", "hypot"))
    meanings |= {
        "reduce_max": _over_axes(largest),
        "reduce_min": _over_axes(smallest),
        "norm": lambda x, axes: length(_over_axes(length)(x, axes), 0),
    }
    comparisons = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal}
    ordering = {**comparisons, "argsort": _argsort}
    if not has_nan:
        ordering = {name: _compared(each) for name, each in ordering.items()}
    return Wide(object, lambda x: x if isinstance(x, mpf) else mpf(float(x)), meanings | ordering)


def function_operands(name: str) -> int:
    """Return how many operands an op has."""
    from gradc_ir.ops import TABLE

    return TABLE[name].operands or 1
