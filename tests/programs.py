"""Random well-formed functions, and arguments for them, for the property tests of every room.

``programs()`` draws a Function of 5 to 30 ops; ``arguments(function)`` draws arrays that fit it,
and ``arrays_for(function, seed)`` makes such arrays without hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import DType, Type

Draw = Callable[[st.SearchStrategy[Any]], Any]

SHAPES = ((), (0,), (1,), (3,), (7,), (2, 3), (3, 1), (0, 2), (4, 3), (2, 3, 2))
SYMBOLIC_SHAPES = (*SHAPES, *((sizes.symbol("n"), *rest) for rest in ((), (3,))))
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, float("inf"), float("-inf"), float("nan"), 1e-40, 710.0)
# So few that no program makes a large array, or a long reduction, by broadcasting again and again.
MOST_ELEMENTS = 256

EXACT_UNARY = ("neg", "abs", "sign", "floor", "sqrt", "exactly")
SMOOTH_UNARY = ("neg", "tanh", "sin", "cos", "sigmoid", "softplus")
WILD_UNARY = (*EXACT_UNARY, *SMOOTH_UNARY, "exp", "expm1", "log", "log1p", "tan")
EXACT_BINARY = ("add", "sub", "mul", "div", "maximum", "minimum", "floor_divide", "remainder")
SMOOTH_BINARY = ("add", "sub", "mul", "logaddexp", "arctan2")
WILD_BINARY = (*EXACT_BINARY, "power", "arctan2", "logaddexp")
COMPARISONS = ("eq", "ne", "lt", "le")
LOGIC = ("logical_and", "logical_or", "logical_xor")


class _Program:
    """A function in the making: the values drawn so far, and how to draw the next."""

    def __init__(self, draw: Draw, kind: str, dtypes: tuple[DType, ...], symbolic: bool) -> None:
        self.draw = draw
        self.kind = kind
        self.dtypes = dtypes
        self.unary = {"exact": EXACT_UNARY, "smooth": SMOOTH_UNARY}.get(kind, WILD_UNARY)
        self.binary = {"exact": EXACT_BINARY, "smooth": SMOOTH_BINARY}.get(kind, WILD_BINARY)
        shapes = SYMBOLIC_SHAPES if symbolic else SHAPES
        count = draw(st.integers(1, 3))
        self.params = [
            build.active().param(i, Type(self.one_of(dtypes), self.one_of(shapes)))
            for i in range(count)
        ]
        self.values: list[Value] = list(self.params)

    def one_of(self, choices: Any) -> Any:
        return self.draw(st.sampled_from(list(choices)))

    def chance(self) -> bool:
        return bool(self.draw(st.booleans()))

    def number(self) -> float:
        choices = (0.5, 2.0, -1.0, 1.0, 0.25, 3.0) if self.kind == "smooth" else (*SPECIAL, 3.0)
        return float(self.one_of(choices))

    def value(self, rank: int = 0) -> Value | None:
        """Return a float value of at least some rank; the latest ones are likelier."""
        found = [x for x in self.values if x.type.dtype.is_float and x.type.rank >= rank]
        if not found:
            return None
        return self.one_of(found if self.draw(st.integers(0, 3)) == 0 else found[-2:])

    def fitting(self, x: Value) -> Value:
        """Return a value of x's type: one there is, one made to fit, or a constant."""
        same = [y for y in self.values if y.type == x.type]
        smaller = [
            y
            for y in self.values
            if y.type.dtype is x.type.dtype
            and y.type != x.type
            and y.type.shape == x.type.shape[x.type.rank - y.type.rank :]
        ]
        choice = self.one_of(["same", "smaller", "constant"])
        if choice == "same" or (choice == "smaller" and not smaller):
            return self.one_of(same)
        if choice == "smaller":
            return build.broadcast_to(self.one_of(smaller), x.type.shape)
        return build.full_like(x, self.number())

    # -- steps: each returns a new value, or None when none fits ----------------------------------

    def step_unary(self) -> Value | None:
        x = self.value()
        return x and build.apply(self.one_of(self.unary), x)

    def step_binary(self) -> Value | None:
        x = self.value()
        if x is None:
            return None
        pair = [x, self.fitting(x)]
        return build.apply(self.one_of(self.binary), *(pair if self.chance() else pair[::-1]))

    def step_select(self) -> Value | None:
        x = self.value()
        if x is None:
            return None
        condition = build.apply(self.one_of(COMPARISONS), x, self.fitting(x))
        if self.chance():
            other = build.apply(self.one_of(COMPARISONS), x, self.fitting(x))
            condition = build.apply(self.one_of(LOGIC), build.logical_not(condition), other)
        return build.select(condition, self.fitting(x), x)

    def step_cast(self) -> Value | None:
        x = self.value()
        if x is None or len(self.dtypes) < 2:
            return None
        if self.kind != "smooth" and self.chance():
            return build.cast(build.cast(x, self.one_of((DType.I64, DType.I32))), x.type.dtype)
        return build.cast(x, self.one_of(self.dtypes))

    def step_broadcast(self) -> Value | None:
        x = self.value()
        if x is None:
            return None
        axis = self.draw(st.integers(0, x.type.rank))
        shape = list(x.type.shape)
        shape.insert(axis, self.one_of((1, 2, 3, 0)))
        axes = tuple(i for i in range(len(shape)) if i != axis)
        return build.broadcast(x, tuple(shape), axes)

    def step_reduce(self) -> Value | None:
        x = self.value(rank=1)
        if x is None:
            return None
        axes = self.draw(st.sets(st.integers(0, x.type.rank - 1), min_size=1, max_size=x.type.rank))
        names = ["reduce_sum"]
        if self.kind != "smooth":
            names += ["reduce_prod", "reduce_max", "reduce_min"]
        if self.kind != "exact" and _surely_some(x):
            names += ["logsumexp"]
        names += ["norm"] if x.type.dtype.is_float and self.kind != "smooth" else []
        return build.apply(self.one_of(names), x, axes=tuple(sorted(axes)))

    def step_contract(self) -> Value | None:
        x = self.value(rank=1)
        if x is None:
            return None
        labels = "ijklmn"[: x.type.rank]
        kept = "".join(label for label in labels if self.chance())
        y = self.fitting(x)
        order = self.draw(st.permutations(range(x.type.rank)))
        right = "".join(labels[i] for i in order)
        return build.contract(x, build.transpose(y, tuple(order)), f"{labels},{right}->{kept}")

    def step_reshape(self) -> Value | None:
        x = self.value()
        if x is None:
            return None
        shape = x.type.shape
        if self.chance():
            return build.reshape(x, (x.type.count,))
        axis = self.draw(st.integers(0, len(shape)))
        return build.reshape(x, (*shape[:axis], 1, *shape[axis:]))

    def step_transpose(self) -> Value | None:
        x = self.value(rank=2)
        return x and build.transpose(x, tuple(self.draw(st.permutations(range(x.type.rank)))))

    def _window(self, length: Any) -> tuple[Any, Any, int]:
        """Return start, size and step of a window in an axis."""
        if not isinstance(length, int) or length == 0:
            return 0, length, 1
        step = self.one_of((1, 2, -1))
        size = self.draw(st.integers(0, -(-length // abs(step))))
        span = (max(size, 1) - 1) * abs(step)
        low = self.draw(st.integers(0, length - 1 - span))
        return (low if step > 0 else low + span), size, step

    def step_slice(self) -> Value | None:
        x = self.value(rank=1)
        if x is None:
            return None
        starts, shape, steps = zip(*(self._window(length) for length in x.type.shape))
        return build.slice(x, starts, shape, steps)

    def step_set_slice(self) -> Value | None:
        x = self.value(rank=1)
        if x is None:
            return None
        starts, shape, steps = zip(*(self._window(length) for length in x.type.shape))
        part = build.slice(self.fitting(x), starts, shape, steps)
        return build.set_slice(x, part, starts, steps)

    def step_pad(self) -> Value | None:
        x = self.value(rank=1)
        if x is None:
            return None
        spread = [self.one_of((1, 2)) for _ in x.type.shape]
        starts = tuple(self.draw(st.integers(0, 2)) for _ in x.type.shape)
        if any(step > 1 and not isinstance(n, int) for step, n in zip(spread, x.type.shape)):
            return None
        shape = tuple(
            start + ((n - 1) * step + 1 if step > 1 and n else n) + self.draw(st.integers(0, 1))
            for start, n, step in zip(starts, x.type.shape, spread)
        )
        return build.pad(x, starts, shape, tuple(spread))

    def step_concatenate(self) -> Value | None:
        x = self.value(rank=1)
        if x is None:
            return None
        axis = self.draw(st.integers(0, x.type.rank - 1))
        return build.concatenate([x, self.fitting(x), x][: self.one_of((2, 3))], axis)

    def _indices(self, x: Value) -> tuple[list[Value], tuple[int, ...]] | None:
        """Return constant index arrays of one shape, and the axes of x they are for."""
        axes = [i for i, n in enumerate(x.type.shape) if isinstance(n, int) and n]
        if not axes:
            return None
        chosen = self.draw(
            st.lists(st.sampled_from(axes), min_size=1, max_size=min(2, len(axes)), unique=True)
        )
        shape = self.one_of(((), (1,), (3,), (2, 2), (0,)))
        dtype = self.one_of((np.int64, np.int32))
        indices = []
        for axis in chosen:
            length = x.type.shape[axis]
            assert isinstance(length, int)
            seed = self.draw(st.integers(0, 2**16))
            drawn = np.random.default_rng(seed).integers(-length, length, size=shape)
            indices.append(build.constant(drawn.astype(dtype)))
        return indices, tuple(chosen)

    def step_gather(self) -> Value | None:
        x = self.value(rank=1)
        found = x and self._indices(x)
        return build.gather(x, *found) if x and found else None

    def step_scatter(self) -> Value | None:
        x = self.value(rank=1)
        found = x and self._indices(x)
        if not x or not found:
            return None
        part = build.gather(self.fitting(x), *found)
        scatter = build.scatter_add if self.chance() else build.scatter_set
        return scatter(x, part, *found)

    def step_running(self) -> Value | None:
        x = self.value(rank=1)
        if x is None:
            return None
        axis, reverse = self.draw(st.integers(0, x.type.rank - 1)), self.chance()
        if self.chance():
            return build.cumsum(x, axis, reverse)
        factors = self.fitting(x)
        # bounded, so that what is smooth grows slowly
        factors = build.tanh(factors) if self.kind == "smooth" else factors
        return build.recurrence(factors, x, axis, reverse)

    def step_argsort(self) -> Value | None:
        x = self.value(rank=1)
        if x is None or self.kind != "exact":
            return None
        order = build.argsort(x, self.draw(st.integers(0, x.type.rank - 1)))
        return build.add(x, build.cast(order, x.type.dtype))

    def step_iota(self) -> Value | None:
        x = self.value(rank=1)
        if x is None:
            return None
        axis = self.draw(st.integers(0, x.type.rank - 1))
        ramp = build.iota(x.type.dtype, x.type.shape[axis])
        return build.mul(x, build.broadcast(ramp, x.type.shape, (axis,)))

    def step_array(self) -> Value | None:
        x = self.value()
        if x is None or not _surely_some(x):
            return None
        seed = self.draw(st.integers(0, 2**16))
        drawn = np.random.default_rng(seed).normal(size=x.type.shape)
        return build.add(x, build.constant(drawn, x.type.dtype))


def _surely_some(x: Value) -> bool:
    return all(isinstance(n, int) and n > 0 for n in x.type.shape)


def _small(x: Value) -> bool:
    return x.type.rank <= 5 and sizes.evaluate(x.type.count, {"n": 7}) <= MOST_ELEMENTS


STEPS = tuple(name for name in vars(_Program) if name.startswith("step_"))
# Arithmetic, and what moves data about, in about equal parts.
WEIGHTED = STEPS + ("step_unary", "step_binary", "step_binary") * 2


@st.composite
def programs(
    draw: Draw,
    *,
    kind: str = "wild",
    dtypes: tuple[DType, ...] = (DType.F64, DType.F32),
    symbolic: bool = False,
    scalar: bool = False,
    least: int = 5,
    most: int = 30,
) -> Function:
    """Draw a function.

    Parameters ---------- kind: ``"wild"`` has every op; ``"exact"`` only ops whose results are the
    same bits everywhere (no
        math functions); ``"smooth"`` only bounded or slowly growing, differentiable ones, away from
        where they have kinks but for ``select``.
    dtypes: float dtypes of parameters; with one of them there are no casts. symbolic: whether
    parameters may have the size ``n``, which may be any number. scalar: whether the result is one
    float scalar, to be differentiated; else there are three. least, most: how many steps are
    drawn; a step makes one op or a few.
    """
    with Builder() as builder:
        program = _Program(draw, kind, dtypes, symbolic)
        wanted = draw(st.integers(least, most)) + len(program.params)
        for _ in range(3 * most):
            if len(program.values) >= wanted:
                break
            made = getattr(program, program.one_of(WEIGHTED))()
            if made is not None and _small(made) and made not in program.values:
                program.values.append(made)
        results = program.values[-1:-4:-1]
        if scalar:
            sums = [build.reduce_sum(x, range(x.type.rank)) for x in results]
            total = sums[0]
            for part in sums[1:]:
                total = build.add(total, build.cast(part, total.type.dtype))
            results = [total]
        return builder.function("program", program.params, results)


def arrays_for(
    function: Function, seed: int, *, n: int = 5, special: bool = False
) -> list[np.ndarray]:
    """Return arrays for the parameters; with ``special``, nan, infinities and zeros among them."""
    random = np.random.default_rng(seed)
    arrays = []
    for type_ in function.param_types:
        shape = tuple(sizes.evaluate(size, {"n": n}) for size in type_.shape)
        drawn = np.asarray(random.normal(size=shape))
        if special:
            drawn = np.where(random.random(shape) < 0.4, random.choice(SPECIAL, shape), drawn)
        with np.errstate(all="ignore"):
            arrays.append(np.asarray(drawn, dtype=type_.dtype.numpy))
    return arrays


@st.composite
def arguments(draw: Draw, function: Function, *, special: bool = False) -> list[np.ndarray]:
    """Draw arrays for the parameters of a function; a symbolic ``n`` is 0, 1 or 7."""
    n = draw(st.sampled_from((7, 1, 0)))
    return arrays_for(function, draw(st.integers(0, 2**16)), n=n, special=special)
