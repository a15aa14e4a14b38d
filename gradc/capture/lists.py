"""Which lists of like numbers are arrays in the steps of a loop, and what becomes of them."""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType
from typing import Any

from gradc.capture.held.leaves import common_of, stacked_leaves
from gradc.capture.held.nests import is_number
from gradc.capture.held.recording import Before
from gradc.capture.held.stacked_list import StackedList, Widens
from gradc.capture.held.uniform import NotUniform
from gradc.control.leaf_types import LeafType
from gradc.tracing import Tracer
from gradc.tracing.core.rows import whole
from gradc.tracing.core.state import Trace, running
from gradc.tracing.core.tracer import make, read
from gradc.tracing.rewriting.site import Site
from gradc_ir import build
from gradc_ir.core.sizes import Size


class Indexed(NotUniform):
    """A loop in a step asks for elements of a list that is there in all steps."""

    def __init__(self, path: str) -> None:
        super().__init__(f"it asks for elements of {path} by an index that is not known")


class Lists:
    """The lists that a loop may take for arrays, and those that it does.

    Parameters
    ----------
    start: what the first of the steps finds.
    frame, site: the loop.
    """

    def __init__(self, start: Before, frame: FrameType, site: Site) -> None:
        self._start = start
        self._frame = frame
        self._site = site
        self._types: dict[str, LeafType] = {}
        self._taken: dict[str, tuple[list[Any], StackedList]] = {}

    def owns(self, things: set[int]) -> bool:
        """Whether one of some lists may be an array here, and is none yet."""
        if self._types:
            return False
        return any(
            id(each) in things for _, thing, _ in self._candidates() for each in _lists_in(thing)
        )

    def learns(self, error: NotUniform) -> Before | None:
        """Return what the steps find when more is an array, now that they failed of something.

        None where nothing is. Raises Indexed where it is for a loop around this one to have a list
        be an array.
        """
        if isinstance(error, Widens):
            self._types[error.path] = error.leaf_type
        elif self._types:
            return None
        else:
            self._leave_to_others()
            self._types = {name: leaf_type for name, _, leaf_type in self._candidates()}
            if not self._types:
                return None
        found: dict[str, Any] = {}
        self._start.put_back()
        for name, leaf_type in self._types.items():
            thing = self._start.variables[name]
            array = make(running(), read(_stacked(thing, leaf_type)))
            found[name] = StackedList(name, array, leaf_type)
            self._taken[name] = thing, found[name]
        variables = {**self._start.variables, **found}
        return Before(self._frame, self._site, variables, earlier=self._start)

    def visited(self) -> list[Any]:
        """Return the lists of arrays that steps read: neither may be changed in them."""
        taken = self._taken.values()
        return [thing for thing, stacked in taken if stacked.leaf_type.type.shape]

    def give_back(self, variables: dict[str, Any]) -> None:
        """Have the variables be lists again, with the elements that there are after the loop."""
        for name, (thing, stacked) in self._taken.items():
            if stacked.has_changed:
                stacked.give_back(thing)
            variables[name] = thing

    def _candidates(self) -> Iterator[tuple[str, list[Any], LeafType]]:
        for name in self._site.names:
            thing = self._start.variables[name]
            if name not in self._site.indexed or type(thing) is not list or len(thing) < 2:
                continue
            if self._shape(thing, name) is None:
                continue
            try:
                leaf_type = common_of(list(_numbers_in(thing)))
            except NotUniform:
                continue
            is_number_type = leaf_type.scalar and not leaf_type.type.shape
            if is_number_type or (leaf_type.type.shape and all(map(_is_array, thing))):
                yield name, thing, leaf_type

    def _shape(self, thing: Any, holder: Any) -> tuple[int, ...] | None:
        """Return the shape of a list of numbers, or of such lists; None for what is no array.

        Nothing but ``holder`` may refer to it, and to none of its lists twice.
        """
        if type(thing) is not list or not thing:
            return None
        if self._start.heap.references.get(id(thing)) != {holder}:
            return None
        if all(map(is_number, thing)):
            return (len(thing),)
        if len(set(map(id, thing))) < len(thing):
            return None
        first = self._shape(thing[0], id(thing))
        if first is None or any(self._shape(each, id(thing)) != first for each in thing[1:]):
            return None
        return (len(thing), *first)

    def _leave_to_others(self) -> None:
        things = {
            id(held.thing)
            for held in self._start.heap.held.values()
            if held.path in self._site.indexed and type(held.thing) is list
        }
        trace: Trace | None = running()
        while things and trace is not None:
            if trace.lists is not None and trace.lists.owns(things):
                raise Indexed(next(iter(self._site.indexed)))
            trace = trace.outer


def _is_array(value: Any) -> bool:
    """Whether a value is an array of the traced code's, which is fixed where it has to be."""
    return type(value) is Tracer


def _lists_in(thing: list[Any]) -> Iterator[list[Any]]:
    """Yield a list, and those in it."""
    yield thing
    for each in thing:
        if type(each) is list:
            yield from _lists_in(each)


def _numbers_in(thing: list[Any]) -> Iterator[Any]:
    """Yield the numbers of a list, or of the lists in it."""
    for each in thing:
        if type(each) is list:
            yield from _numbers_in(each)
        else:
            yield each


def _stacked(thing: list[Any], leaf_type: LeafType) -> Tracer:
    """Return an array of the numbers of a list, or of those of equally long lists."""
    shape: list[Size] = [len(thing)]
    inner = thing[0]
    while type(inner) is list:
        shape.append(len(inner))
        inner = inner[0]
    shape += leaf_type.type.shape
    found = whole(thing)
    is_it = type(found) is Tracer and found.type == leaf_type.type.with_shape(tuple(shape))
    if is_it:
        return found  # type: ignore[no-any-return]
    flat = stacked_leaves(list(_numbers_in(thing)), leaf_type)
    return (
        flat
        if flat.type.rank == len(shape)
        else make(running(), build.reshape(read(flat), tuple(shape)))
    )
