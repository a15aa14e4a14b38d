"""Random functions without control flow, for property tests of the schedule.

They have what decides about loops: axes that run together and axes that do not, chains of
reductions, values that are read at other indices than their own, long, odd and empty axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType, Type
from tests.array_updates import ArrayMaker, m, n

SHORT: tuple[Size, ...] = (1, 2, 3, 4, 5, 7)
LONG: tuple[Size, ...] = (16, 31, 32, 33, 64, 65, 67, 70, n, n, n, m, m, n + 1)
RUN_TIME_SIZES = (0, 1, 2, 31, 32, 33, 64, 65, 67, 70)
LONGEST = {"n": 70, "m": 70}
MOST_ELEMENTS = 20_000
MOST_TERMS = 150_000
MOST_RANK = 4
MOST_PARAMS = 10


def random_graph(seed: int) -> Function:
    """Return a function; arguments for it are those of :func:`random_arguments`."""
    random = np.random.default_rng(seed)
    with Builder() as builder:
        made = _GraphMaker(random, builder)
        for _ in range(int(random.choice((5, 8, 12, 20, 40)))):
            made.grow()
        return builder.function("program", made.params, made.outcome(8))


def random_sizes(random: np.random.Generator) -> dict[str, int]:
    """Return numbers for the symbolic sizes."""
    return {name: int(random.choice(RUN_TIME_SIZES)) for name in LONGEST}


def random_arguments(
    function: Function, random: np.random.Generator, values: dict[str, int]
) -> list[npt.NDArray[Any]]:
    """Return arrays for the parameters: floats that sums round, now and then special ones."""
    arrays = []
    for type_ in function.param_types:
        shape = tuple(sizes.evaluate(size, values) for size in type_.shape)
        drawn = random.normal(size=shape)
        if random.random() < 0.1:
            special = random.choice((0.0, -0.0, np.inf, np.nan), shape)
            drawn = np.where(random.random(shape) < 0.02, special, drawn)
        if not type_.dtype.is_float:
            drawn = random.integers(-9, 10, size=shape)
        if type_.dtype is DType.BOOL:
            drawn = drawn > 0
        arrays.append(np.asarray(drawn, dtype=type_.dtype.numpy))
    return arrays


def _count(*shape: Size) -> int:
    """Return how many elements an array has at most."""
    return sizes.evaluate(sizes.product(shape), LONGEST)


class _GraphMaker(ArrayMaker):
    """A function in the making."""

    def __init__(self, random: np.random.Generator, builder: Builder) -> None:
        super().__init__(random, depth=0, trips=1)
        self._builder = builder
        self.params: list[Value] = []
        self._dtype = self.one_of((DType.F64, DType.F64, DType.F32))
        # few different sizes, so that axes meet
        self._lengths = [self.one_of(LONG), self.one_of(LONG), self.one_of(SHORT)]
        self._lengths += [0] if self.chance(0.08) else [self.one_of(SHORT)]
        for shape in ((n,), (m,)):
            self.param(Type(self._dtype, shape))
        for _ in range(int(random.integers(1, 4))):
            self.param(Type(self._dtype, self.shape()))

    # -- values ------------------------------------------------------------------------------------

    def param(self, type_: Type) -> Value:
        """Return a new parameter."""
        made = self._builder.param(len(self.params), type_)
        self.params.append(made)
        self.values.append(made)
        return made

    def shape(self) -> tuple[Size, ...]:
        rank = int(self.random.integers(1, MOST_RANK))
        found = tuple(self.one_of(self._lengths) for _ in range(rank))
        return found if _count(*found) <= MOST_ELEMENTS else found[:1]

    def like(self, type_: Type) -> Value:
        if self.chance(0.5) and len(self.params) < MOST_PARAMS:
            return self.param(type_)
        return super().like(type_)

    def keep(self, *made: Value) -> Value:
        for x in made:
            if _count(*x.type.shape) <= MOST_ELEMENTS and x.type.rank <= MOST_RANK:
                self.values.append(x)
        return made[0]

    def floats(self, least: int = 1, most: int = MOST_RANK) -> Value | None:
        """Return an array of the function's own dtype, of so many axes."""
        return self.value(lambda x: x.type.dtype is self._dtype and least <= x.type.rank <= most)

    # -- steps -------------------------------------------------------------------------------------

    def grow(self) -> None:
        """Make a value, or a few."""
        steps = (
            (0.2, self.mapped),
            (0.12, self.widened),
            (0.1, self.regrouped),
            (0.12, self.moved),
            (0.12, self.read),
            (0.1, self.updated),
            (0.06, self.picked),
            (0.16, self.multiplied),
            (0.08, self.normalised),
            (0.07, self.compared_in_pairs),
            (0.07, self.mixed),
        )
        weights = np.array([weight for weight, _ in steps])
        steps[int(self.random.choice(len(steps), p=weights / weights.sum()))][1]()

    def mapped(self) -> None:
        """Elementwise ops, some of them too costly to be recomputed."""
        x = self.floats(0) or self.params[0]
        for _ in range(int(self.random.integers(1, 5))):
            x = self.softened(x) if self.chance(0.4) else self.combined(x)
        self.keep(x)

    def softened(self, x: Value) -> Value:
        return build.sqrt(build.abs(x)) if x.type.dtype.is_float else x

    def widened(self) -> None:
        """An array along an axis it lacks, joined with another that has it."""
        x = self.floats(0, 2)
        if x is None:
            return
        rank = x.type.rank + 1
        axis = int(self.random.integers(rank))
        axes = [i for i in range(rank) if i != axis]
        if self.chance(0.2):
            axes = axes[::-1]
        shape: list[Size] = [self.one_of(self._lengths)] * rank
        for own, size in zip(axes, x.type.shape):
            shape[own] = size
        if _count(*shape) > MOST_ELEMENTS:
            return
        if axes != sorted(axes):
            order = sorted(range(len(axes)), key=lambda i: axes[i])
            x, axes = build.transpose(x, tuple(order)), sorted(axes)
        wide = build.broadcast(x, tuple(shape), tuple(axes))
        self.keep(build.apply(self.one_of(("mul", "sub", "add")), wide, self.like(wide.type)))

    def regrouped(self) -> None:
        """Neighbouring axes made one, or an axis cut into two; then back, now and then."""
        x = self.value(lambda x: x.type.rank > 0)
        if x is None:
            return
        shape = x.type.shape
        axis = int(self.random.integers(len(shape)))
        length = shape[axis]
        if len(shape) > 1 and self.chance(0.6):
            axis = min(axis, len(shape) - 2)
            middle: tuple[Size, ...] = (shape[axis] * shape[axis + 1],)
            made = build.reshape(x, (*shape[:axis], *middle, *shape[axis + 2 :]))
        elif isinstance(length, int) and length:
            part = self.one_of([i for i in range(1, length + 1) if length % i == 0])
            middle = (part, length // part)
            made = build.reshape(x, (*shape[:axis], *middle, *shape[axis + 1 :]))
        else:
            made = build.reshape(x, (*shape, 1))
        self.keep(made)
        if self.chance(0.3):
            self.keep(build.reshape(self.softened(made), shape))

    def moved(self) -> None:
        """Elements in other places: axes turned, elements shifted, put among zeros, repeated."""
        x = self.floats()
        if x is None:
            return
        kind, rank = self.random.random(), x.type.rank
        axis = int(self.random.integers(rank))
        length = x.type.shape[axis]
        starts: list[Size] = [0] * rank
        if kind < 0.25:
            self.keep(build.transpose(x, tuple(map(int, self.random.permutation(rank)))))
        elif kind < 0.5:
            starts[axis] = int(self.random.integers(3))
            step = self.one_of((1, 1, 2, 3))
            shape = list(x.type.shape)
            shape[axis] = starts[axis] + length * step + int(self.random.integers(3))
            steps = [step if i == axis else 1 for i in range(rank)]
            self.keep(build.pad(x, tuple(starts), tuple(shape), tuple(steps)))
        elif kind < 0.75 and sizes.at_least(length, 2):
            shape = [*x.type.shape[:axis], length - 1, *x.type.shape[axis + 1 :]]
            ones = (1,) * rank
            first = build.slice(x, tuple(starts), tuple(shape), ones)
            starts[axis] = 1
            second = build.slice(x, tuple(starts), tuple(shape), ones)
            self.keep(self.softened(second - first) * second)
        else:
            parts = [self.softened(x) if self.chance(0.4) else x for _ in range(6)]
            parts = parts[: self.one_of((2, 2, 3, 6))]
            self.keep(build.concatenate(parts, axis))

    def read(self) -> None:
        x = self.array()
        if x is not None:
            self.reading(x)

    def updated(self) -> None:
        x = self.array()
        if x is not None:
            self.chain(x, 2)

    def picked(self) -> None:
        """One element of each row, and an array in which it is another."""
        x = self.floats(2, 3)
        if x is None or not sizes.at_least(x.type.shape[1], 1):
            return
        rows, columns = x.type.shape[:2]
        index = self.param(Type(DType.I64, (rows,))) if self.chance(0.5) else None
        if index is None:
            index = build.iota(DType.I64, rows)
        index = build.remainder(index, build.broadcast_to(build.size_value(columns), (rows,)))
        where = [build.iota(DType.I64, rows), index]
        part = build.gather(x, where, (0, 1))
        part = self.combined(part) if self.chance(0.5) else self.softened(part)
        scatter = build.scatter_add if self.chance(0.5) else build.scatter_set
        self.keep(scatter(x, part, where, (0, 1)), part)

    def multiplied(self) -> None:
        """A contraction of two arrays, some of whose axes are of one size."""
        x, y = self.floats(), self.floats()
        if x is None or y is None:
            return
        letters = iter("abcdefghij")
        left = [next(letters) for _ in x.type.shape]
        right = []
        for size in y.type.shape:
            same = [a for a, s in zip(left, x.type.shape) if s == size and a not in right]
            right.append(self.one_of(same) if same and self.chance(0.8) else next(letters))
        shared = set(left) & set(right)
        dropped = {letter for letter in sorted(shared) if self.chance(0.7)}
        length = dict(zip((*left, *right), (*x.type.shape, *y.type.shape)))
        kept = [letter for letter in length if letter not in dropped]
        if self.chance(0.3):
            kept = [kept[i] for i in self.random.permutation(len(kept))]
        wanted = [length[letter] for letter in kept]
        small = _count(*wanted) <= MOST_ELEMENTS and _count(*length.values()) <= MOST_TERMS
        if small and len(kept) <= MOST_RANK:
            self.keep(build.contract(x, y, f"{''.join(left)},{''.join(right)}->{''.join(kept)}"))

    def normalised(self) -> None:
        """Along some axes: what is below the largest, divided by its sum, again and again."""
        x = self.floats()
        if x is None:
            return
        for _ in range(int(self.random.integers(1, 3))):
            axes = self.axes_of(x)
            largest = self.over(build.reduce_max(x, axes), x, axes)
            below = self.softened(x - largest)
            x = below / self.over(build.reduce_sum(below, axes) + 1.0, x, axes)
            self.keep(x)

    def over(self, reduced: Value, x: Value, axes: Sequence[int]) -> Value:
        """Return a reduction of an array, once for each of its elements."""
        kept = tuple(axis for axis in range(x.type.rank) if axis not in axes)
        return build.broadcast(reduced, x.type.shape, kept)

    def compared_in_pairs(self) -> None:
        """Every row with every other, and what comes of it for either."""
        x = self.floats(1, 2)
        if x is None:
            return
        count, *rest = x.type.shape
        shape = (count, count, *rest)
        if _count(*shape) > MOST_ELEMENTS:
            return
        inner = tuple(range(2, len(shape)))
        difference = build.broadcast(x, shape, (0, *inner)) - build.broadcast(x, shape, (1, *inner))
        square = build.reduce_sum(difference * difference, inner) if inner else difference
        near = build.div(1.0, build.abs(square) + 1.0)
        pull = build.broadcast(near, shape, (0, 1)) * difference
        sums = [build.reduce_sum(pull, [axis]) for axis in (0, 1)]
        self.keep(build.reduce_sum(near, [0, 1]), *sums, sums[0] - sums[1])

    def mixed(self) -> None:
        """A mixture of distributions, and the adjoints of its parameters."""
        x = self.floats(2, 2)
        if x is None:
            return
        count, d = x.type.shape
        k = self.one_of(SHORT)
        if _count(count, k, d, d) > MOST_TERMS or _count(count, k, d) > MOST_ELEMENTS:
            return
        centres = self.like(Type(self._dtype, (k, d)))
        factors = self.like(Type(self._dtype, (k, d, d)))
        wide = (count, k, d)
        centred = build.broadcast(x, wide, (0, 2)) - build.broadcast(centres, wide, (1, 2))
        scaled = build.contract(factors, centred, "kij,nkj->nki")
        terms = build.reduce_sum(scaled * scaled, [2])
        largest = build.reduce_max(terms, [1])
        near = build.sqrt(build.broadcast(largest, (count, k), (0,)) - terms)
        totals = build.reduce_sum(near, [1])
        weights = near / build.broadcast(totals + 1.0, (count, k), (0,))
        pulled = build.broadcast(weights, wide, (0, 1)) * scaled
        self.keep(
            build.reduce_sum(build.sqrt(totals) + largest, [0]),
            build.reduce_sum(weights, [0]),
            build.contract(pulled, centred, "nki,nkj->kij"),
            build.reduce_sum(build.contract(factors, pulled, "kij,nki->nkj"), [0]),
        )

    def outcome(self, most: int, fits: Any = lambda x: True) -> list[Value]:
        found = super().outcome(most, fits)
        return list(dict.fromkeys(found)) or [self.values[-1]]
