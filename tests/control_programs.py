"""Random functions with nested loops and branches on scalars and their rows, for property tests.

They hold much that can be simplified: constants, operands given twice, carries that are equal,
loops of no step, conditions that are known, results that nobody needs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import DType, Type

SCALAR = Type(DType.F64)
LENGTHS = (0, 1, 3, sizes.symbol("n"))
UNARY = ("neg", "abs", "sqrt", "sin")
BINARY = ("add", "sub", "mul", "maximum")


def control_program(seed: int, depth: int = 3) -> Function:
    """Return a function of two scalars and an array of n elements; its results are scalars."""
    made = _Maker(np.random.default_rng(seed))
    with Builder() as builder:
        params = [builder.param(i, SCALAR) for i in range(2)]
        rows = builder.param(2, SCALAR.with_shape((sizes.symbol("n"),)))
        values = made.grown(list(params), [rows], depth, 4)
        return builder.function("f", [*params, rows], values[-4:])


class _Maker:
    def __init__(self, random: np.random.Generator) -> None:
        self.random = random

    def one_of(self, choices: Sequence[object]) -> object:
        return choices[int(self.random.integers(len(choices)))]

    def some(self, values: Sequence[Value], count: int) -> list[Value]:
        return [values[int(i)] for i in self.random.integers(len(values), size=count)]

    def grown(self, values: list[Value], rows: list[Value], depth: int, count: int) -> list[Value]:
        """Return the values and more."""
        values += [build.constant(x, DType.F64) for x in self.some_numbers()]
        for _ in range(count):
            kind = int(self.random.integers(8 if depth else 4))
            if kind < 2:
                values.append(build.apply(str(self.one_of(UNARY)), *self.some(values, 1)))
            elif kind < 4:
                values.append(build.apply(str(self.one_of(BINARY)), *self.some(values, 2)))
            elif kind < 6:
                values += self.scan(values, rows, depth)
            elif kind == 6:
                values += self.while_loop(values, depth)
            else:
                values += self.branch(values, depth)
        return values

    def some_numbers(self) -> list[float]:
        return [float(x) for x in self.random.integers(-1, 3, size=2)]

    def body(self, scalars: int, results: int, depth: int) -> Function:
        with Builder() as builder:
            params = [builder.param(i, SCALAR) for i in range(scalars)]
            values = self.grown(list(params), [], depth - 1, 3)
            # some carries stay as they are, some are equal, some are constants
            return builder.function("body", params, self.some(values, results))

    def scan(self, values: list[Value], rows: list[Value], depth: int) -> list[Value]:
        consts, init = self.some(values, 2), self.some(values, 3)
        length = self.one_of(LENGTHS)
        given = [x for x in rows if x.type.shape[0] == length]
        if self.random.random() < 0.5:
            given.append(build.broadcast(*self.some(values, 1), (length,), ()))
        count = None
        if self.random.random() < 0.4:
            count = build.constant(int(self.random.integers(-1, 3)), DType.I64)
            if self.random.random() < 0.3:
                count = build.size_value(length)  # type: ignore[arg-type]
        made = build.scan(
            self.body(5 + len(given), 5, depth),
            consts,
            init,
            given,
            length=length,  # type: ignore[arg-type]
            reverse=bool(self.random.random() < 0.5),
            count=count,
        )
        rows += made[3:]
        sums = [build.reduce_sum(x, [0]) for x in made[3:]]
        return [*made[:3], *sums]

    def while_loop(self, values: list[Value], depth: int) -> list[Value]:
        with Builder() as builder:
            # the limit, the carries, the first of which counts
            params = [builder.param(i, SCALAR) for i in range(4)]
            holds = build.lt(params[1], params[0])
            condition = builder.function("condition", params, [holds])
        with Builder() as builder:
            params = [builder.param(i, SCALAR) for i in range(4)]
            step = build.add(params[1], build.constant(1.0))
            inner = builder.inline(self.body(4, 3, depth), params)
            body = builder.function("body", params, [step, *inner])
        limit, start = (build.constant(float(x)) for x in self.random.integers(0, 4, size=2))
        *found, stack, count = build.while_loop(
            condition, body, [limit], self.some(values, 1), [start, *self.some(values, 2)], length=3
        )
        return [*found, build.reduce_sum(stack, [0]), build.cast(count, DType.F64)]

    def branch(self, values: list[Value], depth: int) -> list[Value]:
        pred = build.lt(*self.some(values, 2))
        if self.random.random() < 0.3:
            pred = build.constant(bool(self.random.random() < 0.5))
        elif self.random.random() < 0.3:
            pred = build.logical_not(pred)
        then = self.body(3, 3, depth)
        otherwise = then if self.random.random() < 0.2 else self.body(3, 3, depth)
        operands = self.some(values, 3)
        if self.random.random() < 0.3:
            return list(build.checkpoint(then, operands))
        return list(build.cond(pred, then, otherwise, operands))
