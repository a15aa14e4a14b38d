"""The pieces that a long sort is cut into, and the ops that sort and merge them; own ops."""

from __future__ import annotations

from gradc_ir.core.op import Op
from gradc_ir.core.sizes import Size, floor_quotient
from gradc_ir.core.types import DType, Type, Types

# Into so many pieces, for four threads and more: each level of merges is one more loop.
LEVELS = 4
# What is sorted by insertion, of which a piece has some.
RUN = 16


def key_of(dtype: DType) -> DType:
    """Return the integers by which elements are sorted."""
    return DType.I64 if dtype.bytes == 8 else DType.I32


def piece(length: Size) -> Size:
    """Return how many elements a piece has, but for the last ones."""
    whole = RUN << LEVELS
    return floor_quotient(length + whole - 1, whole) * RUN


def _infer_sorted(x: Type) -> Types:
    return Type(key_of(x.dtype), x.shape), Type(DType.I64, x.shape)


def _infer_merged(keys: Type, order: Type, *, level: int) -> Types:
    return keys, order


SORTED = Op(
    "sorted_pieces",
    "order",
    1,
    _infer_sorted,
    None,
    summary="The keys of a vector sorted piece by piece, and the places they come from.",
)
MERGED = Op(
    "merged_pieces",
    "order",
    2,
    _infer_merged,
    None,
    attributes=("level",),
    summary="Neighbours of sorted keys, of 2**level pieces each, merged, with their places.",
)
OWN_OPS = (SORTED, MERGED)
