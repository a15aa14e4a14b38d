"""A function traced inside another trace, to be differentiated there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradc.arguments import pytree
from gradc.calls.signature import Parameters, Wrt
from gradc.pipeline import Request, current_options, differentiate, stabilise
from gradc.tracing import Subtrace, Tracer, inline, subtrace, value_of
from gradc_ir import build
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import Type
from gradc_ir.errors import DTypeError, ShapeError

Function_ = Callable[..., Any]


class Traced:
    """A function traced inside another trace, and its arguments' nests."""

    def __init__(
        self, fn: Function_, args: tuple[Any, ...], kwargs: dict[str, Any], wrt: Wrt = ()
    ) -> None:
        self.parameters = Parameters(fn)
        pairs, _, self.places = self.parameters.pairs(args, kwargs, wrt)
        self.names = tuple(name for name, _ in pairs)
        self.values = tuple(value for _, value in pairs)
        self.sub: Subtrace = subtrace(fn, *self.parameters.call_form(self.names, self.values))
        # no argument of a call is a mere type, so every operand is a value
        self.operands = [operand for operand in self.sub.operands if operand is not None]
        self.function: Function = self.sub.function
        self.structures = []
        self.spans: list[range] = []
        start = 0
        for value in self.values:
            flat, structure = pytree.flatten(value)
            self.structures.append(structure)
            self.spans.append(range(start, start + len(flat)))
            start += len(flat)

    def positions(self, wrt: Wrt) -> tuple[int, ...]:
        """Return the positions, among the arguments, that ``wrt`` names."""
        return self.parameters.positions(wrt, self)

    def leaves(self, wrt: Wrt) -> tuple[int, ...]:
        """Return the positions of the leaves that ``wrt`` names."""
        return tuple(leaf for position in self.positions(wrt) for leaf in self.spans[position])

    def paths(self, position: int) -> list[str]:
        """Return how each leaf of an argument is reached, such as ``p.w``."""
        return pytree.paths(self.values[position], self.names[position])

    def float_leaves(self, of: str, wrt: Wrt) -> tuple[int, ...]:
        """Return :meth:`leaves`; raises DTypeError unless all are floats."""
        leaves = self.leaves(wrt)
        for leaf in leaves:
            if not self.is_float(leaf):
                raise DTypeError(
                    f"gradc.{of} by an argument of type {self.function.param_types[leaf]}",
                    help='differentiate by floating-point arguments, or choose int_args="float"',
                )
        return leaves

    def tangents(self, positions: Sequence[int], given: Sequence[Any], what: str) -> list[Any]:
        """Return the leaves of tangents; raises ShapeError unless each has its argument's nest."""
        if len(given) != len(positions):
            raise ShapeError(f"{len(positions)} arguments but {len(given)} of {what}")
        found = []
        for position, part in zip(positions, given):
            flat, structure = pytree.flatten(part)
            if structure != self.structures[position]:
                name = self.names[position]
                raise ShapeError(f"the {what} of {name} has not the nest of {name}")
            for leaf, path, i in zip(flat, self.paths(position), self.spans[position]):
                have, want = value_of(leaf).type, self.function.param_types[i]
                if want.dtype.is_float and have.shape != want.shape:
                    raise ShapeError(f"the {what} of {path} is {have}, {path} is {want}")
            found += flat
        return found

    def is_float(self, leaf: int) -> bool:
        """Whether a leaf is a float."""
        return self.function.param_types[leaf].dtype.is_float

    def derive(self, of: str, leaves: tuple[int, ...], mode: str = "auto") -> Function:
        """Return a derivative of the function, stabilised before."""
        request = Request(of, leaves, mode, current_options())
        return differentiate(stabilise(self.function, request.options), request)

    def run(self, function: Function, extra: Sequence[Any]) -> list[Tracer]:
        """Build a derivative on the operands, then on tangents or cotangents."""
        wanted = function.param_types[len(self.operands) :]
        seeds = [_seed(x, type_) for x, type_ in zip(extra, wanted, strict=True)]
        return list(inline(function, [*self.operands, *seeds]))

    def value(self, results: Sequence[Any]) -> Any:
        """Return the value, of which the first results are the leaves."""
        return pytree.unflatten(self.sub.out_tree, list(results[: len(self.function.results)]))

    def like(self, wrt: Wrt, leaves: Sequence[Any]) -> Any:
        """Return leaves in the nest of what ``wrt`` names."""
        rest = iter(leaves)
        parts = [
            pytree.unflatten(self.structures[position], [next(rest) for _ in self.spans[position]])
            for position in self.positions(wrt)
        ]
        return tuple(parts) if isinstance(wrt, (tuple, list)) else parts[0]


def _seed(given: Any, wanted: Type) -> Value:
    """Return a tangent or cotangent given in traced code as a value of the type it must have."""
    value = value_of(given)
    if value.type.shape != wanted.shape:
        raise ShapeError(f"a tangent or cotangent is {value.type}, wanted {wanted}")
    return build.cast(value, wanted.dtype)
