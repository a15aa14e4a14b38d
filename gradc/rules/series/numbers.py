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
Function: TypeAlias = Callable[..., Any]  # of bits and numbers

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
    from mpmath import libmp

    return float(libmp.to_float(libmp.mpf_div(x, y, 64, "n")))


def apply(c: Context, name: str, operands: list[Any]) -> Known:
    """Return the real, finite result of an op; None when there is none, or none in a short time."""
    function = functions().get(name)
    if name in precise.CONDITIONS:
        assert function is not None
        holds: bool = function(*operands)
        return holds
    if name not in _ANY_SIZE and any(
        [one[1] and one[2] + one[3] > _LARGEST_EXPONENT for one in operands]
    ):
        is_below = operands[0][0]
        if not (name in _SETTLED or (name in _SETTLING and is_below)):
            return None
        operands = [(is_below, 1, _LARGEST_EXPONENT, 1)]
    try:
        if function is not None:
            found: Number | None = function(c.prec, *operands)
        else:
            result = precise.FUNCTIONS[name](c, *map(c.make_mpf, operands))
            found = result._mpf_ if isinstance(result, c.mpf) else None
    except (ValueError, ZeroDivisionError, OverflowError, NotImplementedError):
        return None
    return found if found is not None and (found[1] or not found[2]) else None


@cache
def functions() -> dict[str, Function]:
    """Return functions of parts: those that most is made of, and conditions."""
    # not on top: only functions with something to expand need it
    from mpmath import libmp as m

    near, one = "n", m.fone

    def total(p: int, x: Number, y: Number) -> Number:
        """Return a sum; what only its operands' rounding leaves of it is nothing."""
        made: Number = m.mpf_add(x, y, p, near)
        if x[1] and y[1] and made[1]:
            larger = max(x[2] + x[3], y[2] + y[3])
            if made[2] + made[3] < larger - p * _KNOWN:
                return m.fzero  # type: ignore[no-any-return]
        return made

    def power(p: int, x: Number, y: Number) -> Number | None:
        if y[1] and y[2] + y[3] >= 7 and m.mpf_gt(m.mpf_abs(y), m.from_int(_LARGEST_EXPONENT)):
            return None
        if y[2] >= 0:
            return m.mpf_pow_int(x, m.to_int(y), p, near)  # type: ignore[no-any-return]
        return m.mpf_pow(x, y, p, near)  # type: ignore[no-any-return]

    def cbrt(p: int, x: Number) -> Number:
        if x[0]:
            return m.mpf_neg(m.mpf_cbrt(m.mpf_neg(x), p, near))  # type: ignore[no-any-return]
        return m.mpf_cbrt(x, p, near)  # type: ignore[no-any-return]

    def wrapped(function: Function) -> Function:
        return lambda p, x: function(x, p, near)

    def log1p(p: int, x: Number) -> Any:
        if p < _LONG or not x[1] or magnitude(x) > -p // 24:
            return m.mpf_log(m.mpf_add(one, x, p, near), p, near)
        # 2 artanh(x / (2 + x)), of which few terms count
        term = ratio = m.mpf_div(x, m.mpf_add(x, m.ftwo, p, near), p, near)
        square, made, least = m.mpf_mul(ratio, ratio, p, near), ratio, magnitude(ratio) - p
        for odd in range(3, p, 2):
            term = m.mpf_mul(term, square, p, near)
            if magnitude(term) < least:
                break
            made = m.mpf_add(made, m.mpf_div(term, m.from_int(odd), p, near), p, near)
        return m.mpf_shift(made, 1)

    def sigmoid(p: int, x: Number) -> Any:
        return m.mpf_div(one, m.mpf_add(one, m.mpf_exp(m.mpf_neg(x), p, near), p, near), p, near)

    names = {
        **{name: getattr(m, f"mpf_{name}") for name in ("exp", "log", "sqrt", "sin", "cos", "tan")},
        **{name: getattr(m, f"mpf_{name}") for name in ("sinh", "cosh", "tanh", "erf", "erfc")},
        **{f"arc{name}": getattr(m, f"mpf_a{name}") for name in ("sin", "cos", "tan")},
        **{f"arc{name}": getattr(m, f"mpf_a{name}") for name in ("sinh", "cosh", "tanh")},
    }
    return {
        **{name: wrapped(function) for name, function in names.items()},
        "neg": lambda p, x: m.mpf_neg(x),
        "add": total,
        "sub": lambda p, x, y: total(p, x, m.mpf_neg(y)),
        "mul": lambda p, x, y: m.mpf_mul(x, y, p, near),
        "div": lambda p, x, y: m.mpf_div(x, y, p, near),
        "abs": lambda p, x: m.mpf_abs(x),
        "sign": lambda p, x: m.from_int(m.mpf_sign(x)),
        "maximum": lambda p, x, y: y if m.mpf_lt(x, y) else x,
        "minimum": lambda p, x, y: y if m.mpf_lt(y, x) else x,
        "power": power,
        "cbrt": cbrt,
        "log1p": log1p,
        "expm1": lambda p, x: m.mpf_sub(m.mpf_exp(x, p, near), one, p, near),
        "exp_product": lambda p, x, y: m.mpf_exp(m.mpf_mul(x, y, p, near), p, near),
        "sigmoid": sigmoid,
        "sigmoid_derivative": lambda p, x: m.mpf_mul(
            sigmoid(p, x), sigmoid(p, m.mpf_neg(x)), p, near
        ),
        "softplus": lambda p, x: log1p(p, m.mpf_exp(x, p, near)),
        "log1mexp": lambda p, x: log1p(p, m.mpf_neg(m.mpf_exp(x, p, near))),
        "eq": m.mpf_eq,
        "ne": lambda x, y: not m.mpf_eq(x, y),
        "lt": m.mpf_lt,
        "le": m.mpf_le,
        **{name: precise.CONDITIONS[name] for name in ("logical_not", "logical_and", "logical_or")},
    }
