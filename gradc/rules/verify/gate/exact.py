"""Exact real values of a graph at points, and limits towards points, by balls."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gradc.rules.verify.arithmetic import Wide
from gradc.rules.verify.balls import (
    PRECISIONS,
    Ball,
    Undecided,
    balls,
    digits,
    growing,
    is_nan,
    rounded,
)
from gradc_ir.core.graph import Function
from gradc_ir.core.types import Array
from gradc_ir.graphs.subgraph import closed
from gradc_ir.interpreter.interpret import interpret

# What makes the arrays of a graph from columns, a row a coordinate.
Assemble = Callable[[Array], list[Array]]

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
# Bits of a number that is known well, though not what it rounds to.
_ENOUGH = 100
# Numbers whose exponentials take too many digits, squares of some or themselves, and how far equal
# numbers are apart.
_HUGE = (1e5, 1e2)
_MODERATE = 24.0
_EQUAL = 2.0**-45
# A limit other than zero is met to this, or each step is so much nearer, as of 1/log(x).
_CLOSE = 2.0**-20
_NEARER = 0.75
_AS_MUCH = 0.95
# Numbers beyond whose exponentials infinity can be.
_BEYOND = 1000.0
# What keeps large numbers from being whole.
_NO_POLE = 1.07
# How much nearer to a number other than zero than to zero.
_BESIDE = 2.0**-60


@dataclass(frozen=True)
class Exact:
    """A number in a ball, the float that it rounds to, and its sign.

    The float is infinite beyond the largest one and at a pole, nan where there is no real number.
    """

    ball: Any
    value: float
    sign: int

    @property
    def is_real(self) -> bool:
        """Whether it is a real number."""
        return bool(self.ball.is_finite())


@dataclass(frozen=True)
class RealFunction:
    """A graph as a function of real numbers, computed in balls.

    The graph is for any number of points; ``assemble`` makes its arrays of columns of coordinates.
    ``meant`` are doubles in it that stand for other numbers, such as e, with what makes their
    balls.
    """

    graph: Function
    assemble: Assemble
    meant: Mapping[float, Callable[[], Any]] = field(default_factory=dict)

    def column(
        self, result: int, columns: Array, precisions: Sequence[int] = PRECISIONS
    ) -> list[Exact | None]:
        """Return one exact column of the results at points, by no more than it takes."""
        for i, type_ in enumerate(self.graph.result_types):
            width = math.prod(size for size in type_.shape[1:] if isinstance(size, int))
            if result < width:
                alone = replace(self, graph=_only(self.graph, i))
                found = alone.values(columns, precisions)
                return found[result] if found else [None] * columns.shape[1]
            result -= width
        raise IndexError("there are not so many columns")

    def values(
        self, columns: Array, precisions: Sequence[int] = PRECISIONS
    ) -> list[list[Exact | None]]:
        """Return the exact columns of the results at points, None where not known.

        Each point is computed in more and more digits, until all that is asked of it is known.
        """
        count = columns.shape[1]
        found: list[list[Exact | None]] = []
        todo = list(range(count))
        for precision in growing(precisions):
            undecided = []
            # what few digits leave open, more of them often do too: then each point is alone
            together = [todo] if precision == precisions[0] else [[place] for place in todo]
            for places, results in (
                one for some in together for one in self._pieces(columns, some)
            ):
                if results is None:
                    undecided += places
                    continue
                while len(found) < len(results):
                    found.append([None] * count)
                for i, place in enumerate(places):
                    numbers = [_exact(result[i]) for result in results]
                    for made, number in zip(found, numbers, strict=True):
                        made[place] = number
                    if None in numbers:
                        undecided.append(place)
            todo = undecided
            if not todo:
                break
        return found

    def _pieces(
        self, columns: Array, places: list[int]
    ) -> Iterator[tuple[list[int], list[list[Any]] | None]]:
        """Yield places and their results; None where comparisons are not decided."""
        if not places:
            return
        numbers = balls()
        if self.meant:
            numbers = Wide(object, self._number, numbers.meanings)
        arrays = [balls().wide(array) for array in self.assemble(columns[:, places])]
        try:
            results = interpret(self.graph, arrays, numbers)
            yield places, [column.tolist() for column in columns_of(results, len(places))]
        except (Undecided, ArithmeticError, ValueError, NotImplementedError):
            if len(places) == 1:
                yield places, None
                return
            part = -(-len(places) // 8)
            for start in range(0, len(places), part):
                yield from self._pieces(columns, places[start : start + part])

    def _number(self, x: Any) -> Any:
        """Return the ball of a number that stands in the graph."""
        if isinstance(x, Ball):
            return x
        make = self.meant.get(float(x))
        return Ball(float(x)) if make is None else make()


def _exact(number: Any) -> Exact | None:
    value = rounded(number)
    if math.isnan(value) and not is_nan(number):
        if not number.is_finite() or number.rel_accuracy_bits() < _ENOUGH:
            return None
        value = float(number)  # half way between two floats: either will do
    return Exact(number, value, 1 if number > 0 else -1 if number < 0 else 0)


@lru_cache(maxsize=64)
def _only(function: Function, result: int) -> Function:
    return closed(function, function.name, function.params, [function.results[result]])


def columns_of(results: Sequence[Array], count: int) -> list[Array]:
    """Return vectors, one a column of each result, which has a row a point."""
    return [column for result in results for column in result.reshape(count, -1).T]


# -- limits ----------------------------------------------------------------------------------------


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
    range. ``one_sided``: zeros are met from the sides of their signs alone.
    """
    paths = _paths(point, moving, one_sided)
    for scale in _scales(point):
        found = _is_limit(function, point, paths, scale, result, _Wanted(limit, ends, one_sided))
        if found is not None:
            return found
    return False


def is_opposite(function: RealFunction, point: Array, result: int, i: int) -> bool:
    """Whether a result has opposite values on both sides of a coordinate."""
    if not np.isfinite(point.astype(np.float64)).all():
        return False
    columns = np.empty((len(point), 2), dtype=object)
    columns[:] = [[Ball(float(x))] * 2 for x in point]
    step = _scales(point)[0].near * 2.0**-40
    columns[i] = [columns[i][0] + step, columns[i][0] - step]
    values = function.column(result, columns, _PRECISIONS)
    if None in values:
        return False
    left, right = (number.ball for number in values if number is not None)
    return bool(abs(left + right) <= _CLOSE * abs(left))


class Ends(NamedTuple):
    """The smallest number that is told from 0, and the largest from infinity."""

    least: float
    most: float


class _Wanted(NamedTuple):
    limit: float
    ends: Ends
    one_sided: bool


class _Scale(NamedTuple):
    """Beyond what infinite coordinates are, and below what zeros are."""

    far: Any
    near: float


def _scales(point: Array) -> list[_Scale]:
    """Return scales of paths: the next one is for where the digits do not suffice.

    Infinity is beyond all that is finite, best beyond its exponentials, and zero below all that is
    not; next best is that it is beyond their logarithms.
    """
    sizes = [abs(float(x)) for x in point if np.isfinite(x) and x != 0]
    far = max([1.0, *sizes])
    near = min([1.0 / far, *sizes])
    found = [_Scale(far, near), _Scale(far, 1.0), _Scale(1.0 + 4 * math.log2(far), 1.0)]
    if np.isinf(point).any() and 1 < far < _BEYOND:
        found.insert(0, _Scale(Ball(2) ** math.ceil(3 * far), near))
    if far <= 1:
        found.append(_Scale(0.0625, 1.0))  # exponentials of squares take many digits
    return found


def _is_limit(
    function: RealFunction,
    point: Array,
    paths: Sequence[Path],
    scale: _Scale,
    result: int,
    wanted: _Wanted,
) -> bool | None:
    """Whether a result tends to a limit along paths of a scale, None where it is not known."""
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
                        return False
            todo = undecided
        unknown += todo
    return True if met > len(unknown) else None


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


def exact_by_new_form(naive: RealFunction, new: RealFunction, point: Array) -> list[Exact | None]:
    """Return the exact results of a new form where the digits of the naive one do not suffice.

    That is for huge numbers: in their place stand such as can be computed with, and only if the two
    forms agree in all digits there is the new one asked. None where it is not.
    """
    size = np.abs(point.astype(np.float64))
    found: list[Exact | None] = []
    if not np.isfinite(size).all():
        return found
    for least in _HUGE:
        if (size > least).any():
            more = _by_smaller(naive, new, point, size > least)
            found = [one or two for one, two in zip(found, more)] or more
            if found and None not in found:
                break
    return found


def _by_smaller(
    naive: RealFunction, new: RealFunction, point: Array, huge: Array
) -> list[Exact | None]:
    size = np.abs(point.astype(np.float64))
    logs = np.log2(np.where(huge, size, 2))
    smaller = np.sign(point) * np.where(logs > _MODERATE, _MODERATE - _MODERATE / logs, logs)
    near = np.stack([np.where(huge, smaller * scale, point) for scale in (0.125, 0.5, 1)], axis=1)
    at = new.values(point[:, np.newaxis])
    ones, others = naive.values(near), new.values(near)
    if not at or not ones or not others:
        return []
    return [
        here[0] if all(map(_same, one, two)) else None
        for here, one, two in zip(at, ones, others, strict=True)
    ]


def _same(one: Exact | None, other: Exact | None) -> bool:
    if one is None or other is None:
        return False
    if not one.is_real or not other.is_real:
        return one.is_real == other.is_real
    with digits(_DIGITS):
        off = abs(one.ball - other.ball)
        return bool(off <= _EQUAL * abs(one.ball) + Ball(2.0**-1074))


# How a coordinate moves: sign, rate and factor; None where it stays.
Move = tuple[int, float, int] | None
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
