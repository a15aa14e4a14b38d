"""Linear algebra: the binary contraction, from which every dot, matmul and einsum is made."""

from __future__ import annotations

import re

import numpy as np

from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.op import declare
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import Array, DType, Type, Types
from gradc_ir.errors import DTypeError, ShapeError
from gradc_ir.meaning.fma import fma
from gradc_ir.meaning.reduction import contract_in_order, reduce_in_order


class Condition(NamedTuple):
    """Which products count: those where one label's index is ``<`` or ``<=`` another one's."""

    small: str
    large: str
    may_be_equal: bool

    def __str__(self) -> str:
        return f"{self.small}{'<=' if self.may_be_equal else '<'}{self.large}"


_CONDITION = re.compile(r"([a-zA-Z])(<=?)([a-zA-Z])")


def parse_spec(spec: str) -> tuple[str, str, str]:
    """Return (left, right, result) of a contraction such as ``"ij,jk->ik"``."""
    operands, _, result = spec.partition("|")[0].rstrip().partition("->")
    left, _, right = operands.partition(",")
    return left, right, result


def condition_of(spec: str) -> Condition | None:
    """Return which products count in ``"ij,j->i | j<i"``; None when there is no condition."""
    _, _, text = spec.partition("|")
    if not text:
        return None
    found = _CONDITION.fullmatch(text.strip())
    if found is None:
        raise ShapeError(
            f"contract: {text.strip()!r} is no condition", help="write two labels: j<i or j<=i"
        )
    return Condition(found[1], found[3], found[2] == "<=")


def print_spec(left: str, right: str, result: str, condition: Condition | None = None) -> str:
    """Return the text of which :func:`parse_spec` and :func:`condition_of` are the parts."""
    spec = f"{left},{right}->{result}"
    return spec if condition is None else f"{spec} | {condition}"


def contracted(spec: str) -> str:
    """Return the labels summed over, in order of appearance in the left operand."""
    left, _, result = parse_spec(spec)
    return "".join(label for label in left if label not in result)


def _infer_contract(x: Type, y: Type, *, spec: str) -> Types:
    left, right, result = parse_spec(spec)
    if len(left) != x.rank or len(right) != y.rank:
        raise ShapeError(f"contract: {spec} does not fit {x} and {y}")
    for labels in (left, right, result):
        if len(set(labels)) != len(labels):
            raise ShapeError(f"contract: a label is repeated in {spec}")
    if x.dtype != y.dtype or x.dtype is DType.BOOL:
        raise DTypeError("contract: operand dtypes do not fit", found=f"{x} and {y}")
    found: dict[str, Size] = dict(zip(left, x.shape))
    for label, size in zip(right, y.shape):
        if found.setdefault(label, size) != size:
            raise ShapeError(f"contract: sizes of {label} differ ({found[label]} and {size})")
    if not set(result) <= set(found):
        raise ShapeError(f"contract: {spec} has a result label no operand has")
    summed = set(found) - set(result)
    if not summed <= set(left) & set(right):
        raise ShapeError(f"contract: {spec} sums a label only one operand has")
    condition = condition_of(spec)
    if condition is not None and not {condition.small, condition.large} <= set(found):
        raise ShapeError(f"contract: {condition} has a label no operand has")
    return (x.with_shape(tuple(found[label] for label in result)),)


def _contract(x: Array, y: Array, *, spec: str) -> Array:
    left, right, result = parse_spec(spec)
    summed = contracted(spec)
    order = summed[-1:] + result + summed[:-1]  # the last summed label is the one joined by fma

    def aligned(array: Array, labels: str) -> Array:
        moved = np.transpose(array, [labels.index(label) for label in order if label in labels])
        return np.expand_dims(
            moved, tuple(i for i, label in enumerate(order) if label not in labels)
        )

    with np.errstate(all="ignore"):
        a, b = np.broadcast_arrays(aligned(x, left), aligned(y, right))
        condition = condition_of(spec)
        counts = None if condition is None else _counts(condition, order, a.shape)
        if not summed:
            return np.asarray(a * b if counts is None else np.where(counts, a * b, 0))
        if x.dtype.kind != "f":
            products = a * b if counts is None else np.where(counts, a * b, 0)
            gone = (0, *range(1 + len(result), len(order)))
            return np.asarray(products.sum(gone)).astype(x.dtype)
        inner = contract_in_order(a, b, fma, counts)
        axes = range(len(result), inner.ndim)
        return np.asarray(reduce_in_order(inner, axes, np.add, -0.0, 0.0))


def _counts(condition: Condition, order: str, shape: tuple[int, ...]) -> Array:
    """Return which products count, for axes labelled by ``order``."""
    small, large = (
        np.expand_dims(
            np.arange(shape[order.index(label)]),
            tuple(i for i, other in enumerate(order) if other != label),
        )
        for label in (condition.small, condition.large)
    )
    counts = small <= large if condition.may_be_equal else small < large
    return np.broadcast_to(counts, shape)


declare(
    "contract",
    "linalg",
    2,
    _infer_contract,
    _contract,
    attributes=("spec",),
    linear=(0, 1),
    multilinear=True,
    summary="The sum of products over the labels that the result lacks, one fma a product; the "
    "spec may say which products count.",
)
