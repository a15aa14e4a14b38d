"""Masked cotangents: the zero of a branch not taken stays zero through inf and nan.

A :class:`Cotangent` is a value and, perhaps, a mask. Where the mask does not hold the cotangent
*is* zero, whatever the value has there; so partials are multiplied without looking, rearrangements
move the mask along, and only a sum over elements, a sum of cotangents or the end selects. Masks are
built when they are first needed: most never are. The tangents of forward mode are such pairs too.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias, Union

import numpy as np

from gradc.autodiff import zeros
from gradc.autodiff.cotangents.mask import Mask, Rearrange, both, either, everywhere
from gradc.autodiff.cotangents.source import Source
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Value
from gradc_ir.core.types import Type
from gradc_ir.graphs.rearrange import scalar_constant

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


# Whether masks select at once: what a zero meets is then of no interest.
_at_once: ContextVar[bool] = ContextVar("gradc_masks_at_once", default=False)


@contextmanager
def masks_at_once() -> Iterator[None]:
    """Build derivatives without masks: zeros where they arise, for those who read the graph.

    They are equal over the reals, but a zero times what is not finite is no zero any more.
    """
    token = _at_once.set(True)
    try:
        yield
    finally:
        _at_once.reset(token)


class Cotangent:
    """A value and perhaps a mask; ``clean`` when the value is zero outside the mask for certain.

    With a ``source`` it is that times ``factor``: what the cotangent came in as, times all that
    partials have made of it. No rule then finds an unknown cotangent between the factors of a
    derivative, and what is known of it can be computed before the cotangent is there.
    """

    __slots__ = ("_mask", "_value", "clean", "factor", "own", "source")

    def __init__(
        self,
        value: Value,
        mask: Mask | None = None,
        clean: bool = True,
        source: Source | None = None,
    ) -> None:
        if mask is not None and _at_once.get():
            value, mask, clean = value if clean else mask.select(value), None, True
        self.factor = value
        self.source = source
        self.own = mask
        within = None if source is None else source.mask
        self.clean = clean or (mask is None and within is None)
        self._value = value if source is None else None
        self._mask = mask if within is None else within if mask is None else None

    @property
    def mask(self) -> Mask | None:
        """The mask: that of the source, and what partials have made of it."""
        within = None if self.source is None else self.source.mask
        if self._mask is None and self.own is not None and within is not None:
            self._mask = both(within, self.own)
        return self._mask

    @property
    def value(self) -> Value:
        """The value, which means nothing outside the mask."""
        if self._value is None:
            assert self.source is not None
            self._value = _product(self.source.value, self.factor)
        return self._value

    def apart(self) -> Cotangent:
        """Return the cotangent as a source of its own, times one."""
        if self.source is not None or scalar_constant(self.factor) is not None:
            return self
        ones = build.ones_like(self.factor)
        return Cotangent(ones, None, self.clean, Source(self.factor, self.own))

    def anew(self) -> Cotangent:
        """Return the cotangent as a source of its own, times one, whatever it was made of."""
        return Cotangent(self.value, self.mask, self.clean).apart()

    def solid(self) -> Value:
        """Return the plain value: zeros where the mask does not hold."""
        if self.mask is None or self.clean:
            return self.value
        return self.mask.select(self.value)

    def under(self, condition: Value, holds: bool = True, by_value: bool = False) -> Cotangent:
        """Return the cotangent where a condition holds (or does not), zero elsewhere."""
        mask = Mask(outer=self.own, condition=condition, holds=holds, by_value=by_value)
        return Cotangent(self.factor, mask, False, self.source)

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
                scaled = _scale(result.factor, partial)
                return Cotangent(scaled, result.own, result.clean, result.source)
        if zeros.is_number(partial, 0):
            return None
        multiplied = _multiply(result.factor, partial)
        return Cotangent(multiplied, result.own, False, result.source)

    def moved(self, rearrange: Rearrange) -> Cotangent:
        """Return the cotangent with its elements rearranged (perhaps repeated or left out)."""
        source = self.source and self.source.moved(rearrange)
        return self._rearranged(rearrange, self.own and self.own.moved(rearrange), source)

    def spread(self, rearrange: Rearrange) -> Cotangent:
        """Return the cotangent with its elements put among zeros, which the mask then excludes."""
        if self.source is None:
            mask = (self.own or everywhere(self.factor)).moved(rearrange)
            return self._rearranged(rearrange, mask, None)
        number = scalar_constant(self.factor)
        if number is not None and not 0 < number < math.inf:
            return self.anew().spread(rearrange)  # a zero would not stay the zero it is
        within = (self.source.mask or everywhere(self.source.value)).moved(rearrange)
        source = Source(rearrange(self.source.value), None if _at_once.get() else within)
        return self._rearranged(rearrange, self.own and self.own.moved(rearrange), source)

    def _rearranged(
        self, rearrange: Rearrange, mask: Mask | None, source: Source | None
    ) -> Cotangent:
        if source is None:
            return Cotangent(rearrange(self.factor), mask, self.clean)
        number = scalar_constant(self.factor)
        # among zeros it is the number everywhere: an array of it and zeros would have to be read
        is_number = number is not None and 0 < number < math.inf
        factor = build.full_like(source.value, number) if is_number else rearrange(self.factor)
        return Cotangent(factor, mask, self.clean, source)

    def summed(self, axes: Sequence[int]) -> Cotangent:
        """Return the sum over axes; its mask holds where one of the summed elements' does."""
        if not axes:
            return self
        before = self.source and self.own is None and self.source.unrepeated(axes)
        if before:
            return Cotangent(build.reduce_sum(self.factor, axes), None, False, before)
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
    if left.source is not None and left.source is right.source:
        factors = [Cotangent(x.factor, x.own, clean=x.own is None) for x in (left, right)]
        total = add(*factors)
        assert total is not None
        return Cotangent(total.factor, total.own, False, left.source)
    if left.mask is None and right.mask is None:
        return Cotangent(_added(left.value, right.value))
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


def _product(source: Value, factor: Value) -> Value:
    """Return a cotangent that came in times all that is known of it."""
    number = scalar_constant(factor)
    if number is not None:
        return _scale(source, float(number))
    if factor.op.name == "neg":
        return build.neg(_product(source, factor.operands[0]))
    if factor.op.name == "div" and zeros.is_number(factor.operands[0], 1):
        divisor = factor.operands[1]
        # one rounding; a product might leave the range where the reciprocal of it does not
        if divisor.op.name == "param":
            return build.div(source, divisor)
    return build.mul(source, factor)


def _added(left: Value, right: Value) -> Value:
    """Return the sum, a number for two: of what is apart it is asked whether it is one."""
    numbers = scalar_constant(left), scalar_constant(right)
    if None in numbers:
        return build.add(left, right)
    kind: Any = left.type.dtype.numpy.type
    one, other = map(kind, numbers)
    with np.errstate(all="ignore"):
        total = (one + other).item()
    # a zero would be one that stays zero, whatever it meets
    return build.full_like(left, total) if total else build.add(left, right)


def _scale(value: Value, number: float) -> Value:
    if number == 1:
        return value
    known = scalar_constant(value)
    if known is not None and value.type.dtype.is_float:
        kind: Any = value.type.dtype.numpy.type
        with np.errstate(all="ignore"):
            product = (kind(known) * kind(number)).item()
        if product:
            return build.full_like(value, product)
    return build.neg(value) if number == -1 else build.mul(value, number)


def _multiply(value: Value, partial: Value) -> Value:
    """Return the product, with one rounding where the partial is a reciprocal.

    What one divides by cancels against a factor of the other, and so does a square root against
    what it is of: differentiation alone has made this quotient, of which 0 / 0 says nothing.
    """
    if zeros.is_number(value, 1):
        return partial
    number = scalar_constant(partial)
    if number is not None and scalar_constant(value) is not None:
        return _scale(value, float(number))
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


def has_quotient(value: Value) -> bool:
    """Whether a quotient is a factor of a value, which a product with another may cancel."""
    pending, seen = [value], {value}
    while pending:
        factor = pending.pop()
        if factor.op.name == "div":
            return True
        if factor.op.name in ("mul", "neg"):
            pending += [operand for operand in factor.operands if operand not in seen]
            seen.update(factor.operands)
    return False
