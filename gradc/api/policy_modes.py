"""``jvp`` and ``vjp`` under policies."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.api.nested_trace import Traced
from gradc.api.policies import Policies, groups_of, summed_by_group, without_unconnected
from gradc.api.policy_gradients import (
    Recipe,
    Run,
    as_float,
    asked_leaves,
    with_floats,
    without_nonfinite,
)
from gradc.api.transforms import compiled, jvp, vjp
from gradc.api.wrt_variables import push_variables, take_variables
from gradc.arguments import pytree
from gradc.autodiff.connected import connected, reached
from gradc.calls.signature import Wrt
from gradc.calls.tangents import as_tuple
from gradc.custom.rule_arguments import leaves_like
from gradc.tracing import Tracer, current, tracer_of
from gradc.tracing.core.state import running
from gradc_ir.errors import UnconnectedGradientError

AnyFunction = Callable[..., Any]


def policed_jvp(
    fn: AnyFunction,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    wrt: Wrt | None,
    policies: Policies,
) -> tuple[Any, Any]:
    """Return ``(value, tangent)`` under policies; see :func:`gradc.jvp`."""
    primals, tangents = as_tuple(primals, "primals"), as_tuple(tangents, "tangents")
    if policies.aliases == "same" and wrt is None:
        tangents = _together(primals, tangents)
    made = _Push(fn, wrt, policies)
    if current() is not None:
        result: tuple[Any, Any] = made.built(False, primals, tangents)[0]
        return result
    run = _run(fn, ("jvp", _hashable(wrt), policies), made.recipe, policies)
    result = run(primals, tangents)
    return result


def policed_vjp(
    fn: AnyFunction, args: tuple[Any, ...], wrt: Wrt | None, policies: Policies
) -> tuple[Any, AnyFunction]:
    """Return ``(value, pullback)`` under policies; see :func:`gradc.vjp`."""
    chosen = tuple(range(len(args))) if wrt is None else wrt
    groups: tuple[int, ...] = ()
    if policies.aliases == "same":
        groups = groups_of(asked_leaves(fn, args, {}, chosen), _arrays())
    made = _Pull(fn, chosen, policies, groups)
    if current() is not None:
        args = made.prepared(args)
        value, pullback = vjp(fn, *args, wrt=chosen)
        return value, lambda cotangent: made.built(False, args, pullback(cotangent))[0]
    run = _run(fn, ("vjp", _hashable(chosen), policies, groups), made.recipe, policies)
    return compiled(fn)(*args), functools.partial(run, args)


def _together(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, ...]:
    """Return the tangents, with the sum of those of one array wherever that is given."""
    padded = (*tangents, *(None for _ in primals[len(tangents) :]))
    leaves = [pytree.flatten(primal) for primal in primals]
    given = [leaves_like(tangent, structure) for tangent, (_, structure) in zip(padded, leaves)]
    if any(part is None for part in given):
        return tuple(tangents)  # of another nest, which is an error to be found later
    groups = groups_of([leaf for found, _ in leaves for leaf in found], _arrays())
    summed = iter(summed_by_group([leaf for part in given for leaf in part or []], groups))
    together: list[Any] = []
    for found, structure in leaves:
        parts = [next(summed) for _ in found]
        filled = [0.0 * leaf if part is None else part for leaf, part in zip(found, parts)]
        whole = any(part is not None for part in parts)
        together.append(pytree.unflatten(structure, filled) if whole else None)
    return tuple(together)


def _arrays() -> tuple[type, ...]:
    """Return the classes of what is one thing when it is one object."""
    return (np.ndarray,) if current() is None else (Tracer,)


class _Push:
    """How a jvp under policies is built in a trace."""

    def __init__(self, fn: AnyFunction, wrt: Wrt | None, policies: Policies) -> None:
        self.fn = fn
        self.wrt = wrt
        self.policies = policies

    def recipe(self) -> Recipe:
        def like(primals: Any, tangents: Any) -> None:
            """Have its parameters."""

        return Recipe(like, functools.partial(self.built, True))

    def built(self, in_run: bool, primals: Any, tangents: Any) -> Any:
        """Return ``(value, tangent)``, and how many elements of the tangent are not finite."""
        if self.policies.int_args == "float":
            pushed = (*tangents, *(None for _ in primals))
            primals = tuple(
                primal if tangent is None else pytree.map_leaves(as_float, primal)
                for primal, tangent in zip(primals, pushed)
            )
        value, tangent = jvp(self.fn, primals, tangents, self.wrt)
        leaves, tree = pytree.flatten(tangent)
        if self.policies.unconnected != "zero":
            leaves = self._reached(primals, tangents, leaves)
        leaves, replaced = without_nonfinite(self.policies, leaves, in_run=in_run)
        return (value, pytree.unflatten(tree, leaves)), tracer_of(replaced)

    def _reached(self, primals: Any, tangents: Any, leaves: Sequence[Any]) -> list[Any]:
        fn = self.fn
        if self.wrt is not None:
            fn, primals, tangents = push_variables(fn, primals, tangents, self.wrt)
        traced = _looked_at(fn, primals)
        pushed = zip(traced.spans, tangents)
        sources = [leaf for span, tangent in pushed if tangent is not None for leaf in span]
        types = traced.function.result_types
        found = zip(reached(traced.function, sources), types)
        leads = [is_reached for is_reached, type_ in found if type_.dtype.is_float]
        if self.policies.unconnected == "raise" and not all(leads):
            raise UnconnectedGradientError(
                f"a result of {traced.function.name} depends on no argument that has a tangent",
                help='choose unconnected="zero" or "none"',
            )
        return [leaf if leading else None for leaf, leading in zip(leaves, leads, strict=True)]


class _Pull:
    """How a pullback under policies is built in a trace."""

    def __init__(
        self, fn: AnyFunction, wrt: Wrt, policies: Policies, groups: Sequence[int]
    ) -> None:
        self.fn = fn
        self.wrt = wrt
        self.policies = policies
        self.groups = groups

    def recipe(self) -> Recipe:
        def like(args: Any, cotangent: Any) -> None:
            """Have its parameters."""

        def pulled(args: Any, cotangent: Any) -> Any:
            args = self.prepared(args)
            return self.built(True, args, vjp(self.fn, *args, wrt=self.wrt)[1](cotangent))

        return Recipe(like, pulled)

    def prepared(self, args: Any) -> Any:
        """Return the arguments as they are differentiated by."""
        if self.policies.int_args == "float":
            return with_floats(self.fn, args, {}, self.wrt)[0]
        return args

    def built(self, in_run: bool, args: Any, found: Any) -> Any:
        """Return the cotangents under the policies, and how many elements are not finite."""
        fn, args, wrt = take_variables(self.fn, args, self.wrt)
        traced = _looked_at(fn, args, wrt)
        leaves = traced.leaves(wrt)
        cotangents = iter(pytree.flatten(found)[0])
        every = [next(cotangents) if traced.is_float(leaf) else None for leaf in leaves]
        results = range(len(traced.function.results))
        every = without_unconnected(
            self.policies.unconnected,
            every,
            connected(traced.function, leaves, results),
            [path for i in traced.positions(wrt) for path in traced.paths(i)],
            traced.function.name,
        )
        if self.groups:
            every = summed_by_group(every, self.groups)
        every, replaced = without_nonfinite(self.policies, every, in_run=in_run)
        return traced.like(wrt, every), tracer_of(replaced)


def _looked_at(fn: AnyFunction, args: Any, wrt: Wrt = ()) -> Traced:
    """Return a function traced only to be looked at: it prints nothing."""
    prints = list(running().prints)
    traced = Traced(fn, tuple(args), {}, wrt)
    running().prints[:] = prints
    return traced


def _hashable(wrt: Wrt | None) -> Any:
    return tuple(wrt) if isinstance(wrt, list) else wrt


def _run(fn: AnyFunction, key: Any, recipe: Callable[[], Recipe], policies: Policies) -> Run:
    """Return what runs a derivative of a function, the same each time."""
    kept: dict[Any, Run] = compiled(fn).policed
    found = kept.get(key)
    if found is None:
        found = kept.setdefault(key, Run(fn, recipe(), policies.nonfinite))
    return found
