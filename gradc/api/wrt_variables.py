"""Derivatives by variables: the function as one of their values, then of its own arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gradc.calls.signature import Parameters, Wrt, choose_wrt, is_variable, names_variables
from gradc.calls.tangents import as_tuple
from gradc.calls.variable import Variable
from gradc.tracing import call, current
from gradc.tracing.core.state import running
from gradc.tracing.core.variables import stand_for, variable_of
from gradc_ir.errors import ShapeError, TraceError

if TYPE_CHECKING:
    from gradc.api.compiled import Compiled

Function_ = Callable[..., Any]


class ByVariables:
    """A function of the values of variables, and then of its own arguments."""

    def __init__(self, fn: Function_, variables: Sequence[Variable], names: Sequence[str]) -> None:
        functools.update_wrapper(self, fn, updated=())
        self.__wrapped__ = fn
        self.variables = tuple(variables)
        self.__signature__ = _signature(fn, names)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function's value; called only in traces."""
        return self.__gradc_trace__(*args, **kwargs)

    def __gradc_trace__(self, *args: Any, **kwargs: Any) -> Any:
        """Inline the function, in which reading a variable gives its argument."""
        for variable, value in zip(self.variables, args):
            stand_for(variable, value)
        return call(self.__wrapped__, *args[len(self.variables) :], **kwargs)


def _signature(fn: Function_, names: Sequence[str]) -> inspect.Signature:
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


def take_variables(fn: Any, args: Sequence[Any], wrt: Wrt) -> tuple[Any, tuple[Any, ...], Wrt]:
    """Return a function, arguments and ``wrt`` for the same derivative, by arguments alone.

    In traced code the values of variables are tracers, elsewhere they are arrays.
    """
    if not names_variables(wrt):
        return fn, tuple(args), wrt
    if current() is not None:
        variables, chosen = _shifted(wrt)
        lens = running().lens
        seen = [lens.see(variable) for variable in variables]
        names = [tracer._origin.capture.name for tracer in seen]
        return ByVariables(fn, variables, names), (*seen, *args), chosen
    from gradc.api.transforms import compiled

    form = compiled(fn)
    key = tuple([(id(e),) if type(e) is Variable else e for e in _listed(wrt)])
    found = form.by_variables.get((type(wrt), key))
    if found is None:
        found = _compiled(form, *_shifted(wrt))
        while len(form.by_variables) >= _MOST_KEPT:
            form.by_variables.pop(next(iter(form.by_variables)), None)
        form.by_variables[type(wrt), key] = found
    by, variables, chosen = found
    return by, (*[variable.read() for variable in variables], *args), chosen


_MOST_KEPT = 32


def _compiled(
    fn: Compiled, variables: tuple[Variable, ...], chosen: Wrt
) -> tuple[Compiled, tuple[Variable, ...], Wrt]:
    """Return the compiled function of the variables and the arguments; it keeps the variables."""
    from gradc.api.compiled import Compiled

    names = [variable.name or f"variable_{i}" for i, variable in enumerate(variables)]
    function = ByVariables(fn.__wrapped__, variables, names)
    made = Compiled(function, static=sorted(fn._parameters.static), **vars(fn.options))
    made._signatures = fn._signatures
    return made, variables, chosen


def push_along(
    fn: Compiled, primals: Sequence[Any], tangents: Sequence[Any], wrt: Wrt
) -> tuple[Any, Any]:
    """Return value and tangent of a compiled function, with one tangent for each of ``wrt``."""
    by, primals, pushed = push_variables(fn, primals, tangents, wrt)
    found: tuple[Any, Any] = by.jvp(primals, pushed)
    return found


def push_variables(
    fn: Any, primals: Sequence[Any], tangents: Sequence[Any], wrt: Wrt
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Return a function, primals and tangents for a jvp with one tangent for each of ``wrt``."""
    entries = _listed(choose_wrt(wrt, {}))
    primals, tangents = as_tuple(primals, "primals"), as_tuple(tangents, "tangents")
    if len(tangents) != len(entries):
        raise ShapeError(
            f"{len(entries)} entries of wrt but {len(tangents)} tangents",
            help="give one tangent for each entry of wrt; None is a zero tangent",
        )
    fn, primals, chosen = take_variables(fn, primals, wrt)
    names = Parameters(fn).names
    pushed: list[Any] = [None] * len(primals)
    for entry, tangent in zip(_listed(chosen), tangents):
        position = names.index(entry) if entry in names else entry
        if isinstance(position, str) or not -len(primals) <= position < len(primals):
            raise TraceError(f"wrt: {entry!r} is none of the {len(primals)} primals")
        pushed[position] = tangent
    return fn, primals, tuple(pushed)


def _shifted(wrt: Wrt) -> tuple[tuple[Variable, ...], Any]:
    """Return each variable once, and ``wrt`` where they are the first arguments."""
    variables: dict[int, Variable] = {}
    for entry in _listed(wrt):
        if is_variable(entry):
            found = _variable(entry)
            variables[id(found)] = found
    places = {key: i for i, key in enumerate(variables)}

    def shifted(entry: Any) -> int | str:
        if is_variable(entry):
            return places[id(_variable(entry))]
        found: int | str = entry
        return found + len(places) if not isinstance(found, str) and found >= 0 else found

    chosen = [shifted(entry) for entry in _listed(wrt)]
    return tuple(variables.values()), (
        tuple(chosen) if isinstance(wrt, (tuple, list)) else chosen[0]
    )


def _variable(entry: Any) -> Variable:
    """Return the variable; in traced code it is seen as its tracer."""
    found: Variable = entry if isinstance(entry, Variable) else variable_of(entry)
    return found


def _listed(wrt: Any) -> tuple[Any, ...]:
    return tuple(wrt) if isinstance(wrt, (tuple, list)) else (wrt,)
