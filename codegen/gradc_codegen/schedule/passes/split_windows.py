"""Results written a window at a time, so that loops over a window can write them too.

The gradient of what reads windows of an array, such as differences of neighbours, is a sum of
padded arrays: as long as the array, where the rest of the program runs over windows of it. Written
as the concatenation of that window and of what is beside it, the long part has the loop of the
rest, and reads and computes with it what both need.
"""

from __future__ import annotations

from collections.abc import Callable

from gradc_codegen.nest.index_maps import own_dims
from gradc_codegen.schedule.choices import MOST_FROM_ARGUMENTS
from gradc_codegen.schedule.cost import operations
from gradc_codegen.schedule.labels import Labels
from gradc_codegen.schedule.recompute import SOURCES
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.builder import rebuilt
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.sizes import Size, at_least, maximum, minimum
from gradc_ir.pipeline import PlainPass

# A shorter axis is written at once.
_SHORTEST = 64
# A value of more operations is written at once: beside the window they stand again.
_MOST_OPERATIONS = 64


class _Window(NamedTuple):
    """So many elements of a one-dimensional array, from a first one."""

    start: Size
    size: Size


class SplitWindows(PlainPass):
    """The function is equal to the bit."""

    name = "split-windows"
    summary = "write a sum of padded arrays as a window, which a loop has, and what is beside it"

    def __call__(self, function: Function) -> Function:
        """Return the function with such results divided at the window's ends."""
        found = [value for value in dict.fromkeys(function.results) if _may_be_divided(value)]
        if not found:
            return function
        labels = Labels(function.nodes)
        summed = {
            labels.of_dims(node)[-1]
            for node in function.nodes
            if not node.results[0].type.shape and own_dims(node)
        }
        read = {operand for node in function.nodes for operand in node.operands}
        windows: dict[Node, _Window] = {}
        for value in found:
            window = None if value in read else _window(value, labels, summed)
            if window is not None:
                windows[value.node] = window
        if not windows:
            return function
        return rebuilt(
            function,
            lambda node: node in windows,
            lambda node, operands: [_divided(node, operands, windows[node])],
        )


def _may_be_divided(value: Value) -> bool:
    if value.type.rank != 1 or not (value.op.is_elementwise or value.op.name == "pad"):
        return False
    (size,) = value.type.shape
    return not isinstance(size, int) or size >= _SHORTEST


def _window(value: Value, labels: Labels, summed: set[int]) -> _Window | None:
    """Return the window of a value that has a loop in any case, None if there is none.

    Something is summed over it, or what lies in it is recovered, and what lies in all others is
    cheap enough to be made a second time. Of several it is one before which no other begins.
    """
    pads = _pads(value)
    windows = [_window_of(pad) for pad in pads]
    cheap = [_is_cheap_to_recover(pad.operands[0]) for pad in pads]
    for position, (pad, window) in enumerate(zip(pads, windows)):
        (part,) = pad.operands
        has_loop = labels.of(part, 0) in summed or (
            part.op.name == "recover" and all(cheap[:position] + cheap[position + 1 :])
        )
        if has_loop and all(at_least(other.start, window.start) for other in windows):
            return window
    return None


def _window_of(pad: Value) -> _Window:
    (start,), (size,) = pad.node.attributes["starts"], pad.operands[0].type.shape
    return _Window(start, size)


def _pads(value: Value) -> list[Value]:
    """Return the pads a value joins, none if it reads anything else that another loop makes."""
    found: list[Value] = []
    seen: set[Value] = set()
    stack = [value]
    while stack:
        value = stack.pop()
        if (
            value in seen
            or value.op.name in SOURCES
            or not any(o.type.rank for o in value.operands)
        ):
            continue
        seen.add(value)
        if value.op.name == "pad" and value.node.attributes["steps"] == (1,):
            found.append(value)
        elif value.op.is_elementwise and len(seen) < _MOST_OPERATIONS:
            stack += value.operands
        else:
            return []
    return found


def _divided(node: Node, operands: list[Value], window: _Window) -> Value:
    """Return a node's value as what is before a window, the window, and what is behind it."""
    (size,) = node.results[0].type.shape
    before = minimum(window.start, size)
    behind = before + window.size
    parts = [_Window(0, before), window, _Window(behind, size - behind)]
    value = build.apply(node.op.name, *operands, **node.attributes)
    return build.concatenate(
        [_part(value, part, {}) for part in parts if part.size != 0],
        axis=0,
    )


def _part(value: Value, window: _Window, made: dict[Value, Value]) -> Value:
    """Return a window of a value, taken from what it is made of."""
    if value not in made:
        made[value] = _taken(value, window, made)
    return made[value]


def _taken(value: Value, window: _Window, made: dict[Value, Value]) -> Value:
    if not value.type.rank:
        return value
    node = value.node
    if value.op.is_elementwise:
        operands = [_part(operand, window, made) for operand in node.operands]
        return build.apply(node.op.name, *operands, **node.attributes)
    if value.op.name == "broadcast" and not value.operands[0].type.rank:
        return build.broadcast(value.operands[0], (window.size,), ())
    if value.op.name == "pad":
        return _taken_of_pad(value, window)
    return _slice(value, window)


def _taken_of_pad(value: Value, window: _Window) -> Value:
    """Return a window of a padded array: of zeros, of these and elements behind, or of elements."""
    (part,) = value.operands
    whole = _window_of(value)
    zeros = whole.start - window.start
    if at_least(zeros, window.size) or at_least(-zeros, whole.size):
        return build.zeros_like(_slice(value, window))
    first, before = maximum(0, -zeros), minimum(maximum(0, zeros), window.size)
    inside = _Window(first, maximum(0, minimum(whole.size - first, window.size - before)))

    def moved(x: Value) -> Value:
        return build.pad(_slice(x, inside), (before,), (window.size,), (1,))

    if whole != window and _is_cheap_to_recover(part):
        return _recovered_alone(part.node, moved)
    return moved(part)


def _slice(value: Value, window: _Window) -> Value:
    return build.slice(value, (window.start,), (window.size,), (1,))


def _is_cheap_to_recover(value: Value) -> bool:
    """Whether a value is recovered, of a few operations on arguments.

    The loop of a window that does not begin with it makes it a second time then, in place of
    reading it from an array that a loop before has written.
    """
    if value.op.name != "recover":
        return False
    count = 0
    seen: set[Value] = set()
    stack = [value.operands[value.node.attributes["result"]]]
    while stack:
        value = stack.pop()
        if value in seen or value.op.name in SOURCES:
            continue
        seen.add(value)
        own_count = operations(value.node)
        if own_count is None:
            return False
        count += own_count
        stack += value.operands
    return count <= MOST_FROM_ARGUMENTS


def _recovered_alone(node: Node, moved: Callable[[Value], Value]) -> Value:
    """Return one of the results that are recovered together, of operands that are moved.

    What is beside a result has no say in it; and a zero, as the padded operands make it, is kept.
    """
    body, own, count = (node.attributes[name] for name in ("body", "result", "guards"))
    end = len(node.operands) - count
    masks = node.attributes.get("guarded") or [-1] * count
    guards = [x for x, mask in zip(node.operands[end:], masks, strict=True) if mask >> own & 1]
    witnesses = node.attributes.get("witnesses", 0)
    rest = node.operands[len(body.results) : end]
    return build.apply(
        "recover",
        *map(moved, (node.operands[own], *rest, *guards)),
        body=Function(body.name, body.params, [body.results[own]], names=body.names),
        result=0,
        guards=len(guards),
        **({"witnesses": witnesses} if witnesses else {}),
    )
