"""Indexing and assignment with NumPy's meaning: slices, None, integers, index arrays, masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.core.as_tracer import as_tracer
from gradc.tracing.core.selection import Selection
from gradc.tracing.core.source import shape_error
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import (
    Tracer,
    make,
    make_known,
    make_view,
    read,
    refuse_write,
    same_view,
    touch,
    write,
)
from gradc.tracing.indexing import picking
from gradc.tracing.indexing.index_keys import entries, index_error, is_unknown, parse, plain
from gradc.tracing.indexing.mask_indexing import gather_selected, select, write_selected
from gradc.tracing.indexing.picking import view_of
from gradc_ir import build


def get(x: Tracer, key: Any) -> Any:
    """Return ``x[key]``: a view for slices and integers, a copy for index arrays.

    A traced mask gives a :class:`Selection`.
    """
    trace = running()
    items = entries(x, key)
    known = x.known
    if known is not None and not any(is_unknown(item) for item in items):
        index = plain(items)
        try:
            found = known[index]
        except LookupError as error:
            raise index_error(str(error)) from None
        if isinstance(found, np.generic):
            return found
        if any(isinstance(item, np.ndarray) for item in index):
            return make_known(found)
    if any(isinstance(item, Selection) for item in items):
        return gather_selected(x, items)
    parsed = parse(x, items)
    if parsed.mask is not None:
        return select(x, parsed)
    if parsed.place is None:
        if parsed.number:
            return make(trace, read(picking.element_of(x, parsed)))
        view = view_of(x, parsed)
        if parsed.copied:
            return make(trace, read(view), contiguous=view.contiguous)
        return make_view(x, parsed.window, x.type.shape) if view is x else view
    value = picking.gathered(x, parsed)
    # NumPy lays such results out by the order of the index arrays' axes
    first = parsed.window.is_whole and parsed.picks[0][0] == 0
    return make(trace, value, contiguous=value.type.rank < 2 or (first and x.contiguous))


def set(x: Tracer, key: Any, new: Any) -> None:
    """Do ``x[key] = new``: the last of equal indices wins; a boolean mask becomes a select."""
    running()
    refuse_write(x)
    items = entries(x, key)
    if x.known is not None and not isinstance(new, Selection) and not any(map(is_unknown, items)):
        part = as_tracer(new)
        if part.known is not None:
            try:
                x.known[plain(items)] = part.known
            except LookupError as error:
                raise index_error(str(error)) from None
            except ValueError as error:
                raise shape_error(str(error)) from None
            touch(x)
            return
    parsed = parse(x, items)
    if parsed.mask is not None or isinstance(new, Selection):
        write_selected(x, parsed, new)
    elif parsed.place is None:
        view = picking.element_of(x, parsed) if parsed.number else view_of(x, parsed)
        # after `x[1:] += 1` Python assigns to x[1:] the view that was written already
        if not (isinstance(new, Tracer) and same_view(view, new, x)):
            write(view, picking.assigned_value(new, view.type.shape, x))
    else:
        picking.scatter(build.scatter_set, x, parsed, new)
