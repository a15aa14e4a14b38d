"""Batching: a function over one point becomes the function over a leading axis of points.

The axis is part of the graph, not a loop around it: every op gets one more axis, at position 0, on
the operands that vary from point to point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.errors import TraceError
from gradc_ir.graph import Function, Node, Value
from gradc_ir.op import TABLE
from gradc_ir.ops.linalg import parse_spec
from gradc_ir.sizes import Size
from gradc_ir.types import DType

Rule: TypeAlias = Callable[["_Batch", Node, list[Value], list[bool]], Sequence[Value]]


def batch(function: Function, batched: Sequence[bool], size: Size) -> Function:
    """Return the function over ``size`` points at once.

    Parameters
    ----------
    function: the function of one point.
    batched: for each parameter, whether it has a leading axis of points in the new function; the
        others
        are shared by all points.
    size: how many points.

    Every result of the new function has the leading axis.
    """
    with Builder() as builder:
        params = [
            builder.param(i, type_.with_shape((size, *type_.shape)) if has else type_)
            for i, (type_, has) in enumerate(zip(function.param_types, batched, strict=True))
        ]
        walk = _Batch(size)
        mapping = dict(zip(function.params, zip(params, batched)))
        for node in function.body:
            with builder.at(function.locations.get(node, ())):
                operands = [mapping[operand][0] for operand in node.operands]
                flags = [mapping[operand][1] for operand in node.operands]
                if any(flags):
                    results = walk.rule(node)(walk, node, operands, flags)
                    mapping.update(zip(node.results, ((value, True) for value in results)))
                else:
                    made = builder.apply(node.op, tuple(operands), node.attributes)
                    mapping.update(zip(node.results, ((value, False) for value in made.results)))
        results = [walk.spread(*mapping[result]) for result in function.results]
        return builder.function(
            function.name, params, results, names=function.names, location=function.location
        )


class _Batch:
    """The number of points, and what every rule needs."""

    def __init__(self, size: Size) -> None:
        self.size = size

    def rule(self, node: Node) -> Rule:
        if node.op.is_elementwise:
            return _elementwise
        rule = _RULES.get(node.op.name)
        if rule is None:
            raise TraceError(
                f"{node.op.name} cannot be batched yet",
                help="take the Jacobian or the map of a function without it",
            )
        return rule

    def spread(self, value: Value, has: bool) -> Value:
        """Return the value with the axis of points, repeated if it is shared by all points."""
        if has:
            return value
        shape = (self.size, *value.type.shape)
        return build.broadcast(value, shape, tuple(range(1, len(shape))))

    def points(self, dtype: DType, shape: tuple[Size, ...]) -> Value:
        """Return the number of its point for every element of ``shape``."""
        return build.broadcast(build.iota(dtype, self.size), (self.size, *shape), (0,))


def _shifted(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(axis + 1 for axis in axes)


def _elementwise(
    walk: _Batch, node: Node, operands: list[Value], flags: list[bool]
) -> Sequence[Value]:
    spread = [walk.spread(*pair) for pair in zip(operands, flags)]
    return build.active().apply(node.op, tuple(spread), node.attributes).results


def _broadcast(
    walk: _Batch, node: Node, operands: list[Value], flags: list[bool]
) -> Sequence[Value]:
    shape = (walk.size, *node.attributes["shape"])
    return [build.broadcast(operands[0], shape, (0, *_shifted(node.attributes["axes"])))]


def _reshape(walk: _Batch, node: Node, operands: list[Value], flags: list[bool]) -> Sequence[Value]:
    return [build.reshape(operands[0], (walk.size, *node.attributes["shape"]))]


def _transpose(
    walk: _Batch, node: Node, operands: list[Value], flags: list[bool]
) -> Sequence[Value]:
    return [build.transpose(operands[0], (0, *_shifted(node.attributes["permutation"])))]


def _concatenate(
    walk: _Batch, node: Node, operands: list[Value], flags: list[bool]
) -> Sequence[Value]:
    parts = [walk.spread(*pair) for pair in zip(operands, flags)]
    return [build.concatenate(parts, node.attributes["axis"] + 1)]


def _window(walk: _Batch, node: Node, operands: list[Value], flags: list[bool]) -> Sequence[Value]:
    given = node.attributes
    make = build.slice if node.op.name == "slice" else build.pad
    shape = (walk.size, *given["shape"])
    return [make(operands[0], (0, *given["starts"]), shape, (1, *given["steps"]))]


def _set_slice(
    walk: _Batch, node: Node, operands: list[Value], flags: list[bool]
) -> Sequence[Value]:
    x, part = (walk.spread(*pair) for pair in zip(operands, flags))
    given = node.attributes
    return [build.set_slice(x, part, (0, *given["starts"]), (1, *given["steps"]))]


def _reduce(walk: _Batch, node: Node, operands: list[Value], flags: list[bool]) -> Sequence[Value]:
    return [build.apply(node.op.name, operands[0], axes=_shifted(node.attributes["axes"]))]


def _along(walk: _Batch, node: Node, operands: list[Value], flags: list[bool]) -> Sequence[Value]:
    spread = [walk.spread(*pair) for pair in zip(operands, flags)]
    attributes = {**node.attributes, "axis": node.attributes["axis"] + 1}
    return build.apply_all(node.op.name, *spread, **attributes)


def _stack(walk: _Batch, node: Node, operands: list[Value], flags: list[bool]) -> Sequence[Value]:
    """Factorisations are of stacks of matrices already."""
    spread = [walk.spread(*pair) for pair in zip(operands, flags)]
    return build.apply_all(node.op.name, *spread, **node.attributes)


def _contract(
    walk: _Batch, node: Node, operands: list[Value], flags: list[bool]
) -> Sequence[Value]:
    left, right, result = parse_spec(node.attributes["spec"])
    new = next(label for label in _LABELS if label not in left + right)
    left, right = (new * has + labels for labels, has in zip((left, right), flags))
    x, y = operands
    return [build.contract(x, y, f"{left},{right}->{new}{result}")]


_LABELS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _gather(walk: _Batch, node: Node, operands: list[Value], flags: list[bool]) -> Sequence[Value]:
    x, *indices = operands
    axes: tuple[int, ...] = node.attributes["axes"]
    rank = len(node.operands[1].type.shape)
    if not any(flags[1:]):
        # the axis of points comes after the index axes: move it to the front
        taken = build.gather(x, indices, _shifted(axes))
        rest = [axis for axis in range(taken.type.rank) if axis != rank]
        return [build.transpose(taken, (rank, *rest))]
    spread = [walk.spread(*pair) for pair in zip(indices, flags[1:])]
    if not flags[0]:
        return [build.gather(x, spread, axes)]
    points = walk.points(spread[0].type.dtype, spread[0].type.shape[1:])
    return [build.gather(x, [points, *spread], (0, *_shifted(axes)))]


def _scatter(walk: _Batch, node: Node, operands: list[Value], flags: list[bool]) -> Sequence[Value]:
    x, part = (walk.spread(*pair) for pair in zip(operands[:2], flags[:2]))
    indices = operands[2:]
    axes: tuple[int, ...] = node.attributes["axes"]
    if any(flags[2:]):
        spread = [walk.spread(*pair) for pair in zip(indices, flags[2:])]
        points = walk.points(spread[0].type.dtype, spread[0].type.shape[1:])
        return [build.apply(node.op.name, x, part, points, *spread, axes=(0, *_shifted(axes)))]
    rank = indices[0].type.rank
    order = (*range(1, rank + 1), 0, *range(rank + 1, part.type.rank))
    part = build.transpose(part, order)
    return [build.apply(node.op.name, x, part, *indices, axes=_shifted(axes))]


def _call(walk: _Batch, node: Node, operands: list[Value], flags: list[bool]) -> Sequence[Value]:
    spread = [walk.spread(*pair) for pair in zip(operands, flags)]

    def widened(body: Function | None) -> Any:
        return None if body is None else batch(body, [True] * len(body.params), walk.size)

    given = node.attributes
    return build.call(
        spread,
        name=given["name"],
        body=widened(given["body"]),
        vjp=widened(given["vjp"]),
        jvp=widened(given["jvp"]),
    )


_RULES: dict[str, Rule] = {
    "broadcast": _broadcast,
    "reshape": _reshape,
    "transpose": _transpose,
    "concatenate": _concatenate,
    "slice": _window,
    "pad": _window,
    "set_slice": _set_slice,
    "contract": _contract,
    "gather": _gather,
    "scatter_set": _scatter,
    "scatter_add": _scatter,
    "call": _call,
}
_RULES.update((op.name, _reduce) for op in TABLE.values() if op.family == "reduce")
_RULES.update((op.name, _stack) for op in TABLE.values() if op.family == "factor")
_RULES.update((op.name, _along) for op in TABLE.values() if op.family == "order")
