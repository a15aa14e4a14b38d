"""The second half of reverse or forward mode, on the values that the first half kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradc.arguments.as_array import as_direction
from gradc.calls.results import Answer
from gradc.calls.signature import Bound
from gradc.calls.tangents import push_tangents
from gradc.runtime.executable import Executable
from gradc.traceback import boundary
from gradc_ir.core.types import Array
from gradc_ir.errors import ShapeError


class Pullback:
    """The function from the cotangent of the value to the cotangents of the arguments.

    Parameters
    ----------
    executable: the second half: of the residuals and the cotangents.
    answer: what its results are to the user.
    results: those of the first half: the leaves of the value, then the residuals.
    """

    def __init__(self, executable: Executable, answer: Answer, results: Sequence[Array]) -> None:
        self._executable = executable
        self._answer = answer
        count = len(answer.types)
        self._shapes = [array.shape for array in results[:count] if array.dtype.kind == "f"]
        self._residuals = list(results[count:])

    @boundary
    def __call__(self, cotangent: Any) -> Any:
        """Return one cotangent per argument, in its nest; None where it is not floating point.

        Where ``wrt`` asked for one argument only, it is that one's. Raises ShapeError unless
        ``cotangent`` has the nest and the shapes of the value; for what is not floating point it
        may hold None.
        """
        floats = [type_ for type_ in self._answer.types if type_.dtype.is_float]
        pulled = []
        for leaf, type_, shape in zip(self._answer.cotangents(cotangent), floats, self._shapes):
            array = as_direction("the cotangent", leaf)
            if array.shape != shape:
                raise ShapeError(f"the cotangent has shape {array.shape}, the value {shape}")
            pulled.append(array.astype(type_.dtype.numpy, copy=False))
        return self._answer.nest(self._executable([*self._residuals, *pulled]))


class Linearized:
    """The function from the tangents of the arguments to the tangent of the value.

    Parameters
    ----------
    executable: the second half, by the places of the tangents that it takes after the residuals.
    answer: what its results are to the user.
    bound: the arguments, of which ``given`` were not left to their defaults.
    residuals: what the first half kept.
    """

    def __init__(
        self,
        executable: Callable[[tuple[int, ...]], Executable],
        answer: Answer,
        bound: Bound,
        given: int,
        residuals: Sequence[Array],
    ) -> None:
        self._executable = executable
        self._answer = answer
        self._bound = bound
        self._given = given
        self._residuals = list(residuals)

    @boundary
    def __call__(self, *tangents: Any) -> Any:
        """Return the tangent of the value, in its nest; None is a zero that stays zero.

        Raises ShapeError unless there is one tangent per argument, of its nest and shapes.
        """
        wrt, pushed = push_tangents(self._bound, tangents, self._given)
        places: list[int] = []
        first = 0
        for position, span in enumerate(self._bound.spans):
            floats = sum(self._bound.leaves[leaf].dtype.kind == "f" for leaf in span)
            if position in wrt:
                places += range(first, first + floats)
            first += floats
        push = self._executable(tuple(places))
        return self._answer.nest(push([*self._residuals, *pushed]))
