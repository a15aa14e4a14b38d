"""Calls of compiled functions inside a trace: on elements that were there before, no new code.

Outside, a compiled function does not run again either: what its code does besides is done once.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping, Sequence
from contextvars import Context, copy_context
from typing import Any, TypeAlias

import numpy as np

from gradc.arguments import pytree
from gradc.tracing.core.stand_ins import overrides_key
from gradc.tracing.core.state import Trace, running
from gradc.tracing.core.table import AnyFunction
from gradc.tracing.core.tracer import Tracer, again, read, root
from gradc_ir import ops
from gradc_ir.core.graph import Value
from gradc_ir.core.types import Array, Type

# an array of another, and which of its elements these are, by their places
Elements: TypeAlias = tuple[Value, Array]

# of larger arrays elements are not told apart: their calls are few
_MOST_ELEMENTS = 1024
_MOVES = (ops.slice, ops.reshape, ops.transpose, ops.broadcast, ops.gather)
_NUMBERS = (bool, int, float, str, type(None))


def call_once(fn: AnyFunction, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return what a function returns in the running trace, recorded at its first call like this.

    Like this: on the same numbers and on the same elements of the same arrays, however these were
    picked. A function is recorded at every call that has a closure or arguments of other kinds,
    assigns to an argument, returns a part of one, prints, or asserts.
    """
    trace = running()
    leaves, tree = pytree.flatten((tuple(args), dict(kwargs)))
    key = _key(trace, fn, leaves)
    if key is None:
        return trace.lens.see(fn)(*args, **kwargs)
    blocks = copy_context()
    key = (*key, tree, _chosen(blocks))
    if key in trace.answers:
        parts, nest, _ = trace.answers[key]
        return pytree.unflatten(nest, [_again(part) for part in parts])
    given = [(leaf, read(leaf)) for leaf in leaves if isinstance(leaf, Tracer)]
    done = _done(trace.root)
    result = trace.lens.see(fn)(*args, **kwargs)
    parts, nest = pytree.flatten(result)
    arrays = [part for part in parts if isinstance(part, Tracer)]
    if (
        _done(trace.root) == done
        and all(read(leaf) is value for leaf, value in given)
        and all(_is_own(part, [leaf for leaf, _ in given]) for part in parts)
        and len(set(map(id, arrays))) == len(arrays)
    ):
        trace.answers[key] = [_again(part) for part in parts], nest, blocks
    return result


def _key(trace: Trace, fn: AnyFunction, leaves: Sequence[Any]) -> tuple[Any, ...] | None:
    """Return what equal calls have in common, None where calls are not compared."""
    if type(fn) is not types.FunctionType or fn.__closure__ or fn.__defaults__ or fn.__kwdefaults__:
        return None
    keys: list[Any] = []
    for leaf in leaves:
        if isinstance(leaf, _NUMBERS):
            keys.append((type(leaf), repr(leaf)))
        elif not isinstance(leaf, Tracer) or not _is_read(trace, leaf):
            return None
        else:
            array, places = _elements(trace, read(leaf))
            is_known = leaf.known is not None
            how = leaf._weak, leaf.forms, leaf.scalar, leaf.contiguous, is_known
            keys.append((array, places.shape, places.tobytes(), how))
    return fn, overrides_key(), tuple(keys)


def _is_read(trace: Trace, leaf: Tracer) -> bool:
    """Whether an array is one of this trace already, and its elements are few."""
    if leaf._trace is not trace or root(leaf)._origin is not None:
        return False  # it would become an operand, or a hidden input, though nothing reads it
    return _is_small(leaf.type)


def _is_small(type_: Type) -> bool:
    return isinstance(type_.count, int) and type_.count <= _MOST_ELEMENTS


def _elements(trace: Trace, value: Value) -> Elements:
    """Return whose elements an array has that only moves them."""
    found = trace.elements.get(value)
    if found is None:
        found = trace.elements[value] = _moved(trace, value)
    return found


def _moved(trace: Trace, value: Value) -> Elements:
    if value.op in _MOVES:
        moved, *indices = value.operands
        known = [index for each in indices if (index := _constant(each)) is not None]
        if _is_small(moved.type) and len(known) == len(indices):
            whole, places = _elements(trace, moved)
            return whole, _applied(value, places, *known)
    shape = tuple(size for size in value.type.shape if isinstance(size, int))  # as all are
    return value, np.arange(math.prod(shape)).reshape(shape)


def _constant(value: Value) -> Array | None:
    if value.op is ops.broadcast:
        array = _constant(value.operands[0])
        return None if array is None else _applied(value, array)
    return value.node.attributes["value"].array if value.op is ops.constant else None


def _applied(value: Value, *operands: Array) -> Array:
    """Return what an op makes of arrays of another dtype than its operands have."""
    assert value.op.reference is not None
    return np.asarray(value.op.reference(*operands, **value.node.attributes))


def _again(part: Any) -> Any:
    return again(part) if isinstance(part, Tracer) else part


def _is_own(part: Any, given: Sequence[Tracer]) -> bool:
    """Whether a result is a number, or an array that the call made and nothing else refers to."""
    if not isinstance(part, Tracer):
        return isinstance(part, _NUMBERS)
    is_made = part._value is not None and part._known is None
    is_free = part._parent is None and part._why_fixed is None
    return is_made and is_free and not any(root(leaf) is part for leaf in given)


def _chosen(blocks: Context) -> frozenset[tuple[str, int]]:
    """Return what the blocks around a call choose, such as how loops are checkpointed.

    It is told by identity: the blocks are to be kept for as long.
    """
    return frozenset((one.name, id(it)) for one, it in blocks.items() if one.name[:6] == "gradc_")


def _done(trace: Trace) -> tuple[Any, ...]:
    """Return what calls leave behind in a trace besides values."""
    return len(trace.prints), len(trace.checks), len(trace.texts), trace.failure
