"""Arithmetic with exponents without bound: nothing overflows or underflows on the way.

A number is held as a significand, rounded to the dtype in each step, and an exponent beside it, a
whole number in double precision; the result is rounded once more where it is subnormal or infinite.
Beyond 2**52 an exponent is rounded itself: of such a number there is the sign and the size, and no
result that depends on its digits. The exponential of a large number has that number beside it, as
an exponent of e: what cancels it has digits again. Conditions are the numbers 1 and 0.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function
from gradc_ir.core.types import Array, dtype_of
from gradc_ir.wide_exponents.formulas import Steps, made_of
from gradc_ir.wide_exponents.functions import expand

# Exponents of numbers that are neither large nor small, by the bytes of a dtype: some products of
# them stay in the range. Powers of two, so that one bit more tells a larger exponent.
MODERATE = {8: 256, 4: 32}
# A number so far below another does not change their sum.
_FAR = 100
# A number of a larger exponent is whole.
_WHOLE = 60
# Of a number of a larger exponent the digits are not known, of a number beyond not even the size.
_KNOWN, _LARGEST = 2.0**52, 2.0**1000
# A number of an exponent below minus this is nothing, where its digits are not known.
_NOTHING = 2.0**40
_PER_POWER = 1 / math.log(2)
# Powers of a rank are as many times this; within one they are below the bound.
_PER_RANK, _POWERS = 1000.0, 2.0**1002
# Of this rank are exponentials of what is known only by its size: above all others, and alike.
TOP = 2.0**60


class Wide(NamedTuple):
    """Numbers ``significand * 2**exponent * e**(power * 2**(1000 * rank))``.

    A significand is of magnitude 1/2 to 1, where 1 stands for one that is not known; of 0, inf and
    nan the exponents are 0.
    """

    significand: Array
    exponent: Array
    power: Array
    rank: Array

    @property
    def level(self) -> Array:
        """Where about a number is among those of its rank, as an exponent of 2."""
        return self.exponent + self.power * _PER_POWER

    @property
    def size(self) -> Array:
        """Where about a number is, as an exponent of 2."""
        beyond = np.copysign(2 * _POWERS * np.minimum(self.rank, 2.0**16), self.power)
        return np.where(self.rank == 0, self.level, beyond)


def compute(*arrays: Array, body: Function, result: int) -> Array:
    """Return a result of formulas of arrays of one shape and float dtype, by its place.

    Where it is no number, plain arithmetic stands: the root of what underflows to -0 is -0. What
    is made of functions stays no number: :func:`recover` is told what they are plainly.
    """
    steps, _ = _program(body, arrays[0].dtype)
    with np.errstate(all="ignore"):
        found = _left(_computed(arrays, body, result))
        none = np.isnan(found)
        if none.any() and all(word in _PLAIN for word, _ in steps):
            found[none] = _plainly([array[none] for array in arrays], body, result)
        return found


def _plainly(arrays: Sequence[Array], body: Function, result: int) -> Array:
    """Return a result of formulas of arithmetic, where each step is rounded into the range."""
    steps, results = _program(body, arrays[0].dtype)
    values = list(arrays)
    for word, operands in steps:
        given = [
            values[each] if isinstance(each, int) else arrays[0].dtype.type(each)
            for each in operands
        ]
        values.append(_PLAIN[word](*given))
    return values[results[result]]


def _computed(arrays: Sequence[Array], body: Function, result: int) -> Wide:
    steps, results = _program(body, arrays[0].dtype)
    with np.errstate(all="ignore"):
        values = [_entered(array) for array in arrays]
        for word, operands in steps:
            given = [
                values[each] if isinstance(each, int) else _entered(np.full_like(arrays[0], each))
                for each in operands
            ]
            values.append(_STEPS[word](*given))
        return values[results[result]]


def recover(
    *arrays: Array,
    body: Function,
    result: int,
    guards: int,
    witnesses: int = 0,
    guarded: tuple[int, ...] = (),
) -> Array:
    """Return one of some results of plain arithmetic, or of formulas where it is not finite.

    The plain results come first, then witnesses, then what the formulas start from, then guards.
    Where a witness is not finite the result counts as lost: it may hide that. Where a start of it
    is not finite it is not replaced, nor where a guard of it is below 0 and of moderate size: then
    there is no number. Of which results guards are ``guarded`` says, in a bit for each of them, of
    all where it says nothing. Neither is anything replaced where the formulas have none, or have a
    pole: what replaces an infinity is beyond the range, never infinite itself.
    """
    count, end = len(body.results), len(arrays) - guards
    plain, starts = arrays[result], arrays[count + witnesses : end]
    lost = ~np.isfinite(plain)
    for witness in arrays[count : count + witnesses]:
        lost = lost | ~np.isfinite(witness)
    for place in sorted(made_of(body)[result]):
        lost = lost & np.isfinite(starts[place])
    moderate = 2.0 ** MODERATE[np.dtype(plain.dtype).itemsize]
    for i, guard in enumerate(arrays[end:]):
        if guarded and not guarded[i] >> result & 1:
            continue
        lost = lost & ~((guard < -1 / moderate) & (guard > -moderate))
    if not lost.any():
        return plain
    made = np.array(plain)
    with np.errstate(all="ignore"):
        wide = _computed([start[lost] for start in starts], body, result)
        found = _left(wide)
    is_number = np.isfinite(wide.significand) & ~np.isnan(found)
    made[lost] = np.where(is_number, found, plain[lost])
    return made


@functools.lru_cache(maxsize=64)
def _program(body: Function, dtype: np.dtype[Any]) -> Steps:
    return expand(body, dtype_of(dtype))


def _entered(x: Array) -> Wide:
    significand, exponent = np.frexp(x)
    known = np.isfinite(x) & (x != 0)
    return Wide(
        np.where(known, significand, x).astype(x.dtype),
        np.where(known, exponent, 0).astype(np.float64),
        np.zeros(x.shape),
        np.zeros(x.shape),
    )


def _left(x: Wide) -> Array:
    """Return wide numbers as those of their dtype."""
    exponent = np.clip(x.size, -2000, 2000).astype(np.int32)
    made = np.ldexp(x.significand, exponent)
    hidden = (_is_unknown(x) | (x.power != 0)) & (np.abs(exponent) < 2000)
    return np.where(hidden, np.nan, made).astype(made.dtype)


def _is_unknown(x: Wide) -> Array:
    return np.asarray(np.abs(x.significand) == 1)


def _normal(significand: Array, exponent: Array, power: Array, rank: Array, unknown: Array) -> Wide:
    """Return a number of any significand, of which the digits may be unknown.

    Of an infinite power it is above all others.
    """
    inner = _entered(significand)
    special = ~np.isfinite(significand) | (significand == 0)
    wide = np.clip(inner.exponent + exponent, -_LARGEST, _LARGEST)
    rank = np.where(np.isinf(power), TOP, rank)
    most = np.where((rank == TOP) & (power != 0), np.copysign(_POWERS, power), power)
    grown = np.clip(most, -_POWERS, _POWERS)
    unknown = (unknown | (np.abs(wide) > _KNOWN) | (np.abs(grown) == _POWERS)) & ~special
    one = np.copysign(np.ones_like(significand), significand)
    return Wide(
        np.where(unknown, one, inner.significand),
        np.where(special, 0.0, wide),
        np.where(special, 0.0, grown),
        np.where(special | (grown == 0), 0.0, rank),
    )


def _neg(x: Wide) -> Wide:
    return x._replace(significand=-x.significand)


def _abs(x: Wide) -> Wide:
    return x._replace(significand=np.abs(x.significand))


def _mul(x: Wide, y: Wide) -> Wide:
    return _product(x.significand * y.significand, x, y, 1)


def _div(x: Wide, y: Wide) -> Wide:
    return _product(x.significand / y.significand, x, y, -1)


def _product(significand: Array, x: Wide, y: Wide, sign: int) -> Wide:
    """Return a product, or a quotient, of which the significand is known."""
    # where one is of a higher rank, the other is nothing beside it
    rank = np.maximum(x.rank, y.rank)
    first, second = (np.where(each.rank == rank, each.power, 0.0) for each in (x, y))
    second = sign * second
    power = first + second
    exact = (power - first == second) & (power - second == first)
    exact &= ((x.rank == rank) | (x.power == 0)) & ((y.rank == rank) | (y.power == 0))
    unknown = _is_unknown(x) | _is_unknown(y) | ~exact
    # of a quotient of two that are above all, nothing is known
    nothing = (rank == TOP) & (power == 0)
    significand = np.where(nothing, significand.dtype.type(np.nan), significand)
    return _normal(significand, x.exponent + sign * y.exponent, power, rank, unknown)


def _sqrt(x: Wide) -> Wide:
    half = np.floor(x.exponent * 0.5)
    odd = np.clip(x.exponent - 2 * half, 0, 1).astype(np.int32)
    root = np.sqrt(np.ldexp(x.significand, odd))
    return _normal(root, half, x.power * 0.5, x.rank, _is_unknown(x))


def _add(x: Wide, y: Wide) -> Wide:
    none, other_none = x.significand == 0, y.significand == 0
    one_rank = x.rank == y.rank
    same = one_rank & (x.power == y.power)
    # exact where both are of one power
    of_x, of_y = (np.where(same, z.exponent, np.where(one_rank, z.level, z.size)) for z in (x, y))
    is_y = none | (~other_none & (of_x <= of_y))
    larger = np.where(is_y, of_y, of_x)

    def aligned(z: Wide, size: Array) -> tuple[Array, Array]:
        """Return a significand, and whether it matters."""
        below = size - larger
        moved = np.ldexp(z.significand, np.clip(below, -_FAR, 0).astype(np.int32))
        return np.asarray(moved), below > -_FAR

    (a, a_counts), (b, b_counts) = aligned(x, of_x), aligned(y, of_y)
    both = a_counts & b_counts
    unknown = (_is_unknown(x) & a_counts) | (_is_unknown(y) & b_counts)
    unknown = unknown | (both & ~same & ~none & ~other_none)
    # of a difference of numbers of one size, if one is unknown, not even the sign is known
    lost = unknown & both & (a * b < 0)
    nothing = np.where(np.where(is_y, y.size, x.size) < -_NOTHING, 0.0, np.nan)
    size = np.where(lost, nothing, a + b).astype(a.dtype)
    _, exponent, power, rank = (np.where(is_y, b, a) for a, b in zip(x, y, strict=True))
    return _normal(size, exponent, power, rank, unknown)


def _sub(x: Wide, y: Wide) -> Wide:
    return _add(x, _neg(y))


def _floor(x: Wide) -> Wide:
    moved = np.clip(x.size, 0, _WHOLE).astype(np.int32)
    floor = np.floor(np.ldexp(x.significand, moved))
    whole = x.size > _WHOLE
    return _normal(
        np.where(whole, x.significand, floor),
        np.where(whole, x.exponent, 0.0),
        np.where(whole, x.power, 0.0),
        x.rank,
        _is_unknown(x),
    )


def _grown(x: Wide) -> Wide:
    """Return the exponential of a large number: a power of e."""
    known = (x.power == 0) & (x.exponent < _KNOWN) & ~_is_unknown(x)
    rank = np.where(known, np.maximum(np.floor(x.exponent / _PER_RANK), 0.0), 0.0)
    within = np.clip(x.exponent - rank * _PER_RANK, -_PER_RANK, _PER_RANK)
    power = np.ldexp(x.significand.astype(np.float64), within.astype(np.int32))
    power = np.where(known, power, np.where(x.size < 0, 0.0, np.copysign(np.inf, x.significand)))
    # of inf, -inf and nan it is exact: inf, 0 and nan
    special = ~np.isfinite(x.significand)
    exact = np.where(x.significand < 0, np.zeros_like(x.significand), x.significand)
    one = np.where(special, exact, np.ones_like(x.significand))
    return _normal(one, np.zeros_like(power), np.where(special, 0.0, power), rank, special)


def _exponent(x: Wide) -> Wide:
    """Return exponents of 2, of powers of e as well; of a power not known there is none."""
    # beside a power of a rank an exponent of 2 is nothing
    level = np.where(x.rank == 0, x.exponent, 0.0) + x.power * _PER_POWER
    found = np.where(np.abs(x.power) == _POWERS, np.nan, level).astype(x.significand.dtype)
    none = np.zeros_like(x.exponent)
    return _normal(found, x.rank * _PER_RANK, none, none, np.zeros(x.exponent.shape, bool))


def _significand(x: Wide) -> Wide:
    """Return significands; of one that is not known there is 1/2, as next to its exponent."""
    half = np.copysign(x.significand.dtype.type(0.5), x.significand)
    zeros = np.zeros_like(x.exponent)
    return Wide(np.where(_is_unknown(x), half, x.significand), zeros, zeros, zeros)


def _scale(x: Wide, y: Wide) -> Wide:
    """Return x * 2**y of a whole number y."""
    value = _left(y)
    nan = np.isnan(value)
    return _normal(
        np.where(nan, value, x.significand),
        np.where(nan, 0.0, x.exponent + value.astype(np.float64)),
        np.where(nan, 0.0, x.power),
        x.rank,
        _is_unknown(x),
    )


def _truth(condition: Array, like: Array) -> Wide:
    return _entered(condition.astype(like.dtype))


def _lt(x: Wide, y: Wide) -> Wide:
    size = _sub(x, y).significand
    same = (x.significand == y.significand) & np.isinf(x.significand)
    size = np.where(same, np.zeros_like(size), size)  # an infinity is not below itself
    made = _truth(size < 0, size)
    return made._replace(significand=np.where(np.isnan(size), size, made.significand))


def _eq(x: Wide, y: Wide) -> Wide:
    same = np.logical_and.reduce([a == b for a, b in zip(x, y, strict=True)])
    return _truth(same, x.significand)


def _select(condition: Wide, x: Wide, y: Wide) -> Wide:
    """Return x or y, and what is no number where the condition is none."""
    chosen, nan = condition.significand != 0, np.isnan(condition.significand)
    significand, *exponents = (np.where(chosen, a, b) for a, b in zip(x, y, strict=True))
    exponent, power, rank = (np.where(nan, 0.0, each) for each in exponents)
    return Wide(np.where(nan, condition.significand, significand), exponent, power, rank)


_PLAIN: dict[str, Callable[..., Array]] = {
    "neg": np.negative, "abs": np.abs, "sqrt": np.sqrt, "add": np.add, "sub": np.subtract,
    "mul": np.multiply, "div": np.divide,
}  # fmt: skip
_STEPS: dict[str, Callable[..., Wide]] = {
    "neg": _neg, "abs": _abs, "sqrt": _sqrt, "add": _add, "sub": _sub, "mul": _mul, "div": _div,
    "floor": _floor, "exponent": _exponent, "significand": _significand, "scale": _scale,
    "lt": _lt, "eq": _eq, "select": _select, "grown": _grown,
}  # fmt: skip
