"""Derivatives of the ops along one axis, an element after another."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff.cotangents.masks import Cotangent
from gradc.autodiff.table import (
    Cotangents,
    Site,
    Tangents,
    forward_rule,
    masked_transpose,
    reverse_rule,
    zero_derivative,
)
from gradc_ir import build, ops
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType

zero_derivative(ops.argsort, why="is a list of places, which have no tangent")


@masked_transpose(ops.cumsum, sums=True)
def cumsum(
    cotangent: Cotangent, x: Value, *, wanted: Sequence[bool], axis: int, reverse: bool
) -> Cotangents:
    """Running sums: an element is in its own sum and all later ones, so run the other way."""
    mask = cotangent.mask and cotangent.mask.moved(lambda bits: _once(bits, axis, not reverse))
    return [Cotangent(build.cumsum(cotangent.solid(), axis, not reverse), mask)]


@forward_rule(ops.recurrence)
def recurrence_forward(site: Site, tangents: Tangents) -> Tangents:
    """h' = a h'[i-1] + (a' h[i-1] + b'): the same recurrence of another term."""
    (a, b), (h,), (of_a, of_b) = site.operands, site.results, tangents
    axis, reverse = site.attributes["axis"], site.attributes["reverse"]
    if of_a is not None:
        before = shifted(h, axis, reverse)
        # the first factor is never read, so its tangent, if it is nan, goes nowhere
        fed = Cotangent(of_a).under(build.starts(a, axis, reverse), holds=False).times(before)
        term = zeros_or(fed, b)
        of_b = term if of_b is None else build.add(term, of_b)
    assert of_b is not None
    return [build.recurrence(a, of_b, axis, reverse)]


@reverse_rule(ops.recurrence)
def recurrence_reverse(site: Site, cotangents: Cotangents) -> Cotangents:
    """g = a[i+1] g[i+1] + h': b has g, and a has g times the h before it."""
    (a, _), (h,), (cotangent,) = site.operands, site.results, cotangents
    axis, reverse = site.attributes["axis"], site.attributes["reverse"]
    assert cotangent is not None
    factors = shifted(a, axis, not reverse)
    mask = cotangent.mask and cotangent.mask.moved(lambda bits: _once(bits, axis, not reverse))
    if mask is not None:
        # zero times a factor that no cotangent meets is zero, whatever the factor
        meets = shifted(mask.value(), axis, not reverse)
        factors = build.select(meets, factors, build.zeros_like(factors))
    run = Cotangent(build.recurrence(factors, cotangent.solid(), axis, not reverse), mask)
    of_a = None
    if site.wanted[0]:
        inner = run.under(build.starts(a, axis, reverse), holds=False)
        of_a = inner.times(shifted(h, axis, reverse))
    return [of_a, run]


def zeros_or(term: Cotangent | None, like: Value) -> Value:
    """Return the plain value of a term; zeros for none."""
    return build.zeros_like(like) if term is None else term.solid()


def shifted(x: Value, axis: int, reverse: bool = False) -> Value:
    """Return x moved by one along an axis, a zero first: what recurrences call ``x[i-1]``."""
    shape, steps = x.type.shape, (1,) * x.type.rank
    origin = (0,) * x.type.rank
    moved = tuple(int(i == axis) for i in range(x.type.rank))
    longer = tuple(size + 1 if i == axis else size for i, size in enumerate(shape))
    padded = build.pad(x, origin if reverse else moved, longer, steps)
    return build.slice(padded, moved if reverse else origin, shape, steps)


def _once(bits: Value, axis: int, reverse: bool) -> Value:
    """Return whether a bit is set here or before, in the order of a running sum."""
    times = build.cumsum(build.cast(bits, DType.I64), axis, reverse)
    return build.lt(build.zeros_like(times), times)
