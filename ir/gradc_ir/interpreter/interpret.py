"""The meaning of functions: a slow, plain interpreter, to which all other ways are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np

from gradc_ir.core import sizes
from gradc_ir.core.binding import bind_sizes
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.op import Attributes, Op
from gradc_ir.core.sizes import Expr
from gradc_ir.core.types import Array, Type, dtype_of
from gradc_ir.errors import DTypeError, GradcError, ShapeError
from gradc_ir.interpreter import tape
from gradc_ir.interpreter.composed import BODIES, body
from gradc_ir.interpreter.limit import too_many_steps

Symbols: TypeAlias = Mapping[str, int]
# Is told of each node that was run, parameters first: its function, itself, its operands and its
# results.
Watch: TypeAlias = Callable[[Function, Node, Sequence[Array], Sequence[Array]], None]

_watch: ContextVar[Watch | None] = ContextVar("gradc_watch", default=None)


class Arithmetic(Protocol):
    """Another kind of numbers for floating-point values: complex ones, or of more digits."""

    def wide(self, array: Array) -> Array:
        """Return an array of floats in these numbers, any other array as it is."""

    def evaluate(self, node: Node, operands: list[Array], symbols: Symbols) -> tuple[Array, ...]:
        """Return the results of a node that is not one of control flow."""


_arithmetic: ContextVar[Arithmetic | None] = ContextVar("gradc_arithmetic", default=None)


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Tell ``watch`` of every node that is interpreted within, those of bodies included."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def interpret(
    function: Function, arrays: Sequence[Any], arithmetic: Arithmetic | None = None
) -> tuple[Array, ...]:
    """Return the results of a function of NumPy arrays, 0-d results as 0-d arrays.

    Sizes are bound by the shapes of the arrays. With an arithmetic, its numbers take the place of
    floats; arrays for float parameters may be of floats or of these. Raises ShapeError or
    DTypeError when an array is not of its parameter's type, and IndexError, with the user's line,
    for an index outside its axis.
    """
    values = [np.asarray(array) for array in arrays]
    if len(values) != len(function.params):
        raise ShapeError(f"{function.name} takes {len(function.params)} arrays, not {len(values)}")
    for name, type_, array in zip(function.names, function.param_types, values):
        if arithmetic is not None and type_.dtype.is_float:
            continue
        if dtype_of(array.dtype) is not type_.dtype:
            raise DTypeError(f"{name} has dtype {dtype_of(array.dtype)}, not {type_.dtype}")
    shapes = [array.shape for array in values]
    symbols = bind_sizes(function.param_types, shapes, function.names)
    if tape.has_free_tape(function):
        symbols[tape.NAME] = 64
    token = _arithmetic.set(arithmetic)
    try:
        return _run_taped(function, list(map(_wide, values)), symbols)
    finally:
        _arithmetic.reset(token)


def _run_taped(
    function: Function, values: list[Array], symbols: dict[str, int]
) -> tuple[Array, ...]:
    while True:
        try:
            # copies, so that no result is a view of an argument or of a constant
            return tuple(np.array(result, order="C") for result in _run(function, values, symbols))
        except _TapeIsFull:
            symbols[tape.NAME] = max(2 * symbols[tape.NAME], 1)
            values = tape.lengthened(function.param_types, values, symbols[tape.NAME])


def _run(function: Function, arrays: Sequence[Array], symbols: Symbols) -> tuple[Array, ...]:
    values: dict[Value, Array] = dict(zip(function.params, arrays, strict=True))
    watch = _watch.get()
    if watch is not None:
        for param, array in values.items():
            watch(function, param.node, (), (array,))
    for node in function.body:
        operands = [values[operand] for operand in node.operands]
        try:
            results = evaluate(node, operands, symbols)
        except GradcError as error:
            where = function.locations.get(node)
            raise error.located(where[0] if where else None) from None
        if watch is not None:
            watch(function, node, operands, results)
        for value, result in zip(node.results, results, strict=True):
            values[value] = result
    return tuple(values[result] for result in function.results)


def evaluate(node: Node, operands: list[Array], symbols: Symbols) -> tuple[Array, ...]:
    """Return the results of one node for the arrays of its operands and the numbers of sizes."""
    op = node.op
    meaning = reference(op)
    if meaning is None:
        results: tuple[Array, ...] = _CONTROL[op.name](operands, node.attributes, symbols)
        return results
    arithmetic = _arithmetic.get()
    if arithmetic is not None:
        return arithmetic.evaluate(node, operands, symbols)
    attributes = node.attributes
    if symbols:
        attributes = {name: numbers(item, symbols) for name, item in attributes.items()}
        # a window of symbolic sizes may lie outside; of known sizes the type rule has seen it
        op.infer(*map(_type_of, operands), **attributes)
    made = meaning(*operands, **attributes)
    arrays = tuple(map(np.asarray, made if len(node.results) > 1 else (made,)))
    for value, result in zip(node.results, arrays, strict=True):
        wanted = value.type.dtype.numpy
        if result.dtype != wanted:
            raise DTypeError(f"the reference of {op.name} makes {result.dtype}, not {wanted}")
        shape = numbers(value.type.shape, symbols)
        if result.shape != shape:
            raise ShapeError(
                f"{op.name} makes shape {result.shape}, not {shape}",
                found=f"{value.type} with {_symbols_text(symbols)}",
            )
    return arrays


def reference(op: Op) -> Callable[..., Any] | None:
    """Return what an op makes of arrays and attributes: of a composed op, what its body makes.

    None for control flow and for parameters.
    """
    return partial(_composed, op.name) if op.name in BODIES else op.reference


def _composed(name: str, *operands: Array) -> Array:
    function = body(name, dtype_of(operands[0].dtype), operands[0].ndim)
    with np.errstate(all="ignore"):
        return interpret(function, operands)[0]


def _wide(array: Array) -> Array:
    """Return an array in the numbers of the arithmetic that is asked for."""
    arithmetic = _arithmetic.get()
    return array if arithmetic is None else arithmetic.wide(array)


def _symbols_text(symbols: Symbols) -> str:
    return ", ".join(f"{name} = {value}" for name, value in symbols.items())


def numbers(attribute: Any, symbols: Symbols) -> Any:
    """Return an attribute with the numbers that its sizes have."""
    if isinstance(attribute, Expr):
        return sizes.evaluate(attribute, symbols)
    if isinstance(attribute, tuple) and not isinstance(attribute, Type):
        return tuple(numbers(item, symbols) for item in attribute)
    return attribute


def _type_of(array: Array) -> Type:
    return Type(dtype_of(array.dtype), array.shape)


# -- control flow ---------------------------------------------------------------------------------

# The sizes in a body's types are those of its operands, so symbols mean the same in it.


def _call(operands: list[Array], attributes: Attributes, symbols: Symbols) -> Any:
    return _run(attributes["body"], operands, symbols)


def _scan(operands: list[Array], attributes: Attributes, symbols: Symbols) -> Any:
    body: Function = attributes["body"]
    length = numbers(attributes["length"], symbols)
    trips = length
    if attributes["counted"]:
        trips = max(int(operands[0]), 0)
        operands = operands[1:]
        if length is not None and trips > length:
            raise _too_many(attributes, length)
    end = attributes["consts"] + attributes["carries"]
    consts = operands[: attributes["consts"]]
    carries = operands[attributes["consts"] : end]
    stacks = _stacks(body, attributes["carries"], length, symbols)
    for i in reversed(range(trips)) if attributes["reverse"] else range(trips):
        row = [np.asarray(x[i]) for x in operands[end:]]
        results = _run(body, [*consts, *carries, *row], symbols)
        carries = list(results[: len(carries)])
        for stack, result in zip(stacks, results[len(carries) :], strict=True):
            stack[i, ...] = result  # not as one object, where numbers are objects
    return (*carries, *stacks)


def _stacks(body: Function, carries: int, length: int | None, symbols: Symbols) -> list[Array]:
    """Return zeros for the rows a body makes; what is not visited stays zero."""
    return [
        _wide(np.zeros((length, *numbers(type_.shape, symbols)), type_.dtype.numpy))
        for type_ in body.result_types[carries:]
        if length is not None
    ]


def _while(operands: list[Array], attributes: Attributes, symbols: Symbols) -> Any:
    body: Function = attributes["body"]
    split = attributes["condition_consts"]
    end = split + attributes["body_consts"]
    carries = operands[end:]
    length = numbers(attributes["length"], symbols)
    stacks = _stacks(body, len(carries), length, symbols)
    count = 0
    while _run(attributes["condition"], [*operands[:split], *carries], symbols)[0]:
        if count == length:
            raise _too_many(attributes, count)
        results = _run(body, [*operands[split:end], *carries], symbols)
        carries = list(results[: len(carries)])
        for stack, result in zip(stacks, results[len(carries) :], strict=True):
            stack[count, ...] = result
        count += 1
    return (*carries, *stacks, np.asarray(count, np.int64))


class _TapeIsFull(Exception):
    """A tape of free size has no room for a step: there must be more."""


def _too_many(attributes: Attributes, length: int) -> Exception:
    """Return what to raise when a loop has a step more than its length."""
    if attributes["length"] == sizes.TAPE:
        return _TapeIsFull()
    return too_many_steps(length)


def _cond(operands: list[Array], attributes: Attributes, symbols: Symbols) -> Any:
    branch = attributes["then"] if operands[0] else attributes["otherwise"]
    return _run(branch, operands[1:], symbols)


_CONTROL = {"call": _call, "checkpoint": _call, "scan": _scan, "while": _while, "cond": _cond}
