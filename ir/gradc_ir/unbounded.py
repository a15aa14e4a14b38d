"""Arithmetic with exponents without bound: nothing overflows or underflows on the way.

Formulas are a text of steps and of their results, ``"mul %0 %0; add %1 1.0; div %0 %3 -> %4"``:
operands are numbered first, then what the steps make. Numbers stand for themselves.
A number is held as a significand, rounded to the dtype in each step, and an exponent beside it, a
whole number in double precision; the result is rounded once more where it is subnormal or infinite.
Beyond 2**52 an exponent is rounded itself: of such a number there is the sign and the size, and no
result that depends on its digits. Conditions are the numbers 1 and 0.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from gradc_ir.reduction import Array

Operand: TypeAlias = int | float  # the number of a value, or a number

# How many operands the words have that are computed; those of plain arithmetic are among them.
PRIMITIVES = {
    **dict.fromkeys(("neg", "abs", "sqrt", "floor", "exponent", "significand"), 1),
    **dict.fromkeys(("add", "sub", "mul", "div", "lt", "eq", "scale"), 2),
    "select": 3,
}
ARITHMETIC = frozenset({"neg", "abs", "sqrt", "add", "sub", "mul", "div", "power"})
# Words that are ops, and made of the others.
FUNCTIONS = {
    **dict.fromkeys(("exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "cbrt"), 1),
    **dict.fromkeys(("sinh", "cosh", "tanh", "arcsin", "arccos", "arctan"), 1),
    **dict.fromkeys(("arcsinh", "arccosh", "arctanh", "sigmoid", "sigmoid_derivative"), 1),
    **dict.fromkeys(("softplus", "log1mexp", "sign", "logical_not", "stop_gradient", "fence"), 1),
    **dict.fromkeys(("power", "exp_product", "hypot", "arctan2", "direction_cosine"), 2),
    **dict.fromkeys(("logaddexp", "maximum", "minimum", "le", "ne"), 2),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), 2),
}
WORDS = {**PRIMITIVES, **FUNCTIONS}
# Exponents of numbers that are neither large nor small, by the bytes of a dtype: some products of
# them stay in the range.
MODERATE = {8: 256, 4: 30}
# A number so far below another does not change their sum.
_FAR = 100
# A number of a larger exponent is whole.
_WHOLE = 60
# Of a number of a larger exponent the digits are not known, of a number beyond not even the size.
_KNOWN, _LARGEST = 2.0**52, 2.0**1000


class Step(NamedTuple):
    """One op of a formula."""

    word: str
    operands: tuple[Operand, ...]


class Formulas(NamedTuple):
    """Steps, and which values are results."""

    steps: tuple[Step, ...]
    results: tuple[int, ...]


@functools.lru_cache(maxsize=1024)
def parse_formulas(text: str) -> Formulas:
    """Return what a text says; raises ValueError when that is no formula."""
    steps = []
    body, _, results = text.partition("->")
    for part in body.split(";"):
        word, *operands = part.split()
        if WORDS.get(word) != len(operands):
            raise ValueError(f"no step of a formula: {part.strip()}")
        steps.append(
            Step(word, tuple(int(each[1:]) if each[0] == "%" else float(each) for each in operands))
        )
    return Formulas(tuple(steps), tuple(int(each[1:]) for each in results.split()))


def print_formulas(formulas: Formulas) -> str:
    """Return the text of formulas, which :func:`parse_formulas` reads."""
    steps = [
        " ".join(
            [word, *(f"%{each}" if isinstance(each, int) else repr(each) for each in operands)]
        )
        for word, operands in formulas.steps
    ]
    return f"{'; '.join(steps)} -> {' '.join(f'%{each}' for each in formulas.results)}"


def interpret(
    operands: Sequence[Any], formulas: str, result: int, meanings: Callable[[str], Any]
) -> Any:
    """Return a result of formulas in other numbers than floats, by the meanings of words."""
    steps, results = parse_formulas(formulas)
    values = list(operands)
    # numbers that stand for themselves are arrays as well
    number = functools.partial(np.asarray, dtype=np.asarray(operands[0]).dtype)
    for word, given in steps:
        values.append(
            meanings(word)(
                *(values[each] if isinstance(each, int) else number(each) for each in given)
            )
        )
    return values[results[result]]


class Wide(NamedTuple):
    """Numbers as significands, of magnitude 1/2 to 1, and exponents; 0, inf and nan have 0.

    A significand of magnitude 1 stands for one that is not known.
    """

    significand: Array
    exponent: Array


def compute(*arrays: Array, formulas: str, result: int) -> Array:
    """Return a result of formulas of arrays of one shape and float dtype, by its place."""
    steps, results = _program(formulas, len(arrays), arrays[0].dtype)
    with np.errstate(all="ignore"):
        values = [_entered(array) for array in arrays]
        for word, operands in steps:
            given = [
                values[each] if isinstance(each, int) else _entered(np.full_like(arrays[0], each))
                for each in operands
            ]
            values.append(_STEPS[word](*given))
        return _left(values[results[result]])


def recover(*arrays: Array, formulas: str, result: int, guards: int) -> Array:
    """Return one of some results of plain arithmetic, or of formulas where it is not finite.

    The plain results come first, then what the formulas start from, then guards. Where a start is
    not finite nothing is replaced, nor where a guard is below 0 and of moderate size: then there is
    no number.
    """
    count, end = len(parse_formulas(formulas).results), len(arrays) - guards
    plain, starts = arrays[result], arrays[count:end]
    lost = ~np.isfinite(plain)
    for start in starts:
        lost = lost & np.isfinite(start)
    moderate = 2.0 ** MODERATE[np.dtype(plain.dtype).itemsize]
    for guard in arrays[end:]:
        lost = lost & ~((guard < -1 / moderate) & (guard > -moderate))
    if not lost.any():
        return plain
    made = np.array(plain)
    made[lost] = compute(*[start[lost] for start in starts], formulas=formulas, result=result)
    return made


@functools.lru_cache(maxsize=64)
def _program(formulas: str, operands: int, dtype: np.dtype[Any]) -> Formulas:
    from gradc_ir.types import dtype_of
    from gradc_ir.unbounded_functions import expand

    return expand(parse_formulas(formulas), operands, dtype_of(dtype))


def _entered(x: Array) -> Wide:
    significand, exponent = np.frexp(x)
    known = np.isfinite(x) & (x != 0)
    return Wide(
        np.where(known, significand, x).astype(x.dtype),
        np.where(known, exponent, 0).astype(np.float64),
    )


def _left(x: Wide) -> Array:
    """Return wide numbers as those of their dtype."""
    exponent = np.clip(x.exponent, -2000, 2000).astype(np.int32)
    made = np.ldexp(x.significand, exponent)
    hidden = _is_unknown(x) & (np.abs(exponent) < 2000)
    return np.where(hidden, np.nan, made).astype(made.dtype)


def _is_unknown(x: Wide) -> Array:
    return np.asarray(np.abs(x.significand) == 1)


def _normal(significand: Array, exponent: Array, unknown: Array) -> Wide:
    """Return a number of any significand, of which the digits may be unknown."""
    inner = _entered(significand)
    special = ~np.isfinite(significand) | (significand == 0)
    wide = np.clip(inner.exponent + exponent, -_LARGEST, _LARGEST)
    unknown = (unknown | (np.abs(wide) > _KNOWN)) & ~special
    one = np.copysign(np.ones_like(significand), significand)
    return Wide(np.where(unknown, one, inner.significand), np.where(special, 0.0, wide))


def _neg(x: Wide) -> Wide:
    return Wide(-x.significand, x.exponent)


def _abs(x: Wide) -> Wide:
    return Wide(np.abs(x.significand), x.exponent)


def _mul(x: Wide, y: Wide) -> Wide:
    unknown = _is_unknown(x) | _is_unknown(y)
    return _normal(x.significand * y.significand, x.exponent + y.exponent, unknown)


def _div(x: Wide, y: Wide) -> Wide:
    unknown = _is_unknown(x) | _is_unknown(y)
    return _normal(x.significand / y.significand, x.exponent - y.exponent, unknown)


def _sqrt(x: Wide) -> Wide:
    half = np.floor(x.exponent * 0.5)
    odd = np.clip(x.exponent - 2 * half, 0, 1).astype(np.int32)
    return _normal(np.sqrt(np.ldexp(x.significand, odd)), half, _is_unknown(x))


def _add(x: Wide, y: Wide) -> Wide:
    larger = np.where(
        x.significand == 0,
        y.exponent,
        np.where(y.significand == 0, x.exponent, np.maximum(x.exponent, y.exponent)),
    )

    def aligned(z: Wide) -> tuple[Array, Array]:
        """Return a significand, and whether it matters."""
        below = z.exponent - larger
        moved = np.ldexp(z.significand, np.clip(below, -_FAR, 0).astype(np.int32))
        return np.asarray(moved), below > -_FAR

    (a, of_a), (b, of_b) = aligned(x), aligned(y)
    unknown = (_is_unknown(x) & of_a) | (_is_unknown(y) & of_b)
    # of a difference of numbers of one size, if one is unknown, not even the sign is known
    none = unknown & of_a & of_b & (a * b < 0)
    nothing = np.where(larger < -_KNOWN, 0.0, np.nan)
    size = np.where(none, nothing, a + b).astype(a.dtype)
    return _normal(size, larger, unknown)


def _sub(x: Wide, y: Wide) -> Wide:
    return _add(x, _neg(y))


def _floor(x: Wide) -> Wide:
    moved = np.clip(x.exponent, 0, _WHOLE).astype(np.int32)
    floor = np.floor(np.ldexp(x.significand, moved))
    whole = x.exponent > _WHOLE
    return _normal(
        np.where(whole, x.significand, floor),
        np.where(whole, x.exponent, 0.0),
        _is_unknown(x),
    )


def _exponent(x: Wide) -> Wide:
    return _entered(x.exponent.astype(x.significand.dtype))


def _significand(x: Wide) -> Wide:
    """Return significands; of one that is not known there is 1/2, as next to its exponent."""
    half = np.copysign(x.significand.dtype.type(0.5), x.significand)
    return Wide(np.where(_is_unknown(x), half, x.significand), np.zeros_like(x.exponent))


def _scale(x: Wide, y: Wide) -> Wide:
    """Return x * 2**y of a whole number y."""
    value = _left(y)
    nan = np.isnan(value)
    return _normal(
        np.where(nan, value, x.significand),
        np.where(nan, 0.0, x.exponent + value.astype(np.float64)),
        _is_unknown(x),
    )


def _truth(condition: Array, like: Array) -> Wide:
    return _entered(condition.astype(like.dtype))


def _lt(x: Wide, y: Wide) -> Wide:
    size = _sub(x, y).significand
    made = _truth(size < 0, size)
    return made._replace(significand=np.where(np.isnan(size), size, made.significand))


def _eq(x: Wide, y: Wide) -> Wide:
    same = (x.significand == y.significand) & (x.exponent == y.exponent)
    return _truth(same, x.significand)


def _select(condition: Wide, x: Wide, y: Wide) -> Wide:
    """Return x or y, and what is no number where the condition is none."""
    chosen, nan = condition.significand != 0, np.isnan(condition.significand)
    made = np.where(chosen, x.significand, y.significand)
    exponent = np.where(chosen, x.exponent, y.exponent)
    return Wide(np.where(nan, condition.significand, made), np.where(nan, 0.0, exponent))


_STEPS: dict[str, Callable[..., Wide]] = {
    "neg": _neg, "abs": _abs, "sqrt": _sqrt, "add": _add, "sub": _sub, "mul": _mul, "div": _div,
    "floor": _floor, "exponent": _exponent, "significand": _significand, "scale": _scale,
    "lt": _lt, "eq": _eq, "select": _select,
}  # fmt: skip
