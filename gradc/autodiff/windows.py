"""Cotangents of many windows of one value, joined side by side instead of padded and added."""

from __future__ import annotations

from typing import NamedTuple

from gradc.autodiff import masks, zeros
from gradc.autodiff.masks import Cotangent, Mask
from gradc_ir import build
from gradc_ir.graph import Node, Value
from gradc_ir.sizes import Size
from gradc_ir.types import DType, Type


class Window(NamedTuple):
    """Where a window lies (unit steps), and its cotangent."""

    starts: tuple[int, ...]
    cotangent: Cotangent

    @property
    def shape(self) -> tuple[Size, ...]:
        """The shape of the window."""
        return self.cotangent.value.type.shape


def is_window(node: Node) -> bool:
    """Whether a node reads a window whose place and size are numbers, in unit steps."""
    if node.op.name != "slice":
        return False
    attributes = node.attributes
    return (
        all(step == 1 for step in attributes["steps"])
        and all(isinstance(start, int) for start in attributes["starts"])
        and all(isinstance(size, int) for size in attributes["shape"])
    )


class Windows:
    """The windows of one value that have a cotangent."""

    def __init__(self) -> None:
        self._windows: list[Window] = []

    def add(self, starts: tuple[int, ...], cotangent: Cotangent) -> None:
        """Add the cotangent of a window."""
        self._windows.append(Window(starts, cotangent))

    def joined(self, whole: Type) -> Cotangent | None:
        """Return the sum over all windows, each in its place among zeros."""
        total: Cotangent | None = None
        rest = [window for window in self._windows if 0 not in window.shape]
        while rest:
            layer, rest = _apart(rest)
            if len(layer) > 1:
                total = masks.add(total, _side_by_side(layer, whole))
                continue
            # nothing lies beside anything: the rest is padded one by one
            for window in (*layer, *rest):
                total = masks.add(total, _padded(window, whole))
            break
        return total


def _padded(window: Window, whole: Type) -> Cotangent:
    steps = (1,) * whole.rank
    if window.shape == whole.shape:
        return window.cotangent
    return window.cotangent.spread(lambda v: build.pad(v, window.starts, whole.shape, steps))


def _apart(windows: list[Window]) -> tuple[list[Window], list[Window]]:
    """Return windows that do not overlap, and the rest; greedy, along the first axis that tells."""
    rank = len(windows[0].starts)
    for axis in range(rank):
        chosen: list[Window] = []
        rest: list[Window] = []
        end = 0
        for window in sorted(windows, key=lambda w: (w.starts[axis], str(w.shape[axis]))):
            size = window.shape[axis]
            assert isinstance(size, int)
            if window.starts[axis] >= end and (not chosen or _aligned(window, chosen[0], axis)):
                chosen.append(window)
                end = window.starts[axis] + size
            else:
                rest.append(window)
        if len(chosen) > 1:
            return chosen, rest
    return windows[:1], windows[1:]


def _aligned(window: Window, other: Window, axis: int) -> bool:
    """Whether two windows are the same but for one axis."""
    return all(
        i == axis or (window.starts[i] == other.starts[i] and window.shape[i] == other.shape[i])
        for i in range(len(window.starts))
    )


def _side_by_side(layer: list[Window], whole: Type) -> Cotangent:
    """Join windows that differ along one axis, with zeros in the gaps, and pad the other axes."""
    first, second = layer[0], layer[1]
    axis = next(i for i, (a, b) in enumerate(zip(first.starts, second.starts)) if a != b)
    shape = tuple(w if i == axis else s for i, (s, w) in enumerate(zip(first.shape, whole.shape)))
    gaps = False
    values: list[Value] = []
    bits: list[tuple[Mask | None, tuple[Size, ...], bool]] = []
    position: Size = 0

    def gap(until: Size) -> None:
        nonlocal gaps
        if until == position:
            return
        hole = tuple(until - position if i == axis else s for i, s in enumerate(shape))
        values.append(zeros.zeros(whole.with_shape(hole)))
        bits.append((None, hole, False))
        gaps = True

    for window in layer:
        gap(window.starts[axis])
        values.append(window.cotangent.solid())
        bits.append((window.cotangent.mask, window.shape, True))
        position = window.starts[axis] + window.shape[axis]
    gap(whole.shape[axis])
    joined = build.concatenate(values, axis)
    masked = gaps or any(mask is not None for mask, _, _ in bits)

    def join(*found: Value) -> Value:
        given = iter(found)
        return build.concatenate(
            [
                next(given) if mask is not None else build.full(part, holds, DType.BOOL)
                for mask, part, holds in bits
            ],
            axis,
        )

    mask = None
    if masked:
        mask = Mask(sources=[mask for mask, _, _ in bits if mask is not None], build=join)
    starts = tuple(0 if i == axis else s for i, s in enumerate(first.starts))
    return _padded(Window(starts, Cotangent(joined, mask)), whole)
