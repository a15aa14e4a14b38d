"""Results of kernels put back into the nests the user knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc import nest
from gradc.signature import Array, Bound
from gradc.tracing import Traced


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
        parts.append(taken[0] if structure is None else nest.unflatten(structure, taken))
    return tuple(parts)


def nest_value(tree: Any, arrays: Sequence[Array]) -> Any:
    """Return the arrays in a nest, 0-d ones as scalars."""
    return nest.unflatten(tree, [scalar_or_array(array) for array in arrays])


def nest_floats(traced: Traced, tangents: Sequence[Array]) -> Any:
    """Put tangents of the float results into the nest of all results; None for the others."""
    rest = iter(tangents)
    return nest.unflatten(
        traced.out_tree,
        [
            scalar_or_array(next(rest)) if type_.dtype.is_float else None
            for type_ in traced.function.result_types
        ],
    )
