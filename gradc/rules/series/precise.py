"""Elementwise functions in many digits, by which the expansions are found and proved."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

from gradc_ir.types import DType

# A number of mpmath's, which has no types.
Precise: TypeAlias = Any
Context: TypeAlias = Any
Function: TypeAlias = Callable[..., Precise]


@cache
def context(bits: int) -> Context:
    """Return mpmath's functions, working with so many bits."""
    # not on top: only functions with something to expand need it
    from mpmath.ctx_mp import MPContext

    made = MPContext()
    made.prec = bits
    return made


def _sigmoid(c: Context, x: Precise) -> Precise:
    return 1 / (1 + c.exp(-x))


def _power(c: Context, x: Precise, y: Precise) -> Precise:
    return x ** int(y) if y == int(y) else x**y


def _cbrt(c: Context, x: Precise) -> Precise:
    return -c.cbrt(-x) if x < 0 else c.cbrt(x)


# A difference costs bits, of which there are enough: no function needs to be careful.
FUNCTIONS: dict[str, Function] = {
    "neg": lambda c, x: -x,
    "add": lambda c, x, y: x + y,
    "sub": lambda c, x, y: x - y,
    "mul": lambda c, x, y: x * y,
    "div": lambda c, x, y: x / y,
    "abs": lambda c, x: abs(x),
    "sign": lambda c, x: c.mpf(c.sign(x)),
    "maximum": lambda c, x, y: max(x, y),
    "minimum": lambda c, x, y: min(x, y),
    "power": _power,
    "sqrt": lambda c, x: c.sqrt(x),
    "cbrt": _cbrt,
    "exp": lambda c, x: c.exp(x),
    "expm1": lambda c, x: c.exp(x) - 1,
    "exp2": lambda c, x: c.exp(x * c.ln(2)),
    "log": lambda c, x: c.ln(x),
    "log1p": lambda c, x: c.ln(1 + x),
    "log2": lambda c, x: c.ln(x) / c.ln(2),
    "log10": lambda c, x: c.ln(x) / c.ln(10),
    "sin": lambda c, x: c.sin(x),
    "cos": lambda c, x: c.cos(x),
    "tan": lambda c, x: c.tan(x),
    "sinh": lambda c, x: c.sinh(x),
    "cosh": lambda c, x: c.cosh(x),
    "tanh": lambda c, x: c.tanh(x),
    "arcsin": lambda c, x: c.asin(x),
    "arccos": lambda c, x: c.acos(x),
    "arctan": lambda c, x: c.atan(x),
    "arcsinh": lambda c, x: c.asinh(x),
    "arccosh": lambda c, x: c.acosh(x),
    "arctanh": lambda c, x: c.atanh(x),
    "exp_product": lambda c, x, y: c.exp(x * y),
    "coth_sum": lambda c, x, y, t: t * (c.coth(x * t / 2) + c.coth(y * t / 2)) / 2,
    "geometric_sum": lambda c, x, y: c.expm1(y * c.ln(1 + x)) / x,
    "power_mean": lambda c, x, y, p, w, t: c.exp(c.ln(t * (w * x**p + (1 - w) * y**p)) / p),
    "hypot": lambda c, x, y: c.sqrt(x * x + y * y),
    "direction_cosine": lambda c, x, y: x / c.sqrt(x * x + y * y),
    "log_mixture": lambda c, x, y, t: c.ln(t * c.exp(x) + (1 - t) * c.exp(y)),
    "logaddexp": lambda c, x, y: c.ln(c.exp(x) + c.exp(y)),
    "softplus": lambda c, x: c.ln(1 + c.exp(x)),
    "sigmoid": _sigmoid,
    "sigmoid_derivative": lambda c, x: _sigmoid(c, x) * _sigmoid(c, -x),
    "log1mexp": lambda c, x: c.ln(1 - c.exp(x)),
    "erf": lambda c, x: c.erf(x),
    "erfc": lambda c, x: c.erfc(x),
    "erfcx": lambda c, x: c.exp(x * x) * c.erfc(x),
    "ndtr": lambda c, x: c.erfc(-x / c.sqrt(2)) / 2,
    "log_ndtr": lambda c, x: c.ln(c.erfc(-x / c.sqrt(2)) / 2),
    "dawsn": lambda c, x: c.exp(-x * x) * c.erfi(x) * c.sqrt(c.pi) / 2,
    "lgamma": lambda c, x: c.loggamma(x),
    "gamma": lambda c, x: c.gamma(x),
    "rgamma": lambda c, x: c.rgamma(x),
    "digamma": lambda c, x: c.digamma(x),
    "sine_integral": lambda c, x: c.si(x),
}

# Of which thousands of bits take seconds.
SLOW = frozenset({"lgamma", "gamma", "rgamma", "digamma"})

CONDITIONS: dict[str, Callable[..., bool]] = {
    "eq": lambda x, y: bool(x == y),
    "ne": lambda x, y: bool(x != y),
    "lt": lambda x, y: bool(x < y),
    "le": lambda x, y: bool(x <= y),
    "logical_not": lambda p: not p,
    "logical_and": lambda p, q: p and q,
    "logical_or": lambda p, q: p or q,
}

COMPARISONS = frozenset({"eq", "ne", "lt", "le"})

# Sums of products of the variable: what a person arranged with care stays as it is.
ARITHMETIC = frozenset({"neg", "add", "sub", "mul"})
# Functions whose products and quotients may be arranged otherwise, so that none overflows.
ALGEBRAIC = ARITHMETIC | {"div", "power", "sqrt", "cbrt", "hypot", "direction_cosine", "abs",
                          "sign", "maximum", "minimum"}  # fmt: skip


# What derivatives are made with, but rounded: a sum with it must cancel as it does on paper.
_NUMBERS: dict[str, Callable[[Context], Precise]] = {
    "2 / sqrt(pi)": lambda c: 2 / c.sqrt(c.pi),
    "sqrt(2 / pi)": lambda c: c.sqrt(2 / c.pi),
    "1 / sqrt(2 pi)": lambda c: 1 / c.sqrt(2 * c.pi),
    "sqrt(pi)": lambda c: c.sqrt(c.pi),
    "sqrt(2 pi)": lambda c: c.sqrt(2 * c.pi),
    "pi": lambda c: +c.pi,
    "sqrt(2)": lambda c: c.sqrt(2),
    "log(2)": lambda c: c.ln(2),
    "log(10)": lambda c: c.ln(10),
    "1 / log(2)": lambda c: 1 / c.ln(2),
    "1 / log(10)": lambda c: 1 / c.ln(10),
}


@cache
def _rounded(dtype: DType) -> dict[float, str]:
    c = context(200)
    return {float(dtype.numpy.type(float(make(c)))): name for name, make in _NUMBERS.items()}


@cache
def number(c: Context, value: float, dtype: DType) -> Precise:
    """Return a constant of a dtype, or the number it is the rounded value of."""
    name = _rounded(dtype).get(abs(value))
    if name is None:
        return c.mpf(value)
    return _NUMBERS[name](c) if value > 0 else -_NUMBERS[name](c)
