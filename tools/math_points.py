"""Arguments at which the emitted math functions are measured: any bits, ordinary sizes, borders.

Where a function is hard elsewhere (angles next to multiples of π/2, powers just below overflow) a
row of ``HARD`` makes its arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

from gradc_ir.core.types import DType

Array = NDArray[Any]
Random = np.random.Generator


def points(
    name: str,
    dtype: DType,
    count: int,
    centres: Sequence[float],
    reach: float,
    operands: int = 1,
    seed: int = 0,
) -> list[Array]:
    """Return an array for each operand of a function.

    Parameters
    ----------
    name: the function's, by which its hard arguments are found.
    count: about how many numbers are random.
    centres: arguments where the function changes its face.
    reach: how far out it grows or shrinks to nothing.
    """
    random = np.random.default_rng(seed)
    columns = [_numbers(random, dtype, count, centres, reach) for _ in range(operands)]
    for column in columns[1:]:
        random.shuffle(column)
    if name in PUBLISHED and dtype is DType.F64:
        hardest = np.array([float.fromhex(x) for x in PUBLISHED[name].split()])
        columns = [np.concatenate([column, hardest]) for column in columns]
    if name in HARD:
        with np.errstate(all="ignore"):
            further = [np.asarray(x, dtype.numpy) for x in HARD[name](random, dtype, count)]
        columns = [np.concatenate(pair) for pair in zip(columns, further)]
    return columns


def _numbers(
    random: Random, dtype: DType, count: int, centres: Sequence[float], reach: float
) -> Array:
    kind = dtype.numpy.type
    bits = np.dtype(f"u{np.dtype(kind).itemsize}")
    any_bits = random.integers(0, np.iinfo(bits).max, count // 2, bits, True).view(kind)
    spread = [random.uniform(-size, size, count // 8) for size in (0.5, 2.0, 20.0, reach)]
    near = [c + s * 2.0 ** random.uniform(-60, 0, count // 8) for c in centres for s in (-1, 1)]
    limits = np.finfo(kind)
    steps = np.arange(-1100, 1100) / 2
    borders = [
        [0.0, limits.smallest_subnormal, limits.tiny, limits.max, np.inf, 1.0, 2.0, 10.0, 1e3],
        steps, steps * np.log(2), 2.0 ** np.clip(steps, -1020, 1020), [2**0.5, 0.5**0.5, *centres],
    ]  # fmt: skip
    with np.errstate(over="ignore", under="ignore"):
        rounded = np.concatenate([*spread, *near, *borders]).astype(kind)
        edges = np.concatenate(borders).astype(kind)
        around = [np.nextafter(edges, kind(to)) for to in (-np.inf, np.inf)]
    found = np.concatenate([any_bits, rounded, *around])
    return np.concatenate([found, -found[-10_000:]])


def _angles(random: Random, dtype: DType, count: int) -> list[Array]:
    """Return multiples of π/4, and of each exponent the numbers nearest to a multiple of π/2."""
    limit = 1e6 if dtype is DType.F64 else 1e5
    multiples = random.integers(1, int(limit), count // 8) * (np.pi / 4)
    about = limit * random.uniform(0.9, 1.1, count // 8)
    return [np.concatenate([multiples, about, _nearest_to_multiples(dtype)])]


@functools.cache
def _nearest_to_multiples(dtype: DType) -> list[float]:
    limits = np.finfo(dtype.numpy)
    return [
        k * 2.0**exponent
        for exponent in range(-limits.nmant, limits.maxexp - limits.nmant)
        for k in _denominators(exponent, limits.nmant + 1)[-3:]
    ]


def _denominators(exponent: int, bits: int) -> list[int]:
    """Return integers k of so many bits that make k 2**exponent close to a multiple of π/2.

    They are denominators of the continued fraction of 2**exponent / (π/2).
    """
    found: list[int] = []
    with mpmath.workprec(1300):
        rest = mpmath.ldexp(2 / mpmath.pi, exponent)
        before, denominator = 1, 0
        while True:
            whole = int(mpmath.floor(rest))
            before, denominator = denominator, whole * denominator + before
            if denominator >> bits:
                return found
            found.append(denominator)
            rest = 1 / (rest - whole)


def _powers(random: Random, dtype: DType, count: int) -> list[Array]:
    """Return bases near 1 and far from it, with exponents for results of all sizes."""
    limits = np.finfo(dtype.numpy)
    reach = np.log(2) * (limits.maxexp + limits.nmant + 3)
    wide = 2.0 ** random.uniform(-limits.maxexp, limits.maxexp, count)
    near = 1 + random.choice([-1, 1], count) * 2.0 ** random.uniform(-limits.nmant, -1, count)
    base = np.concatenate([wide, random.uniform(0.5, 2, count), near]).astype(dtype.numpy)
    exponent = random.uniform(-reach, reach, len(base)) / np.log(base.astype(float))
    # of negative bases integers, and of all kinds of bases small ones and halves
    whole = random.integers(-40, 40, count)
    small = random.uniform(-9, 9, count)
    bases = [base, -small, random.integers(1, 30, count), np.abs(small)]
    return [np.concatenate(bases), np.concatenate([exponent, whole, whole / 2, small[::-1]])]


def _points(random: Random, dtype: DType, count: int) -> list[Array]:
    """Return points of the plane whose coordinates are of similar size, from tiny to huge ones."""
    limits = np.finfo(dtype.numpy)
    size = 2.0 ** random.uniform(limits.minexp - limits.nmant, limits.maxexp, count)
    angle = random.uniform(-np.pi, np.pi, count)
    apart = 2.0 ** random.uniform(-limits.nmant - 9, 0, count)
    one, other = random.choice([-1, 1], (2, count))
    x = np.concatenate([size * np.cos(angle), one * size, one * apart])
    y = np.concatenate([size * np.sin(angle), other * size * apart, other * np.ones(count)])
    return [x, y]


HARD: dict[str, Callable[[Random, DType, int], list[Array]]] = {
    "sin": _angles,
    "cos": _angles,
    "tan": _angles,
    "pow": _powers,
    "hypot": _points,
    "hypot_infinity_wins": _points,
    "atan2": _points,
}
"""Name of a function -> further arguments, an array for each operand."""

# Numbers whose value lies closest to the middle of two floats: a selection of those that V. Lefèvre
# and J.-M. Muller computed, *Worst cases for correct rounding of the elementary functions in double
# precision*, 2001 and 2003.
PUBLISHED: dict[str, str] = {
    "exp": "-0x1.e8bdbfcd9144ep3 -0x1.290ea09e36479p-3 0x1.9e9cbbfd6080bp-31 0x1.d6336a88077aap0",
    "exp2": "0x1.16a76ec41b516p-1 0x1.b32a6c92d1185p-1 0x1.25dd9eedac79ap0",
    "log": "0x1.0000000000001p0 0x1.918da1f547f6ep2 0x1.ac50b409c8aeep8 0x1.de7cd6751029ap16",
    "sin": "0x1.e0000000001c2p-20 0x1.598bae9e632f6p-7 0x1.fe767739d0f6dp-2 0x1.6756745770a51p1",
    "cos": "0x1.8000000000009p-23 0x1.06b505550e6b2p-9 0x1.c65a170474549p-1 0x1.6b8a6273d7c21p0",
    "tan": "0x1.dffffffffff1fp-22 0x1.50486b2f87014p-5 0x1.46ac372243536p-1",
    "asin": "0x1.dfffffffff02ep-20 0x1.9259e3708bd3ap-5 0x1.e264357ea0e29p-1",
    "acos": "0x1.fd737be914578p-11 0x1.4182199998587p-1 0x1.f10fc61e2c78fp-1",
    "atan": "0x1.e000000000546p-21 0x1.22e8d75e2bc7fp-11 0x1.7ba49f739829fp-1",
}
