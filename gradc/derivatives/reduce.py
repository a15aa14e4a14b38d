"""Derivatives of the reductions."""

from __future__ import annotations

from gradc.autodiff.cotangents.masks import Cotangent, Partials
from gradc.autodiff.table import (
    Cotangents,
    Site,
    masked_forward_rule,
    partials,
    reverse_rule,
    transpose,
    unreduced,
)
from gradc.derivatives.order import shifted
from gradc_ir import build, ops
from gradc_ir.core import sizes
from gradc_ir.core.graph import Value
from gradc_ir.core.op import Op
from gradc_ir.core.types import Axes


@transpose(ops.reduce_sum)
def reduce_sum(cotangent: Value, x: Value, *, axes: Axes) -> Value:
    """The sum: every element has the sum's cotangent."""
    return unreduced(x, axes)(cotangent)


@partials(ops.reduce_prod)
def reduce_prod(out: Value, x: Value, *, axes: Axes) -> Partials:
    """The product: the product of the other elements, without division, so right with zeros."""
    return [lambda: _product_of_others(x, axes)]


def _product_of_others(x: Value, axes: Axes) -> Value:
    """Products of all before times products of all after, each by one recurrence."""
    if len(axes) == 1:
        return _before(x, axes[0], reverse=False) * _before(x, axes[0], reverse=True)
    kept = tuple(axis for axis in range(x.type.rank) if axis not in axes)
    order = kept + axes
    count = sizes.product(x.type.shape[axis] for axis in axes)
    rows = tuple(x.type.shape[axis] for axis in kept)
    flat = build.reshape(build.transpose(x, order), (*rows, count))
    others = _product_of_others(flat, (len(kept),))
    moved = build.reshape(others, tuple(x.type.shape[axis] for axis in order))
    return build.transpose(moved, tuple(order.index(axis) for axis in range(x.type.rank)))


def _before(x: Value, axis: int, reverse: bool) -> Value:
    """Return for each element the product of those before it: p[i] = x[i-1] p[i-1], p[0] = 1."""
    # -0.0 is what added changes no bit
    terms = build.select(build.starts(x, axis, reverse), 1.0, build.full_like(x, -0.0))
    return build.recurrence(shifted(x, axis, reverse), terms, axis, reverse)


def _extremum(op: Op, beaten: str) -> None:
    """Declare max or min: the elements that reach the result share its derivative equally."""

    def losers(site: Site) -> Value:
        (x,), (out,) = site.operands, site.results
        best = unreduced(x, site.attributes["axes"])(out)
        pair = (x, best) if beaten == "below" else (best, x)
        return build.lt(*pair)

    def winners(lost: Value, site: Site) -> Value:
        (x,), axes = site.operands, site.attributes["axes"]
        count = build.reduce_sum(build.select(lost, build.zeros_like(x), 1), axes)
        # no element wins where there is none, and nothing is shared
        if sizes.at_least(sizes.product(x.type.shape[axis] for axis in axes), 1):
            return count
        return build.maximum(count, 1)

    @masked_forward_rule(op)
    def forward(site: Site, tangents: Cotangents) -> Cotangents:
        (tangent,) = tangents
        assert tangent is not None
        lost = losers(site)
        won = tangent.under(lost, holds=False).summed(site.attributes["axes"])
        # some element wins: what a mask says is whether it has a tangent
        mask = None if tangent.mask is None else won.mask
        return [Cotangent(won.value / winners(lost, site), mask)]

    @reverse_rule(op)
    def reverse(site: Site, cotangents: Cotangents) -> Cotangents:
        (cotangent,) = cotangents
        assert cotangent is not None
        lost = losers(site)
        share = cotangent.times(1 / winners(lost, site))
        assert share is not None
        whole = share.moved(unreduced(site.operands[0], site.attributes["axes"]))
        return [whole.under(lost, holds=False, by_value=True)]


_extremum(ops.reduce_max, beaten="below")
_extremum(ops.reduce_min, beaten="above")


@partials(ops.norm)
def norm(out: Value, x: Value, *, axes: Axes) -> Partials:
    """The root of the sum of squares: the direction, 0 at the origin."""
    zero = build.eq(out, build.zeros_like(out))
    spread = unreduced(x, axes)
    # a product in the end, where nothing is differentiated any more: see rules.final.directions
    return [lambda: build.select(spread(zero), build.zeros_like(x), build.fence(x / spread(out)))]


@partials(ops.logsumexp)
def logsumexp(out: Value, x: Value, *, axes: Axes) -> Partials:
    """log(sum(exp(x))): softmax, made of the nodes that the op itself expands to."""
    largest = build.reduce_max(x, axes)
    finite = build.select(build.lt(build.abs(largest), float("inf")), largest, 0)
    # the derivative does not depend on the shift, so nothing flows through it
    shift = unreduced(x, axes)(build.stop_gradient(finite))
    shifted = build.exp(x - shift)
    # one division for a sum, which is from 1 to the number of its terms: a product cannot overflow
    return [shifted * unreduced(x, axes)(1 / build.reduce_sum(shifted, axes))]
