"""Leaves of variables that are recorded: which are known to stay, what type two of them share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc.arguments.flags import exact_key
from gradc.capture.held.nests import is_number
from gradc.capture.held.uniform import NotUniform
from gradc.control.carries import same_shape
from gradc.control.leaf_types import LeafType, joined, leaf_type_of
from gradc.tracing import Tracer
from gradc.tracing.core.as_tracer import as_tracer, stacked
from gradc.tracing.core.source import shape_error
from gradc.tracing.core.symbolic_size import SymbolicSize

# A row of what is gone through is a part of it, which may be assigned to where it stands only.
ROW = "a row of what a loop goes through"


def same_leaf(left: Any, right: Any) -> bool:
    """Whether two numbers or arrays are known to be the same, bits and type included."""
    if left is right:
        return True
    if isinstance(left, SymbolicSize) and isinstance(right, SymbolicSize):
        return left.expr == right.expr
    if isinstance(left, Tracer) or isinstance(right, Tracer):
        return False
    if type(left) is not type(right) or isinstance(left, np.ndarray) or not is_number(left):
        return False
    return bool(exact_key(left) == exact_key(right))


def common_type(left: LeafType, right: LeafType) -> LeafType | None:
    """Return the type that both can be cast to, None where there is none.

    Raises SizesMustMatch where that is a matter of sizes nobody knows yet.
    """

    def error() -> Any:
        return shape_error(
            "a variable has another shape after this step than before it",
            found=f"{left.type} and {right.type}",
        )

    if not same_shape(left, right, error):
        return None
    found = joined(left, right)
    if found is None or found.weak is not None:
        return found
    # what starts as a number of NumPy's does not become another one
    for one in (left, right):
        if one.weak is None and one.type.dtype is not found.type.dtype:
            return None
    return found


def type_of(leaf: Any) -> LeafType:
    """Return the type of a leaf."""
    return leaf_type_of(leaf)


def common_of(leaves: Sequence[Any]) -> LeafType:
    """Return the type of which numbers or arrays are.

    Raises NotUniform where they have none in common.
    """
    found: LeafType | None = type_of(leaves[0])
    for leaf in leaves[1:]:
        assert found is not None
        found = common_type(found, type_of(leaf))
        if found is None:
            raise NotUniform("the things it goes through are of different shapes or dtypes")
    assert found is not None
    return found


def stacked_leaves(leaves: Sequence[Any], leaf_type: LeafType) -> Tracer:
    """Return an array of numbers or arrays."""
    if not any(isinstance(leaf, Tracer) and leaf.known is None for leaf in leaves):
        plain = [leaf.known if isinstance(leaf, Tracer) else leaf for leaf in leaves]
        if not any(isinstance(leaf, SymbolicSize) for leaf in plain):
            return as_tracer(np.array(plain, leaf_type.type.dtype.numpy))
    return stacked(leaves, leaf_type.type.dtype)
