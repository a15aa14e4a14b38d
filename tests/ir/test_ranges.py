"""What is known of the numbers in a value: always true, and known where it should be."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gradc_ir import build
from gradc_ir.core.builder import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.range import Range
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import GradcError
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.passes.fold import FoldConstants
from gradc_ir.ranges.knowledge import (
    interval,
    is_finite,
    is_negative,
    is_nonnegative,
    is_nonzero,
    is_positive,
    is_whole,
    is_within,
)
from gradc_ir.ranges.reading import range_of
from gradc_ir.text.parser import parse_function
from tests.random_graphs import random_arguments, random_graph, random_sizes

EXAMPLES = int(os.environ.get("GRADC_EXAMPLES", "60"))
INF = math.inf
HUGE = 1.7976931348623157e308


# -- nothing is ever outside -----------------------------------------------------------------------

_ONE = (
    "neg abs sign floor sqrt exp expm1 log log1p exp2 log2 log10 cbrt sin cos tan tanh sinh cosh "
    "arcsin arccos arctan arcsinh arccosh arctanh erf erfc softplus sigmoid sigmoid_derivative "
    "log1mexp stop_gradient"
)
_TWO = (
    "add sub mul div add sub mul div power hypot arctan2 logaddexp maximum minimum remainder "
    "floor_divide"
)
_NUMBERS = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    3.0,
    0.5,
    -2.0,
    1e-3,
    10.0,
    710.0,
    -745.0,
    1e300,
    5e-324,
    INF,
)


class _Maker:
    """A random graph of elementwise ops, with conditions on the values they are about."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.dtype = DType.F32 if self.random.random() < 0.3 else DType.F64
        self.shape = (64,)
        self.values: list[Value] = []

    def pick(self) -> Value:
        """Return a value, of the youngest more often, or a constant."""
        if self.random.random() < 0.25:
            number = float(self.random.choice(_NUMBERS))
            return build.full(self.shape, number, self.dtype)
        place = int(self.random.triangular(0, len(self.values), len(self.values)))
        return self.values[min(place, len(self.values) - 1)]

    def condition(self, depth: int = 1) -> Value:
        kind = self.random.random()
        if depth and kind < 0.3:
            name = str(self.random.choice(["logical_and", "logical_or"]))
            return build.apply(name, self.condition(0), self.condition(0))
        if kind < 0.4:
            return build.apply("logical_not", self.condition(0))
        name = str(self.random.choice(["lt", "le", "lt", "le", "eq", "ne"]))
        return build.apply(name, self.pick(), self.pick())

    def grow(self) -> None:
        kind = self.random.random()
        if kind < 0.35:
            made = build.apply(str(self.random.choice(_ONE.split())), self.pick())
        elif kind < 0.7:
            made = build.apply(str(self.random.choice(_TWO.split())), self.pick(), self.pick())
        elif kind < 0.9:
            condition = self.condition()
            inner = self.pick()
            if self.random.random() < 0.5:
                inner = build.apply(str(self.random.choice(_ONE.split())), inner)
            made = build.select(condition, inner, self.pick())
        elif kind < 0.95:
            wide = build.broadcast(
                build.apply(
                    str(self.random.choice(["reduce_sum", "reduce_max", "reduce_min"])),
                    self.pick(),
                    axes=(0,),
                ),
                self.shape,
                (),
            )
            made = build.apply(str(self.random.choice(["sub", "div"])), self.pick(), wide)
        else:
            kind = DType.I32 if self.random.random() < 0.5 else DType.F32
            made = build.cast(build.cast(self.pick(), kind), self.dtype)
        self.values.append(made)

    def function(self) -> Function:
        with Builder() as builder:
            params = [builder.param(i, Type(self.dtype, self.shape)) for i in range(2)]
            self.values += params
            for _ in range(25):
                self.grow()
            return builder.function("random", params, self.values[2:])

    def argument(self) -> npt.NDArray[Any]:
        kind = self.dtype.numpy
        bits = self.random.integers(0, 2 ** (8 * kind.itemsize), self.shape[0], dtype=np.uint64)
        wild = bits.astype(f"u{kind.itemsize}").view(kind)
        tame = self.random.normal(size=self.shape).astype(kind)
        special = self.random.choice(np.array([*_NUMBERS, -INF, math.nan], kind), self.shape)
        picked = self.random.integers(3, size=self.shape)
        return np.choose(picked, [wild, tame, special]).astype(kind)


def assert_inside(known: Range, array: npt.NDArray[Any], what: object) -> None:
    """Assert that all elements are where they are said to be."""
    numbers = array[array == array]
    assert known.nan or numbers.size == array.size, f"nan in {known} of {what}"
    if not numbers.size:
        return
    ends = f"{numbers.min()!r} … {numbers.max()!r}"
    assert known.low <= numbers.min(), f"{ends} in {known} of {what}"
    assert numbers.max() <= known.high, f"{ends} in {known} of {what}"
    assert not (known.nonzero and np.any(numbers == 0)), f"0 in {known} of {what}"
    if array.dtype.kind == "f":
        assert known.signed or not np.any(np.signbit(numbers) & (numbers == 0)), (
            f"-0 in {known} of {what}"
        )
        if known.whole:
            finite = numbers[np.isfinite(numbers)]
            assert np.all(finite == np.floor(finite)), f"a fraction in {known} of {what}"


def check(function: Function, arguments: list[npt.NDArray[Any]]) -> None:
    values = [value for node in function.body for value in node.results]
    every = Function("every", function.params, values)
    for value, array in zip(values, interpret(every, arguments)):
        assert_inside(range_of(value), array, value.node)


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_elementwise_values_are_inside(seed: int) -> None:
    maker = _Maker(seed)
    function = maker.function()
    for _ in range(4):
        check(function, [maker.argument(), maker.argument()])


@pytest.mark.parametrize("seed", range(EXAMPLES // 3))
def test_values_of_arrays_are_inside(seed: int) -> None:
    function = random_graph(seed)
    random = np.random.default_rng(seed)
    for _ in range(2):
        try:
            check(function, random_arguments(function, random, random_sizes(random)))
        except GradcError:
            continue


_OF_INTEGERS = (
    "neg abs sign add sub mul floor_divide remainder power maximum minimum select reduce_sum "
    "reduce_prod reduce_max reduce_min cumsum recurrence contract scatter_add cast"
)


def _integer_step(random: np.random.Generator, dtype: DType, pick: Any) -> Value:
    """Return an op on integers of three elements, a cast or a reduction among them."""
    name = str(random.choice(_OF_INTEGERS.split()))
    if name in ("neg", "abs", "sign"):
        return build.apply(name, pick())
    if name == "select":
        return build.select(build.lt(pick(), pick()), pick(), pick())
    if name.startswith("reduce"):
        return build.broadcast(build.apply(name, pick(), axes=(0,)), (3,), ())
    if name == "cumsum":
        return build.apply(name, pick(), axis=0, reverse=bool(random.integers(2)))
    if name == "recurrence":
        return build.apply(name, pick(), pick(), axis=0, reverse=bool(random.integers(2)))
    if name == "contract":
        x, y = pick(), pick()
        return build.broadcast(build.contract(x, random.choice([x, y]), "i,i->"), (3,), ())
    if name == "scatter_add":
        places = build.constant(random.integers(0, 3, 3))
        return build.apply(name, pick(), pick(), places, axes=(0,))
    if name == "cast":
        kinds = [DType.F64, DType.F32, DType.I64, DType.I32]
        return build.cast(build.cast(pick(), kinds[random.integers(4)]), dtype)
    return build.apply(name, pick(), pick())


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_integers_are_inside_and_fold_to_what_they_are(seed: int) -> None:
    """At the edges of the dtype, where arithmetic wraps around."""
    random = np.random.default_rng(seed)
    dtype = DType.I32 if seed % 2 else DType.I64
    info = np.iinfo(dtype.numpy)
    edges = [info.min, info.min + 1, -3, -1, 0, 1, 2, 50, 40_000, info.max - 1, info.max]

    def numbers() -> npt.NDArray[Any]:
        return random.choice(np.array(edges, dtype.numpy), 3)

    with Builder() as builder:
        values = [builder.param(0, Type(dtype, (3,)))]
        for _ in range(20):

            def pick() -> Value:
                if random.random() < 0.4:
                    return build.constant(numbers())
                return values[random.integers(len(values))]

            values.append(_integer_step(random, dtype, pick))
        function = builder.function("integers", values[:1], values[1:])
    given = [numbers()]
    with np.errstate(all="ignore"):
        check(function, given)
        folded = interpret(FoldConstants()(function), given)
        for found, want in zip(folded, interpret(function, given), strict=True):
            np.testing.assert_array_equal(found, want)


# -- what is known ---------------------------------------------------------------------------------


def value(text: str) -> Value:
    """Return the value ``%r`` of a text about two arrays of numbers, integers and a condition."""
    params = "%x: f64[3], %y: f64[3], %i: i64[3], %b: bool[3], %m: f64[n,3], %s: f64"
    type_ = "f64[n,3]" if "%r: f64[n,3]" in text else text.partition("%r: ")[2].partition(" =")[0]
    return parse_function(f"func @f({params}) -> {type_} {{ {text} return %r }}").results[0]


_SQUARE = "%0: f64[3] = mul %x, %x "
INTERVALS = [
    ("%r: f64[3] = sin %x", -1, 1),
    ("%r: f64[3] = exp %x", 0, INF),
    (_SQUARE + "%r: f64[3] = add %0, 1.0", 1, INF),
    (_SQUARE + "%1: f64[3] = add 1.0, %0 %r: f64[3] = div 1.0, %1", 0, 1),
    (_SQUARE + "%1: f64[3] = neg %0 %r: f64[3] = exp %1", 0, 1),
    (_SQUARE + "%1: f64[3] = exp %0 %r: f64[3] = sub %1, 1.0", 0, INF),
    (_SQUARE + "%1: f64[3] = add %0, 1.0 %r: f64[3] = log %1", 0, INF),
    ("%0: f64[3] = tanh %x %1: f64[3] = mul %0, %0 %r: f64[3] = sub 1.0, %1", 0, 1),
    ("%0: f64[3] = abs %x %1: f64[3] = add %0, 1.0 %r: f64[3] = div %0, %1", 0, 1),
    ("%0: f64[3] = abs %x %r: f64[3] = div 1.0, %0", 0, INF),
    ("%0: f64[3] = maximum %x, %y %r: f64[3] = sub %x, %0", -INF, 0),
    ("%0: f64[3] = floor %x %r: f64[3] = sub %x, %0", 0, INF),
    ("%0: f64[3] = minimum %x, 2.0 %r: f64[3] = maximum %0, -1.0", -1, 2),
    ("%0: f64[3] = mul %x, 0.0 %r: f64[3] = cast %b", 0, 1),
    ("%r: f64[3] = power %x, 2.0", 0, INF),
    ("%0: f64[3] = abs %x %r: f64[3] = power %0, 1.5", 0, INF),
    ("%r: f64[3] = sub %x, %x", 0, 0),
    ("%r: f64[3] = div %x, %x", 1, 1),
    ("%r: i64[3] = remainder %i, 7", 0, 7),
    ("%r: i64[5] = iota", 0, 4),
    ("%r: i64 = size {size = n}", 0, 2**63 - 1),
    # reductions
    ("%0: f64[n,3] = mul %m, %m %r: f64[n] = reduce_sum %0 {axes = [1]}", 0, INF),
    ("%0: f64[n,3] = abs %m %r: f64[n] = reduce_max %0 {axes = [1]}", 0, INF),
    ('%r: f64[n] = contract %m, %m {spec = "ij,ij->i"}', 0, INF),
    (
        "%0: f64[n] = reduce_max %m {axes = [1]} %1: f64[n,3] = broadcast %0 {axes = [0]} "
        "%2: f64[n,3] = sub %m, %1 %r: f64[n,3] = exp %2",
        0,
        1,
    ),
    (
        "%0: f64[n,3] = exp %m %1: f64[n] = reduce_sum %0 {axes = [1]} "
        "%2: f64[n,3] = broadcast %1 {axes = [0]} %r: f64[n,3] = div %0, %2",
        0,
        1,
    ),
    # what conditions say
    ("%c: bool[3] = lt 0.0, %x %r: f64[3] = select %c, %x, 1.0", 5e-324, INF),
    ("%c: bool[3] = le 1.0, %x %0: f64[3] = log %x %r: f64[3] = select %c, %0, 0.0", 0, INF),
    ("%c: bool[3] = lt %x, 0.0 %0: f64[3] = neg %x %r: f64[3] = select %c, %0, %x", 0, INF),
    (
        "%0: f64[3] = abs %x %c: bool[3] = lt %0, inf %r: f64[3] = select %c, %x, 0.0",
        -HUGE,
        HUGE,
    ),
    (
        "%c: bool[3] = lt -1.0, %x %d: bool[3] = lt %x, 1.0 %e: bool[3] = logical_and %c, %d "
        "%0: f64[3] = sub 1.0, %x %r: f64[3] = select %e, %0, 1.0",
        0,
        2,
    ),
    (
        "%c: bool = lt 2.0, %s %d: bool[3] = broadcast %c {axes = []} "
        "%0: f64 = sqrt %s %1: f64[3] = broadcast %0 {axes = []} %2: f64[3] = mul %1, 1.0 "
        "%r: f64[3] = select %d, %2, 3.0",
        math.sqrt(2),
        INF,
    ),
    # nothing
    ("%r: f64[3] = add %x, %y", -INF, INF),
    ("%0: f64[3] = exactly 1.0 %r: f64[3] = add %0, 1.0", -INF, INF),
    ("%r: i64[3] = add %i, 1", -(2**63), 2**63 - 1),
    ("%c: bool[3] = lt 0.0, %x %r: f64[3] = select %c, %y, 1.0", -INF, INF),
]


@pytest.mark.parametrize(("text", "low", "high"), INTERVALS)
def test_intervals(text: str, low: float, high: float) -> None:
    assert interval(value(text)) == pytest.approx((low, high), rel=1e-15)


QUESTIONS = [
    (is_nonzero, _SQUARE + "%r: f64[3] = add %0, 1.0", True),
    (is_nonzero, "%r: f64[3] = exp %x", False),
    (is_nonzero, "%0: f64[3] = sin %x %r: f64[3] = exp %0", True),
    (is_nonzero, "%c: bool[3] = ne %x, 0.0 %r: f64[3] = select %c, %x, 1.0", True),
    (is_nonzero, "%c: bool[3] = eq %x, 0.0 %r: f64[3] = select %c, 1.0, %x", True),
    (is_finite, "%0: f64[3] = sin %x %r: f64[3] = exp %0", False),  # of nan it is nan
    (is_finite, "%0: f64[3] = cast %i %r: f64[3] = sin %0", True),
    (is_finite, "%c: bool[3] = lt %x, 1.0 %0: f64[3] = exp %x %r: f64[3] = select %c, %0, 0.0",
     True),
    (is_whole, "%r: f64[3] = cast %i", True),
    (is_whole, "%0: f64[3] = cast %i %1: f64[3] = mul %0, %0 %r: f64[3] = sub %1, 3.0", True),
    (is_whole, "%r: f64[3] = floor %x", False),  # of infinity it is infinite
    (is_negative, "%0: f64[3] = abs %x %1: f64[3] = neg %0 %r: f64[3] = sub %1, 1.0", True),
    (is_positive, "%0: f64[3] = softplus %x %r: f64[3] = add %0, 1e-10", True),
    (is_nonnegative, "%r: f64[3] = softplus %x", True),
    (lambda x: is_within(x, -1, 1), "%r: f64[3] = erf %x", True),
    (lambda x: is_within(x, -1, 1), "%r: f64[3] = mul %x, 0.5", False),
]  # fmt: skip


@pytest.mark.parametrize(("question", "text", "answer"), QUESTIONS)
def test_questions(question: Any, text: str, answer: bool) -> None:
    assert question(value(text)) is answer


def test_long_programs_are_no_deeper_than_short_ones() -> None:
    with Builder() as builder:
        x = total = builder.param(0, Type(DType.F64))
        for _ in range(20_000):
            total = build.add(build.abs(total), x * x)
    assert is_nonnegative(total)
