"""Arguments of a host as those of a function: types as a spec, and leaves in C's order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradc.arguments import pytree
from gradc.arguments.as_array import as_array
from gradc_ir.core.types import Type, dtype_of
from gradc_ir.text.spec import print_spec


def types_of(name: str, nest: Any) -> Any:
    """Return a nest of arrays and numbers as one of their types; DTypeError for other leaves."""
    leaves, structure = pytree.flatten(nest)
    paths = pytree.paths(nest, name)
    types = []
    for path, leaf in zip(paths, leaves):
        array = as_array(path, leaf)
        types.append(Type(dtype_of(array.dtype), array.shape))
    return pytree.unflatten(structure, types)


def spec_of(arguments: Mapping[str, Any]) -> str:
    """Return the spec of named nests of types."""
    return print_spec(list(arguments.items()))


def leaves_as_written(nests: Sequence[Any]) -> list[Any]:
    """Return the leaves of arguments in the order in which C takes them."""
    found = []
    for nest in nests:
        leaves, structure = pytree.flatten(nest)
        found += [leaves[position] for position in pytree.written(structure)]
    return found


def contiguous(array: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """Return an array as a kernel reads it."""
    return np.require(array, dtype, ["C", "A"])
