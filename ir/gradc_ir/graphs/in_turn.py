"""Reductions over several axes as reductions over one, in the order that the language gives."""

from __future__ import annotations

from collections.abc import Iterable

from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.ops.linalg import condition_of, contracted, parse_spec, print_spec


def reduced_in_turn(name: str, x: Value, axes: Iterable[int]) -> Value:
    """Return a reduction over axes one at a time, the last one first."""
    for axis in sorted(axes, reverse=True):
        x = build.apply(name, x, axes=(axis,))
    return x


def logsumexp_in_turn(x: Value, axes: tuple[int, ...]) -> Value:
    """Return ``logsumexp`` of the largest element, or of 0 where that is not finite."""
    largest = reduced_in_turn("reduce_max", x, axes)
    finite = build.select(build.lt(build.abs(largest), float("inf")), largest, 0.0)
    kept = tuple(axis for axis in range(x.type.rank) if axis not in axes)
    shifted = build.exp(x - build.broadcast(finite, x.type.shape, kept))
    return build.log(reduced_in_turn("reduce_sum", shifted, axes)) + finite


def contracted_in_turn(x: Value, y: Value, spec: str) -> Value:
    """Return a contraction whose last label is joined by fma; sums of those are the others."""
    left, right, result = parse_spec(spec)
    outer = contracted(spec)[:-1]
    inner = build.contract(x, y, print_spec(left, right, result + outer, condition_of(spec)))
    return reduced_in_turn("reduce_sum", inner, range(len(result), len(result) + len(outer)))
