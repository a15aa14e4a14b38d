"""Derivatives of the reductions."""

from __future__ import annotations

from gradc.autodiff.masks import Cotangent, Partial
from gradc.derivatives.registry import (
    Cotangents,
    Site,
    Tangents,
    forward_rule,
    partials,
    reverse_rule,
    transpose,
    unreduced,
)
from gradc_ir import build, ops, sizes
from gradc_ir.graph import Value
from gradc_ir.op import Op
from gradc_ir.types import DType


@transpose(ops.reduce_sum)
def reduce_sum(cotangent: Value, x: Value, *, axes: tuple[int, ...]) -> Value:
    """The sum: every element has the sum's cotangent."""
    return unreduced(x, axes)(cotangent)


@partials(ops.reduce_prod)
def reduce_prod(out: Value, x: Value, *, axes: tuple[int, ...]) -> list[Partial]:
    """The product: the product of the other elements, without division, so right with zeros."""
    return [lambda: _product_of_others(x, axes)]


def _product_of_others(x: Value, axes: tuple[int, ...]) -> Value:
    kept = tuple(axis for axis in range(x.type.rank) if axis not in axes)
    order = kept + axes
    count = sizes.product(x.type.shape[axis] for axis in axes)
    rows = tuple(x.type.shape[axis] for axis in kept)
    flat = build.reshape(build.transpose(x, order), (*rows, count))
    others = _by_doubling(flat, count) if isinstance(count, int) else _by_square(flat)
    moved = build.reshape(others, tuple(x.type.shape[axis] for axis in order))
    return build.transpose(moved, tuple(order.index(axis) for axis in range(x.type.rank)))


def _by_doubling(x: Value, count: int) -> Value:
    """Products of all before times products of all after, each in log2(count) steps."""
    if count == 0:
        return x
    before, after = _shifted(x, 1), _shifted(x, -1)
    step = 1
    while step < count - 1:
        before = before * _shifted(before, step)
        after = after * _shifted(after, -step)
        step *= 2
    return before * after


def _shifted(x: Value, by: int) -> Value:
    """Return x moved along its last axis, with ones moved in."""
    *rows, count = x.type.shape
    assert isinstance(count, int)
    distance = min(-by if by < 0 else by, count)
    starts, steps = (0,) * len(rows), (1,) * x.type.rank
    ones = build.full((*rows, distance), 1, x.type.dtype)
    start = distance if by < 0 else 0
    rest = build.slice(x, (*starts, start), (*rows, count - distance), steps)
    return build.concatenate([rest, ones] if by < 0 else [ones, rest], len(rows))


def _by_square(x: Value) -> Value:
    """The product of each row of a square whose diagonal is one; for a count known at run time."""
    *rows, count = x.type.shape
    rank = x.type.rank
    square = (*rows, count, count)
    every = build.broadcast(x, square, (*range(rank - 1), rank))
    index = build.iota(DType.I64, count)
    diagonal = build.eq(
        build.broadcast(index, square, (rank - 1,)), build.broadcast(index, square, (rank,))
    )
    return build.reduce_prod(build.select(diagonal, 1, every), (rank,))


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

    @forward_rule(op)
    def forward(site: Site, tangents: Tangents) -> Tangents:
        (tangent,) = tangents
        assert tangent is not None
        lost = losers(site)
        won = Cotangent(tangent).under(lost, holds=False).summed(site.attributes["axes"])
        return [won.value / winners(lost, site)]

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


@partials(ops.logsumexp)
def logsumexp(out: Value, x: Value, *, axes: tuple[int, ...]) -> list[Partial]:
    """log(sum(exp(x))): softmax, made of the nodes that the op itself expands to."""
    largest = build.reduce_max(x, axes)
    finite = build.select(build.lt(build.abs(largest), float("inf")), largest, 0)
    # the derivative does not depend on the shift, so nothing flows through it
    shift = unreduced(x, axes)(build.stop_gradient(finite))
    shifted = build.exp(x - shift)
    return [shifted / unreduced(x, axes)(build.reduce_sum(shifted, axes))]
