"""Relations: which elements depend on which inputs, as sparse matrices of truth values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array, vstack

from gradc_ir.core.types import Array
from gradc_ir.errors import ShapeError

# A row for each element of a value, in row-major order, and a column for each input.
Relation: TypeAlias = Any

# 64 million entries are half a gigabyte of values: a dense derivative would serve as well.
MOST_ENTRIES = 1 << 26


def from_rows(indptr: Array, indices: Array, columns: int) -> Relation:
    """Return the relation of a list of columns for each row, which may repeat some."""
    made = csr_array(
        (np.ones(len(indices), np.bool_), indices, indptr), shape=(len(indptr) - 1, columns)
    )
    made.sum_duplicates()
    return made


def from_pairs(rows: Array, columns: Array, shape: tuple[int, int]) -> Relation:
    """Return the relation of pairs, some of which may be equal."""
    return csr_array((np.ones(len(rows), np.bool_), (rows, columns)), shape=shape)


def identity(count: int) -> Relation:
    """Return the relation of each element to itself."""
    return from_rows(np.arange(count + 1), np.arange(count), count)


def nothing(rows: int, columns: int) -> Relation:
    """Return the relation in which nothing depends on anything."""
    return csr_array((rows, columns), dtype=np.bool_)


def stacked(relations: Sequence[Relation]) -> Relation:
    """Return relations to the same inputs one below another."""
    return relations[0] if len(relations) == 1 else csr_array(vstack(relations, format="csr"))


def union(relations: Sequence[Relation]) -> Relation:
    """Return what any of some relations of one shape has."""
    found = relations[0]
    for relation in relations[1:]:
        found = found + relation
    return found


def taken(relation: Relation, source: Array) -> Relation:
    """Return the relation whose row i is row ``source[i]``, or empty where that is negative."""
    lengths = np.diff(relation.indptr)
    if not len(lengths):
        return nothing(len(source), relation.shape[1])
    kept = np.where(source < 0, 0, lengths[source])
    indptr = np.concatenate([[0], np.cumsum(kept, dtype=np.int64)])
    check_count(int(indptr[-1]))
    # place k of row i is place k of the row it is taken from
    within = np.arange(indptr[-1]) - np.repeat(indptr[:-1], kept)
    indices = relation.indices[np.repeat(relation.indptr[source], kept) + within]
    made = csr_array(
        (np.ones(len(indices), np.bool_), indices, indptr), shape=(len(source), relation.shape[1])
    )
    return made


def merged(relation: Relation, target: Array, rows: int) -> Relation:
    """Return the relation in whose row ``target[i]`` is what row i has; negative ones go away."""
    to = np.repeat(target, np.diff(relation.indptr))
    kept = to >= 0
    shape = (rows, relation.shape[1])
    if kept.all():
        return from_pairs(to, relation.indices, shape)
    return from_pairs(to[kept], relation.indices[kept], shape)


def everywhere(relation: Relation, rows: int) -> Relation:
    """Return the relation in which each of some rows has what any row has."""
    columns = np.unique(relation.indices)
    check_count(rows * len(columns))
    return from_rows(np.arange(rows + 1) * len(columns), np.tile(columns, rows), relation.shape[1])


def check_count(count: int) -> None:
    """Raise ShapeError where a relation has so many entries that it is not sparse."""
    if count > MOST_ENTRIES:
        raise ShapeError(
            f"a pattern of {count} entries is not sparse",
            help="take the derivative with sparse=False, or of fewer results at once",
        )
