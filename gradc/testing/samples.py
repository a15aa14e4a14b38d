"""Random arguments for types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc.arguments import pytree
from gradc.arguments.as_array import Array
from gradc_ir.core import sizes
from gradc_ir.core.types import Type


def sample_arguments(types: Sequence[Any], size: int = 5, seed: int = 0) -> tuple[Any, ...]:
    """Return random arguments for nests of types, with ``size`` for every symbolic size.

    Floats are normally distributed, integers and booleans are 0 or 1.
    """
    random = np.random.default_rng(seed)

    def sample(type_: Type) -> Array:
        numbers = dict.fromkeys(type_.symbols, size)
        shape = tuple(sizes.evaluate(each, numbers) for each in type_.shape)
        if type_.dtype.is_float:
            return np.asarray(random.normal(size=shape), dtype=type_.dtype.numpy)
        return np.asarray(random.integers(0, 3, size=shape) > 0, dtype=type_.dtype.numpy)

    leaves, structure = pytree.flatten(tuple(types))
    arguments: tuple[Any, ...] = pytree.unflatten(structure, [sample(leaf) for leaf in leaves])
    return arguments
