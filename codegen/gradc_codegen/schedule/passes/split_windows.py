"""Results written a window at a time, so that loops over a window can write them too.

The gradient of what reads windows of an array, such as differences of neighbours, is a sum of
padded arrays: as long as the array, where the rest of the program runs over windows of it. Written
as the concatenation of that window and of what is beside it, the long part has the loop of the
rest, and reads and computes with it what both need.
"""

from __future__ import annotations

from gradc_codegen.nest.index_maps import own_dims
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
    """Return the window of a value over which something is summed, None if there is none.

    Of several it is one before which no other begins.
    """
    pads = _pads(value)
    windows = [_window_of(pad) for pad in pads]
    for pad, window in zip(pads, windows):
        if labels.of(pad.operands[0], 0) in summed and all(
            at_least(other.start, window.start) for other in windows
        ):
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
        (part,) = value.operands
        whole = _window_of(value)
        before = whole.start - window.start
        if at_least(before, 0) and at_least(before + whole.size, window.size):
            inside = maximum(0, window.size - before)
            part = build.slice(part, (0,), (inside,), (1,))
            return build.pad(part, (before,), (window.size,), (1,))
    return build.slice(value, (window.start,), (window.size,), (1,))
