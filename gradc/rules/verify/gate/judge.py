"""The verdict on a graph that stands in place of another: at special values, point by point."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np

from gradc.rules.verify.balls import Ball, is_nan
from gradc.rules.verify.gate.exact import (
    Assemble,
    Exact,
    RealFunction,
    columns_of,
)
from gradc.rules.verify.gate.excuses import Instance, excuse
from gradc.rules.verify.gate.forms import exact_by_new_form
from gradc.rules.verify.gate.limits import (
    Ends,
    is_limit,
    is_opposite,
    with_huge_as_infinite,
)
from gradc.rules.verify.gate.outside import is_outside
from gradc.rules.verify.gate.partials import size_of_partials
from gradc_ir.core.graph import Function
from gradc_ir.core.types import Array
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.meaning.ulp_distance import bits_between, same_bits

# What a rounding more or less may do at a single point, in bits.
TOLERANCE = 2.0
# Beside nan this stands for infinity, and these numbers for nan.
_FAR = 1000.0
_USUAL = (0.7, -1.3, 2.1)


@dataclass(frozen=True)
class Failure:
    """A point at which a new form is wrong: what is asked, and what was found beside the naive.

    ``truth`` is the exact value rounded, None where there is none. ``bits`` is how far the new
    number is from it, or from the naive one.
    """

    what: str
    point: Mapping[str, float]
    naive: float
    new: float
    truth: float | None
    bits: float

    def __str__(self) -> str:
        at = ", ".join(f"{name} = {x!r}" for name, x in self.point.items())
        truth = "no real value" if self.truth is None else repr(self.truth)
        return f"{self.what} at {at}: naive {self.naive!r}, new {self.new!r}, truth {truth}"


@dataclass(frozen=True)
class Judged:
    """How many numbers were compared, how many differ, the failures, and what was excused."""

    compared: int
    differing: int
    failures: tuple[Failure, ...]
    excused: Mapping[str, int]


@dataclass(frozen=True)
class Case:
    """A naive graph, points, and how results are called.

    The ``graph`` is for any number of points; ``columns`` has a row a coordinate and a column a
    point; ``assemble`` makes the arrays of the graph of it. ``labels`` name columns of the results,
    which have a row a point; those of derivatives begin with ``d/``. Coordinates that are not
    ``moving`` are the same in limits. ``meant``: see :class:`RealFunction`.
    """

    graph: Function
    assemble: Assemble
    columns: Array
    labels: Sequence[str]
    moving: Sequence[bool]
    coordinates: Sequence[str]
    meant: Mapping[float, Callable[[], Any]] = field(default_factory=dict)

    def judge(
        self,
        new: Function,
        tolerance: float = TOLERANCE,
        most: int | None = None,
        *,
        without: Callable[[], Function] | None = None,
        patched: bool = False,
    ) -> Judged:
        """Judge a graph of the same parameters and results as the naive one.

        Of differing points, ``most`` are looked into, as many in each column of the results.
        ``without`` makes the naive graph behind the passes that the new one is behind, if it is
        needed: what these do by themselves is not judged. ``patched``: the new graph is one of
        naive derivatives of which only some parts are new.
        """
        count = self.columns.shape[1]
        arrays = self.assemble(self.columns)
        with np.errstate(all="ignore"):
            olds, news = (
                [_numbers(column) for column in columns_of(interpret(graph, arrays), count)]
                for graph in (self.graph, new)
            )
        has_nan: Any = np.isnan(self.columns.astype(np.float64)).any(axis=0)
        wanted: dict[int, list[int]] = {}
        differing = 0
        for i, (old, made) in enumerate(zip(olds, news, strict=True)):
            places = np.flatnonzero(~agree(old, made, tolerance))
            differing += len(places)
            # what a nan operand makes is nearly always nan, without a truth
            plain = has_nan[places]
            asked = places[~plain]
            share = len(asked) if most is None else max(1, most // len(olds))
            step = max(1, -(-len(asked) // max(1, share)))
            for place in [*asked[::step].tolist(), *places[plain].tolist()]:
                wanted.setdefault(place, []).append(i)
        exact = self._exact(new, sorted(wanted))
        without = None if without is None else cache(without)
        excused: Counter[str] = Counter()
        failures = []
        for place, results in wanted.items():
            for one in self._wrong(
                place, results, olds, news, exact.get(place), tolerance, patched=patched
            ):
                found = excuse(one)
                if found is not None:
                    excused[found.name] += 1
                elif without is None or not self._is_from(without, place, one, tolerance):
                    failures.append(_failure(one, news[0].dtype))
        return Judged(sum(map(len, olds)), differing, tuple(failures), excused)

    def _is_from(
        self, without: Callable[[], Function], place: int, one: Instance, tolerance: float
    ) -> bool:
        """Whether the graph of the same passes has the new number at a point."""
        arrays = self.assemble(self.columns[:, [place]])
        with np.errstate(all="ignore"):
            found = columns_of(interpret(without(), arrays), 1)
        column = _numbers(found[self.labels.index(one.what)])
        return bool(agree(column, np.array([one.new], column.dtype), tolerance)[0])

    @property
    def _real(self) -> RealFunction:
        return RealFunction(self.graph, self.assemble, self.meant)

    def _exact(self, new: Function, places: list[int]) -> dict[int, list[Exact | None]]:
        """Return the exact results at points without infinities.

        One of nan has one where no result of nan is chosen, as by a comparison.
        """
        infinite: Any = np.isinf(self.columns.astype(np.float64)).any(axis=0)
        places = [place for place in places if not infinite[place]]
        if not places:
            return {}
        made = self._real.values(self.columns[:, places])
        found = {place: [result[i] for result in made] for i, place in enumerate(places)}
        renewed = RealFunction(new, self.assemble, self.meant)
        for place, numbers in found.items():
            if None in numbers:
                more = exact_by_new_form(self._real, renewed, self.columns[:, place])
                found[place] = [one or two for one, two in zip(numbers, more)] or numbers
        return found

    def _wrong(
        self,
        place: int,
        results: list[int],
        olds: list[Array],
        news: list[Array],
        exact: list[Exact | None] | None,
        tolerance: float,
        *,
        patched: bool,
    ) -> Iterator[Instance]:
        """Yield the results at a point that are neither near the truth nor the unique limit."""
        has_nan = bool(np.isnan(self.columns[:, place].astype(np.float64)).any())
        for i in results:
            old, new = olds[i][place], news[i][place]
            truth = exact[i] if exact else None
            if self.labels[i].startswith("d/") and exact and exact[0] and not exact[0].is_real:
                truth = None  # without a value there is no derivative: it is a guard's
            if truth is not None and truth.is_real:
                right = _is_right(old, new, truth, tolerance)
                # a number other than zero that is known is no matter of sides
                has_sides = bool(new == old == 0)
            else:
                unknown = exact is not None and truth is None
                truth, has_sides = None, True
                right = self._is_limit(place, i, new) or (
                    unknown and self._is_limit(place, i, new, far=True)
                )
                if has_nan and not np.isnan(old):
                    right = right or self._is_of_nan(place, i, new, tolerance)
            if not right:
                yield Instance(
                    self.labels[i],
                    dict(zip(self.coordinates, map(float, self.columns[:, place]), strict=True)),
                    float(old),
                    float(new),
                    None if truth is None else truth.value,
                    (float(olds[0][place]), float(news[0][place])),
                    float(np.finfo(new.dtype).tiny),
                    patched and any(_is_lost(olds[j][place], exact, j) for j in (0, i)),
                    partial(self._is_limit, place, i, new, one_sided=True, asked=has_sides),
                    partial(self._is_kink, place, i),
                    partial(self._is_outside, place),
                    partial(self._is_rounded, place, i, new, truth, tolerance),
                    partial(self._is_chance, place, i, new, truth, tolerance),
                )

    def _is_of_nan(self, place: int, result: int, new: Any, tolerance: float) -> bool:
        """Whether a number is what the real result is where an operand is nan.

        That is nan, or what the result is for every usual number in place of it. A naive form may
        make another number of it by rounding, as of (1 + 1e-20)**nan.
        """
        point = self.columns[:, place].astype(np.float64)
        known = np.where(np.isinf(point), np.copysign(_FAR, point), point)
        columns = [known, *(np.where(np.isnan(known), usual, known) for usual in _USUAL)]
        of_nan, *others = self._real.column(result, np.stack(columns, axis=1))
        if of_nan is None or not is_nan(of_nan.ball):
            return False
        if np.isnan(new):
            return True
        return all(each and each.is_real and _off(new, each) <= tolerance for each in others)

    def _is_kink(self, place: int, result: int) -> bool:
        """Whether a result jumps to its opposite at a coordinate that is zero."""
        point = self.columns[:, place]
        zeros = [i for i, moves in enumerate(self.moving) if moves and point[i] == 0]
        return any(is_opposite(self._real, point, result, i) for i in zeros)

    def _is_outside(self, place: int) -> bool:
        """Whether there is no real value at a point, nor around it."""
        return is_outside(self._real, self.columns[:, place], 0)

    def _is_rounded(
        self, place: int, result: int, new: Any, truth: Exact | None, tolerance: float
    ) -> bool:
        """Whether a number is exact up to roundings of the partials that the naive one sums."""
        if truth is None or not np.isfinite(new):
            return False
        size = size_of_partials(self._real, self.columns[:, place], result)
        ulps = 2**tolerance * float(np.finfo(new.dtype).eps)
        return size is not None and bool(abs(truth.ball - Ball(float(new))) <= size * ulps)

    def _is_chance(
        self, place: int, result: int, new: Any, truth: Exact | None, tolerance: float
    ) -> bool:
        """Whether the naive number at the next float of an operand is as far off as the new one."""
        point = self.columns[:, place]
        if truth is None or not np.isfinite(new) or np.isnan(point).any():
            return False
        off = _off(new, truth)
        beside = list(_beside(point, self.moving))
        if off <= tolerance or not beside:
            return False
        columns = np.stack(beside, axis=1)
        with np.errstate(all="ignore"):
            made = interpret(self.graph, self.assemble(columns))
        numbers = _numbers(columns_of(made, len(beside))[result])
        exact = self._real.column(result, columns)
        return any(
            each is not None and each.is_real and np.isfinite(number) and _off(number, each) >= off
            for number, each in zip(numbers, exact, strict=True)
        )

    def _is_limit(
        self,
        place: int,
        result: int,
        new: Any,
        *,
        one_sided: bool = False,
        asked: bool = True,
        far: bool = False,
    ) -> bool:
        point = self.columns[:, place]
        if far:
            point = with_huge_as_infinite(point)
            asked = asked and bool(np.isinf(point).any())
        if not asked or np.isnan(new):
            return False
        info = np.finfo(new.dtype)
        ends = Ends(float(info.smallest_subnormal), float(info.max))
        # one that is nan stays: where conditions leave it out, there is a limit
        has_nan: Any = np.isnan(point.astype(np.float64))
        moving = [moves and not none for moves, none in zip(self.moving, has_nan, strict=True)]
        if not any(moving):
            return False
        return is_limit(self._real, point, moving, result, float(new), ends, one_sided=one_sided)


def _numbers(column: Array) -> Array:
    return column if column.dtype.kind == "f" else column.astype(np.float64)


def agree(old: Array, new: Array, tolerance: float) -> Array:
    """Tell where new numbers are the old ones within tolerance, their signs and kinds included."""
    usual: Any = np.isfinite(old) & np.isfinite(new) & (old != 0) & (new != 0)
    usual &= np.signbit(old) == np.signbit(new)
    close = bits_between(np.where(usual, new, 1), np.where(usual, old, 1)) <= tolerance
    return np.asarray(same_bits(old, new) | (usual & close))


def _is_right(old: Any, new: Any, truth: Exact, tolerance: float) -> bool:
    """Whether a number is as near to the exact one as the old one, and of the right sign."""
    if np.isnan(new):
        return False
    was, now = _off(old, truth), _off(new, truth)
    if now > was + tolerance:
        return False
    negative = bool(np.signbit(new))
    if truth.sign and negative == (truth.sign < 0):
        return True
    if truth.sign:
        # a zero of the other sign is nearer than what is farther off, or no number
        return bool(new == 0 and not abs(float(old) - truth.value) <= abs(truth.value))
    if not truth.ball.is_exact():
        return True  # whatever its sign is, it rounds to zero
    # an exact zero has no sign: that of the old form stands, where it is zero at all
    return bool(new != 0 or old != 0 or negative == bool(np.signbit(old)))


def _off(number: Any, truth: Exact) -> float:
    """Return how many bits a number is off the exact one."""
    return float(bits_between(np.array([number]), _cast(truth.value, number.dtype))[0])


def _is_lost(old: Any, exact: list[Exact | None] | None, i: int) -> bool:
    """Whether a number has no digit of the exact one."""
    truth = exact[i] if exact else None
    if truth is None or not truth.is_real:
        return False
    return bool(np.isnan(old)) or _off(old, truth) > np.finfo(old.dtype).nmant + 1


def _beside(point: Array, moving: Sequence[bool]) -> Iterator[Array]:
    """Yield points of which one coordinate is the next float; zeros are left where they are."""
    for i in np.flatnonzero(moving):
        for end in (-np.inf, np.inf):
            moved = point.copy()
            moved[i] = np.nextafter(point[i], point.dtype.type(end))
            if np.isfinite(moved[i]) and moved[i] != 0 and point[i] != 0:
                yield moved


def _cast(number: float, dtype: Any) -> Array:
    with np.errstate(over="ignore"):  # what is too large for single precision is infinite
        return np.array([number]).astype(dtype)


def _failure(one: Instance, dtype: Any) -> Failure:
    right = one.naive if one.truth is None else float(_cast(one.truth, dtype)[0])
    new, wanted = (_cast(x, dtype) for x in (one.new, right))
    bits = float(bits_between(new, wanted)[0])
    truth = None if one.truth is None else right
    return Failure(one.what, one.point, one.naive, one.new, truth, bits)


__all__ = ["TOLERANCE", "Case", "Failure", "Judged", "agree"]
