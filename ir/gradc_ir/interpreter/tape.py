"""The tape size of a function: whether it is free, which loops use it, how what has it grows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import TAPE
from gradc_ir.core.types import Array, Type
from gradc_ir.core.walk import nested
from gradc_ir.location import Location

NAME = str(TAPE)


def has_free_tape(function: Function) -> bool:
    """Whether the caller chooses the tape size: a loop uses it, and no parameter tells it."""
    told = {name for type_ in function.param_types for name in type_.symbols}
    return NAME in function.size_symbols and NAME not in told


def taped_loops(function: Function) -> tuple[Location, ...]:
    """Return the user's lines of the loops that keep a tape, those within bodies included."""
    found: dict[Location, None] = {}
    for owner, node in nested(function):
        if node.attributes.get("length") == TAPE:
            found.update(dict.fromkeys(owner.locations.get(node, ())[:1]))
    return tuple(found)


def lengthened(types: Sequence[Type], arrays: Sequence[Array], steps: int) -> list[Array]:
    """Return the arrays with room for ``steps`` steps in every axis whose size is the tape's.

    The rows added are zeros, as all rows are that a loop did not visit.
    """
    return [_lengthened(type_, array, steps) for type_, array in zip(types, arrays, strict=True)]


def _lengthened(type_: Type, array: Array, steps: int) -> Array:
    if TAPE not in type_.shape:
        return array
    shape = tuple(
        max(steps, have) if size == TAPE else have
        for size, have in zip(type_.shape, array.shape, strict=True)
    )
    longer = np.zeros(shape, array.dtype)
    longer[tuple(slice(have) for have in array.shape)] = array
    return longer
