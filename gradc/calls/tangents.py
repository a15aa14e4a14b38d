"""Tangents and vectors: checked against the arguments they belong to."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.arguments import flags, pytree
from gradc.arguments.as_array import as_direction
from gradc.calls.signature import Bound, Wrt, flatten_arguments
from gradc_ir.core.types import Array
from gradc_ir.errors import DTypeError, ShapeError, TraceError


def moves_no_float(what: str, path: str, dtype: Any) -> DTypeError:
    """Return the error of a tangent that is not zero, of what is no float."""
    return DTypeError(
        f"the {what} of {path} is not zero, but {path} is {dtype}, by which there is no derivative",
        help=f"pass {path} as float, or None or zeros as its {what}",
    )


def as_tuple(values: Any, name: str) -> tuple[Any, ...]:
    """Return a tuple or list as a tuple; raises TraceError for anything else."""
    if not isinstance(values, (tuple, list)):
        raise TraceError(f"{name} is a tuple, one entry per argument", help=f"write {name}=(x,)")
    return tuple(values)


def hvp_arguments(
    name: str, first: Any, rest: tuple[Any, ...], wrt: Wrt | None
) -> tuple[tuple[Any, ...], Wrt]:
    """Return the arguments of a function, and by which of them the Hessian is, in a call of an hvp.

    ``first`` is the tuple of arguments, after the vector perhaps ``wrt``; or it is the first
    argument, and all that comes after the vector are further ones, as SciPy has it. Raises
    TraceError for more than that after a tuple.
    """
    if not isinstance(first, (tuple, list)):
        return (first, *rest), 0 if wrt is None else wrt
    if len(rest) > (wrt is None):
        raise TraceError(
            f"{name}: after a tuple of arguments and the vector comes wrt, and nothing else",
            help=f"write {name}((x, *rest), vector), or {name}(x, vector, *rest)",
        )
    chosen = rest[0] if rest else wrt
    return tuple(first), 0 if chosen is None else chosen


def same_nest(given: Any, wanted: Any) -> bool:
    """Whether the nest of a tangent is that of an argument; for a flag it may have None."""
    if given is None or wanted is None:
        return given is wanted
    return flags.without_flags(given) == flags.without_flags(wanted)


def pad_tangents(names: tuple[str, ...], given: int, tangents: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return tangents of the given arguments with None for those left to their defaults."""
    return tangents + (None,) * (len(names) - given) if len(tangents) == given else tangents


def push_tangents(
    bound: Bound, tangents: tuple[Any, ...], given: int
) -> tuple[tuple[int, ...], list[Array]]:
    """Return the positions that have a tangent, and the tangents of their float leaves.

    ``given`` is how many arguments the call had, without those left to their default values.
    """
    tangents = pad_tangents(bound.names, given, tangents)
    if len(tangents) != len(bound.names):
        raise ShapeError(
            f"{given} primals but {len(tangents)} tangents",
            help="give one tangent per argument; None is a zero tangent",
        )
    wrt = tuple(i for i, tangent in enumerate(tangents) if tangent is not None)
    pushed = [
        array for i in wrt for array in like_argument(bound, i, tangents[i], "tangent", floats=True)
    ]
    return wrt, pushed


def like_argument(
    bound: Bound, position: int, given: Any, what: str, floats: bool = False
) -> list[Array]:
    """Flatten a tangent; with ``floats`` without the leaves that are none.

    Raises ShapeError unless it has the nest and shapes of the value, DTypeError where it moves a
    whole number.
    """
    name = bound.names[position]
    part = flatten_arguments([(f"{what} of {name}", given)], leaf=as_direction)
    wanted = [bound.leaves[leaf] for leaf in bound.spans[position]]
    if bound.steers(position):
        if any(np.any(leaf) for leaf in part.leaves):
            raise moves_no_float(what, name, "static")
        return []
    if not same_nest(part.structure[0], bound.structure[position]):
        raise ShapeError(f"the {what} of {name} has not the nest of {name}")
    arrays = []
    for leaf, (have, want) in enumerate(zip(part.leaves, wanted)):
        if floats and want.dtype.kind != "f":
            if np.any(have):
                path = bound.paths_at(position)[leaf]
                raise moves_no_float(what, path, want.dtype)
            continue
        if have.shape != want.shape:
            path = pytree.paths(given, name)[leaf]
            raise ShapeError(
                f"the {what} of {path} has shape {have.shape}, {path} has {want.shape}"
            )
        arrays.append(have.astype(want.dtype, copy=False))
    return arrays
