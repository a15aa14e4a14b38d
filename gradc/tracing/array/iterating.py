"""NumPy's iterators over traced arrays of known shape: np.nditer and np.ndenumerate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gradc.tracing.building.by_name import array, number, numpy
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.state import current, running
from gradc.tracing.core.table import TABLE
from gradc.tracing.core.tracer import Tracer
from gradc.tracing.indexing import indexing

_READ_ONLY = "np.nditer reads only, unless it is given op_flags=['readwrite']"


def _is_traced(x: Any) -> bool:
    parts = x if isinstance(x, list | tuple) else (x,)
    return current() is not None and any(isinstance(part, Tracer) for part in parts)


class SeenIterator:
    """An iterator class of NumPy as traced code sees it."""

    def __init__(self, original: type, traced: Any) -> None:
        self.__gradc_original__ = original
        self.__name__ = original.__name__
        self._traced = traced

    def __call__(self, arrays: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the iterator; the traced one only where an array is a tracer."""
        if _is_traced(arrays):
            running()
            return self._traced(arrays, *args, **kwargs)
        return self.__gradc_original__(arrays, *args, **kwargs)


def enumerated(arr: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield what ``np.ndenumerate`` does: index and element."""
    x = array(arr)
    for index in np.ndindex(*(number(size, "np.ndenumerate") for size in x.shape)):
        yield index, indexing.get(x, index)


class ElementIterator:
    """What ``np.nditer`` is over traced arrays, in row-major order.

    An element is an array of rank 0, which can be assigned to where ``op_flags`` allow that;
    several arrays broadcast, and give a tuple.
    """

    def __init__(
        self, op: Any, flags: Any = (), op_flags: Any = (), *, order: str = "K", **options: Any
    ) -> None:
        given = list(op) if isinstance(op, list | tuple) else [op]
        self._single = not isinstance(op, list | tuple)
        unknown = [key for key, value in options.items() if value is not None]
        wrong = {"external_loop", "reduce_ok", "buffered", "delay_bufalloc", "ranged"} & {*flags}
        if unknown or wrong or any(part is None for part in given):
            raise trace_error(
                "np.nditer of traced arrays takes flags=['multi_index'] and op_flags only",
                help="write the operation on whole arrays",
            )
        arrays = [array(part) for part in given]
        if order == "K" and not all(x.contiguous for x in arrays):
            raise trace_error(
                "np.nditer goes through an array in the order of its memory, which is not known",
                help="give the order, np.nditer(x, order='C'), or copy first: x.copy()",
            )
        if order not in ("K", "C"):
            raise trace_error(f"np.nditer with order={order!r} is not supported")
        per_array = [op_flags] * len(arrays)
        if op_flags and not isinstance(op_flags[0], str):
            per_array = list(op_flags)
        self._writes = ["readwrite" in one or "writeonly" in one for one in per_array]
        shapes = {x.shape for x in arrays}
        self.operands = tuple(arrays)
        if len(shapes) > 1:
            if any(self._writes):
                raise trace_error("np.nditer writes into arrays of one shape only")
            arrays = list(numpy.broadcast_arrays(*arrays))
        self._arrays = arrays
        self.shape = tuple(number(size, "np.nditer") for size in arrays[0].shape)
        self.ndim = len(self.shape)
        self.reset()

    def reset(self) -> None:
        """Begin again."""
        self.iterindex = 0
        self._started = False

    @property
    def itersize(self) -> int:
        """How many elements there are."""
        return int(np.prod(self.shape, dtype=int))

    @property
    def finished(self) -> bool:
        """Whether there are no more elements."""
        return self.iterindex >= self.itersize

    @property
    def index(self) -> int:
        """The number of the element."""
        return self.iterindex

    @property
    def multi_index(self) -> tuple[int, ...]:
        """The index of the element."""
        return tuple(int(i) for i in np.unravel_index(self.iterindex, self.shape))

    def iternext(self) -> bool:
        """Go on to the next element; False when there is none."""
        self.iterindex += 1
        return not self.finished

    def __getitem__(self, which: int) -> Any:
        view: Tracer = indexing.get(self._arrays[which], (*self.multi_index, ...))
        if not self._writes[which]:
            view._why_fixed = _READ_ONLY
        return view

    @property
    def value(self) -> Any:
        """The element, or one of each array."""
        found = tuple(self[which] for which in range(len(self._arrays)))
        return found[0] if self._single else found

    def __iter__(self) -> ElementIterator:
        return self

    def __next__(self) -> Any:
        if self._started:
            self.iterindex += 1
        self._started = True
        if self.finished:
            raise StopIteration
        return self.value

    def __enter__(self) -> ElementIterator:
        return self

    def __exit__(self, *exception: object) -> None:
        """Write nothing back: assignments were made where the elements are."""


TABLE.add_object(SeenIterator(np.nditer, ElementIterator))
TABLE.add_object(SeenIterator(np.ndenumerate, enumerated))
