"""Masks of cotangents: where a zero is one that stays zero, built when it is first needed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from gradc.autodiff import zeros
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Shape
from gradc_ir.core.types import DType
from gradc_ir.core.walk import answered

Rearrange: TypeAlias = Callable[[Value], Value]


class Mask:
    """A bool of a cotangent's shape, made on demand: either ``outer and condition``, or derived.

    ``by_value``: the condition compares the masked value itself, as a maximum does. A nan is then
    never masked, so there is no need to protect what a linear op multiplies with the cotangent.
    ``is_local``: it is, or is made of one that is, of a single element's way to the first sum.
    """

    __slots__ = (
        "_build",
        "_sources",
        "_value",
        "by_value",
        "condition",
        "holds",
        "is_local",
        "outer",
    )

    def __init__(
        self,
        *,
        outer: Mask | None = None,
        condition: Value | None = None,
        holds: bool = True,
        by_value: bool = False,
        is_local: bool = False,
        sources: Sequence[Mask] = (),
        build: Callable[..., Value] | None = None,
    ) -> None:
        self.outer = outer
        self.condition = condition
        self.holds = holds
        self._sources = (outer,) if outer is not None else tuple(sources)
        own = by_value if condition is not None else bool(sources)
        self.by_value: bool = own and all(source.by_value for source in self._sources)
        self.is_local: bool = is_local or any(source.is_local for source in self._sources)
        self._build = build
        self._value: Value | None = None

    @property
    def given(self) -> bool:
        """Whether it is made of values that are there, and not of a mask that holds everywhere."""
        pending, seen = [self], {self}
        while pending:
            mask = pending.pop()
            if not mask._sources and mask.condition is None:
                return False
            pending.extend(source for source in mask._sources if source not in seen)
            seen.update(mask._sources)
        return True

    @property
    def lasting(self) -> Mask | None:
        """The mask without what is local; None is one that holds everywhere."""
        known: dict[Mask, Mask | None] = {}
        return answered(
            self, known, lambda x: x._sources if x.is_local else (), Mask._without_local
        )

    def _without_local(self, sources: list[Mask | None]) -> Mask | None:
        if not self.is_local:
            return self
        kept = [source for source in sources if source is not None]
        if self._build is build.logical_and and len(kept) == 1:
            return kept[0]
        if self._build is not None:
            return Mask(sources=kept, build=self._build) if len(kept) == len(sources) else None
        if not sources:
            return None
        return Mask(
            outer=kept[0] if kept else None,
            condition=self.condition,
            holds=self.holds,
            by_value=self.by_value,
        )

    def value(self) -> Value:
        """Return the mask as a graph value; no recursion, since masks nest as deep as programs."""
        pending = [self]
        while pending:
            mask = pending[-1]
            missing = [source for source in mask._sources if source._value is None]
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            if mask._value is None:
                mask._value = mask._make([source.value() for source in mask._sources])
        assert self._value is not None
        return self._value

    def _make(self, sources: list[Value]) -> Value:
        if self._build is not None:
            return self._build(*sources)
        assert self.condition is not None
        here = self.condition if self.holds else build.logical_not(self.condition)
        return build.logical_and(sources[0], here) if sources else here

    def select(self, value: Value) -> Value:
        """Return the value where the mask holds, and zeros elsewhere."""
        if self.condition is not None and self.outer is None:
            zero = zeros.zeros(value.type)
            chosen = (value, zero) if self.holds else (zero, value)
            return build.select(self.condition, *chosen)
        return build.select(self.value(), value, zeros.zeros(value.type))

    def equals(self, other: Mask) -> bool:
        """Whether both are certainly the same mask."""
        return self is other or (self._goes_by_the_same(other) and self.holds == other.holds)

    def complements(self, other: Mask) -> bool:
        """Whether the masks are the two sides of one condition, within the same outer mask."""
        return self._goes_by_the_same(other) and self.holds != other.holds

    def _goes_by_the_same(self, other: Mask) -> bool:
        is_same = self.condition is other.condition and self.outer is other.outer
        return is_same and self.condition is not None

    def widened(
        self,
        own: Mask | None,
        shape: Shape,
        read: Rearrange,
        write: Callable[[Value, Value], Value],
    ) -> Mask:
        """Return the mask that also holds where a part of this shape does, read and written so.

        ``own`` is the mask of the part, None where it holds everywhere.
        """
        lines = build.active().here

        def wide(outer: Value, *inner: Value) -> Value:
            with build.active().at(lines):  # it is made later; an index outside is shown there
                holds = [build.logical_or(read(outer), part) for part in inner]
                return write(outer, *(holds or [build.full(shape, True, DType.BOOL)]))

        return Mask(sources=(self,) if own is None else (self, own), build=wide)

    def moved(self, rearrange: Rearrange) -> Mask:
        """Return the mask of a rearranged cotangent."""
        return Mask(sources=(self,), build=rearrange)


def everywhere(like: Value, holds: bool = True) -> Mask:
    """Return the mask that holds everywhere, or nowhere, of a value's shape."""
    shape = like.type.shape
    return Mask(build=lambda: build.full(shape, holds, DType.BOOL))


def nowhere(like: Value) -> Mask:
    """Return the mask that holds nowhere, of a value's shape."""
    return everywhere(like, holds=False)


def on_demand(
    positions: Iterable[int], make: Callable[[int], Mapping[int, Value]]
) -> dict[int, Mask]:
    """Return masks at these positions, of values that are made together when one is needed.

    ``make`` takes the position that is asked for to values, at that and perhaps at others; they
    come from the lines that are being built now.
    """
    lines = build.active().here
    made: dict[int, Value] = {}

    def value(position: int) -> Value:
        if position not in made:
            with build.active().at(lines):
                made.update(make(position))
        return made[position]

    return {i: Mask(build=functools.partial(value, i)) for i in positions}


def both(left: Mask, right: Mask) -> Mask:
    """Return the mask that holds where two do."""
    return Mask(sources=(left, right), build=build.logical_and)


def either(left: Mask | None, right: Mask | None) -> Mask | None:
    """Return the mask that holds where one of two does; None is one that holds everywhere."""
    left, right = left and left.lasting, right and right.lasting
    if left is None or right is None:
        return None
    return left if left.equals(right) else Mask(sources=(left, right), build=build.logical_or)
