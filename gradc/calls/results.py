"""Results of kernels put back into the nests the user knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc.arguments import pytree
from gradc.arguments.as_array import Array
from gradc.calls.signature import Bound
from gradc.tracing import Traced
from gradc_ir.core.types import Type
from gradc_ir.errors import ShapeError


def scalar_or_array(array: Any) -> Any:
    """Return what NumPy would: a NumPy scalar for a 0-d array, all else as it is."""
    return array[()] if isinstance(array, np.ndarray) and array.ndim == 0 else array


def unflatten_parts(
    bound: Bound, positions: Sequence[int], leaves: Sequence[Any]
) -> tuple[Any, ...]:
    """Return the leaves in the nests of the values at these positions."""
    rest = iter(leaves)
    parts: list[Any] = []
    for position in positions:
        taken = [scalar_or_array(next(rest)) for _ in bound.spans[position]]
        structure = bound.structure[position]
        parts.append(taken[0] if structure is None else pytree.unflatten(structure, taken))
    return tuple(parts)


def nest_value(tree: Any, arrays: Sequence[Array]) -> Any:
    """Return the arrays in a nest, 0-d ones as scalars."""
    return pytree.unflatten(tree, [scalar_or_array(array) for array in arrays])


def nest_floats(traced: Traced, tangents: Sequence[Array]) -> Any:
    """Put tangents of the float results into the nest of all results; None for the others."""
    parts = [scalar_or_array(tangent) for tangent in tangents]
    return nest_results(traced.out_tree, traced.function.result_types, parts)


def nest_results(tree: Any, types: Sequence[Type], parts: Sequence[Any]) -> Any:
    """Put something for each float result into the nest of all results; None for the others."""
    rest = iter(parts)
    return pytree.unflatten(tree, [next(rest) if type_.dtype.is_float else None for type_ in types])


def cotangent_leaves(tree: Any, types: Sequence[Type], cotangent: Any) -> list[Any]:
    """Return the leaves of a cotangent that belong to float results.

    Raises ShapeError unless it has the nest of the value; for what is not floating point it may
    hold None.
    """
    given, structure = pytree.flatten(cotangent)
    if structure == tree:
        return [leaf for leaf, type_ in zip(given, types) if type_.dtype.is_float]
    floats = pytree.unflatten(tree, [0.0 if type_.dtype.is_float else None for type_ in types])
    if structure == pytree.flatten(floats)[1]:
        return given
    raise ShapeError(
        "the cotangent has not the nest of the value",
        found=f"cotangent: {structure}    value: {tree}",
        help="a * stands for an array; what is not floating point may be None",
    )
