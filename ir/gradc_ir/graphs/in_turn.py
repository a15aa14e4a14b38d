"""Reductions over several axes as reductions over one, in the order that the language gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.meaning.exponentials import FEW, SMALL_LOGARITHM
from gradc_ir.ops.linalg import condition_of, contracted, parse_spec, print_spec


def reduced_in_turn(name: str, x: Value, axes: Iterable[int]) -> Value:
    """Return a reduction over axes one at a time, the last one first."""
    for axis in sorted(axes, reverse=True):
        x = build.apply(name, x, axes=(axis,))
    return x


def logsumexp_in_turn(
    x: Value, axes: tuple[int, ...], sum_rarely: Callable[..., Value] | None = None
) -> Value:
    """Return ``logsumexp`` of the largest element, or of 0 where that is not finite.

    ``sum_rarely`` makes, from terms, a flag and axes, a sum that counts where the flag holds. With
    none what is beside the largest term is summed in every case, of powers that are there.
    """
    largest = reduced_in_turn("reduce_max", x, axes)
    finite = build.select(build.lt(build.abs(largest), float("inf")), largest, 0.0)
    kept = tuple(axis for axis in range(x.type.rank) if axis not in axes)

    def powers(shift: Value) -> Value:
        return build.exp(x - build.broadcast(shift, x.type.shape, kept))

    def beside(shift: Value) -> Value:
        return build.select(build.lt(powers(shift), 1.0), powers(shift), 0.0)

    more = reduced_in_turn("reduce_sum", powers(finite), axes) - 1.0
    is_small = build.lt(build.abs(finite + more), SMALL_LOGARITHM)
    near = build.logical_and(build.lt(more, FEW), is_small)
    if sum_rarely is None:
        others = reduced_in_turn("reduce_sum", beside(finite), axes)
    else:
        # a shift of its own, or each power would be kept for a loop that is hardly ever entered
        others = sum_rarely(beside(build.select(near, finite, 0.0)), near, axes)
    return build.log1p(build.select(near, others, more)) + finite


def contracted_in_turn(x: Value, y: Value, spec: str) -> Value:
    """Return a contraction whose last label is joined by fma; sums of those are the others."""
    left, right, result = parse_spec(spec)
    outer = contracted(spec)[:-1]
    inner = build.contract(x, y, print_spec(left, right, result + outer, condition_of(spec)))
    return reduced_in_turn("reduce_sum", inner, range(len(result), len(result) + len(outer)))
