"""Products with what a traced mask selects: contracted along it, or row by row."""

from __future__ import annotations

from typing import Any

from gradc.tracing.building.by_name import array, numpy
from gradc.tracing.core.selection import Selection
from gradc.tracing.core.table import AnyFunction
from gradc.tracing.indexing.mask_indexing import check_same
from gradc.tracing.masked.of_selection import of_selection
from gradc.tracing.masked.reductions import flattened
from gradc.tracing.numpy.linalg import products


def _product(name: str) -> AnyFunction:
    """Return what records a product that sums over an axis of both operands."""

    def record(a: Any, b: Any) -> Any:
        function = getattr(numpy, name)
        if isinstance(a, Selection) and isinstance(b, Selection):
            check_same(a, b)
            first = 0 if b.ndim == 1 or (name == "dot" and b.ndim == 2) else b.ndim - 2
            if a.place != a.ndim - 1 or b.place != first or b.ndim > 2:
                raise a.refused(f"be multiplied by {b.text} along this axis")
            # zeros add nothing to the sum
            return function(flattened(a, 0), flattened(b, 0))
        if isinstance(a, Selection):
            other = array(b)
            if a.place == a.ndim - 1 or not 1 <= other.ndim <= 2:
                raise a.refused("be multiplied by an array along the axis of its elements")
            return _unfolded(a, array(function(flattened(a, 0), other)), a.place)
        other = array(a)
        if b.ndim != 2 or b.place != 1 or not 1 <= other.ndim <= 2:
            raise b.refused("be multiplied by an array along the axis of its elements")
        found = array(function(other, flattened(b, 0)))
        return _unfolded(b, found, found.ndim - 1)

    return record


def _unfolded(a: Selection, found: Any, place: int) -> Selection:
    """Return the selection whose whole array has the mask's axes folded into one."""
    shape = found.shape
    return a.derived(
        found.reshape((*shape[:place], *a.mask.shape, *shape[place + 1 :])),  # type: ignore[attr-defined]
        place,
    )


def _inner(a: Any, b: Any) -> Any:
    for part in (a, b):
        if isinstance(part, Selection) and part.ndim != 1:
            raise part.refused("be an argument of np.inner with several axes")
    return _product("dot")(a, b)


of_selection(products.dot)(_product("dot"))
of_selection(products.matmul)(_product("matmul"))
of_selection(products.inner, products.vdot)(_inner)
