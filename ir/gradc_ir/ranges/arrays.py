"""Ranges of what moves, joins, selects and reduces elements."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np

from gradc_ir.core import sizes
from gradc_ir.core.graph import Node
from gradc_ir.core.range import INF, Number, Range, anything, is_whole, make, outward, single, union
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType
from gradc_ir.ops.linalg import condition_of, parse_spec
from gradc_ir.ranges.arithmetic import integers, mul, square

NodeRule = Callable[[Node, Sequence[Range]], Range]

# Constants with more elements are not looked at.
_MOST_ELEMENTS = 4096


def constant(node: Node, operands: Sequence[Range]) -> Range:
    """Return the range of a constant array."""
    array = node.attributes["value"].array
    dtype = node.results[0].type.dtype
    if array.ndim == 0:
        return single(dtype, array.item())
    if not 0 < array.size <= _MOST_ELEMENTS:
        return anything(dtype)
    numbers = array[array == array]
    if numbers.size == 0:
        return Range(INF, -INF)
    return make(
        dtype,
        numbers.min().item(),
        numbers.max().item(),
        whole=all(map(is_whole, numbers.ravel().tolist())),
        nonzero=bool(np.all(numbers != 0)),
        signed=dtype.is_float and bool(np.any(np.signbit(numbers) & (numbers == 0))),
        nan=numbers.size < array.size,
    )


def iota(node: Node, operands: Sequence[Range]) -> Range:
    """Return the range of 0, 1, 2 …."""
    dtype, length = node.results[0].type.dtype, node.attributes["size"]
    if dtype.is_float:
        last = float(dtype.numpy.type(length - 1)) if isinstance(length, int) else 1e19
        return make(dtype, 0.0, max(last, 0.0), whole=True, signed=False, nan=False)
    if isinstance(length, int):
        return integers(dtype, 0, max(length - 1, 0))
    return make(dtype, 0, anything(dtype).high) if dtype is DType.I64 else anything(dtype)


def size(node: Node, operands: Sequence[Range]) -> Range:
    """Return the range of a size."""
    least = 1 if sizes.at_least(node.attributes["size"], 1) else 0
    return make(DType.I64, least, anything(DType.I64).high)


def argsort(node: Node, operands: Sequence[Range]) -> Range:
    """Return the range of places."""
    dtype = node.results[0].type.dtype
    return make(dtype, 0, anything(dtype).high)


def same(node: Node, operands: Sequence[Range]) -> Range:
    """Return the range of the first operand, some of whose elements are the result's."""
    return operands[0]


def joined(node: Node, operands: Sequence[Range]) -> Range:
    """Return the range of elements of all operands."""
    return functools.reduce(union, operands)


def updated(node: Node, operands: Sequence[Range]) -> Range:
    """Return the range of an array some of whose elements are replaced."""
    return union(operands[0], operands[1])


def padded(node: Node, operands: Sequence[Range]) -> Range:
    """Return the range of elements among zeros."""
    return union(operands[0], single(node.results[0].type.dtype, 0))


def increased(node: Node, operands: Sequence[Range]) -> Range:
    """Return the range of an array to some of whose elements others are added."""
    return _sum(node.results[0].type.dtype, union(operands[0], operands[1]), None)


# -- reductions ------------------------------------------------------------------------------------


def _terms(node: Node) -> Size:
    """Return how many elements are reduced to one."""
    shape = node.operands[0].type.shape
    return sizes.product([shape[axis] for axis in node.attributes["axes"]])


def reduce_sum(node: Node, operands: Sequence[Range]) -> Range:
    """Return the range of a sum."""
    return _sum(node.results[0].type.dtype, operands[0], _terms(node))


def cumsum(node: Node, operands: Sequence[Range]) -> Range:
    """Return the range of running sums, which are of one term at least."""
    length = node.operands[0].type.shape[node.attributes["axis"]]
    terms = union(operands[0], single(node.results[0].type.dtype, 0))
    return _sum(node.results[0].type.dtype, terms, length)


def _sum(dtype: DType, term: Range, count: Size | None) -> Range:
    """Return the range of a sum of so many terms; None for any number."""
    if count == 0:
        return single(dtype, 0)
    if not dtype.is_float:
        if not isinstance(count, int):
            return anything(dtype)
        return integers(dtype, term.low * count, term.high * count)
    low = -INF if term.low < 0 else 0.0
    high = INF if term.high > 0 else 0.0
    if isinstance(count, int):
        # every step rounds, whatever the order
        share = 2 * count * float(np.spacing(dtype.numpy.type(1)))
        low = max(low, count * term.low * (1 + math.copysign(share, -term.low)))
        high = min(high, count * term.high * (1 + math.copysign(share, term.high)))
        wide = outward(dtype, low, high)
        low, high = (end if end == 0 else moved for end, moved in zip((low, high), wide))
    elif count is not None and sizes.at_least(count, 1):
        low = max(low, term.low) if term.low >= 0 else low
        high = min(high, term.high) if term.high <= 0 else high
    # infinities of both signs, among the terms or where parts of the sum overflow
    opposite = low == -INF and high == INF
    return make(dtype, low, high, whole=term.whole, signed=term.signed, nan=term.nan or opposite)


def reduce_prod(node: Node, operands: Sequence[Range]) -> Range:
    """Return the range of a product."""
    (x,), dtype = operands, node.results[0].type.dtype
    if not dtype.is_float:
        return anything(dtype)
    if x.low >= 0:
        low, high = (1.0 if x.low >= 1 else 0.0), (1.0 if x.high <= 1 else INF)
    else:
        low, high = (-1.0, 1.0) if x.magnitude <= 1 else (-INF, INF)
    # one part may overflow, and another underflow
    nan = x.nan or (high == INF and x.low < 1)
    return make(dtype, low, high, whole=x.whole, signed=x.low < 0 or x.signed, nan=nan)


def reduce_max(node: Node, operands: Sequence[Range]) -> Range:
    """Return the range of the largest element; of none it is the lowest number."""
    return _extreme(node, operands[0], anything(node.results[0].type.dtype).low)


def reduce_min(node: Node, operands: Sequence[Range]) -> Range:
    """Return the range of the smallest element; of none it is the highest number."""
    return _extreme(node, operands[0], anything(node.results[0].type.dtype).high)


def _extreme(node: Node, x: Range, of_none: Number) -> Range:
    if sizes.at_least(_terms(node), 1):
        return x
    return union(x, single(node.results[0].type.dtype, of_none))


def logsumexp(node: Node, operands: Sequence[Range]) -> Range:
    """Return the range of log(sum(exp(x)))."""
    (x,), dtype, count = operands, node.results[0].type.dtype, _terms(node)
    if not sizes.at_least(count, 1):
        return make(dtype, -INF, INF)
    high: Number = INF
    if isinstance(count, int):
        rounding = 8 * count * float(np.spacing(dtype.numpy.type(1)))
        _, high = outward(dtype, 0, x.high + math.log(count) + rounding)
    return make(dtype, x.low, high, nan=x.nan)


def norm(node: Node, operands: Sequence[Range]) -> Range:
    """Return the range of the root of a sum of squares."""
    (x,), dtype = operands, node.results[0].type.dtype
    return make(dtype, 0.0, INF, nan=x.nan)


def contract(node: Node, operands: Sequence[Range]) -> Range:
    """Return the range of a sum of products."""
    left, right = node.operands
    dtype = node.results[0].type.dtype
    first, second, result = parse_spec(node.attributes["spec"])
    squares = left is right and first == second
    term = square(dtype, operands[0]) if squares else mul(dtype, *operands)
    if condition_of(node.attributes["spec"]) is not None:
        term = union(term, single(dtype, 0))
    lengths = dict(zip((*first, *second), (*left.type.shape, *right.type.shape)))
    count = sizes.product([length for label, length in lengths.items() if label not in result])
    if dtype.is_float:
        # a product that is fused with the sum is not rounded
        wide = outward(dtype, term.low, term.high, ulps=1)
        low, high = (end if end == 0 else moved for end, moved in zip((term.low, term.high), wide))
        term = term._replace(low=low, high=high)
    return _sum(dtype, term, count)


def recurrence(node: Node, operands: Sequence[Range]) -> Range:
    """Return the range of h[i] = a[i] h[i-1] + b[i]."""
    (a, b), dtype = operands, node.results[0].type.dtype
    if dtype.is_float and a.low >= 0 and b.low >= 0:
        return make(dtype, 0.0, INF, whole=a.whole and b.whole, signed=b.signed)
    return anything(dtype)


BY_OP: dict[str, NodeRule] = {
    "constant": constant,
    "iota": iota,
    "size": size,
    "argsort": argsort,
    "slice": same,
    "broadcast": same,
    "reshape": same,
    "transpose": same,
    "gather": same,
    "stop_gradient": same,
    "concatenate": joined,
    "element": same,
    "stack": joined,
    "set_slice": updated,
    "scatter_set": updated,
    "scatter_add": increased,
    "pad": padded,
    "reduce_sum": reduce_sum,
    "reduce_prod": reduce_prod,
    "reduce_max": reduce_max,
    "reduce_min": reduce_min,
    "logsumexp": logsumexp,
    "norm": norm,
    "cumsum": cumsum,
    "contract": contract,
    "recurrence": recurrence,
}
