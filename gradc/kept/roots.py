"""What the looks of a trace begin at: the function, static arguments, classes, flags."""

from __future__ import annotations

from typing import Any

from gradc.calls.traceable import Traceable
from gradc.kept import nests
from gradc.kept.content import content
from gradc.kept.plain import digest_of


class Roots:
    """The roots of a trace, in an order that is the same in every process.

    Attributes
    ----------
    values: the roots.
    """

    def __init__(self, source: Traceable) -> None:
        bound = source.bound
        self._source = source
        objects = nests.objects_in(bound.structure)
        self._places = {id(value): place for place, value in enumerate(objects)}
        static = (value for _, value in bound.static)
        self.values: list[Any] = [source.function, *static, *objects]

    def add(self, value: Any) -> int:
        """Add a root; returns its place."""
        self.values.append(value)
        return len(self.values) - 1

    def content(self) -> Any:
        """Return what the roots are, and the structure of the arguments; raises Unkept."""
        bound = self._source.bound
        structures = (
            None if one is None else nests.written(one, lambda value: self._places[id(value)])
            for one in bound.structure
        )
        signature = self._source.parameters.signature.parameters.values()
        return (
            tuple(digest_of(content(value)) for value in self.values),
            bound.names,
            tuple(name for name, _ in bound.static),
            tuple(structures),
            tuple(getattr(number, "__name__", None) for number in bound.numbers),
            tuple((one.name, one.kind.name, one.default is one.empty) for one in signature),
        )
