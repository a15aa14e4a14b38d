"""Spellings of log(1 + exp(x)) from a grammar: value and two derivatives within 4 ulp.

A spelling is a way to write the logarithm of a sum with one, of an inner exponential, of an
argument. The numbers in it are small or powers of two, so that the inner argument is exact; the
truth is computed to 3000 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import pytest

import gradc
from tests.comparing import ulps_off

PLACES = (40.0, 700.0, 1e4)
PLACES_SINGLE = (100.0,)
ULPS = 4


@dataclass(frozen=True)
class Spelling:
    """``body`` is the function of x, which is softplus(slope * x + shift)."""

    name: str
    body: str
    slope: float = 1.0
    shift: float = 0.0
    outside: str = "softplus"
    dtype: str = "f64"
    shape: str = "array"

    def __str__(self) -> str:
        return self.name


OUTER = {
    "log": "np.log(1 + {e})",
    "log, one last": "np.log({e} + 1)",
    "log, float one": "np.log(1.0 + {e})",
    "log1p": "np.log1p({e})",
    "minus log of the reciprocal": "-np.log(1 / (1 + {e}))",
}
EXPONENTIAL = {
    "exp": "np.exp({a})",
    "power of e": "np.e ** ({a})",
    "reciprocal": "1 / np.exp(-({a}))",
}
ARGUMENT = {
    "x": ("x", 1.0, 0.0),
    "-x": ("-x", -1.0, 0.0),
    "scaled": ("2 * x", 2.0, 0.0),
    "shifted": ("x + 3", 1.0, 3.0),
    "product": ("x * y", 0.5, 0.0),
}


def grammar() -> list[Spelling]:
    """Return the spellings: each outer form, exponential and argument, then forms of their own."""
    spellings = [Spelling(outer, text.format(e="np.exp(x)")) for outer, text in OUTER.items()]
    spellings += [
        Spelling(f"log, {name}", OUTER["log"].format(e=text.format(a="x")))
        for name, text in EXPONENTIAL.items()
        if name != "exp"
    ]
    spellings += [
        Spelling(f"{outer}, {name}", OUTER[outer].format(e=EXPONENTIAL["exp"].format(a=text)), a, b)
        for outer in ("log", "log1p")
        for name, (text, a, b) in ARGUMENT.items()
        if name != "x"
    ]
    spellings += [
        Spelling("logaddexp", "np.logaddexp(0, x)"),
        Spelling("logaddexp, zero last", "np.logaddexp(x, 0.0)"),
        Spelling("through a helper", "helper(np.exp(x))"),
        Spelling("broadcast", "np.log(np.ones((3, 1)) + np.exp(x))[1]"),
        Spelling(
            "guarded by where",
            "np.where(x > 0, x + np.log(1 + np.exp(-x)), np.log(1 + np.exp(x)))",
        ),
        Spelling(
            "guarded by a bound", "np.where(x > 30, x, np.log(1 + np.exp(x)))", outside="guarded"
        ),
        Spelling("scalar", "np.log(1 + np.exp(x))", shape="scalar"),
        Spelling("single precision", "np.log(1 + np.exp(x))", dtype="f32"),
        Spelling("single precision, power of e", "np.log1p(np.e ** x)", dtype="f32"),
        Spelling("single precision, scaled", "np.log(np.exp(0.5 * x) + 1)", 0.5, dtype="f32"),
    ]
    return spellings


SPELLINGS = grammar()


def test_there_are_enough_spellings() -> None:
    assert len(SPELLINGS) >= 24
    assert len({(one.body, one.dtype, one.shape) for one in SPELLINGS}) == len(SPELLINGS)


def helper(e: Any) -> Any:
    return np.log(1 + e)


def function_of(spelling: Spelling) -> Any:
    scope: dict[str, Any] = {"np": np, "helper": helper}
    if "y" in spelling.body.replace("np.", ""):
        exec(f"def inner(x, y):\n    return {spelling.body}\n", scope)
        inner = scope["inner"]
        half = np.float64(0.5)
        return lambda x: inner(x, half)
    exec(f"def inner(x):\n    return {spelling.body}\n", scope)
    return scope["inner"]


def truth(spelling: Spelling, x: float) -> tuple[Any, Any, Any]:
    """Return value, first and second derivative in multiple precision."""
    a, b = mpmath.mpf(spelling.slope), mpmath.mpf(spelling.shift)
    if spelling.outside == "guarded" and x > 30:
        return mpmath.mpf(x), mpmath.mpf(1), mpmath.mpf(0)
    e = mpmath.exp(a * mpmath.mpf(x) + b)
    return mpmath.log(1 + e), a * e / (1 + e), a * a * e / (1 + e) ** 2


@pytest.mark.parametrize("spelling", SPELLINGS, ids=str)
def test_value_and_two_derivatives_are_accurate(spelling: Spelling) -> None:
    dtype = np.float32 if spelling.dtype == "f32" else np.float64
    places = PLACES_SINGLE if spelling.dtype == "f32" else PLACES
    points = np.array([sign * place for place in places for sign in (1, -1)], dtype=dtype)
    function = function_of(spelling)
    if spelling.shape == "scalar":
        value = gradc.compile(function)
        first = gradc.grad(function)
        second = gradc.grad(first)
        found = [[f(point) for point in points] for f in (value, first, second)]
    else:
        value = gradc.compile(function)
        first = gradc.grad(lambda x: np.sum(function(x)))
        second = gradc.grad(lambda x: np.sum(first(x)))
        found = [f(points) for f in (value, first, second)]
    with mpmath.workprec(3000):
        for i, point in enumerate(points):
            for order, wanted in enumerate(truth(spelling, float(point))):
                got = found[order][i]
                assert np.asarray(got).dtype == dtype
                assert ulps_off(got, wanted, dtype) <= ULPS, f"derivative {order} at {point}: {got}"


@pytest.mark.parametrize("spelling", SPELLINGS, ids=str)
def test_explain_names_the_rule(spelling: Spelling) -> None:
    kind = "f32" if spelling.dtype == "f32" else "f64"
    spec = f"x: {kind}" if spelling.shape == "scalar" else f"x: {kind}[n]"
    text = gradc.compile(function_of(spelling)).explain(spec=spec)
    names = [rule.name for rule in gradc.rules.all_rules() if "softplus" in rule.text]
    assert any(f"{name} (stable, before differentiation)" in text for name in names)
