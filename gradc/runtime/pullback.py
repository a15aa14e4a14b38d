"""The second half of reverse or forward mode, on the values that the first half kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradc.arguments import pytree
from gradc.arguments.as_array import Array, as_array
from gradc.autodiff.partition import split
from gradc.calls.preconditions import check_value
from gradc.calls.results import cotangent_leaves, nest_floats, unflatten_parts
from gradc.calls.signature import Bound, leaves_of
from gradc.calls.tangents import pad_tangents, push_tangents
from gradc.pipeline import Request, closing, derive
from gradc.traceback import boundary
from gradc_ir.core.graph import Function
from gradc_ir.errors import ShapeError
from gradc_ir.verify import verify

if TYPE_CHECKING:
    from gradc.runtime.specialize import Specialization
    from gradc.tracing import Traced


def final_functions(traced: Traced, request: Request, has_aux: bool) -> Sequence[Function]:
    """Return what a request makes of a traced function: one function, or the two halves.

    Raises ShapeError or DTypeError when a gradient is asked of a value that is not one float.
    """
    if request.of in ("grad", "value_and_grad", "hvp", "hessian"):
        check_value(traced, has_aux)
    if request.of in ("vjp", "linearize"):
        return halves(traced.function, request)
    return (derive(traced.function, request),)


def halves(function: Function, request: Request) -> tuple[Function, Function]:
    """Return the two halves of reverse mode (vjp) or of forward mode (linearize).

    The first takes the function's parameters to its results and the residuals; the second takes the
    residuals and the cotangents (or tangents) to the cotangents of ``wrt`` (or the results'
    tangents).
    """
    of = "vjp" if request.of == "vjp" else "jvp"
    whole = derive(function, dataclasses.replace(request, of=of), is_whole=False)
    later = len(whole.results) - len(function.results)
    first, second = split(whole, list(range(len(function.params), len(whole.params))), later)
    verify(first)
    verify(second)
    last = closing(request.options)
    return last(first), last(second)


class Pullback:
    """The function from the cotangent of the value to the cotangents of the arguments."""

    def __init__(
        self,
        made: Specialization,
        bound: Bound,
        positions: Sequence[int],
        single: bool,
        value: Sequence[Array],
        residuals: Sequence[Array],
    ) -> None:
        self._made = made
        self._bound = bound
        self._positions = positions
        self._single = single
        wanted = leaves_of(bound, positions)
        self._floats = [bound.leaves[leaf].dtype.kind == "f" for leaf in wanted]
        self._shapes = [array.shape for array in value if array.dtype.kind == "f"]
        self._residuals = list(residuals)

    @boundary
    def __call__(self, cotangent: Any) -> Any:
        """Return one cotangent per argument, in its nest; None where it is not floating point.

        Where ``wrt`` asked for one argument only, it is that one's. Raises ShapeError unless
        ``cotangent`` has the nest and the shapes of the value; for what is not floating point it
        may hold None.
        """
        traced = self._made.traced
        types = traced.function.result_types
        floats = [type_ for type_ in types if type_.dtype.is_float]
        pulled = []
        given = cotangent_leaves(traced.out_tree, types, cotangent)
        for leaf, type_, shape in zip(given, floats, self._shapes):
            array = as_array("the cotangent", leaf)
            if array.shape != shape:
                raise ShapeError(f"the cotangent has shape {array.shape}, the value {shape}")
            pulled.append(array.astype(type_.dtype.numpy, copy=False))
        found = iter(self._made.executables[1]([*self._residuals, *pulled]))
        leaves = [next(found) if is_float else None for is_float in self._floats]
        parts = unflatten_parts(self._bound, self._positions, leaves)
        return parts[0] if self._single else parts


class Linearized:
    """The function from the tangents of the arguments to the tangent of the value."""

    def __init__(
        self, made: Specialization, bound: Bound, given: int, residuals: Sequence[Array]
    ) -> None:
        self._made = made
        self._bound = bound
        self._given = given
        self._residuals = list(residuals)

    @boundary
    def __call__(self, *tangents: Any) -> Any:
        """Return the tangent of the value, in its nest; None is a zero tangent.

        Raises ShapeError unless there is one tangent per argument, of its nest and shapes.
        """
        tangents = pad_tangents(self._bound.names, self._given, tangents)
        zeroed = tuple(
            pytree.map_leaves(np.zeros_like, value) if tangent is None else tangent
            for tangent, value in zip(tangents, self._bound.values)
        )
        _, pushed = push_tangents(self._bound, zeroed + tangents[len(zeroed) :], self._given)
        results = self._made.executables[1]([*self._residuals, *pushed])
        return nest_floats(self._made.traced, results)
