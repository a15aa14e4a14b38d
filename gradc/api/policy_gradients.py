"""Derivatives under policies: built in a trace of their own, looked at when there are numbers."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.api.nested_trace import Traced
from gradc.api.policies import Policies, groups_of, summed_by_group, without_unconnected
from gradc.api.wrt_variables import take_variables
from gradc.arguments import pytree
from gradc.autodiff.connected import connected
from gradc.calls.preconditions import check_value
from gradc.calls.signature import Parameters, Wrt, is_variable
from gradc.traceback import boundary
from gradc.tracing import Tracer, current, tracer_of, value_of
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType
from gradc_ir.errors import NonFiniteError, TraceError

AnyFunction = Callable[..., Any]


class Recipe:
    """What is built in a trace: from arguments to a result, and how many elements were replaced."""

    def __init__(self, like: AnyFunction, built: AnyFunction) -> None:
        functools.update_wrapper(self, like, updated=())
        self.built = built

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Build it; called only in traces."""
        return self.__gradc_trace__(*args, **kwargs)

    def __gradc_trace__(self, *args: Any, **kwargs: Any) -> Any:
        """Build it in the running trace."""
        return self.built(*args, **kwargs)


class Run:
    """A recipe compiled as its function is, and the policy about what is not finite applied to it.

    Attributes
    ----------
    replaced: how many elements have been replaced by 0 so far.
    """

    def __init__(self, fn: AnyFunction, recipe: Recipe, nonfinite: str) -> None:
        from gradc.api.compiled import Compiled
        from gradc.api.transforms import compiled

        options = vars(compiled(fn).options)
        self._compiled = Compiled(recipe, **options)
        self._careful = None
        if nonfinite == "raise":
            self._careful = Compiled(recipe, **{**options, "debug_nans": True})
        self._lock = threading.Lock()
        self.replaced = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result; raises NonFiniteError under that policy."""
        result, count = self._compiled(*args, **kwargs)
        if count:
            if self._careful is not None:
                self._careful(*args, **kwargs)
                raise NonFiniteError("a derivative is not finite")
            with self._lock:
                self.replaced += int(count)
        return result


def without_nonfinite(
    policies: Policies, found: Sequence[Any], *, in_run: bool
) -> tuple[list[Any], Value]:
    """Return derivatives under the policy about elements that are not finite, and their count."""
    total = build.full((), 0, DType.I64)
    if policies.nonfinite == "propagate":
        return list(found), total
    if policies.nonfinite == "raise" and not in_run:
        raise TraceError(
            'nonfinite="raise" needs numbers: inside a function that is traced there are none',
            help="give it to the outermost derivative, or compile with debug_nans=True",
        )
    kept: list[Any] = []
    for one in found:
        if one is None:
            kept.append(None)
            continue
        value = value_of(one)
        bad = build.logical_not(build.lt(build.abs(value), float("inf")))
        total = build.add(
            total, build.reduce_sum(build.cast(bad, DType.I64), range(value.type.rank))
        )
        if policies.nonfinite == "zero":
            value = build.select(bad, build.zeros_like(value), value)
        kept.append(tracer_of(value))
    return kept, total


# -- grad and value_and_grad -----------------------------------------------------------------------


class PolicedGradient:
    """``grad`` or ``value_and_grad`` under policies; see :func:`gradc.grad`.

    Attributes
    ----------
    replaced: how many elements ``nonfinite="zero"`` has replaced in calls with numbers.
    """

    def __init__(
        self, of: str, fn: AnyFunction, wrt: Wrt, policies: Policies, *, has_aux: bool
    ) -> None:
        functools.update_wrapper(self, fn)
        self.of = of
        self.fn = fn
        self.wrt = wrt
        self.policies = policies
        self.has_aux = has_aux
        self._runs: dict[tuple[int, ...], Run] = {}

    @property
    def replaced(self) -> int:
        """How many elements have been replaced by 0 so far."""
        return sum(run.replaced for run in self._runs.values())

    @boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the derivative at these arguments."""
        if current() is not None:
            return self.__gradc_trace__(*args, **kwargs)
        groups: tuple[int, ...] = ()
        if self.policies.aliases == "same":
            groups = groups_of(asked_leaves(self.fn, args, kwargs, self.wrt), (np.ndarray,))
        run = self._runs.get(groups)
        if run is None:
            recipe = Recipe(self.fn, functools.partial(self._built, groups, True))
            run = self._runs.setdefault(groups, Run(self.fn, recipe, self.policies.nonfinite))
        return run(*args, **kwargs)

    def __gradc_trace__(self, *args: Any, **kwargs: Any) -> Any:
        """Build the derivative in the trace that calls it."""
        groups: tuple[int, ...] = ()
        if self.policies.aliases == "same":
            groups = groups_of(asked_leaves(self.fn, args, kwargs, self.wrt), (Tracer,))
        return self._built(groups, False, *args, **kwargs)[0]

    def _built(self, groups: Sequence[int], in_run: bool, *args: Any, **kwargs: Any) -> Any:
        fn, args, wrt = take_variables(self.fn, args, self.wrt)
        if self.policies.int_args == "float":
            args, kwargs = with_floats(fn, args, kwargs, wrt)
        traced = Traced(fn, args, kwargs, wrt)
        leaves = traced.float_leaves(self.of, wrt)
        check_value(traced.sub, self.has_aux)
        results = traced.run(traced.derive(self.of, leaves), [])
        count = len(traced.function.results) if self.of == "value_and_grad" else 0
        found: list[Any] = without_unconnected(
            self.policies.unconnected,
            results[count:],
            connected(traced.function, leaves, [0]),
            [path for i in traced.positions(wrt) for path in traced.paths(i)],
            traced.function.name,
        )
        if groups:
            found = summed_by_group(found, groups)
        found, replaced = without_nonfinite(self.policies, found, in_run=in_run)
        gradient = traced.like(wrt, found)
        value = traced.value(results) if count else None
        return (value, gradient) if count else gradient, tracer_of(replaced)


def asked_leaves(fn: AnyFunction, args: Any, kwargs: Any, wrt: Wrt) -> list[Any]:
    """Return the leaves of the arguments that are differentiated by, a variable as one leaf."""
    parameters = Parameters(fn)
    found: list[Any] = []
    for entry in wrt if isinstance(wrt, (tuple, list)) else (wrt,):
        if is_variable(entry):
            found.append(entry)
            continue
        pairs, _, places = parameters.pairs(args, kwargs, entry)
        names = tuple(name for name, _ in pairs)
        (position,) = parameters.positions(entry, _Named(names, places))
        found += pytree.flatten(pairs[position][1])[0]
    return found


class _Named:
    """The names of arguments that are bound."""

    def __init__(self, names: tuple[str, ...], places: tuple[str, ...]) -> None:
        self.names = names
        self.places = places


def with_floats(fn: AnyFunction, args: Any, kwargs: Any, wrt: Wrt) -> tuple[Any, Any]:
    """Return the arguments with floats for integers where they are differentiated by."""
    parameters = Parameters(fn)
    pairs, _, places = parameters.pairs(args, kwargs, wrt)
    names = tuple(name for name, _ in pairs)
    chosen = set(parameters.positions(wrt, _Named(names, places)))
    values = [
        pytree.map_leaves(as_float, value) if i in chosen else value
        for i, (_, value) in enumerate(pairs)
    ]
    return parameters.call_form(names, values)


def as_float(leaf: Any) -> Any:
    """Return a leaf of the running trace, an integer as a float of the same value."""
    value = value_of(leaf)
    return leaf if value.type.dtype.is_float else tracer_of(build.cast(value, DType.F64))
