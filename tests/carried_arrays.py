"""Random functions whose loops and branches carry arrays, for property tests of the compiler.

Arrays of all sizes and dtypes are updated, read before and after an update, handed from loop to
loop, returned in their older versions, swapped, given twice: what may be overwritten in place, and
what may not.
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
from gradc_ir.core.sizes import TAPE, Size
from gradc_ir.core.types import DType, Type
from tests.array_updates import ESTIMATES, MOST_RANK, ArrayMaker, m, n

LENGTHS: tuple[Size, ...] = (0, 1, 2, 3, n, n, m, n + 1)
ALIKE = (Type(DType.F64, (20,)), Type(DType.F64, (n + 1,)), Type(DType.I64, (3, 7)))
MOST_TRIPS = 60
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40)


def carried_program(seed: int, depth: int = 2, steps: int = 4, alike: bool = False) -> Function:
    """Return a function; arguments for it are those of :func:`arguments_for`.

    Parameters
    ----------
    depth: how deep loops and branches are nested at most.
    alike: whether the parameters have few types, so that loops often carry arrays of one type.
    steps: how many steps the function takes; a step makes one op, a chain of updates or a loop.
    """
    random = np.random.default_rng(seed)
    with Builder() as builder:
        made = _Maker(random, depth, 1)
        types = [Type(DType.F64, (n,)), Type(DType.I64, (m,))]
        types += [made.type_of_something() for _ in range(int(random.integers(2, 5)))]
        if alike:
            types = [*types[:2], *[made.one_of(ALIKE)] * 3]
        params = [builder.param(i, type_) for i, type_ in enumerate(types)]
        made.values += params
        while steps > 0:
            made.control() if made.chance(0.6) else made.step()
            steps -= 1
        return builder.function("program", params, made.outcome(6))


def long_program(seed: int, operations: int) -> Function:
    """Return a function with a loop whose body is so long that it is cut into parts.

    The body is arithmetic on a number, with updates of an array and inner loops in between.
    """
    random = np.random.default_rng(seed)
    types = [Type(DType.F64), Type(DType.F64, (20,)), Type(DType.I64)]
    types += [Type(DType.F64, (n,)), Type(DType.I64, (m,))]
    with Builder() as builder:
        made = _Maker(random, 1, 3)
        params = [builder.param(i, type_) for i, type_ in enumerate(types)]
        number, array, index, *_ = params
        numbers = [number]
        for count in range(operations):
            # sums of two earlier numbers, some of them from long ago
            number = build.sub(number * 0.5, made.one_of(numbers[-40:] if count % 7 else numbers))
            numbers.append(number)
            made.values = [*params, array, number, made.one_of(numbers)]
            if count % 100 == 0:
                array = made.update(array)
            if count % 150 == 0:
                number = build.add(number, build.reduce_sum(array, (0,)))
        body = builder.function(
            "body", params, [number, array, index + 1, *params[3:], array, number]
        )
    with Builder() as builder:
        params = [builder.param(i, type_) for i, type_ in enumerate(types)]
        return builder.function("program", params, build.scan(body, [], params, [], length=3))


def arguments_for(function: Function, seed: int, sizes_: dict[str, int]) -> list[npt.NDArray[Any]]:
    """Return arrays for the parameters of a function, special numbers among them."""
    random = np.random.default_rng(seed)
    arrays = []
    for type_ in function.param_types:
        shape = tuple(sizes.evaluate(size, sizes_) for size in type_.shape)
        drawn = np.asarray(random.integers(-9, 10, size=shape))
        if type_.dtype.is_float:
            drawn = np.where(random.random(shape) < 0.1, random.choice(SPECIAL, shape), drawn / 4)
        if type_.dtype is DType.BOOL:
            drawn = drawn > 0
        arrays.append(np.asarray(drawn, dtype=type_.dtype.numpy))
    return arrays


class _Maker(ArrayMaker):
    """A function in the making, with loops and branches."""

    def control(self, x: Value | None = None) -> tuple[Value, ...]:
        """Make a loop or a branch, of a value where one is given; returns its results."""
        kind = self.random.random()
        if x is None:
            x = self.array() or self.value()
        if not self.depth or x is None:
            return ()
        if kind < 0.45:
            made = self.scan(x)
        elif kind < 0.65:
            made = self.while_loop(x)
        elif kind < 0.88:
            made = self.branch(x)
        else:
            made = self.apart(x)
        self.keep(*made)
        return made

    def taken(self, x: Value) -> list[Value]:
        """Return what a loop carries: a value, others, perhaps the same one again."""
        others = self.some([y for y in self.values if TAPE not in y.type.shape], 2)
        found = [x, *others]
        if self.chance(0.3):
            same = self.value(lambda y: y.type == x.type)
            found.append(same if same is not None else x)
        return [found[int(i)] for i in self.random.permutation(len(found))]

    def captured(self) -> list[Value]:
        return self.some([y for y in self.values if TAPE not in y.type.shape], 3)

    def scan(self, x: Value) -> tuple[Value, ...]:
        consts, init = self.captured(), self.taken(x)
        if self.chance(0.3):
            consts.append(x)  # carried and there as it was
        few = self.trips * 6 > MOST_TRIPS
        length = self.one_of((0, 1, 2) if few else LENGTHS)
        rows = self.some([y for y in self.values if y.type.shape[:1] == (length,)] or [None], 2)
        given = [y for y in rows if y is not None]
        count: Value | None = None
        if self.chance(0.35):
            count = build.cast(build.size_value(length), DType.I64)
            if self.chance(0.6):
                limit = build.constant(int(self.random.integers(-2, 7)), DType.I64)
                count = build.minimum(count, limit)
        row_types = [y.type.with_shape(y.type.shape[1:]) for y in given]
        body, _ = self.body(
            [*(y.type for y in (*consts, *init)), *row_types],
            range(len(consts), len(consts) + len(init)),
            sizes.evaluate(length, ESTIMATES),
        )
        unbounded = count is not None and not given and len(body.results) == len(init)
        made = build.scan(
            body,
            consts,
            init,
            given,
            length=None if unbounded and self.chance(0.5) else length,
            reverse=self.chance(0.5),
            count=count,
        )
        return made

    def while_loop(self, x: Value) -> tuple[Value, ...]:
        """Make a loop whose first carry counts up to a limit."""
        start = build.constant(0, DType.I64)
        limit = build.constant(int(self.random.integers(0, 5)), DType.I64)
        if self.chance(0.5):
            limit = build.remainder(self.number(DType.I64), build.constant(5))
        init = [start, *self.taken(x)]
        asked, consts = [limit, *self.captured()], self.captured()
        with Builder() as builder:
            types = [y.type for y in (*asked, *init)]
            params = [builder.param(i, type_) for i, type_ in enumerate(types)]
            holds = build.lt(params[len(asked)], params[0])
            inner = _Maker(self.random, 0, 1)
            inner.values += params
            if self.chance(0.3):
                inner.step()
                holds = build.logical_and(holds, build.logical_or(inner.truth(), inner.truth()))
            condition = builder.function("condition", params, [holds])
        length: Size | None = self.one_of((None, 5, n + 5, m + 4, TAPE))
        first = len(consts)
        body, rows = self.body(
            [y.type for y in (*consts, *init)],
            range(first, first + len(init)),
            3,
            counter=first,
            stacks=length is not None,
        )
        made = build.while_loop(condition, body, asked, consts, init, length=length)
        if length == TAPE and rows:
            self.unwound(made[len(init) : -1], made[-1], x)
        return tuple(y for y in made if TAPE not in y.type.shape)

    def unwound(self, tapes: Sequence[Value], count: Value, x: Value) -> None:
        """Make a loop over tapes, backwards."""
        init = self.taken(x)
        row_types = [y.type.with_shape(y.type.shape[1:]) for y in tapes]
        types = [*(y.type for y in init), *row_types]
        body, _ = self.body(types, range(len(init)), 3, stacks=False)
        self.keep(
            *build.scan(body, [], init, tapes, length=TAPE, reverse=self.chance(0.8), count=count)
        )

    def branch(self, x: Value) -> tuple[Value, ...]:
        operands = [*self.taken(x), *self.captured()]
        types = [y.type for y in operands]
        wanted = [0, *self.some(range(len(types)), 2)]
        then, _ = self.body(types, wanted, 1, stacks=False)
        otherwise, _ = self.body(types, wanted, 1, stacks=False)
        return build.cond(self.truth(), then, otherwise, operands)

    def apart(self, x: Value) -> tuple[Value, ...]:
        operands = [*self.taken(x), *self.captured()]
        types = [y.type for y in operands]
        body, _ = self.body(types, self.some(range(len(types)), 3, 1), 1)
        if self.chance(0.3):
            return build.call(operands, name="apart", body=body)
        return build.checkpoint(body, operands)

    def body(
        self,
        types: Sequence[Type],
        carries: Sequence[int],
        trips: int,
        *,
        counter: int = -1,
        stacks: bool = True,
    ) -> tuple[Function, int]:
        """Return a function with a result of each carry's type, and more; and how many more.

        Parameters
        ----------
        carries: the parameters of whose types the first results are.
        trips: how often it runs each time it is asked for.
        counter: the parameter whose next value is one more, -1 for none.
        stacks: whether there may be more results than carries.
        """
        with Builder() as builder:
            made = _Maker(self.random, self.depth - 1, self.trips * max(trips, 1))
            params = [builder.param(i, type_) for i, type_ in enumerate(types)]
            made.values += params
            results: dict[int, Value] = {}
            for i in map(int, self.random.permutation(len(carries))):
                if self.chance(0.3):
                    made.step()
                results[i] = made.next_of(params[carries[i]])
            found = [results[i] for i in range(len(carries))]
            if counter >= 0:
                found[0] = build.add(params[counter], build.constant(1))
            for i in range(len(found)):
                if i != 0 and self.chance(0.1):
                    found[i] = made.like(found[i].type)
            more = made.outcome(2, lambda y: y.type.rank < MOST_RANK) if stacks else []
            return builder.function("body", params, [*found, *more]), len(more)

    def next_of(self, x: Value) -> Value:
        """Return what a carry is next: an update of it, itself, or another of its type."""
        kind = self.random.random()
        if kind < 0.65:
            return self.chain(x)
        return x if kind < 0.75 else self.like(x.type)
