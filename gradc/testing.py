"""Checks of derivatives: both modes against numeric differences, and run against run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gradc.autodiff.forward import jvp
from gradc.autodiff.open_calls import OpenCalls
from gradc.autodiff.reverse import vjp
from gradc_ir import ops
from gradc_ir.build import Builder
from gradc_ir.constant import Constant
from gradc_ir.graph import Function, Value
from gradc_ir.interpret import interpret
from gradc_ir.types import DType, Type

Array = npt.NDArray[Any]


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 1,
    modes: Sequence[str] = ("fwd", "rev"),
    *,
    rtol: float | None = None,
    atol: float | None = None,
    seed: int = 0,
) -> None:
    """Compare a function's derivatives with central differences, at ``args``.

    For each floating-point argument a random direction is drawn; the change of all results along
    it, computed numerically in float64, is compared with forward mode (``"fwd"``) and, through a
    random cotangent, with reverse mode (``"rev"``). ``order=2`` checks the derivative of reverse
    mode in the same way. Tolerances are relative to the sum of the terms' magnitudes; by default
    1e-6 for float64 and 1e-3 for float32. Raises AssertionError that names the argument, what was
    expected and what was found.
    """
    from gradc import nest
    from gradc.tracing import trace

    traced = trace(f, tuple(args))
    leaves = [np.asarray(leaf) for leaf in nest.flatten(tuple(args))[0]]
    hidden = [capture.read() for capture in traced.captures]
    wrt = [i for i, leaf in enumerate(leaves) if leaf.dtype.kind == "f"]
    check_function(
        traced.function, leaves + hidden, wrt, order, modes, rtol=rtol, atol=atol, seed=seed
    )


def check_function(
    function: Function,
    arrays: Sequence[Array],
    wrt: Sequence[int],
    order: int = 1,
    modes: Sequence[str] = ("fwd", "rev"),
    *,
    rtol: float | None = None,
    atol: float | None = None,
    seed: int = 0,
) -> None:
    """Compare a graph's derivatives by its parameters at ``wrt`` with central differences.

    As :func:`check_grads`, on a Function.
    """
    wrong = set(modes) - {"fwd", "rev"}
    if wrong:
        raise ValueError(f'modes are "fwd" and "rev", not {", ".join(map(repr, sorted(wrong)))}')
    single = any(type_.dtype is DType.F32 for type_ in function.param_types + function.result_types)
    rtol = rtol if rtol is not None else 1e-3 if single else 1e-6
    atol = atol if atol is not None else 1e-5 if single else 1e-8
    random = np.random.default_rng(seed)
    for position in wrt:
        numeric = _Numeric(function, arrays, position, random)
        for mode in modes:
            check = _forward if mode == "fwd" else _reverse
            found = check(function, arrays, position, numeric)
            for result, (have, want, scale) in enumerate(found):
                if not abs(have - want) <= atol + rtol * scale:
                    raise AssertionError(
                        f"{function.name}: {_NAMES[mode]} mode disagrees with central differences\n"
                        f"  argument {function.names[position]}: {function.param_types[position]}, "
                        f"result {result}\n"
                        f"  expected: {want}\n"
                        f"  found:    {have}"
                    )
    if order > 1:
        seeds = [
            random.normal(size=value.shape).astype(value.dtype)
            for value in interpret(OpenCalls()(function), arrays)
            if value.dtype.kind == "f"
        ]
        further = [len(function.params) + i for i in range(len(seeds))]
        check_function(
            vjp(function, wrt), [*arrays, *seeds], [*wrt, *further], order - 1, modes,
            rtol=rtol, atol=atol, seed=seed + 1,
        )  # fmt: skip


_NAMES = {"fwd": "forward", "rev": "reverse"}
_Compared = list[tuple[float, float, float]]


class _Numeric:
    """Central differences of the float results along one direction, in float64."""

    def __init__(
        self,
        function: Function,
        arrays: Sequence[Array],
        position: int,
        random: np.random.Generator,
    ) -> None:
        x = arrays[position]
        self.direction = random.normal(size=x.shape).astype(x.dtype)
        wide = widen(OpenCalls()(function))
        inputs = [a.astype(np.float64) if a.dtype == np.float32 else a for a in arrays]
        step = 1e-5 * max(1.0, float(np.max(np.abs(x), initial=0.0)))

        def at(distance: float) -> list[Array]:
            moved = list(inputs)
            moved[position] = inputs[position] + distance * self.direction.astype(np.float64)
            return [value for value in interpret(wide, moved) if value.dtype.kind == "f"]

        with np.errstate(all="ignore"):
            # fourth order: the error of the step is far below the tolerance
            near = [(a - b) / (2 * step) for a, b in zip(at(step), at(-step))]
            far = [(a - b) / (4 * step) for a, b in zip(at(2 * step), at(-2 * step))]
            self.tangents = [(4 * a - b) / 3 for a, b in zip(near, far)]
        self.weights = [random.normal(size=tangent.shape) for tangent in self.tangents]


def _forward(
    function: Function, arrays: Sequence[Array], position: int, numeric: _Numeric
) -> _Compared:
    pushed = OpenCalls()(jvp(function, [position]))
    results = interpret(pushed, [*arrays, numeric.direction])[len(function.results) :]
    return [
        (float(np.sum(w * have)), float(np.sum(w * want)), float(np.sum(np.abs(w * want))))
        for have, want, w in zip(results, numeric.tangents, numeric.weights)
    ]


def _reverse(
    function: Function, arrays: Sequence[Array], position: int, numeric: _Numeric
) -> _Compared:
    pulled = OpenCalls()(vjp(function, [position]))
    floats = [type_ for type_ in function.result_types if type_.dtype.is_float]
    compared = []
    for result, (want, weight) in enumerate(zip(numeric.tangents, numeric.weights)):
        seeds = [
            weight.astype(type_.dtype.numpy)
            if i == result
            else np.zeros(numeric.tangents[i].shape, type_.dtype.numpy)
            for i, type_ in enumerate(floats)
        ]
        (gradient,) = interpret(pulled, [*arrays, *seeds])[len(function.results) :]
        terms = gradient.astype(np.float64) * numeric.direction
        scale = np.sum(np.abs(weight * want)) + np.sum(np.abs(terms))
        compared.append((float(np.sum(terms)), float(np.sum(weight * want)), float(scale)))
    return compared


def widen(function: Function) -> Function:
    """Return the function with float64 in place of float32, for numeric differences."""

    def dtype(value: DType) -> DType:
        return DType.F64 if value is DType.F32 else value

    def attribute(value: Any) -> Any:
        if isinstance(value, DType):
            return dtype(value)
        if isinstance(value, Type):
            return value.with_dtype(dtype(value.dtype))
        if isinstance(value, Constant) and value.type.dtype is DType.F32:
            return Constant(value.array.astype(np.float64))
        return widen(value) if isinstance(value, Function) else value

    builder = Builder()
    with builder:
        new: dict[Value, Value] = {}
        for node in function.nodes:
            operands = tuple(new[operand] for operand in node.operands)
            attributes = {key: attribute(value) for key, value in node.attributes.items()}
            made = builder.apply(ops.TABLE[node.op.name], operands, attributes)
            new.update(zip(node.results, made.results))
        return builder.function(
            function.name,
            [new[param] for param in function.params],
            [new[result] for result in function.results],
            function.names,
        )


def check_determinism(
    f: Callable[..., Any], args: Sequence[Any], *, repeat: int = 5, seed: int = 0
) -> None:
    """Check that reverse mode gives the same bits each time, by gradient injection.

    For each of ``repeat`` seeds, random cotangents in [-1, 1) are pulled back twice through ``f``
    at ``args``. Raises AssertionError that names the first argument whose gradients differ in a
    bit.
    """
    from gradc import nest, transforms

    for number in range(repeat):
        random = np.random.default_rng(seed + number)
        value, pullback = transforms.vjp(f, *args)
        leaves, structure = nest.flatten(value)
        drawn = [
            np.asarray(2 * random.random(np.shape(leaf)) - 1, dtype=np.asarray(leaf).dtype)
            for leaf in leaves
        ]
        cotangent = nest.unflatten(structure, drawn)
        _, again = transforms.vjp(f, *args)
        runs = [nest.flatten(pull(cotangent))[0] for pull in (pullback, again)]
        names = nest.paths(pullback(cotangent), "argument ")
        for name, first, second in zip(names, *runs):
            if np.asarray(first).tobytes() != np.asarray(second).tobytes():
                raise AssertionError(
                    f"the gradient is not deterministic: {name}, seed {seed + number}\n"
                    f"  first run:  {first}\n"
                    f"  second run: {second}"
                )


def sample_arguments(types: Sequence[Any], size: int = 5, seed: int = 0) -> tuple[Any, ...]:
    """Return random arguments for nests of types, with ``size`` for every symbolic size.

    Floats are normally distributed, integers and booleans are 0 or 1.
    """
    from gradc import nest
    from gradc_ir import sizes

    random = np.random.default_rng(seed)

    def sample(type_: Type) -> Array:
        numbers = dict.fromkeys(type_.symbols, size)
        shape = tuple(sizes.evaluate(each, numbers) for each in type_.shape)
        if type_.dtype.is_float:
            return np.asarray(random.normal(size=shape), dtype=type_.dtype.numpy)
        return np.asarray(random.integers(0, 3, size=shape) > 0, dtype=type_.dtype.numpy)

    leaves, structure = nest.flatten(tuple(types))
    arguments: tuple[Any, ...] = nest.unflatten(structure, [sample(leaf) for leaf in leaves])
    return arguments
