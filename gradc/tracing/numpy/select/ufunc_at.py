"""Methods ``at`` of ufuncs: an element is changed as often as the indices name it."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.by_name import array, number, numpy
from gradc.tracing.core.source import dtype_error, trace_error
from gradc.tracing.core.state import running
from gradc.tracing.core.table import AnyFunction
from gradc.tracing.core.tracer import Tracer, refuse_write
from gradc.tracing.indexing import index_keys, indexing, picking
from gradc.tracing.numpy.select.choosing import written
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build


def _at(name: str) -> AnyFunction:
    """Return what records ``np.<ufunc>.at``."""

    def record(a: Any, indices: Any, *b: Any) -> None:
        _check(name, a, b)
        items = index_keys.entries(a, indices)
        if any(index_keys.is_mask(item) for item in items):
            # a mask names no element twice
            _apply_once(name, a, indices, b)
        elif name in ("add", "subtract") and a.dtype != np.bool_:
            _add(a, items, array(b[0]) if name == "add" else -array(b[0]))
        elif any(map(index_keys.is_unknown, items)):
            if index_keys.parse(a, items).place is not None:
                raise trace_error(
                    f"np.{name}.at with traced indices is not supported: they may name an element "
                    "more than once",
                    help="np.add.at takes them; if none repeats, write x[i] = f(x[i])",
                )
            _apply_once(name, a, indices, b)
        else:
            _apply_in_turn(name, a, index_keys.plain(items), b)

    return record


def _check(name: str, a: Any, b: tuple[Any, ...]) -> None:
    written(a, f"np.{name}.at")
    running()
    refuse_write(a)
    for part in b:
        have, wanted = array(part).dtype, a.type.dtype.numpy
        weak = isinstance(part, int) or (isinstance(part, float) and wanted.kind == "f")
        if not weak and not np.can_cast(have, wanted, "same_kind"):
            raise dtype_error(
                f"np.{name}.at: {have} is not computed in an array of dtype {wanted}",
                help=f"make the array {have} first, or cast: .astype(np.{wanted})",
            )


def _add(x: Tracer, items: list[Any], part: Any) -> None:
    parsed = index_keys.parse(x, items)
    if parsed.picks:
        picking.scatter(build.scatter_add, x, parsed, part)
    else:
        view: Any = picking.view_of(x, parsed)
        indexing.set(view, Ellipsis, view + part)


def _apply_once(name: str, x: Any, indices: Any, b: tuple[Any, ...]) -> None:
    indexing.set(x, indices, getattr(numpy, name)(indexing.get(x, indices), *b))


def _apply_in_turn(name: str, x: Any, key: tuple[Any, ...], b: tuple[Any, ...]) -> None:
    """Apply to the elements that are named once, then to those named twice, and so on."""
    shape = tuple(number(size, f"np.{name}.at") for size in x.shape)
    places = np.arange(np.prod(shape, dtype=int)).reshape(shape)[key]
    flat = x.reshape(-1).copy()
    others = [array(numpy.broadcast_to(part, places.shape)).reshape(-1) for part in b]
    order = np.ravel(places)
    turns = _earlier(order)
    for turn in range(turns.max(initial=-1) + 1):
        chosen = np.flatnonzero(turns == turn)
        found = getattr(numpy, name)(flat[order[chosen]], *(part[chosen] for part in others))
        flat[order[chosen]] = array(found).astype(x.dtype)
    x[...] = flat.reshape(shape)


def _earlier(order: Any) -> Any:
    """Return for each place how often it was named before."""
    counts: dict[int, int] = {}
    turns = np.zeros(len(order), dtype=int)
    for i, place in enumerate(order.tolist()):
        turns[i] = counts.get(place, 0)
        counts[place] = turns[i] + 1
    return turns


for _name in (
    "add", "subtract", "multiply", "divide", "true_divide", "maximum", "minimum", "power",
    "negative", "absolute", "square", "sqrt", "exp", "log", "logical_and", "logical_or",
):  # fmt: skip
    numpy_function(f"{_name}.at", writes=True)(_at(_name))
