"""Traced masks as indices: what they select is read lazily, and written to by a select."""

from __future__ import annotations

from typing import Any

from gradc.tracing.building.by_name import array, numpy
from gradc.tracing.core.as_tracer import as_tracer
from gradc.tracing.core.selection import Selection
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.state import running
from gradc.tracing.core.symbolic_size import is_integer
from gradc.tracing.core.tracer import Tracer, make, make_view, read, write
from gradc.tracing.core.views import Permuted
from gradc.tracing.indexing import picking
from gradc.tracing.indexing.index_keys import Key, parse
from gradc.tracing.indexing.picking import assigned_value, gathered_or
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType
from gradc_ir.location import Outside


def select(x: Tracer, parsed: Key) -> Selection:
    """Return ``x[mask]``, perhaps with slices and integers: the elements as they are now."""
    view, place = _masked_view(x, parsed)
    assert parsed.mask is not None
    trace = running()
    full = make(trace, read(view), contiguous=view.contiguous)
    return Selection(full, make(trace, read(parsed.mask)), place)


def _masked_view(x: Tracer, parsed: Key) -> tuple[Tracer, int]:
    """Return the view that all but the mask makes, and the first axis of the mask there."""
    view = picking.view_of(x, parsed)
    assert parsed.mask is not None
    first = parsed.mask_axis - sum(1 for axis, _ in parsed.picks if axis < parsed.mask_axis)
    if parsed.place == first:
        return view, first
    # as for index arrays: apart from each other, they come first in the result
    covered = list(range(first, first + parsed.mask.type.rank))
    order = tuple(covered + [axis for axis in range(view.type.rank) if axis not in covered])
    shape = tuple(view.type.shape[axis] for axis in order)
    return make_view(view, Permuted(order), shape), 0


def gather_selected(x: Tracer, items: list[Any]) -> Selection:
    """Return ``x[i]`` for integers that a mask selected: as many elements as there are of them."""
    chosen = [item for item in items if isinstance(item, Selection)]
    first = chosen[0]
    for item in chosen:
        check_same(first, item)
        if item.ndim != 1 or item.full.type.dtype is DType.BOOL:
            raise item.refused("be an index")
    parsed = parse(x, [_inside(item) if isinstance(item, Selection) else item for item in items])
    others = len(parsed.picks) - len(chosen)
    if parsed.mask is not None or others or parsed.place is None:
        raise first.refused("be combined with a mask or other index arrays")
    return Selection(make(running(), picking.gathered(x, parsed)), first.mask, parsed.place)


def _inside(index: Selection) -> Tracer:
    """Return the whole of selected indices, 0 where the mask does not hold, to be in bounds."""
    value = read(index.full)
    return make(running(), build.select(index.holds(), value, build.zeros_like(value)))


def element(a: Selection, index: Any) -> Tracer:
    """Return ``x[mask][i]``, without the axis of the selected elements; any integer i."""
    mask: Any = array(numpy.ravel(a.mask))
    whole = folded(a, a.full)
    size: Any = mask.shape[0]
    if is_integer(index) and index == 0:
        found = mask
        place = numpy.argmax(mask)
    elif is_integer(index) and index == -1:
        found = mask
        place = size - 1 - numpy.argmax(mask[::-1])
    else:
        ranks = array(numpy.cumsum(mask))
        number = numpy.where(numpy.less(index, 0), index + ranks[-1], index)
        found = numpy.equal(ranks, number + 1) & mask
        place = numpy.argmax(found)

    shown = index if is_integer(index) else "a traced index"
    error = Outside(
        "IndexError",
        f"{a.text} selects too few elements to have one at {shown}",
        "if it may: np.where(np.any(mask), x[np.argmax(mask)], 0) for the first",
    )
    checked = array(numpy.where(numpy.any(found), place, size))
    return make(running(), gathered_or(read(whole), read(checked), a.place, error))


def folded(a: Selection, whole: Any) -> Any:
    """Return an array like the whole one with one axis in place of those of the mask."""
    shape = whole.shape
    return whole.reshape((*shape[: a.place], -1, *shape[a.place + a.mask.type.rank :]))


def check_same(left: Selection, right: Selection) -> None:
    """Raise TraceError for selections by two masks, which may select different numbers."""
    if left is right or left.same_mask(right):
        return
    raise trace_error(
        f"{left.text} and {right.text} are selected by different masks: they may differ in length",
        help="select both by one mask, or keep the shapes: np.where(mask, x, 0)",
    )


def write_selected(x: Tracer, parsed: Key, new: Any) -> None:
    """Do ``x[mask] = new``: what the mask does not take keeps its value and its derivative."""
    if parsed.mask is None:
        raise new.refused("be assigned to a part whose shape is known")
    view, place = _masked_view(x, parsed)
    trace = running()
    target = Selection(make(trace, read(view)), make(trace, read(parsed.mask)), place)
    part = assigned(target, new)
    value = assigned_value(part, view.type.shape, x)
    write(view, build.select(target.holds(), value, read(view)))


def assigned(target: Selection, new: Any) -> Tracer:
    """Return what is assigned with the mask's axes in place of that of the selected elements."""
    if isinstance(new, Selection):
        check_same(target, new)
        if new.after != target.after:
            raise new.refused(f"be assigned to {target.text}, where it is another axis")
        return new.full
    part = as_tracer(new)
    found = spread(part, target)
    if found is None:
        raise trace_error(
            "an array assigned through a traced mask must fit whatever the mask selects",
            found=f"array: {target.full.type}    mask: {target.mask.type}    assigned: {part.type}",
            help="assign a number, select it by the same mask, or write "
            "x[...] = np.where(mask, new, x)",
        )
    return found


def spread(part: Tracer, like: Selection) -> Tracer | None:
    """Return an array that broadcasts against a selection as one that does against its whole.

    None when it does not fit for every number of selected elements.
    """
    rank, after = part.type.rank, like.after
    if rank <= after:
        return part
    shape = part.type.shape
    axis = rank - 1 - after
    if shape[axis] != 1:
        return None
    ones = (1,) * like.mask.type.rank
    value: Value = build.reshape(read(part), (*shape[:axis], *ones, *shape[axis + 1 :]))
    return make(running(), value, contiguous=part.contiguous)
