"""Lists that the user's code reads, or assigns to, by an index that is traced."""

from __future__ import annotations

from typing import Any

from gradc.capture.held.fence import Fence
from gradc.capture.held.leaves import common_of, common_type, stacked_leaves, type_of
from gradc.capture.held.nests import is_number
from gradc.capture.held.uniform import NotUniform
from gradc.control.leaf_types import LeafType
from gradc.tracing import Tracer
from gradc.tracing.building.needed import need_number
from gradc.tracing.core.rows import rows_of
from gradc.tracing.core.state import Trace, running
from gradc.tracing.core.tracer import MAY_BE, as_weak, make, read, root
from gradc.tracing.indexing import indexing


def entries(container: Any) -> Any:
    """Return what stands for a container where it is subscripted; most are themselves."""
    return Entries(container) if type(container) is list or type(container) is tuple else container


class Entries:
    """A list or tuple that is subscripted by anything, traced integers included.

    Its numbers are the rows of an array then, and those of a list are rows of another one after an
    assignment. Numbers cannot be changed, so that nobody can tell. Arrays can: what is read is
    another name for one of them, and none of these is assigned to any more.
    """

    __slots__ = ("_container",)

    def __init__(self, container: list[Any] | tuple[Any, ...]) -> None:
        self._container: Any = container

    def __getitem__(self, index: Any) -> Any:
        first = self._container[0] if self._container else None
        if type(first) is Fence:
            return self._container[first.among_the_last(index, len(self._container) - 1)]
        leaf_type = self._type(index)
        if leaf_type is None:
            return self._container[index]
        found = indexing.get(stacked_leaves(self._container, leaf_type), index)
        if not leaf_type.type.shape:
            return as_weak(found, leaf_type.weak)
        found = make(running(), read(found))
        for one in (found, *self._container, *map(root, self._container)):
            one._why_fixed = one._why_fixed or MAY_BE
        return found

    def __setitem__(self, index: Any, value: Any) -> None:
        is_one = type(self._container) is list and is_number(value)
        leaf_type = self._type(index) if is_one else None
        if leaf_type is not None:
            leaf_type = common_type(leaf_type, type_of(value))
        if leaf_type is None or leaf_type.type.shape:
            self._container[index] = value
            return
        array = make(running(), read(stacked_leaves(self._container, leaf_type)))
        indexing.set(array, index, value)
        rows = make(running(), read(array))
        self._container[:] = rows_of(rows, len(self._container), leaf_type.weak, True)

    def __delitem__(self, index: Any) -> None:
        del self._container[index]

    def _type(self, index: Any) -> LeafType | None:
        """Return the type of the elements, None where Python is to do it, or to say why not."""
        if type(index) is not Tracer or index.known is not None or index.type.shape:
            return None
        container = self._container
        if not index.type.dtype.is_integer or not container or not all(map(is_number, container)):
            return None
        need_number(index, "a Python integer")
        if _is_for_a_loop(container):
            return None
        try:
            found = common_of(container)
        except NotUniform:
            return None
        if found.type.shape:
            return found if all(type(each) is Tracer for each in container) else None
        return found if found.scalar else None


def _is_for_a_loop(container: Any) -> bool:
    """Whether a loop that is recorded can have a list be an array in all its steps."""
    trace: Trace | None = running()
    while trace is not None:
        if trace.lists is not None and trace.lists.owns({id(container)}):
            return True
        trace = trace.outer
    return False
