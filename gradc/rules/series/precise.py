"""Elementwise functions in many digits, by which the expansions are found and proved."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, TypeAlias

from gradc.rules.series.steps import ARITHMETIC
from gradc_ir.core.types import DType

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


# A difference costs bits, of which there are enough: no function needs to be careful. What most is
# made of stands in ``numbers``.
FUNCTIONS: dict[str, Function] = {
    "exp2": lambda c, x: c.exp(x * c.ln(2)),
    "log2": lambda c, x: c.ln(x) / c.ln(2),
    "log10": lambda c, x: c.ln(x) / c.ln(10),
    "coth_sum": lambda c, x, y, t: t * (c.coth(x * t / 2) + c.coth(y * t / 2)) / 2,
    "sin_sum": lambda c, x, y: c.sin(x + y),
    "cos_sum": lambda c, x, y: c.cos(x + y),
    "sin_difference": lambda c, x, y: c.sin(x + y) - c.sin(x),
    "cos_difference": lambda c, x, y: c.cos(x + y) - c.cos(x),
    "tan_difference": lambda c, x, y: c.tan(x + y) - c.tan(x),
    "geometric_sum": lambda c, x, y: c.expm1(y * c.ln(1 + x)) / x,
    "power_mean": lambda c, x, y, p, w, t: c.exp(c.ln(t * (w * x**p + (1 - w) * y**p)) / p),
    "hypot": lambda c, x, y: c.sqrt(x * x + y * y),
    "direction_cosine": lambda c, x, y: x / c.sqrt(x * x + y * y),
    "log_mixture": lambda c, x, y, t: c.ln(t * c.exp(x) + (1 - t) * c.exp(y)),
    "logaddexp": lambda c, x, y: c.ln(c.exp(x) + c.exp(y)),
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

COMPARISONS = frozenset({"eq", "ne", "lt", "le"})

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


@lru_cache(maxsize=1024)
def number(c: Context, value: float, dtype: DType) -> Precise:
    """Return a constant of a dtype, or the number it is the rounded value of."""
    name = _rounded(dtype).get(abs(value))
    if name is None:
        return c.mpf(value)
    return _NUMBERS[name](c) if value > 0 else -_NUMBERS[name](c)
