"""Derivatives of linear algebra."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff.cotangents.masks import Cotangent
from gradc.autodiff.table import Cotangents, masked_transpose
from gradc_ir import build, ops
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType
from gradc_ir.ops.linalg import Condition, condition_of, parse_spec, print_spec


@masked_transpose(ops.contract)
def contract(
    cotangent: Cotangent, x: Value, y: Value, *, wanted: Sequence[bool], spec: str
) -> Cotangents:
    """The contraction of the cotangent with the other operand."""
    left, right, result = parse_spec(spec)
    counts = condition_of(spec)
    return [
        _toward(cotangent, result, y, right, left, x, counts) if wanted[0] else None,
        _toward(cotangent, result, x, left, right, y, counts) if wanted[1] else None,
    ]


def _toward(
    cotangent: Cotangent,
    result: str,
    other: Value,
    others: str,
    own: str,
    operand: Value,
    counts: Condition | None,
) -> Cotangent:
    """Return the cotangent of the operand labelled ``own``; the other one is labelled ``others``.

    Where the mask does not hold, the product is zero whatever the other operand is. A mask on
    labels that all stay moves to the result. Otherwise the other operand's elements are put under
    it that meet no cotangent at all; if one that is not finite meets some, the value itself was not
    finite.
    """
    mask = cotangent.mask
    if mask is None:
        return Cotangent(_contract(cotangent.value, result, other, others, own, operand, counts))
    if not mask.by_value and set(result) <= set(own):
        product = _contract(cotangent.value, result, other, others, own, operand, counts)
        moved = mask.moved(lambda bits: _project(bits, result, own, operand))
        return Cotangent(product, moved, clean=False)
    if not mask.by_value:
        meets = _project(mask.value(), result, others, other)
        other = build.select(meets, other, build.zeros_like(other))
    product = _contract(cotangent.solid(), result, other, others, own, operand, counts)
    return Cotangent(product, mask.moved(lambda bits: _project(bits, result, own, operand)))


def _contract(
    cotangent: Value,
    result: str,
    other: Value,
    others: str,
    own: str,
    operand: Value,
    counts: Condition | None,
) -> Value:
    """Contract to those labels of the operand that are there, and repeat along the rest."""
    there = "".join(label for label in own if label in result or label in others)
    found = build.contract(cotangent, other, print_spec(result, others, there, counts))
    return build.broadcast(found, operand.type.shape, tuple(own.index(label) for label in there))


def _project(bits: Value, labels: str, onto: str, like: Value) -> Value:
    """Return, for each element labelled ``onto``, whether a bit it meets is set."""
    gone = tuple(i for i, label in enumerate(labels) if label not in onto)
    bits = build.reduce_max(bits, gone)
    left = [label for label in labels if label in onto]
    order = sorted(left, key=onto.index)
    bits = build.transpose(bits, tuple(left.index(label) for label in order))
    assert bits.type.dtype is DType.BOOL
    return build.broadcast(bits, like.type.shape, tuple(onto.index(label) for label in order))
