"""Derivatives by variables: the function as one of their values, then of its own arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from gradc.calls.signature import Parameters, Wrt, is_variable, listed, names_variables
from gradc.calls.variable import Variable
from gradc.tracing import call
from gradc.tracing.array.variables import stand_for, variable_of
from gradc.tracing.core.state import running
from gradc_ir.errors import ShapeError, TraceError

Function_ = Callable[..., Any]


class ByVariables:
    """A function of the values of variables, and then of its own arguments."""

    __gradc_parts__: ClassVar = ("__wrapped__", "variables")

    def __init__(self, fn: Function_, variables: Sequence[Variable], names: Sequence[str]) -> None:
        functools.update_wrapper(self, fn, updated=())
        self.__wrapped__ = fn
        self.variables = tuple(variables)
        self.__signature__ = signature_after(fn, names)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function's value; called only in traces."""
        return self.__gradc_trace__(*args, **kwargs)

    def __gradc_trace__(self, *args: Any, **kwargs: Any) -> Any:
        """Inline the function, in which reading a variable gives its argument."""
        for variable, value in zip(self.variables, args):
            stand_for(variable, value)
        return call(self.__wrapped__, *args[len(self.variables) :], **kwargs)


def signature_after(fn: Function_, names: Sequence[str]) -> inspect.Signature:
    """Return the signature of a function that has parameters before its own, called so or alike."""
    own = Parameters(fn).signature.parameters
    first = next(iter(own.values()), None)
    only = first is not None and first.kind is inspect.Parameter.POSITIONAL_ONLY
    kind = inspect.Parameter.POSITIONAL_ONLY if only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    further: list[inspect.Parameter] = []
    for i, name in enumerate(names):
        while not name.isidentifier() or name in own or name in {one.name for one in further}:
            name = f"{name}_" if name.isidentifier() else f"variable_{i}"
        further.append(inspect.Parameter(name, kind))
    return inspect.Signature([*further, *own.values()])


def take_variables(
    fn: Function_, args: Sequence[Any], wrt: Wrt
) -> tuple[Any, tuple[Any, ...], Wrt]:
    """Return a function, arguments and ``wrt`` for the same derivative, by arguments alone.

    It is for traced code, where the values of variables are tracers.
    """
    if not names_variables(wrt):
        return fn, tuple(args), wrt
    variables, chosen = split_variables(wrt)
    lens = running().lens
    seen = [lens.see(variable) for variable in variables]
    names = [tracer._origin.capture.name for tracer in seen]
    return ByVariables(fn, variables, names), (*seen, *args), chosen


def split_variables(wrt: Wrt) -> tuple[tuple[Variable, ...], Wrt]:
    """Return each variable once, and ``wrt`` where they are the first arguments."""
    variables = [_variable(entry) for entry in listed(wrt) if is_variable(entry)]
    places = {id(variable): i for i, variable in enumerate(dict.fromkeys(variables))}

    def shifted(entry: Any) -> int | str:
        if is_variable(entry):
            return places[id(_variable(entry))]
        found: int | str = entry
        return found + len(places) if not isinstance(found, str) and found >= 0 else found

    chosen = tuple(map(shifted, listed(wrt)))
    return tuple(dict.fromkeys(variables)), chosen if isinstance(wrt, tuple | list) else chosen[0]


def tangents_of_primals(
    names: Sequence[str], primals: Sequence[Any], tangents: Sequence[Any], wrt: Wrt
) -> tuple[Any, ...]:
    """Return one tangent for each primal, None for zero, where there is one for each of ``wrt``.

    ``names`` are those of the function's parameters. Raises ShapeError for another number of
    tangents, TraceError for an entry that is none of the primals.
    """
    entries = listed(wrt)
    if len(tangents) != len(entries):
        raise ShapeError(
            f"{len(entries)} entries of wrt but {len(tangents)} tangents",
            help="give one tangent for each entry of wrt; None is a zero tangent",
        )
    pushed: list[Any] = [None] * len(primals)
    for entry, tangent in zip(entries, tangents):
        position = names.index(entry) if entry in names else entry
        if isinstance(position, str) or not -len(primals) <= position < len(primals):
            raise TraceError(f"wrt: {entry!r} is none of the {len(primals)} primals")
        pushed[position] = tangent
    return tuple(pushed)


def _variable(entry: Any) -> Variable:
    """Return the variable; in traced code it is seen as its tracer."""
    found: Variable = entry if isinstance(entry, Variable) else variable_of(entry)
    return found
