"""Random steps with arrays: updates of parts of them, and readings before and after an update."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import TAPE, Size
from gradc_ir.core.types import DType, Type

T = TypeVar("T")

n, m = sizes.symbol("n"), sizes.symbol("m")
DTYPES = (DType.F64, DType.F64, DType.F64, DType.F32, DType.I64, DType.I32, DType.BOOL)
# Loops have up to 16 elements on the stack. Some sizes are 0, some can be, some are at least 1.
KNOWN_SHAPES = ((), (), (3,), (2, 3), (1,), (0,), (20,), (3, 7), (2, 2, 5))
SHAPES: tuple[tuple[Size, ...], ...] = (
    *KNOWN_SHAPES,
    *((n,), (n,), (m,), (n + 1,), (n + 1,), (n, 3), (2, n), (m + 1, n + 1)),
)
FLOAT_BINARY = ("add", "sub", "mul", "div", "maximum", "minimum")
INT_BINARY = ("add", "sub", "mul", "maximum", "minimum")
BOOL_BINARY = ("logical_and", "logical_or", "logical_xor")
MOST_ELEMENTS = 1500
MOST_RANK = 3
ESTIMATES = {"n": 5, "m": 5, str(TAPE): 8}


class ArrayMaker:
    """A function in the making, without loops and branches.

    Parameters
    ----------
    depth: how deep loops may still be nested.
    trips: how often the function runs.
    """

    def __init__(self, random: np.random.Generator, depth: int, trips: int) -> None:
        self.random = random
        self.depth = depth
        self.trips = trips
        self.values: list[Value] = []

    # -- choices -----------------------------------------------------------------------------------

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def one_of(self, choices: Sequence[T]) -> T:
        return choices[int(self.random.integers(len(choices)))]

    def some(self, choices: Sequence[T], most: int, least: int = 0) -> list[T]:
        """Return a few of the choices; one may be among them twice."""
        count = int(self.random.integers(least, most + 1)) if choices else 0
        return [self.one_of(choices) for _ in range(count)]

    def type_of_something(self) -> Type:
        return Type(self.one_of(DTYPES), self.one_of(SHAPES))

    def value(self, fits: Callable[[Value], bool] = lambda x: True) -> Value | None:
        """Return a value that fits; the latest ones are likelier."""
        found = [x for x in self.values if fits(x) and TAPE not in x.type.shape]
        if not found:
            return None
        return self.one_of(found[-3:] if self.chance(0.5) else found)

    def outcome(self, most: int, fits: Callable[[Value], bool] = lambda x: True) -> list[Value]:
        """Return a few values, mostly such as no other is made of."""
        found = [x for x in self.values if fits(x)]
        used = {operand for x in self.values for operand in x.operands}
        loose = [x for x in found if x not in used]
        return self.some(loose if self.chance(0.8) else found, most, most // 2)

    def array(self) -> Value | None:
        return self.value(lambda x: x.type.rank > 0)

    def number(self, dtype: DType) -> Value:
        """Return a scalar, which may depend on a value that there is."""
        found = self.value(lambda x: x.type == Type(dtype))
        if found is not None and self.chance(0.7):
            return found
        return build.constant(int(self.random.integers(0, 3)), dtype)

    def truth(self) -> Value:
        x = self.value(lambda x: not x.type.shape and x.type.dtype is not DType.BOOL)
        if x is None or self.chance(0.3):
            return self.number(DType.BOOL)
        return build.apply(self.one_of(("lt", "le", "eq")), *self.either(x, self.like(x.type)))

    def either(self, x: Value, y: Value) -> tuple[Value, Value]:
        return (x, y) if self.chance(0.5) else (y, x)

    def like(self, type_: Type) -> Value:
        """Return a value of a type: one there is, or one that is made."""
        found = self.value(lambda x: x.type == type_)
        if found is not None and self.chance(0.7):
            return found
        if len(type_.shape) == 1 and type_.dtype.is_integer and self.chance(0.3):
            return build.iota(type_.dtype, type_.shape[0])
        last = self.value(lambda x: x.type == type_.with_shape(type_.shape[-1:]))
        if last is not None and self.chance(0.3):
            return build.broadcast_to(last, type_.shape)
        return build.broadcast_to(self.number(type_.dtype), type_.shape)

    def index(self, length: Size, shape: tuple[Size, ...]) -> Value:
        """Return indices into an axis of at least one element; few of them are outside."""
        if self.chance(0.01):
            return build.broadcast_to(build.size_value(length), shape)
        given = self.value(lambda x: x.type.dtype.is_integer and x.type.shape == shape)
        if given is None or self.chance(0.2):
            drawn = self.random.integers(-1, 1, size=[5 if x == n else x for x in shape])
            if isinstance(length, int):
                drawn = self.random.integers(-length, length, size=drawn.shape)
            given = build.constant(drawn) if n not in shape else build.iota(DType.I64, n)
            if n not in shape:
                return given if self.chance(0.5) else build.cast(given, DType.I32)
        whole = build.cast(given, DType.I64)
        return build.remainder(whole, build.broadcast_to(build.size_value(length), shape))

    # -- steps -------------------------------------------------------------------------------------

    def keep(self, *made: Value) -> Value:
        """Enter values, unless they are too large to go on with; returns the first."""
        for x in made:
            large = sizes.evaluate(x.type.count, ESTIMATES) > MOST_ELEMENTS
            if not large and x.type.rank <= MOST_RANK:
                self.values.append(x)
        return made[0]

    def step(self) -> None:
        """Make a value, or a few."""
        kind = self.random.random()
        x = self.array()
        if kind < 0.35 and x is not None:
            self.chain(x)
        elif kind < 0.6 and x is not None:
            self.reading(x)
        elif kind < 0.7 and self.depth:
            self.control()
        else:
            x = self.value()
            if x is not None:
                self.keep(self.combined(x))

    def combined(self, x: Value) -> Value:
        """Return an elementwise op of a value and another of its type; the result has it too."""
        dtype = x.type.dtype
        if self.chance(0.15):
            found = self.value(lambda y: y.type.shape == x.type.shape)
            if found is not None:
                return build.cast(found, dtype)
        if self.chance(0.15):
            where = build.broadcast_to(self.truth(), x.type.shape)
            return build.select(where, *self.either(x, self.like(x.type)))
        if self.chance(0.2):
            return build.logical_not(x) if dtype is DType.BOOL else build.neg(x)
        if dtype.is_float and self.chance(0.1):
            return build.sqrt(build.abs(x))
        names = {DType.BOOL: BOOL_BINARY, DType.I64: INT_BINARY, DType.I32: INT_BINARY}
        name = self.one_of(names.get(dtype, FLOAT_BINARY))
        return build.apply(name, *self.either(x, self.like(x.type)))

    def reading(self, x: Value) -> None:
        """Read an array in some way: its elements, its sum, its order, a window, its rows."""
        axis = int(self.random.integers(x.type.rank))
        length, dtype = x.type.shape[axis], x.type.dtype
        kind = int(self.random.integers(9))
        if kind < 2:
            self.keep(self.part_of(x))
        elif kind == 2 and dtype is not DType.BOOL:
            self.keep(build.reduce_sum(x, self.axes_of(x)))
        elif kind == 3:
            self.keep(build.apply(self.one_of(("reduce_max", "reduce_min")), x, axes=(axis,)))
        elif kind == 4 and dtype is not DType.BOOL:
            self.keep(build.cumsum(x, axis, self.chance(0.5)))
        elif kind == 5:
            self.keep(build.argsort(x, axis))
        elif kind == 6:
            self.keep(build.reshape(x, (x.type.count,)))
        elif kind == 7:
            self.keep(build.transpose(x, tuple(map(int, self.random.permutation(x.type.rank)))))
        elif self.chance(0.3):
            parts = [x, *(self.like(x.type) for _ in range(5))]
            self.keep(build.concatenate(parts[: int(self.random.integers(2, 7))], axis))
        elif _surely_some(length):
            indices = self.index(length, self.one_of(((), (), (3,), (n,))))
            self.keep(build.gather(x, [indices], (axis,)))

    def axes_of(self, x: Value) -> list[int]:
        axes = [axis for axis in range(x.type.rank) if self.chance(0.5)]
        return axes or list(range(x.type.rank))

    # -- updates -----------------------------------------------------------------------------------

    def chain(self, x: Value, most: int = 3) -> Value:
        """Return the last of a few versions of an array, with readings of them in between."""
        versions = [x]
        if not x.type.shape:
            return self.keep(self.combined(x))
        for _ in range(int(self.random.integers(1, most + 1))):
            x = self.update(x)
            self.keep(x)
            versions.append(x)
            if self.chance(0.35):
                self.reading(self.one_of(versions[-2:]))
        return x

    def update(self, x: Value) -> Value:
        """Return a newer version of an array, of its type."""
        kind = self.random.random()
        if not x.type.shape or kind < 0.15:
            return self.combined(x)
        if kind < 0.35:
            return self.set_window(x)
        if kind < 0.42:
            for _ in range(int(self.random.integers(5, 8))):
                x = self.set_window(x)
            return x
        if kind < 0.5:
            flat = build.reshape(x, (x.type.count,))
            return build.reshape(self.set_window(flat), x.type.shape)
        if kind < 0.65 and self.depth:
            found = [y for y in self.control(x) if y.type == x.type]
            return found[0] if found else x
        return self.scattered(x)

    def window(self, x: Value) -> tuple[tuple[Size, ...], ...]:
        """Return starts, shape and steps of a window in an array."""
        found = []
        for length in x.type.shape:
            if isinstance(length, int) and length and self.chance(0.7):
                step = self.one_of((1, 1, 2, -1))
                size = int(self.random.integers(1, -(-length // abs(step)) + 1))
                span = (size - 1) * abs(step)
                low = int(self.random.integers(length - span))
                found.append((low if step > 0 else low + span, size, step))
            elif not isinstance(length, int) and _surely_some(length) and self.chance(0.7):
                choices: list[tuple[Size, Size, int]]
                choices = [(0, 1, 1), (length - 1, 1, 1), (0, length - 1, 1), (1, length - 1, 1)]
                found.append(self.one_of([*choices, (length - 1, length, -1)]))
            else:
                found.append((0, length, 1))
        starts, shape, steps = zip(*found)
        return starts, shape, steps

    def part_of(self, x: Value) -> Value:
        starts, shape, steps = self.window(x)
        return build.slice(x, starts, shape, steps)  # type: ignore[arg-type]

    def set_window(self, x: Value) -> Value:
        """Return an array with a window replaced, perhaps by another window of it."""
        starts, shape, steps = self.window(x)
        if self.chance(0.4) and all(_surely_some(size) for size in shape):
            part = self.part_of(x)
            if part.type.shape != shape:
                part = build.slice(x, starts, shape, steps)  # type: ignore[arg-type]
        else:
            source = self.value(lambda y: y.type == x.type) or x
            part = build.slice(source, starts, shape, steps)  # type: ignore[arg-type]
        if self.chance(0.6):
            part = self.combined(part)
        return build.set_slice(x, part, starts, steps)  # type: ignore[arg-type]

    def scattered(self, x: Value) -> Value:
        """Return an array with elements replaced or added to, perhaps by others of its own."""
        axes = [axis for axis, length in enumerate(x.type.shape) if _surely_some(length)]
        if not axes:
            return self.combined(x)
        chosen = sorted({self.one_of(axes) for _ in range(int(self.random.integers(1, 3)))})
        shape: tuple[Size, ...] = self.one_of(((), (), (), (1,), (3,), (2, 2), (n,), (0,)))
        indices = [self.index(x.type.shape[axis], shape) for axis in chosen]
        if self.chance(0.5):
            source = x
            if self.chance(0.5):
                source = self.value(lambda y: y.type == x.type) or x
            elsewhere = indices
            if self.chance(0.6):
                elsewhere = [self.index(x.type.shape[axis], shape) for axis in chosen]
            part = build.gather(source, elsewhere, tuple(chosen))
            if self.chance(0.5):
                part = self.combined(part)
        else:
            rest = [size for axis, size in enumerate(x.type.shape) if axis not in chosen]
            part = self.like(x.type.with_shape((*shape, *rest)))
        adds = x.type.dtype is not DType.BOOL and self.chance(0.5)
        scatter = build.scatter_add if adds else build.scatter_set
        # an index array of another dtype than the other's is fine
        return scatter(x, part, indices, tuple(chosen))

    def control(self, x: Value | None = None) -> tuple[Value, ...]:
        """Make a loop or a branch, of a value where one is given; returns its results."""
        raise NotImplementedError


def _surely_some(length: Size) -> bool:
    return sizes.at_least(length, 1)
