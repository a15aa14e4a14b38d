"""Results of graphs put back into the nests the user knows, and cotangents taken out of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.arguments import flags, pytree
from gradc.calls.derivation import Derivation
from gradc.calls.preconditions import TracedLike
from gradc.calls.signature import Bound
from gradc.requests.request import PolicyPass
from gradc_ir.core.types import Type
from gradc_ir.errors import ShapeError


def scalar_or_array(array: Any) -> Any:
    """Return what NumPy would: a NumPy scalar for a 0-d array, all else as it is."""
    return array[()] if isinstance(array, np.ndarray) and array.ndim == 0 else array


def nest_value(tree: Any, arrays: Sequence[Any]) -> Any:
    """Return the arrays in a nest, 0-d ones as scalars."""
    return pytree.unflatten(tree, [scalar_or_array(array) for array in arrays])


def nest_floats(tree: Any, types: Sequence[Type], parts: Sequence[Any]) -> Any:
    """Put something for each float result into the nest of all results; None for the others."""
    rest = iter(parts)
    return nest_value(tree, [next(rest) if type_.dtype.is_float else None for type_ in types])


class Answer:
    """What the results of a derivation's graph are to the user.

    Parameters
    ----------
    asked: the derivation.
    traced: the function, and the nest of its value.
    policies: those that were applied, which add a count to the results.
    arguments: the nests of the function's arguments.
    positions: the arguments it is differentiated by.

    Attributes
    ----------
    nest: takes the results, of NumPy or of a trace, to what the transform returns; under policies,
        together with how many elements of derivatives were not finite.
    """

    def __init__(
        self,
        asked: Derivation,
        traced: TracedLike,
        policies: PolicyPass | None,
        arguments: Bound,
        positions: Sequence[int],
    ) -> None:
        self.types = traced.function.result_types
        self.tree = traced.out_tree
        self._policies = policies
        self._several = asked.several
        self._arguments = arguments
        self._positions = positions
        leaves = [leaf for position in positions for leaf in arguments.spans[position]]
        params = traced.function.param_types
        self._floats = [params[leaf].dtype.is_float for leaf in leaves]
        by_kind: dict[str, Callable[[Sequence[Any]], Any]] = {
            "value": functools.partial(nest_value, self.tree),
            "grad": self.like,
            "value_and_grad": self._value_and_gradient,
            "jvp": self._value_and_tangent,
            "vjp": self._cotangents,
            "linearize": self._tangent,
            "hvp": self.like,
            "hessian": self._hessian,
            "jacobian": self._jacobian,
        }
        self._by_kind = by_kind[asked.of]
        self.nest = self._by_kind if policies is None else self._with_count

    def value(self, results: Sequence[Any]) -> Any:
        """Return the value, of which the first results are the leaves."""
        return nest_value(self.tree, results[: len(self.types)])

    def like(self, leaves: Sequence[Any]) -> Any:
        """Return leaves in the nests of the arguments that are differentiated by."""
        rest = iter(leaves)
        parts: list[Any] = []
        for position in self._positions:
            taken = [scalar_or_array(next(rest)) for _ in self._arguments.spans[position]]
            structure = self._arguments.structure[position]
            if structure is None:
                parts.append(taken[0])
            else:
                parts.append(pytree.unflatten(flags.without_flags(structure), taken))
        return tuple(parts) if self._several else parts[0]

    def _with_count(self, results: Sequence[Any]) -> tuple[Any, Any]:
        assert self._policies is not None
        found, count = self._policies.unpacked(results)
        return self._by_kind(found), count

    def _value_and_gradient(self, results: Sequence[Any]) -> tuple[Any, Any]:
        return self.value(results), self.like(results[len(self.types) :])

    def _value_and_tangent(self, results: Sequence[Any]) -> tuple[Any, Any]:
        return self.value(results), self._tangent(results[len(self.types) :])

    def _tangent(self, results: Sequence[Any]) -> Any:
        return nest_floats(self.tree, self.types, results)

    def _cotangents(self, results: Sequence[Any]) -> Any:
        rest = iter(results)
        return self.like([next(rest) if is_float else None for is_float in self._floats])

    def _hessian(self, results: Sequence[Any]) -> Any:
        return self.like(self._rows(results))

    def _jacobian(self, results: Sequence[Any]) -> Any:
        return nest_floats(self.tree, self.types, self._rows(results))

    def _rows(self, results: Sequence[Any]) -> list[Any]:
        width = len(self._floats)
        heads = len(results) // width if width else sum(t.dtype.is_float for t in self.types)
        return [self.like(results[i * width : (i + 1) * width]) for i in range(heads)]

    def cotangent_structure(self, cotangent: Any) -> Any:
        """Return the nest of a cotangent, None for a leaf alone."""
        given, structure = pytree.flatten(cotangent)
        return None if len(given) == 1 and given[0] is cotangent else structure

    def cotangents(self, cotangent: Any) -> list[Any]:
        """Return the leaves of a cotangent of the value that belong to float results.

        Raises ShapeError unless it has the nest of the value; for what is not floating point it may
        hold None.
        """
        given, structure = pytree.flatten(cotangent)
        if structure == self.tree:
            return [leaf for leaf, type_ in zip(given, self.types) if type_.dtype.is_float]
        if (
            structure
            == pytree.flatten(nest_floats(self.tree, self.types, [0.0] * len(self.types)))[1]
        ):
            return given
        raise ShapeError(
            "the cotangent has not the nest of the value",
            found=f"cotangent: {structure}    value: {self.tree}",
            help="a * stands for an array; what is not floating point may be None",
        )
