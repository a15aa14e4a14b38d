"""Asking for what the next block of lanes will touch, where a long body goes through many arrays.

Between two blocks such a body touches more streams of memory than a processor follows by itself:
each row of a matrix that is read by columns, or each of hundreds of rows. Each part asks, a block
ahead, for the lines of the caller's arrays that it has touched itself.
"""

from __future__ import annotations

from gradc_codegen.lower.elements import Elements
from gradc_codegen.nest.far_memory import LINE, is_far
from gradc_codegen.text.indices import Lane, is_number


def fetch_ahead(elements: Elements, lanes: str, distance: int) -> None:
    """Write hints for what was touched at an index with lanes, so many iterations further on."""
    writer = elements.writer
    assert isinstance(lanes, Lane)
    for (base, type_), indices in elements.touched.items():
        if not is_far(type_):
            continue
        shape, line = type_.shape, LINE // type_.dtype.bytes
        first = writer.add(lanes.origin, str(distance))
        rows = {writer.add(first, str(lane)): lane for lane in range(writer.lanes)}
        fetched: dict[tuple[str, ...], None] = {}
        for index in indices:
            axis = _axis_of(index, lanes)
            if axis is None:
                continue
            if axis == len(index) - 1:
                starts = [row for row, lane in rows.items() if lane % line == 0]
                rest = index
            else:
                starts = list(rows)
                rest = (*index[:-1], str(int(index[-1]) // line * line))
            fetched |= {(*rest[:axis], row, *rest[axis + 1 :]): None for row in starts}
        for index in fetched:
            elements.memory.fetch(base, writer.linear(list(index), list(shape)), type_.dtype)
    elements.touched.clear()


def _axis_of(index: tuple[str, ...], lanes: Lane) -> int | None:
    """Return along which axis lanes go, where all other indices are numbers; else None."""
    axes = [axis for axis, at in enumerate(index) if isinstance(at, Lane)]
    if len(axes) != 1 or index[axes[0]] != lanes:
        return None
    others = (at for axis, at in enumerate(index) if axis != axes[0])
    return axes[0] if all(map(is_number, others)) else None
