"""A function traced inside another trace, to be differentiated there."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from gradc.arguments import pytree
from gradc.arguments.flags import Static
from gradc.calls.derivation import OF_FLOATS, Derivation
from gradc.calls.preconditions import check_moves
from gradc.calls.results import Answer
from gradc.calls.signature import Parameters, Wrt, flatten_arguments, leaves_of
from gradc.calls.tangents import moves_no_float, same_nest
from gradc.pipeline import nested
from gradc.requests.options import current_options, differentiates_last, using
from gradc.requests.request import Request
from gradc.tracing import inline, subtrace, tracer_of, value_of
from gradc.tracing.core.state import running
from gradc.tracing.core.symbolic_size import usually_at_least
from gradc_ir import build
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import DTypeError, ShapeError
from gradc_ir.graphs.rearrange import scalar_constant

Function_ = Callable[..., Any]


class NestedTrace:
    """A function traced inside another trace, and its arguments' nests.

    Parameters
    ----------
    fn: any callable.
    args, kwargs: of the trace around it.
    asked: by what it is to be differentiated.
    tangents: where ``asked.wrt`` is None, those of arguments that are differentiated by are not
        None; all are without.

    Raises DTypeError when the transform refuses an argument that is no float.
    """

    def __init__(
        self,
        fn: Function_,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        asked: Derivation,
        tangents: Sequence[Any] | None = None,
    ) -> None:
        parameters = Parameters(fn)
        wrt: Wrt = () if asked.wrt is None else asked.wrt
        pairs, _, places = found = parameters.pairs(args, kwargs, wrt)
        self.positions = parameters.positions(wrt, found)
        if asked.wrt is None:
            given = [True] * len(pairs) if tangents is None else tangents[: len(pairs)]
            self.positions = tuple(i for i, one in enumerate(given) if one is not None)
        if asked.casts_integers:
            pairs = tuple(
                (name, pytree.map_leaves(_as_float, value) if i in self.positions else value)
                for i, (name, value) in enumerate(pairs)
            )
        # a Python int that nothing is differentiated by is known, as it is here
        moving = () if asked.of in OF_FLOATS else self.positions
        pairs = tuple(
            (name, Static(value) if type(value) is int and i not in moving else value)
            for i, (name, value) in enumerate(pairs)
        )
        self.bound = flatten_arguments(pairs, places=places, leaf=_as_given)
        if asked.wrt is not None:
            check_moves(parameters.name, self.bound, self.positions)
        args, kwargs = parameters.call_form(self.bound.names, self.bound.nests(self.bound.leaves))
        self._trace = running()
        self._is_last = differentiates_last()
        with using(current_options(), is_last=False):
            self.sub = subtrace(fn, args, kwargs)
        # no argument of a call is a mere type, so every operand is a value
        self.operands = [operand for operand in self.sub.operands if operand is not None]
        self.function = self.sub.function
        leaves = leaves_of(self.bound, self.positions)
        types = self.function.param_types
        for leaf in leaves if asked.of not in OF_FLOATS else ():
            if not types[leaf].dtype.is_float:
                raise DTypeError(
                    f"gradc.{asked.of} by an argument of type {types[leaf]}",
                    help='differentiate by floating-point arguments, or choose int_args="float"',
                )
        paths = self.bound.paths
        request = asked.request(self.sub, leaves, current_options(), paths.__getitem__)
        self._request = self._with_mode(request)
        self.answer = Answer(asked, self.sub, self._request.policies, self.bound, self.positions)

    def _with_mode(self, request: Request) -> Request:
        """Return what is asked for; a Jacobian's mode is forward where few rows are left out."""
        if request.of != "jacobian" or request.mode != "auto":
            return request
        from gradc.autodiff.batching.jacobian import rows_of_forward  # batching

        rows = rows_of_forward(self.function, request.wrt)
        return request if rows is None or not usually_at_least(*rows) else request.forward()

    @functools.cached_property
    def derivative(self) -> Function:
        """What was asked for, as a graph: the derivative of the stabilised function.

        It is made once in a trace: a body of a loop is traced again and again until its carries
        have their types, and so is what it differentiates.
        """
        if self._request.policies is not None:
            return nested(self.function, self._request, self._is_last)
        lines = tuple([self.function.locations.get(node) for node in self.function.nodes])
        key = ("derivative", self.function, lines, self._request, self._is_last)
        made = self._trace.root.answers
        if key not in made:
            made[key] = nested(self.function, self._request, self._is_last)
        found: Function = made[key]
        return found

    def tangents(self, given: Sequence[Any], what: str) -> list[Any]:
        """Return the float leaves of tangents of the arguments that are differentiated by.

        Raises ShapeError unless each has its argument's nest and shapes, DTypeError where one moves
        what is no float.
        """
        if len(given) != len(self.positions):
            raise ShapeError(f"{len(self.positions)} arguments but {len(given)} of {what}")
        found = []
        for position, part in zip(self.positions, given):
            name = self.bound.names[position]
            flat = flatten_arguments([(name, part)], leaf=_as_given)
            if self.bound.steers(position):
                if any(scalar_constant(value_of(leaf)) != 0 for leaf in flat.leaves):
                    raise moves_no_float(what, name, "static")
                continue
            if not same_nest(flat.structure[0], self.bound.structure[position]):
                raise ShapeError(f"the {what} of {name} has not the nest of {name}")
            for leaf, path, i in zip(flat.leaves, flat.paths, self.bound.spans[position]):
                have, want = value_of(leaf).type, self.function.param_types[i]
                if not want.dtype.is_float:
                    if scalar_constant(value_of(leaf)) != 0:
                        raise moves_no_float(what, path, want.dtype)
                    continue
                if have.shape != want.shape:
                    raise ShapeError(f"the {what} of {path} is {have}, {path} is {want}")
                found.append(leaf)
        return found

    def run(self, extra: Sequence[Any] = ()) -> list[Any]:
        """Build the derivative on the operands, then on tangents or cotangents; tracers."""
        wanted = self.derivative.param_types[len(self.operands) :]
        seeds = [_seed(x, type_) for x, type_ in zip(extra, wanted, strict=True)]
        # a pullback may be called in a trace inside of the one it was made in
        operands = [running().lift(operand, self._trace) for operand in self.operands]
        return list(inline(self.derivative, [*operands, *seeds]))


def _as_given(_: str, leaf: Any) -> Any:
    return leaf


def _as_float(leaf: Any) -> Any:
    """Return a leaf of the running trace, an integer as a float of the same value."""
    value = value_of(leaf)
    return leaf if value.type.dtype.is_float else tracer_of(build.cast(value, DType.F64))


def _seed(given: Any, wanted: Type) -> Value:
    """Return a tangent or cotangent given in traced code as a value of the type it must have."""
    value = value_of(given)
    if value.type.shape != wanted.shape:
        raise ShapeError(f"a tangent or cotangent is {value.type}, wanted {wanted}")
    return build.cast(value, wanted.dtype)
