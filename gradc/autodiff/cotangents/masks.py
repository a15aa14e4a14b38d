"""Masked cotangents: the zero of a branch not taken stays zero through inf and nan.

A :class:`Cotangent` is a value and, perhaps, a mask. Where the mask does not hold the cotangent
*is* zero, whatever the value has there; so partials are multiplied without looking, rearrangements
move the mask along, and only a sum over elements, a sum of cotangents or the end selects. Masks are
built when they are first needed: most never are. The tangents of forward mode are such pairs too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias, Union

from gradc.autodiff import zeros
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Shape
from gradc_ir.core.types import DType, Type
from gradc_ir.core.walk import answered

Rearrange: TypeAlias = Callable[[Value], Value]
# A tuple is a product, with whose factors the cotangent is multiplied one after the other.
Partial: TypeAlias = Union[
    Value, int, float, "Under", tuple["Partial", ...], Callable[[], "Partial"], None
]
Partials: TypeAlias = Sequence[Partial]  # one for each operand of an op


class Under(NamedTuple):
    """A partial derivative where a condition holds (or does not), zero elsewhere."""

    condition: Value
    partial: Partial
    holds: bool = True
    by_value: bool = False


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


def either(left: Mask | None, right: Mask | None) -> Mask | None:
    """Return the mask that holds where one of two does; None is one that holds everywhere."""
    left, right = left and left.lasting, right and right.lasting
    if left is None or right is None:
        return None
    return left if left.equals(right) else Mask(sources=(left, right), build=build.logical_or)


class Cotangent:
    """A value and perhaps a mask; ``clean`` when the value is zero outside the mask for certain."""

    __slots__ = ("clean", "mask", "value")

    def __init__(self, value: Value, mask: Mask | None = None, clean: bool = True) -> None:
        self.value = value
        self.mask = mask
        self.clean = clean or mask is None

    def solid(self) -> Value:
        """Return the plain value: zeros where the mask does not hold."""
        if self.mask is None or self.clean:
            return self.value
        return self.mask.select(self.value)

    def under(self, condition: Value, holds: bool = True, by_value: bool = False) -> Cotangent:
        """Return the cotangent where a condition holds (or does not), zero elsewhere."""
        mask = Mask(outer=self.mask, condition=condition, holds=holds, by_value=by_value)
        return Cotangent(self.value, mask, clean=False)

    def times(self, partial: Partial) -> Cotangent | None:
        """Return the cotangent times a partial derivative of its shape, None for zero."""
        result = self
        while not isinstance(partial, Value):
            if isinstance(partial, Under):
                result = result.under(partial.condition, partial.holds, partial.by_value)
                partial = partial.partial
            elif isinstance(partial, tuple):
                product: Cotangent | None = result
                for factor in partial:
                    product = product and product.times(factor)
                return product
            elif callable(partial):
                partial = partial()
            elif partial is None or partial == 0:
                return None
            else:
                return Cotangent(_scale(result.value, partial), result.mask, result.clean)
        if zeros.is_number(partial, 0):
            return None
        return Cotangent(_multiply(result.value, partial), result.mask, clean=False)

    def moved(self, rearrange: Rearrange) -> Cotangent:
        """Return the cotangent with its elements rearranged (perhaps repeated or left out)."""
        mask = self.mask and self.mask.moved(rearrange)
        return Cotangent(rearrange(self.value), mask, self.clean)

    def spread(self, rearrange: Rearrange) -> Cotangent:
        """Return the cotangent with its elements put among zeros, which the mask then excludes."""
        mask = (self.mask or everywhere(self.value)).moved(rearrange)
        return Cotangent(rearrange(self.value), mask, self.clean)

    def summed(self, axes: Sequence[int]) -> Cotangent:
        """Return the sum over axes; its mask holds where one of the summed elements' does."""
        if not axes:
            return self
        kept = self.mask and self.mask.lasting
        mask = kept and kept.moved(lambda bits: build.reduce_max(bits, axes))
        return Cotangent(build.reduce_sum(self.solid(), axes), mask)


def plain(cotangents: Iterable[Cotangent | None]) -> list[Value | None]:
    """Return the plain values of cotangents; None is zero."""
    return [None if cotangent is None else cotangent.solid() for cotangent in cotangents]


def filled(cotangents: Iterable[Cotangent | None], types: Iterable[Type]) -> list[Value]:
    """Return the plain values of cotangents of these types, zeros where there is none."""
    return [zeros.solid(value, type_) for value, type_ in zip(plain(cotangents), types)]


def unmasked(values: Iterable[Value | None]) -> list[Cotangent | None]:
    """Return plain values as cotangents; None is zero."""
    return [None if value is None else Cotangent(value) for value in values]


def unit(seed: Value) -> Cotangent:
    """Return a cotangent that is a unit array: its zeros stay zero on the way to the first sum."""
    zero = build.eq(seed, zeros.zeros(seed.type))
    return Cotangent(seed, Mask(condition=zero, holds=False, by_value=True, is_local=True))


def add(left: Cotangent | None, right: Cotangent | None) -> Cotangent | None:
    """Return the sum of two cotangents of one type; None is zero."""
    if left is None or right is None:
        return left or right
    if left.mask is None and right.mask is None:
        return Cotangent(build.add(left.value, right.value))
    if left.mask is not None and right.mask is not None:
        clean = left.clean and right.clean
        if left.mask.equals(right.mask):
            return Cotangent(build.add(left.value, right.value), left.mask, clean)
        if left.mask.complements(right.mask):
            # the two branches of one `where`: one select serves both
            assert left.mask.condition is not None
            first, second = (left, right) if left.mask.holds else (right, left)
            chosen = build.select(left.mask.condition, first.value, second.value)
            return Cotangent(chosen, left.mask.outer, clean)
        mask = either(left.mask, right.mask)
        return Cotangent(build.add(left.solid(), right.solid()), mask)
    return Cotangent(build.add(left.solid(), right.solid()))


def _scale(value: Value, number: float) -> Value:
    if number == 1:
        return value
    return build.neg(value) if number == -1 else build.mul(value, number)


def _multiply(value: Value, partial: Value) -> Value:
    """Return the product, with one rounding where the partial is a reciprocal.

    What one divides by cancels against a factor of the other, and so does a square root against
    what it is of: differentiation alone has made this quotient, of which 0 / 0 says nothing.
    """
    if zeros.is_number(value, 1):
        return partial
    own = _factors(value)
    factors = [*own, *_factors(partial)]
    places = range(len(own)) if partial.op.name == "mul" else (len(own), *range(len(own)))
    for place in places:
        if factors[place].op.name == "div":
            found = _cancelled(factors[place], [*factors[:place], *factors[place + 1 :]])
            if found is not None:
                return found
    if partial.op.name == "div" and zeros.is_number(partial.operands[0], 1):
        return build.div(value, partial.operands[1])
    return build.mul(value, partial)


def _cancelled(quotient: Value, others: list[Value]) -> Value | None:
    """Return the product of a quotient and other factors, if its divisor cancels against one."""
    above, divisor = quotient.operands
    for i, factor in enumerate(others):
        is_root = divisor.op.name == "sqrt" and factor is divisor.operands[0]
        if factor is divisor or is_root:
            rest = [*others[:i], *others[i + 1 :], *([divisor] if is_root else ())]
            return functools.reduce(build.mul, rest, above)
    return None


def _factors(value: Value) -> tuple[Value, ...]:
    return value.operands if value.op.name == "mul" else (value,)
