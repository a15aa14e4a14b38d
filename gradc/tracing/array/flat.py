"""``x.flat``: the elements of an array one after another, to be read and to be assigned to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gradc.tracing.building.by_name import array, number, numpy
from gradc.tracing.core.as_tracer import contains_unknown, plain_nest
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.state import running
from gradc.tracing.core.symbolic_size import as_integer
from gradc.tracing.core.tracer import Tracer, make_view, refuse_write, root, touch
from gradc.tracing.core.views import Reshaped
from gradc.tracing.indexing import indexing
from gradc.tracing.numpy.shape import shaping
from gradc_ir.errors import TraceError


class Flat:
    """What ``x.flat`` is: reads are copies, writes go to the array, in row-major order."""

    __array_ufunc__ = None

    def __init__(self, base: Tracer) -> None:
        self.base = base

    def _view(self) -> Tracer:
        # unlike reshape, this writes through whatever the layout is
        shape = (self.base.type.count,)
        return make_view(self.base, Reshaped(shape, certain=True), shape)

    def __getitem__(self, key: Any) -> Any:
        """Return the elements at flat indices."""
        found = indexing.get(self._view(), key)
        return shaping.copied(found) if isinstance(found, Tracer) else found

    def __setitem__(self, key: Any, new: Any) -> None:
        """Assign at flat indices; too few elements are repeated, as NumPy does."""
        running()
        refuse_write(self.base)
        known = self.base.known
        if known is not None and not contains_unknown(new) and not contains_unknown(key):
            known.flat[plain_nest(key)] = plain_nest(new)
            touch(self.base)
            return
        if isinstance(new, Tracer) and root(new) is root(self.base):
            raise trace_error(
                "x.flat is assigned a part of x itself, which changes while it is read",
                help="copy it first: .copy()",
            )
        view = self._view()
        part = array(new)
        if part.type.count == 1:
            indexing.set(view, key, part.reshape(()))
            return
        target = array(indexing.get(view, key))
        count = number(target.size, "assignment to x.flat")
        indexing.set(view, key, array(numpy.resize(part, (count,))).reshape(target.shape))

    def __len__(self) -> int:
        return number(as_integer(self.base.type.count), "len(x.flat)")

    def __iter__(self) -> Iterator[Any]:
        for i in range(len(self)):
            yield self[i]

    def copy(self) -> Any:
        """Return the elements in an array."""
        return shaping.flatten(self.base)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.copy(), dtype=dtype)

    def __gradc_refuse__(self) -> TraceError:
        """Return the error for where an array is needed."""
        return trace_error("x.flat was used as an array", help="write x.ravel() for it")


def assign(x: Tracer, new: Any) -> None:
    """Do ``x.flat = new``."""
    Flat(x)[:] = new
