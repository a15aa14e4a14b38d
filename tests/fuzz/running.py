"""Runs of programs: quietly, once for each arguments, and with other last digits."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tests.fuzz.grammar import function_of

Function = Callable[..., Any]

# Begins what is told of an element that has no exact result: nan, or an infinity, for another one.
OPEN = "open: "
# The share by which arguments are changed, at least.
SHAKE = 2.0**-40
# What NumPy need not round correctly.
_INEXACT = frozenset(
    {
        *("exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "logaddexp", "logaddexp2"),
        *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "sinc", "hypot", "power"),
        *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt"),
    }
)


def quietly(function: Function, point: Sequence[Any]) -> Any:
    """Return the function's results at a point; the arguments stay as they are."""
    copies = [each.copy() if isinstance(each, np.ndarray) else each for each in point]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*copies)


def remembered(function: Function) -> Function:
    """Return the function, which is called once for each arguments."""
    made: dict[Any, Any] = {}

    def call(*args: Any) -> Any:
        arrays = [np.asarray(each) for each in args]
        key = tuple((type(x), a.dtype, a.shape, a.tobytes()) for x, a in zip(args, arrays))
        if key not in made:
            made[key] = function(*args)
        return made[key]

    return call


@lru_cache(maxsize=2)
def plain(text: str) -> Function:
    return remembered(function_of(text))


class _Nudging:
    """NumPy, whose functions of mathematics are off by one in the last digit."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name)
        if name not in _INEXACT:
            return function

        def nudged(*args: Any) -> Any:
            made = function(*args)
            if np.asarray(made).dtype.kind != "f":
                return made
            side = np.where(self._random.random(np.shape(made)) < 0.5, -np.inf, np.inf)
            there = np.isfinite(made) & (made != 0)
            return np.where(there, np.nextafter(made, side.astype(made.dtype)), made)[()]

        return nudged


@lru_cache(maxsize=4)
def nudging(text: str, seed: int) -> Function:
    function = function_of(text)
    function.__globals__["np"] = _Nudging(seed)
    return remembered(function)


def shake(point: Sequence[Any], seed: int) -> list[Any]:
    """Return the arguments with other last digits; zeros and what is not finite stay."""
    random = np.random.default_rng(seed)

    def shaken(each: Any) -> Any:
        if not is_float(each):
            return each
        made = np.asarray(each)
        share = max(SHAKE, float(np.finfo(made.dtype).eps) * 4)
        with np.errstate(all="ignore"):
            made = (made * (1 + share * random.choice([-1.0, 1.0], made.shape))).astype(made.dtype)
        return made if isinstance(each, np.ndarray) else type(each)(made[()])

    return [shaken(each) for each in point]


def is_float(each: Any) -> bool:
    return not isinstance(each, bool | int) and np.asarray(each).dtype.kind == "f"


def as_numpy(each: Any) -> Any:
    return np.float64(each) if type(each) is float else each


def shown(point: Sequence[Any]) -> str:
    """Return arguments as Python that makes them again."""
    return ", ".join(
        f"np.array({each.tolist()!r}, np.{each.dtype})"
        if isinstance(each, np.ndarray)
        else repr(each)
        for each in point
    )
