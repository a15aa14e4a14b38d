"""Arrays that results are written into: ``out=``, checked against what a call returns."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.arguments import pytree
from gradc.arguments.as_array import computes_otherwise, short
from gradc_ir.core.types import Array, Type, dtype_of
from gradc_ir.errors import DTypeError, ShapeError, TraceError


class Place:
    """Stands for a result of a kernel in the nest that a call returns."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class Outputs:
    """The arrays of a call's ``out=``, in the places of the results.

    Parameters
    ----------
    given: the nest that was passed, None where a result is a new one.
    nest: takes results to what the call returns.
    types: of the results, with sizes as they are in this call.
    is_known: whether they are the same at all calls, and no argument of theirs.

    Attributes
    ----------
    targets: the array of each result, None for a new one.

    Raises
    ------
    TraceError, ShapeError, DTypeError where an array does not fit its result, cannot be written to,
    or shares memory with another one of them.
    """

    def __init__(
        self,
        given: Any,
        nest: Callable[[Sequence[Any]], Any],
        types: Sequence[Type],
        is_known: bool = False,
    ) -> None:
        self.given = given
        self.is_known = is_known
        whole = nest([Place(i) for i in range(len(types))])
        marks, self.structure = pytree.flatten(whole)
        try:
            found = pytree.parts_at_leaves(self.structure, given)
        except ValueError:
            raise TraceError(
                "out has not the nest of what the call returns",
                found=f"returned: {self.structure}    out: {_described(given)}",
                help="give an array for each *, or None for a new one",
            ) from None
        self.places = [mark.number for mark in marks]
        self.targets: list[Array | None] = [None] * len(types)
        # the nests of out and of results have the same paths
        paths = pytree.paths(pytree.unflatten(self.structure, marks), "out")
        for path, place, target in zip(paths, self.places, found):
            if target is not None:
                _check(path, target, types[place])
                self.targets[place] = target
        there = [target for target in self.targets if target is not None]
        for one, other in itertools.combinations(there, 2):
            if np.may_share_memory(one, other) and np.shares_memory(one, other):
                raise TraceError(
                    "out: two of its arrays share memory: one result would overwrite another",
                    help="give an array of its own for each result",
                )

    @property
    def kind(self) -> Any:
        """What tells calls with other arrays apart."""
        return self.structure, tuple([target is None for target in self.targets])

    def filled(self, results: Sequence[Array]) -> Any:
        """Write results into the arrays, and return what the call returns: those, and new ones."""
        for target, result in zip(self.targets, results):
            if target is not None:
                np.copyto(target, result)
        parts = [self._part(place, results) for place in self.places]
        return pytree.unflatten(self.structure, parts)

    def _part(self, place: int, results: Sequence[Array]) -> Any:
        target, result = self.targets[place], results[place]
        if target is not None:
            return target
        return result[()] if result.ndim == 0 else result


def assigned(out: Any, found: Any) -> Any:
    """Write results of a trace into traced arrays; return these, and the others as they are.

    Without ``out`` that is what was found.
    """
    if out is None:
        return found
    leaves, structure = pytree.flatten(found)
    try:
        targets = pytree.parts_at_leaves(structure, out)
    except ValueError:
        raise TraceError(
            "out has not the nest of what the call returns",
            found=f"returned: {structure}    out: {_described(out)}",
            help="give an array for each *, or None for a new one",
        ) from None
    for leaf, target in zip(leaves, targets):
        if target is not None:
            target[...] = leaf
    kept = [leaf if target is None else target for leaf, target in zip(leaves, targets)]
    return pytree.unflatten(structure, kept)


def _check(path: str, target: Any, type_: Type) -> None:
    kind: Any = type(target)
    if not isinstance(target, np.ndarray) or computes_otherwise(kind):
        raise TraceError(
            f"{path} is no array to write into: {type(target).__name__} {short(target)}",
            found=f"the result is {type_}",
            help=f"pass np.empty({type_.shape}, np.{type_.dtype.numpy})",
        )
    if target.dtype != type_.dtype.numpy:
        raise DTypeError(
            f"{path} is {target.dtype}, and the result is {type_}",
            help=f"pass np.empty({type_.shape}, np.{type_.dtype.numpy})",
        )
    if target.shape != type_.shape:
        raise ShapeError(
            f"{path} is {Type(dtype_of(target.dtype), target.shape)}, and the result is {type_}",
            help=f"pass np.empty({type_.shape}, np.{type_.dtype.numpy})",
        )
    if not target.flags.writeable:
        raise TraceError(f"{path} cannot be written to", help="pass an array of your own")


def _described(given: Any) -> str:
    leaves, structure = pytree.flatten(given)
    if len(leaves) == 1 and leaves[0] is given:
        return type(given).__name__
    return str(structure)
