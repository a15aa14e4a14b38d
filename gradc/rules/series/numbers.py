"""Numbers of many digits as mpmath holds them: most of its time goes into objects around them.

A number is its sign, significand, exponent and the significand's length; where there is none, None.
What is asked of one is asked of its parts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

from gradc.rules.series import precise
from gradc.rules.series.precise import Context, Precise

Number: TypeAlias = tuple[int, int, int, int]
Known: TypeAlias = Number | bool | None  # conditions are what they are
Function: TypeAlias = Callable[..., Any]  # of mpmath's arithmetic, bits and numbers

_NEAR = "n"  # how mpmath calls rounding to nearest

# The part of the bits that a sum's operands are sure to have right.
_KNOWN = 0.75
# Defined for numbers as large as they may get here; of the others they would take for ever.
_ANY_SIZE = precise.ALGEBRAIC | {"log", "log1p", "log2", "log10"}
_LARGEST_EXPONENT = 64
# Bits of which a logarithm takes longer than a series of a few terms.
_LONG = 1000
# Functions that are as good as constant beyond: on the left, and on both sides.
_SETTLING = frozenset({"exp", "exp2", "expm1", "sigmoid", "sigmoid_derivative", "softplus"})
_SETTLED = frozenset({"tanh", "erf", "arctan"})


@cache
def _libmp() -> Any:
    """Return mpmath's arithmetic."""
    # not on top: only functions with something to expand need it
    from mpmath import libmp

    return libmp


def given(number: Precise) -> Number:
    """Return the parts of mpmath's number."""
    parts: Number = number._mpf_
    return parts


def made(c: Context, number: Known) -> Precise | None:
    """Return mpmath's number of these parts."""
    return c.make_mpf(number) if isinstance(number, tuple) else number


def magnitude(number: Number) -> int:
    """Return mpmath's ``mag`` of a finite number that is not 0: about its binary logarithm."""
    return number[2] + number[3]


def quotient(x: Number, y: Number) -> float:
    """Return a quotient, rounded."""
    m = _libmp()
    return float(m.to_float(m.mpf_div(x, y, 64, _NEAR)))


def apply(c: Context, name: str, operands: list[Any]) -> Known:
    """Return the real, finite result of an op; None when there is none, or none in a short time."""
    if name in CONDITIONS:
        holds: bool = CONDITIONS[name](_libmp(), *operands)
        return holds
    if name not in _ANY_SIZE and any(
        [one[1] and one[2] + one[3] > _LARGEST_EXPONENT for one in operands]
    ):
        is_below = operands[0][0]
        if not (name in _SETTLED or (name in _SETTLING and is_below)):
            return None
        operands = [(is_below, 1, _LARGEST_EXPONENT, 1)]
    try:
        function = _FUNCTIONS.get(name)
        if function is not None:
            found: Number | None = function(_libmp(), c.prec, *operands)
        else:
            result = precise.FUNCTIONS[name](c, *map(c.make_mpf, operands))
            found = result._mpf_ if isinstance(result, c.mpf) else None
    except (ValueError, ZeroDivisionError, OverflowError, NotImplementedError):
        return None
    return found if found is not None and (found[1] or not found[2]) else None


# -- functions of parts ----------------------------------------------------------------------------


def _total(m: Any, p: int, x: Number, y: Number) -> Any:
    """Return a sum; what only its operands' rounding leaves of it is nothing."""
    made = m.mpf_add(x, y, p, _NEAR)
    if x[1] and y[1] and made[1]:
        larger = max(x[2] + x[3], y[2] + y[3])
        if made[2] + made[3] < larger - p * _KNOWN:
            return m.fzero
    return made


def _power(m: Any, p: int, x: Number, y: Number) -> Any:
    if y[1] and y[2] + y[3] >= 7 and m.mpf_gt(m.mpf_abs(y), m.from_int(_LARGEST_EXPONENT)):
        return None
    return m.mpf_pow_int(x, m.to_int(y), p, _NEAR) if y[2] >= 0 else m.mpf_pow(x, y, p, _NEAR)


def _cbrt(m: Any, p: int, x: Number) -> Any:
    if x[0]:
        return m.mpf_neg(m.mpf_cbrt(m.mpf_neg(x), p, _NEAR))
    return m.mpf_cbrt(x, p, _NEAR)


def _log1p(m: Any, p: int, x: Number) -> Any:
    if p < _LONG or not x[1] or magnitude(x) > -p // 24:
        return m.mpf_log(m.mpf_add(m.fone, x, p, _NEAR), p, _NEAR)
    # 2 artanh(x / (2 + x)), of which few terms count
    term = ratio = m.mpf_div(x, m.mpf_add(x, m.ftwo, p, _NEAR), p, _NEAR)
    square, made, least = m.mpf_mul(ratio, ratio, p, _NEAR), ratio, magnitude(ratio) - p
    for odd in range(3, p, 2):
        term = m.mpf_mul(term, square, p, _NEAR)
        if magnitude(term) < least:
            break
        made = m.mpf_add(made, m.mpf_div(term, m.from_int(odd), p, _NEAR), p, _NEAR)
    return m.mpf_shift(made, 1)


def _sigmoid(m: Any, p: int, x: Number) -> Any:
    power = m.mpf_exp(m.mpf_neg(x), p, _NEAR)
    return m.mpf_div(m.fone, m.mpf_add(m.fone, power, p, _NEAR), p, _NEAR)


def _named(name: str) -> Function:
    return lambda m, p, x: getattr(m, name)(x, p, _NEAR)


_OF_ONE = {
    **{name: f"mpf_{name}" for name in ("exp", "log", "sqrt", "sin", "cos", "tan", "erf", "erfc")},
    **{name: f"mpf_{name}" for name in ("sinh", "cosh", "tanh")},
    **{f"arc{name}": f"mpf_a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
}
_FUNCTIONS: dict[str, Function] = {
    **{name: _named(of_parts) for name, of_parts in _OF_ONE.items()},
    "neg": lambda m, p, x: m.mpf_neg(x),
    "add": _total,
    "sub": lambda m, p, x, y: _total(m, p, x, m.mpf_neg(y)),
    "mul": lambda m, p, x, y: m.mpf_mul(x, y, p, _NEAR),
    "fma": lambda m, p, x, y, z: _total(m, p, m.mpf_mul(x, y), z),
    "div": lambda m, p, x, y: m.mpf_div(x, y, p, _NEAR),
    "abs": lambda m, p, x: m.mpf_abs(x),
    "sign": lambda m, p, x: m.from_int(m.mpf_sign(x)),
    "maximum": lambda m, p, x, y: y if m.mpf_lt(x, y) else x,
    "minimum": lambda m, p, x, y: y if m.mpf_lt(y, x) else x,
    "power": _power,
    "cbrt": _cbrt,
    "log1p": _log1p,
    "expm1": lambda m, p, x: m.mpf_sub(m.mpf_exp(x, p, _NEAR), m.fone, p, _NEAR),
    "exp_product": lambda m, p, x, y: m.mpf_exp(m.mpf_mul(x, y, p, _NEAR), p, _NEAR),
    "sigmoid": _sigmoid,
    "sigmoid_derivative": lambda m, p, x: m.mpf_mul(
        _sigmoid(m, p, x), _sigmoid(m, p, m.mpf_neg(x)), p, _NEAR
    ),
    "softplus": lambda m, p, x: _log1p(m, p, m.mpf_exp(x, p, _NEAR)),
    "log1mexp": lambda m, p, x: _log1p(m, p, m.mpf_neg(m.mpf_exp(x, p, _NEAR))),
}
# A name stands in one of the tables.
FUNCTIONS = _FUNCTIONS.keys() | precise.FUNCTIONS.keys()

CONDITIONS: dict[str, Callable[..., bool]] = {
    "eq": lambda m, x, y: m.mpf_eq(x, y),
    "ne": lambda m, x, y: not m.mpf_eq(x, y),
    "lt": lambda m, x, y: m.mpf_lt(x, y),
    "le": lambda m, x, y: m.mpf_le(x, y),
    "logical_not": lambda m, p: not p,
    "logical_and": lambda m, p, q: p and q,
    "logical_or": lambda m, p, q: p or q,
}
