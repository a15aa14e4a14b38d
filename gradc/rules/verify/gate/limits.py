"""Limits of a graph towards points, along many paths, by balls."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gradc.rules.verify.balls import (
    Ball,
    digits,
    is_nan,
)
from gradc.rules.verify.gate.exact import RealFunction
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.types import Array

# Paths are followed to these distances, as exponents of two: so far that exponentials are at their
# ends, and not so far that what differs from 1 by one of them takes more digits than there are.
_STEPS = (4.0, 6.5, 9.0)
# How fast another coordinate goes, to zero (or its number) and to infinity.
_TO_ZERO = (2.0, 3.0, 1 / 3)
_TO_INFINITY = (1.5, 2 / 3)
# What is finite goes so fast that the limit is met in most digits.
_FAST = 10.0
_MOST_PATHS = 48
_FIRST_PATHS = 8
_PRECISIONS = (128, 1408, 9216)
_DIGITS = 60
# Numbers whose exponentials take too many digits, themselves or of their squares.
HUGE = (1e5, 50.0)
# A limit other than zero is met to this, or each step is so much nearer, as of 1/log(x).
_CLOSE = 2.0**-20
_NEARER = 0.75
_AS_MUCH = 0.95
# Numbers below one over whose exponentials zero can be.
_BEYOND = 1000.0
# What keeps large numbers from being whole.
_NO_POLE = 1.07
# How much nearer to a number other than zero than to zero.
_BESIDE = 2.0**-60


def is_limit(
    function: RealFunction,
    point: Array,
    moving: Sequence[bool],
    result: int,
    limit: float,
    ends: Ends,
    *,
    one_sided: bool = False,
) -> bool:
    """Whether a result tends to a limit along every path to a point, and there are such paths.

    Paths come from both sides, at different rates; those on which the result is not real lie
    outside of its domain. Coordinates that are not ``moving`` stay. ``ends`` are those of the
    range. ``one_sided``: zeros are met from the sides of their signs alone. Where no path is real,
    as for powers of negative numbers, infinity is met through whole numbers, even and odd ones.
    """
    wanted = _Wanted(limit, ends, one_sided)
    paths = _paths(point, moving, one_sided)
    tried = []
    for scale in _scales(point):
        found = _is_limit(function, point, paths, scale, result, wanted)
        if found.is_limit is not None:
            return found.is_limit
        tried.append(found)
    is_real = any(found.met for found in tried) or not any(found.is_nowhere for found in tried)
    if is_real or not np.isinf(point).any():
        return False
    whole = _whole_paths(point)
    made = (_is_limit(function, point, whole, s, result, wanted) for s in _scales(point))
    return next((found.is_limit for found in made if found.is_limit is not None), False)


def is_opposite(function: RealFunction, point: Array, result: int, i: int) -> bool:
    """Whether a result has opposite values on both sides of a coordinate."""
    if not np.isfinite(point.astype(np.float64)).all():
        return False
    columns = np.empty((len(point), 2), dtype=object)
    columns[:] = [[Ball(float(x))] * 2 for x in point]
    step = _sizes(point)[1] * 2.0**-40
    columns[i] = [columns[i][0] + step, columns[i][0] - step]
    values = function.column(result, columns, _PRECISIONS)
    if None in values:
        return False
    left, right = (number.ball for number in values if number is not None)
    return bool(abs(left + right) <= _CLOSE * abs(left))


def with_huge_as_infinite(point: Array) -> Array:
    """Return a point with infinities in place of numbers whose exponentials take too many digits.

    What is not known there for the digits it takes is known as a limit.
    """
    huge: Any = np.abs(point) > HUGE[0]
    return np.where(huge, np.copysign(np.inf, point), point).astype(point.dtype)


class Ends(NamedTuple):
    """The smallest number that is told from 0, and the largest from infinity."""

    least: float
    most: float


class _Wanted(NamedTuple):
    limit: float
    ends: Ends
    one_sided: bool


class _Found(NamedTuple):
    """Whether a limit is met, None where that is not known; on how many paths; on none, surely."""

    is_limit: bool | None
    met: int
    is_nowhere: bool = False


class _Scale(NamedTuple):
    """Beyond what infinite coordinates are, and below what zeros are."""

    far: Any
    near: Any


def _scales(point: Array) -> list[_Scale]:
    """Return scales of paths: the next one is for where the digits do not suffice.

    Infinity is beyond all that is finite, best beyond its exponentials, and zero below all that is
    not, best below one over them; next best is that it is beyond their logarithms.
    """
    far, near = _sizes(point)
    found = [_Scale(far, near), _Scale(far, 1.0), _Scale(1.0 + 4 * math.log2(far), 1.0)]
    if far > 1:
        with digits(1000):
            beyond = Ball(2) ** (3 * math.ceil(far))
        below = 1 / beyond if far < _BEYOND and (point == 0).any() else near
        if np.isinf(point).any() or below is not near:
            found.insert(0, _Scale(beyond, below))
    if far <= 1:
        found.append(_Scale(0.0625, 1.0))  # exponentials of squares take many digits
    return found


def _sizes(point: Array) -> tuple[float, float]:
    """Return the largest of all numbers of a point that are finite, and the smallest but zero."""
    sizes = [abs(float(x)) for x in point if np.isfinite(x) and x != 0]
    far = max([1.0, *sizes])
    return far, min([1.0 / far, *sizes])


def _is_limit(
    function: RealFunction,
    point: Array,
    paths: Sequence[Path],
    scale: _Scale,
    result: int,
    wanted: _Wanted,
) -> _Found:
    """Tell whether a result tends to a limit along paths of a scale."""
    met = 0
    unknown: list[Path] = []
    # the first few paths settle most questions, and few digits most paths
    for some in (paths[:_FIRST_PATHS], paths[_FIRST_PATHS:]):
        todo: Sequence[Path] = some
        for precision in _PRECISIONS:
            undecided = []
            for path, known in _along(function, point, todo, scale, result, precision):
                if known is None:
                    undecided.append(path)  # what is zero cannot be told from what is tiny
                elif not any(map(is_nan, known)):
                    with digits(_DIGITS):
                        tends = _tends(known, wanted)
                    if tends:
                        met += 1
                    elif result == 0 or _has_value(function, point, path, scale):
                        return _Found(False, met)
            todo = undecided
        unknown += todo
    is_nowhere = len(paths) > met + 2 * len(unknown)
    return _Found(True if met > len(unknown) else None, met, is_nowhere)


def _has_value(function: RealFunction, point: Array, path: Path, scale: _Scale) -> bool:
    """Whether the value may be real on a path: where it is not, a derivative is but a guard's."""
    ((_, known),) = _along(function, point, [path], scale, 0, _PRECISIONS[-1])
    return known is None or all(number.is_finite() for number in known)


def _along(
    function: RealFunction,
    point: Array,
    paths: Sequence[Path],
    scale: _Scale,
    result: int,
    precision: int,
) -> Iterator[tuple[Path, list[Any] | None]]:
    """Yield each path with a result at each step of it, None where one is not known."""
    # what few digits leave open, more of them often do too: then each path is alone
    together = max(1, len(paths)) if precision == _PRECISIONS[0] else 1
    for start in range(0, len(paths), together):
        some = paths[start : start + together]
        with digits(1000):
            columns = np.empty((len(point), len(some) * len(_STEPS)), dtype=object)
            columns[:] = np.transpose(
                [
                    [_moved(x, by, step, scale) for x, by in zip(point, path)]
                    for path in some
                    for step in _STEPS
                ]
            )
        values = function.column(result, columns, [precision])
        for i, path in enumerate(some):
            on_path = values[i * len(_STEPS) : (i + 1) * len(_STEPS)]
            known = [number.ball for number in on_path if number is not None]
            yield path, known if len(known) == len(on_path) else None


class Whole(NamedTuple):
    """A way to infinity through whole numbers, even or odd ones."""

    is_odd: bool


# How a coordinate moves: sign, rate and factor, or through whole numbers; None where it stays.
Move = tuple[int, float, int] | Whole | None
Path = tuple[Move, ...]


def _paths(point: Array, moving: Sequence[bool], one_sided: bool) -> list[Path]:
    """Return how the coordinates move on each path; no infinite one stays.

    All move as they do, on a diagonal too, and slowly; then each in turn at another rate or not
    at all.
    """
    free = [i for i, moves in enumerate(moving) if moves]
    slow = {i: (1.0, 1) for i in free}
    usual = {i: (_rate(point, i), 2 * k + 1) for k, i in enumerate(free)}
    styles = [usual, {i: (rate, 1) for i, (rate, _) in usual.items()}, slow]
    for i in free if len(free) > 1 else ():
        rates = _TO_INFINITY if np.isinf(point[i]) else (*_TO_ZERO, 0.0)
        styles += [{**usual, i: (usual[i][0] * rate, 3)} for rate in rates]
    found: dict[Path, None] = {}
    for style in styles:
        signs = [_signs(point[i], one_sided) if style[i][0] else (1,) for i in free]
        for chosen in itertools.product(*signs):
            path: list[Move] = [None] * len(point)
            for i, sign in zip(free, chosen, strict=True):
                rate, factor = style[i]
                path[i] = (sign, rate, factor) if rate else None
            found[tuple(path)] = None
    return list(found)[:_MOST_PATHS]


def _whole_paths(point: Array) -> list[Path]:
    """Return paths on which infinite coordinates are whole and finite ones stay."""
    both: list[Move] = [Whole(False), Whole(True)]
    return list(itertools.product(*(both if np.isinf(x) else [None] for x in point)))


def _rate(point: Array, i: int) -> float:
    """Return how fast a coordinate goes: a zero as fast as others go to infinity."""
    if np.isinf(point[i]) or (point[i] == 0 and np.isinf(point).any()):
        return 1.0
    return _FAST


def _signs(x: float, one_sided: bool) -> tuple[int, ...]:
    if np.isinf(x):
        return (1,)
    if x == 0 and one_sided:
        return (-1,) if np.signbit(x) else (1,)
    return (1, -1)


def _moved(x: float, by: Move, step: float, scale: _Scale) -> Any:
    if by is None:
        return Ball(float(x))
    if isinstance(by, Whole):
        far = 2 * math.ceil(min(float(scale.far), HUGE[0])) * 2 ** math.ceil(step) + by.is_odd
        return Ball(far if x > 0 else -far)
    sign, rate, factor = by
    # a number of few bits: its logarithm, not itself, is what matters
    small = Ball(sign * factor * 2.0 ** -(step * rate))
    if np.isinf(x):
        return Ball(scale.far) * Ball(math.copysign(_NO_POLE, x) * 2.0 ** (step * rate)) / factor
    if x == 0:
        return Ball(scale.near) * small
    # so little that no other number that is special, such as a pole, lies between
    return Ball(float(x)) + small * min(1.0, abs(float(x))) * _BESIDE


def _tends(numbers: Sequence[Any], wanted: _Wanted) -> bool:
    first, second, third = numbers
    limit, (least, most), one_sided = wanted
    if math.isinf(limit):
        if any((number > 0) is not (limit > 0) for number in numbers):
            return False
        if not third.is_finite() or abs(third) > Ball(most):
            return True
        if abs(third) * _NEARER > abs(second) and abs(second) * _NEARER > abs(first):
            return True
        # it grows as a logarithm does, as much with each step
        before, behind = abs(second) - abs(first), abs(third) - abs(second)
        return bool(before > 0 and behind > before * _AS_MUCH)
    if not all(number.is_finite() for number in numbers):
        return False
    off = [abs(number - Ball(limit)) for number in numbers]
    if one_sided and limit == 0 and third != 0 and bool(third < 0) != np.signbit(limit):
        return False
    if bool(off[2] <= max(_CLOSE * abs(limit), least)):
        return True
    return bool(off[2] < off[1] * _NEARER and off[1] < off[0] * _NEARER)
