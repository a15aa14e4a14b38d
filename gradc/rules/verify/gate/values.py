"""The special values of a variable, and points that combine them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from zlib import crc32

import numpy as np

from gradc_ir.core.types import Array, DType

# What is special in either precision, and where exponentials of each over- and underflow.
_COMMON = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 10.0, 40.0)
_EDGES = {DType.F64: (709.75, 710.5, 745.5), DType.F32: (88.5, 89.5, 104.5)}
# Three or more variables: each pair of values meets in each pair of variables about so often, and
# there are at most so many points.
_MOST_POINTS = 6000


@cache
def special_values(dtype: DType) -> Array:
    """Return the special values of a float dtype, of both signs, and nan at the end."""
    info = np.finfo(dtype.numpy.name)
    one, zero, two = np.array([1, 0, 2], dtype.numpy)
    tiny, largest = float(info.tiny), float(info.max)
    positive = [
        0.0,
        float(info.smallest_subnormal),
        tiny / 8 + float(info.smallest_subnormal),
        tiny,
        float(np.sqrt(info.tiny)) / 2,
        float(info.eps) / 4,
        float(np.nextafter(one, zero)),
        float(np.nextafter(one, two)),
        *_COMMON,
        *(k * np.pi / 2 for k in (1, 2, 3, 4)),
        *_EDGES[dtype],
        float(np.sqrt(info.max)) * 2,
        largest / 4,
        largest,
        np.inf,
    ]
    signed = [sign * number for number in positive for sign in (1.0, -1.0)]
    return np.array([*signed, np.nan], dtype=dtype.numpy)


def grid(axes: Sequence[Array], seed: str = "", most: int = _MOST_POINTS) -> list[Array]:
    """Return points, a vector an axis: every combination of one or two axes of values.

    For three and more, and where combinations are more than ``most``, each value of an axis meets
    some values of each other one; ``seed`` tells which.
    """
    count = int(np.prod([len(axis) for axis in axes]))
    if count <= most:
        return [each.ravel() for each in np.meshgrid(*axes, indexing="ij")]
    random = np.random.Generator(np.random.PCG64(crc32(seed.encode())))
    longest = max(map(len, axes))
    turns = max(1, most // longest)
    # permutations, so that every value of every axis comes up equally often
    drawn = [
        np.concatenate([random.permutation(np.resize(axis, longest)) for _ in range(turns)])
        for axis in axes
    ]
    return drawn
