"""Tracing one call of a function that brings its own gradient, into one ``call`` node."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradc import nest
from gradc.autodiff import zeros
from gradc.tracing import Tracer, call, source, subtrace, tracer_of, value_of
from gradc.tracing.printing import refuse_prints
from gradc.tracing.state import running
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.errors import GradientArityError, ShapeError, TraceError
from gradc_ir.graph import Function, Value
from gradc_ir.location import Location
from gradc_ir.types import Type

AnyFunction = Callable[..., Any]


def value_and_gradient(function: AnyFunction, name: str, found: Any) -> tuple[Any, AnyFunction]:
    """Return what the function returned, which has to be a value and a gradient function."""
    if isinstance(found, tuple) and len(found) == 2 and callable(found[1]):
        return found
    raise TraceError(
        f"{name} has to return its value and a gradient function",
        at=line_of(function),
        found=f"it returned a {type(found).__name__}",
        help="end with `return value, gradient` where `def gradient(upstream): ...`",
    )


def _is_pair_without_variables(found: Any) -> bool:
    """Whether a gradient is followed by an empty list, of the gradients of no variables."""
    if not isinstance(found, tuple) or len(found) != 2:
        return False
    return isinstance(found[1], tuple | list) and not found[1]


def line_of(function: Any) -> Location | None:
    """Return the line on which a function is defined."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code and source.definition(code)


class TracedCall:
    """A call, in the running trace, of a function that returns ``(value, gradient function)``."""

    def __init__(
        self, function: AnyFunction, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        self.function = function
        self.name = name
        bound = _bind(function, args, kwargs)
        self.positional = len(bound.args)
        self.keywords = tuple(bound.kwargs)
        self.arguments = [*bound.args, *bound.kwargs.values()]
        flat = [nest.flatten(argument) for argument in self.arguments]
        self.structures = [structure for _, structure in flat]
        self.leaves = [leaf for leaves, _ in flat for leaf in leaves]
        self.numeric = [any(map(_is_number, leaves)) for leaves, _ in flat]
        # the positions of leaves that are numbers; others, such as axis=0, stay what they are
        self.traced = [i for i, leaf in enumerate(self.leaves) if _is_traced(leaf)]

    def build(self) -> Any:
        """Return the value, a nest of tracers: the results of one node."""
        given = tuple(self.leaves[i] for i in self.traced)
        body = subtrace(self._value, given)
        variables = [tracer_of(value) for value in body.captured]
        types_of_seeds = body.function.result_types
        seeds = [tracer_of(zeros.zeros(type_)) for type_ in types_of_seeds]
        gradient = functools.partial(self._gradient, len(given), len(variables), body.out_tree)
        rule = subtrace(gradient, (*given, *variables, *seeds))
        taken = len(given) + len(variables)
        operands = [
            operand for operand in (*body.operands, *rule.captured) if isinstance(operand, Value)
        ]
        # the node's vjp takes what the gradient captured before the seeds, not after them
        late = len(operands) - taken
        first_seed = taken + late
        positions = [
            *range(taken),
            *range(first_seed, first_seed + len(seeds)),
            *range(taken, first_seed),
        ]
        types = [operand.type for operand in operands]
        results = build.call(
            operands,
            name=self.name,
            body=_with_parameters(body.function, self.name, types, range(taken)),
            vjp=_with_parameters(
                rule.function, f"{self.name}_vjp", [*types, *types_of_seeds], positions, types
            ),
        )
        return nest.unflatten(body.out_tree, [tracer_of(result) for result in results])

    def _call(self, leaves: Sequence[Any]) -> tuple[Any, AnyFunction]:
        """Call the function on its arguments, with other tracers in place of the traced leaves."""
        filled = list(self.leaves)
        for i, leaf in zip(self.traced, leaves):
            filled[i] = leaf
        rest = iter(filled)
        arguments = [
            nest.unflatten(structure, [next(rest) for _ in range(structure.leaves)])
            for structure in self.structures
        ]
        keywords = dict(zip(self.keywords, arguments[self.positional :]))
        found = call(self.function, *arguments[: self.positional], **keywords)
        return value_and_gradient(self.function, self.name, found)

    def _value(self, *leaves: Any) -> Any:
        return self._call(leaves)[0]

    def _gradient(self, count: int, variables: int, tree: Any, *leaves: Any) -> list[Any]:
        """Return one gradient a traced leaf, then one a variable.

        The function runs again, so that what the gradient reads of it is expressed in this trace.
        """
        given = leaves[:count]
        outside = leaves[count : count + variables]
        upstream = nest.unflatten(tree, leaves[count + variables :])
        _, gradient = self._call(given)
        running().prints.clear()  # the value prints them
        spread = tuple(upstream) if type(upstream) in (tuple, list) else (upstream,)
        if _takes_variables(gradient):
            found, of_variables = self._with_variables(gradient, spread, outside)
        else:
            found, of_variables = gradient(*spread), [None] * len(outside)
        refuse_prints()
        by_leaf = self._by_leaf(gradient, found)
        wanted = [*(by_leaf[i] for i in self.traced), *of_variables]
        return [self._fit(gradient, one, like) for one, like in zip(wanted, [*given, *outside])]

    def _with_variables(
        self, gradient: AnyFunction, upstream: Sequence[Any], outside: Sequence[Any]
    ) -> tuple[Any, list[Any]]:
        found = gradient(*upstream, variables=list(outside) or None)
        if not outside and not _is_pair_without_variables(found):
            return found, []
        if not isinstance(found, tuple) or len(found) != 2:
            raise self._wrong_count(gradient, found, "(gradients, gradients of the variables)")
        gradients, listed = found
        listed = list(listed or ())
        if len(listed) != len(outside):
            raise GradientArityError(
                f"the gradient of {self.name} returned {_counted(len(listed), 'gradient')} of "
                f"variables, but {self.name} reads {_counted(len(outside), 'array')} from outside",
                at=line_of(gradient),
                help="return one gradient for each of `variables`, in their order",
            )
        return gradients, listed

    def _by_leaf(self, gradient: AnyFunction, found: Any) -> list[Any]:
        """Return what the gradient function returned as one entry a leaf of the arguments.

        Arguments without numbers, such as ``self``, may be left out.
        """
        every = range(len(self.arguments))
        for chosen in (every, [i for i in every if self.numeric[i]]):
            parts = self._by_argument(found, chosen)
            if parts is not None:
                by_argument = dict(zip(chosen, parts))
                missing = [[None] * structure.leaves for structure in self.structures]
                return [leaf for i in every for leaf in by_argument.get(i, missing[i])]
        raise self._wrong_count(gradient, found, "")

    def _by_argument(self, found: Any, chosen: Sequence[int]) -> list[list[Any]] | None:
        """Return the leaves of each chosen argument, None when what was found does not fit."""
        structures = [self.structures[i] for i in chosen]
        if len(chosen) == 1:
            only = _leaves(found, structures[0])
            if only is not None:
                return [only]
        if not isinstance(found, tuple | list):
            return None
        if len(found) == len(chosen):
            parts = [_leaves(part, like) for part, like in zip(found, structures)]
            if all(part is not None for part in parts):
                return [part or [] for part in parts]
        if len(found) == sum(structure.leaves for structure in structures):
            rest = iter(found)
            if not any(map(_is_nest, found)):
                return [[next(rest) for _ in range(like.leaves)] for like in structures]
        return None

    def _wrong_count(self, gradient: AnyFunction, found: Any, wanted: str) -> GradientArityError:
        count = len(found) if isinstance(found, tuple | list) else 1
        names = [name for name, numeric in zip(self._names(), self.numeric) if numeric]
        return GradientArityError(
            f"the gradient of {self.name} returned {_counted(count, 'gradient')}, "
            f"but {self.name} has {_counted(len(names), 'argument')}",
            at=line_of(gradient),
            found=f"expected: {wanted or ', '.join(names)}",
            help="return one gradient for each argument, in their order; None for a zero gradient",
        )

    def _names(self) -> list[str]:
        names: list[str] = []
        for parameter in _signature(self.function).parameters.values():
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                names.append(parameter.name)
        further = range(len(names), self.positional)
        names = [*names[: self.positional], *(f"argument {i}" for i in further)]
        return [*names, *self.keywords]

    def _fit(self, gradient: AnyFunction, found: Any, like: Tracer) -> Tracer:
        """Return a gradient in its argument's type: None is zero, a number is spread."""
        type_ = like.type
        if found is None or not type_.dtype.is_float:
            return tracer_of(zeros.zeros(type_))
        value = value_of(found)
        if value.type.shape != type_.shape:
            if value.type.shape:
                raise ShapeError(
                    f"the gradient of {self.name} has the wrong shape",
                    at=line_of(gradient),
                    found=f"{value.type} for an argument of type {type_}",
                    help="sum over the axes along which the argument was broadcast",
                )
            value = build.broadcast_to(value, type_.shape)
        return tracer_of(build.cast(value, type_.dtype))


def _is_traced(leaf: Any) -> bool:
    return isinstance(leaf, Tracer | np.ndarray | np.generic | float)


def _is_number(leaf: Any) -> bool:
    return _is_traced(leaf) or isinstance(leaf, int)


def _leaves(found: Any, structure: nest.Structure) -> list[Any] | None:
    """Return the leaves of a nest of this structure, None when it has another one."""
    if found is None:
        return [None] * structure.leaves
    leaves, have = nest.flatten(found)
    return leaves if have == structure else None


def _is_nest(found: Any) -> bool:
    return isinstance(found, tuple | list | dict)


def _signature(function: AnyFunction) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # some of NumPy's functions have none
        return inspect.signature(lambda *args, **kwargs: None)


def _bind(
    function: AnyFunction, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> inspect.BoundArguments:
    return _signature(function).bind(*args, **kwargs)


def _takes_variables(gradient: AnyFunction) -> bool:
    return "variables" in _signature(gradient).parameters


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _with_parameters(
    function: Function,
    name: str,
    types: Sequence[Type],
    positions: Sequence[int],
    gradients_of: Sequence[Type] = (),
) -> Function:
    """Return the function with parameters of these types; its own are at ``positions``.

    ``gradients_of``: the results are filled up with zeros to one of each of these types.
    """
    with Builder() as builder:
        params = [builder.param(i, type_) for i, type_ in enumerate(types)]
        results = list(builder.inline(function, [params[i] for i in positions]))
        results += [zeros.zeros(type_) for type_ in gradients_of[len(results) :]]
        return builder.function(name, params, results, location=function.location)
