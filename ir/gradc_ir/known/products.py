"""Known arrays of running products, as ``np.vander`` makes, computed where they are read.

Memory hands out the megabytes of such an array slower than they are multiplied anew for several
loops that read them block by block, as value and gradient do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradc_ir import build
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.builder import rebuilt
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.types import Array, Type
from gradc_ir.pipeline import PlainPass

# An array of this size and what is read beside it do not stay in the cache of a core.
_LARGE = 1 << 19
# Each column is an operation.
_MOST_COLUMNS = 256


@dataclass(frozen=True)
class _Products:
    """An array whose columns along an axis are a first one, times the factor again and again."""

    axis: int
    count: int
    first: Array
    factor: Array
    is_reversed: bool


class ComputeProducts(PlainPass):
    """Changes no bit: each element is compared with the product that it becomes.

    What is read once stays: there memory is as fast. So does what more is made of than a product
    and a sum of each element: such a loop does not wait for memory, and matrices go to BLAS.
    """

    name = "compute-products"
    summary = "compute large known arrays of running products where they are read"

    def __call__(self, function: Function) -> Function:
        """Return the function with such arrays computed."""
        large = [node for node in function.nodes if _is_large(node)]
        if not large:
            return function
        found = {
            node: products
            for node in large
            if _is_read_for_little(function, node.results[0])
            and (products := _read(node.attributes["value"].array)) is not None
        }
        if not found:
            return function
        return rebuilt(
            function,
            lambda node: node in found,
            lambda node, _: [_computed(found[node], node.results[0].type)],
        )


def _is_large(node: Node) -> bool:
    if node.op.name != "constant":
        return False
    array = node.attributes["value"].array
    return bool(array.ndim == 2 and array.dtype.kind == "f" and array.nbytes > _LARGE)


def _is_read_for_little(function: Function, value: Value) -> bool:
    """Whether there are several readers, each of which does little with an element."""
    readers = [node for node in function.nodes if value in node.operands]
    if value in function.results or len(readers) < 2:
        return False
    return all(
        node.op.is_elementwise
        or node.op.name == "reduce_sum"
        or (node.op.name == "contract" and len(node.results[0].type.shape) < 2)
        for node in readers
    )


def _read(array: Array) -> _Products | None:
    """Return what an array is made of; None where it is no running product, or has a nan."""
    for axis in (1, 0):
        columns = array if axis else array.T
        if not 8 <= columns.shape[1] <= _MOST_COLUMNS:
            continue
        for is_reversed in (False, True):
            ordered = columns[:, ::-1] if is_reversed else columns
            first, second = ordered[:, 0], ordered[:, 1]
            factor = second if (first == 1).all() else first
            if _are_products(ordered, factor):
                return _Products(axis, columns.shape[1], first, factor, is_reversed)
    return None


def _are_products(columns: Array, factor: Array) -> bool:
    """Whether each column is the one before times the factor, to the bit."""
    with np.errstate(all="ignore"):
        # a few rows mostly tell
        some = columns[:8]
        return _same(some[:, 1:], some[:, :-1] * factor[:8, None]) and _same(
            columns[:, 1:], columns[:, :-1] * factor[:, None]
        )


def _same(one: Array, other: Array) -> bool:
    return bool((one == other).all() and (np.signbit(one) == np.signbit(other)).all())


def _computed(products: _Products, type_: Type) -> Value:
    """Return the array as operations, built in the active builder."""
    factor = build.constant(products.factor)
    columns = [build.constant(products.first)]
    for _ in range(1, products.count):
        columns.append(columns[-1] * factor)
    ordered: Sequence[Value] = columns[::-1] if products.is_reversed else columns
    return build.stack(ordered, type_.shape, (products.axis,))
