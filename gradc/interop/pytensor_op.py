"""Kernels inside of PyTensor, and so of PyMC's models: an op whose gradients are such ops again."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

import numpy as np

from gradc.interop.flat import Flat, flat_of
from gradc.interop.when_loaded import when_loaded
from gradc.native.native import Native
from gradc.native.needs import needed
from gradc.native.numba_function import dispatcher
from gradc.runtime.export import Entry
from gradc.runtime.specialize import working
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import Type, dtype_of
from gradc_ir.errors import ShapeError


def pytensor_op(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function for PyTensor that puts gradc's kernels into its graphs.

    Parameters
    ----------
    function: of NumPy, or a compiled one. Its arguments are PyTensor's variables, or what becomes
        one; it returns one value or a tuple.

    ``pytensor.grad``, ``pullback``, ``pushforward`` and what is made of them take gradc's
    derivatives, to any order, and so do PyMC's samplers: ``pm.Potential("fit", op(x, data))``. Axes
    of a length that the graph does not tell are symbols. Raises MissingLibraryError without
    PyTensor.
    """
    pt = needed("pytensor.tensor", "gradc.pytensor_op")
    flats: dict[int, tuple[Flat, Callable[..., Any]]] = {}

    def call_in_pytensor(*args: Any) -> Any:
        inputs = [pt.as_tensor_variable(arg) for arg in args]
        if len(inputs) not in flats:
            flats[len(inputs)] = flat_of(function, lambda leaves: (tuple(leaves), {}))
        flat, nest = flats[len(inputs)]
        made = op_of(flat)(*inputs, return_list=True)
        return nest(made)

    functools.update_wrapper(call_in_pytensor, function, updated=())
    return call_in_pytensor


def op_of(flat: Flat) -> Any:
    """Return the op of a flat function, the same one each time."""
    made = vars(flat).get("_op")
    if made is None:
        made = vars(flat)["_op"] = _op_class()(flat)
    return made


@functools.cache
def _op_class() -> Any:
    """Return the class of the ops."""
    graph = needed("pytensor.graph", "gradc.pytensor_op")
    pt = needed("pytensor.tensor", "gradc.pytensor_op")
    disconnected = needed("pytensor.gradient", "gradc.pytensor_op").DisconnectedType

    class KernelOp(graph.Op):  # type: ignore[misc, name-defined]
        """Computes a flat function."""

        def __init__(self, flat: Flat) -> None:
            self.flat = flat

        def __str__(self) -> str:
            return f"gradc.{self.flat.name}"

        def make_node(self, *inputs: Any) -> Any:
            variables = [pt.as_tensor_variable(x) for x in inputs]
            types = _result_types(self.flat, variables)
            outputs = [pt.TensorType(dtype, shape=shape)() for dtype, shape in types]
            return graph.Apply(self, variables, outputs)

        def perform(self, node: Any, inputs: Any, storage: Any) -> None:
            for cell, result in zip(storage, self.flat.compiled(*inputs)):
                cell[0] = np.asarray(result)  # numbers are arrays in PyTensor

        def make_py_thunk(
            self, node: Any, storage: Any, computed: Any, _: Any, debug: bool = False
        ) -> Any:
            cells = [storage[x] for x in node.inputs], [storage[y] for y in node.outputs]
            is_number = [y.type.ndim == 0 for y in node.outputs]
            done = [] if computed is None else [computed[y] for y in node.outputs]
            thunk = _thunk(self.flat.compiled, *cells, is_number, done)
            thunk.inputs, thunk.outputs = cells
            thunk.lazy, thunk.perform = False, self.perform
            return thunk

        def L_op(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
            moved = [i for i, x in enumerate(inputs) if _is_float(x)]
            found: list[Any] = [disconnected()() for _ in inputs]
            given = [
                x.zeros_like() if isinstance(c.type, disconnected) else c
                for x, c in zip(outputs, cotangents)
                if _is_float(x)
            ]
            if moved and given:
                pulled = op_of(self.flat.pulled(moved, len(inputs)))
                made = pulled(*inputs, *given, return_list=True)
                for i, cotangent in zip(moved, made):
                    found[i] = cotangent
            return found

        # as later versions call it
        pullback = L_op

        def pushforward(self, inputs: Any, outputs: Any, tangents: Any) -> list[Any]:
            moved = [
                i
                for i, (x, t) in enumerate(zip(inputs, tangents))
                if _is_float(x) and t is not None and not isinstance(t.type, disconnected)
            ]
            pushed = op_of(self.flat.pushed(moved, len(inputs)))
            made = iter(pushed(*inputs, *(tangents[i] for i in moved), return_list=True))
            return [next(made) if _is_float(x) else disconnected()() for x in outputs]

        def R_op(self, inputs: Any, tangents: Any) -> list[Any]:
            return self.pushforward(inputs, self(*inputs, return_list=True), tangents)

        def connection_pattern(self, node: Any) -> list[list[bool]]:
            return [[_is_float(x) and _is_float(y) for y in node.outputs] for x in node.inputs]

        def __eq__(self, other: object) -> bool:
            return type(self) is type(other) and self.flat is other.flat

        def __hash__(self) -> int:
            return hash((type(self), id(self.flat)))

    _compute_what_is_read_once(KernelOp)
    when_loaded("pytensor.link.numba.dispatch.basic", lambda m: _known_to_numba(m, KernelOp))
    when_loaded("pytensor.link.jax.dispatch.basic", lambda m: _known_to_jax(m, KernelOp))
    return KernelOp


def _thunk(
    call: Callable[..., Any],
    inputs: Sequence[list[Any]],
    outputs: Sequence[list[Any]],
    is_number: Sequence[bool],
    done: Sequence[list[bool]],
) -> Any:
    """Return a function without arguments from cells to cells, as PyTensor's programs call them.

    PyTensor's own makes lists for ``perform``, which takes as long as a small kernel.
    """
    given = ", ".join(f"x{i}[0]" for i in range(len(inputs)))
    lines = ["def thunk():", f"    found = call({given})"]
    for i, number in enumerate(is_number):  # numbers are arrays in PyTensor
        lines.append(f"    y{i}[0] = " + (f"asarray(found[{i}])" if number else f"found[{i}]"))
    lines += [f"    done{i}[0] = True" for i in range(len(done))]
    names: dict[str, Any] = {"call": call, "asarray": np.asarray}
    for letter, cells in (("x", inputs), ("y", outputs), ("done", done)):
        names |= {f"{letter}{i}": cell for i, cell in enumerate(cells)}
    exec("\n".join(lines), names)
    return names["thunk"]


def _compute_what_is_read_once(op_class: type) -> None:
    """Have programs of PyTensor compute what is read, once.

    ``pytensor.grad`` asks an op for the slopes by all of its inputs, constants among them, and
    knows nothing of a kernel that has a number and its gradient.
    """
    pt = needed("pytensor.tensor", "gradc.pytensor_op")
    rewriting = needed("pytensor.graph.rewriting.basic", "gradc.pytensor_op")
    programs = needed("pytensor.tensor.rewriting.basic", "gradc.pytensor_op")

    def gradc_unread_results(graph: Any, node: Any) -> Any:
        read = [i for i, result in enumerate(node.outputs) if graph.clients.get(result)]
        if not read or len(read) == len(node.outputs):
            return None
        made = op_of(node.op.flat.chosen(read))(*node.inputs, return_list=True)
        return {node.outputs[i]: result for i, result in zip(read, made)}

    def gradc_number_with_gradient(graph: Any, node: Any) -> Any:
        if node.op.flat.pulled_from is None:
            return None
        origin, moved, count = node.op.flat.pulled_from
        given, cotangents = node.inputs[:count], node.inputs[count:]
        for other, _ in graph.clients[given[0]]:
            is_value = other.op == op_of(origin) and all(map(is_, other.inputs, given))
            if is_value and len(other.outputs) == 1 and other.outputs[0].type.ndim == 0:
                break
        else:
            return None
        value, *slopes = op_of(origin.with_gradient(moved))(*given, return_list=True)
        found = {other.outputs[0]: value}
        for result, slope in zip(node.outputs, slopes):
            found[result] = pt.cast(cotangents[0] * slope, slope.type.dtype)
        return found

    for rewriter in (gradc_unread_results, gradc_number_with_gradient):
        programs.register_canonicalize(rewriting.node_rewriter([op_class])(rewriter))


def _known_to_numba(module: Any, op_class: type) -> None:
    """Say how PyTensor's programs of Numba call kernels: without Python, and without copies."""

    def in_numba(op: Any, node: Any = None, **_: Any) -> Any:
        given = [(x.type.dtype, tuple(x.type.shape)) for x in node.inputs]
        entry = _entry(op.flat, given)
        with working():
            native = Native(entry, blas=op.flat.owner.options.blas)
        return dispatcher(native, of_arrays=True)

    module.numba_funcify.register(op_class)(in_numba)


def _known_to_jax(module: Any, op_class: type) -> None:
    """Say how PyTensor's programs of JAX call kernels: as JAX's own call ``gradc.jax_function``."""

    def in_jax(op: Any, **_: Any) -> Any:
        from gradc.interop.jax_function import results_in_jax

        def call(*inputs: Any) -> Any:
            results = results_in_jax(op.flat, inputs)
            return results[0] if len(results) == 1 else tuple(results)

        return call

    module.jax_funcify.register(op_class)(in_jax)


def _is_float(variable: Any) -> bool:
    return bool(np.issubdtype(np.dtype(variable.type.dtype), np.floating))


_Result = tuple[str, tuple[int | None, ...]]


def _result_types(flat: Flat, variables: Sequence[Any]) -> list[_Result]:
    """Return dtypes and shapes of results, None for a size that the graph does not tell."""
    given = tuple((x.type.dtype, tuple(x.type.shape)) for x in variables)
    known: dict[Any, list[_Result]] = vars(flat).setdefault("_types", {})
    if given not in known:
        known[given] = [
            (
                str(type_.dtype.numpy),
                tuple(size if isinstance(size, int) else None for size in type_.shape),
            )
            for type_ in _entry(flat, given).function.result_types
        ]
    return known[given]


def _entry(flat: Flat, given: Sequence[_Result]) -> Entry:
    """Return the kernel for dtypes and shapes, where sizes that are not told are symbols."""
    # the op checks at every call which of them are equal: here it is enough that it may be so
    ways: tuple[Callable[[int, int], str], ...] = (
        lambda i, axis: f"n{i}_{axis}",
        lambda i, axis: f"n{axis}",
        lambda i, axis: "n",
    )
    refused: ShapeError | None = None
    for way in ways:
        types = [
            Type(
                dtype_of(np.dtype(dtype)),
                tuple(
                    symbol(way(i, axis)) if size is None else size
                    for axis, size in enumerate(shape)
                ),
            )
            for i, (dtype, shape) in enumerate(given)
        ]
        try:
            (entry,) = flat.planned(types).entries
        except ShapeError as error:
            refused = error
            continue
        return entry
    raise ShapeError(
        f"{flat.name} needs sizes that PyTensor's graph does not tell",
        found=str(refused).splitlines()[0],
        help="say them: pytensor.tensor.specify_shape(x, (3,)), or shape= of the variable",
    )
