"""Bodies: a user's function recorded as a closed Function whose captures come first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.arguments import pytree
from gradc.arguments.pytree import Structure
from gradc.autodiff.parameters import parameters
from gradc.control.leaf_types import LeafType, Leaves, cast_values, leaves_of
from gradc.tracing import Tracer, call, current, subtrace, trace
from gradc.tracing.checks.checks import refused
from gradc.tracing.core.as_tracer import as_tracer
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import as_weak
from gradc.tracing.record.argument_names import names_of_arguments
from gradc_ir.build import Builder
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Function, Value
from gradc_ir.interpreter.interpret import interpret


def invoke(fn: Callable[..., Any], *args: Any) -> Any:
    """Call a user's function, seen through the lens in traced code."""
    trace_ = current()
    if trace_ is None:
        return fn(*args)
    for name, argument in zip(names_of_arguments(fn, len(args)), args):
        if type(argument) is Tracer:
            trace_.name_value(argument._value, name)
        elif isinstance(argument, dict | list | tuple):
            for leaf, path in zip(pytree.flatten(argument)[0], pytree.paths(argument, name)):
                if type(leaf) is Tracer:
                    trace_.name_value(leaf._value, path)
    return call(fn, *args)


def interpreted(fn: Callable[..., Any], args: Sequence[Any], name: str | None = None) -> Any:
    """Return what a function makes of nests of numbers and arrays: traced, then interpreted."""
    traced = trace(fn, args, name=name)
    given = [np.asarray(leaf) for leaf in pytree.flatten(tuple(args))[0]]
    captured = [capture.read() for capture in traced.captures]
    found = interpret(traced.function, [*given, *captured])
    return pytree.unflatten(traced.out_tree, [array[()] for array in found])


def name_of(fn: Any) -> str:
    """Return what a user calls a function, for messages."""
    inner = getattr(fn, "func", fn)
    return str(getattr(inner, "__name__", type(fn).__name__))


def check_callable(title: str, parameter: str, fn: Any) -> None:
    """Raise TraceError unless ``fn`` can be called."""
    if not callable(fn):
        raise trace_error(
            f"{title}: {parameter} is no function, it is {described(fn)}",
            help=f"pass the function itself, or a lambda: {title}(…, lambda …: …)",
        )


def described(value: Any) -> str:
    """Return what a user calls a value of some type, traced or not, for messages."""
    if value is None:
        return "None"
    name = type(value).__name__
    if isinstance(value, np.ndarray):
        name = "array"
    elif isinstance(value, Tracer):
        number = value.weak.__name__ if value.weak else str(value.type.dtype.numpy)
        name = number if value.scalar else "array"
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


@dataclass(frozen=True)
class Body:
    """A function that was recorded for arguments of some types.

    Parameters
    ----------
    function: takes the leaves of the arguments, then what it captured.
    captured: the outer values for the last of them; None for what it does not use.
    results: the leaves of each result, of use for their types and their structure.
    """

    function: Function
    captured: tuple[Value | None, ...]
    results: tuple[Leaves, ...]

    @property
    def leaf_types(self) -> tuple[LeafType, ...]:
        """The types of the leaves of all results."""
        return tuple(leaf_type for result in self.results for leaf_type in result.leaf_types)

    def closed(self, captured: Sequence[Value], leaf_types: Sequence[LeafType]) -> Function:
        """Return the function of (captured…, leaves of the arguments…).

        ``captured`` holds what this body captured and perhaps more; the results have the dtypes of
        ``leaf_types``.
        """
        own = self.function
        split = len(own.params) - len(self.captured)
        with Builder() as builder:
            builder.here = running().builder.here
            outside = parameters(value.type for value in captured)
            place = dict(zip(captured, outside))
            given = parameters(own.param_types[:split], len(outside))
            operands = [*given]
            for value, param in zip(self.captured, own.params[split:]):
                # what is not used may be anything
                operands.append(param if value is None else place[value])
            found = builder.inline(own, operands)
            results = cast_values(found, leaf_types)
            params = [*outside, *given]
            names = [f"c{i}" for i in range(len(outside))] + list(own.names[:split])
            return builder.function(own.name, params, results, names, own.location)


def record(
    title: str,
    fn: Callable[..., Any],
    run: Callable[..., Any],
    args: Sequence[tuple[Structure, Sequence[LeafType]]],
    results: Sequence[tuple[str, str]],
) -> Body:
    """Record a function for arguments of these types.

    Parameters
    ----------
    title: the function of gradc it is a body of, for messages.
    fn: the user's function, for its name and its line.
    run: calls it: takes the arguments, returns a tuple of nests.
    args: the structure of each argument and the types of its leaves.
    results: what each of those nests is called in messages, and what to write in place of a leaf
        that is no number and no array.
    """
    kept: list[tuple[Leaves, ...]] = []
    leaf_types = [leaf_type for _, group in args for leaf_type in group]

    def body(*leaves: Tracer) -> list[Tracer]:
        for leaf, leaf_type in zip(leaves, leaf_types, strict=True):
            as_weak(leaf, leaf_type.weak, leaf_type.forms)
            leaf.scalar = leaf_type.scalar and not leaf_type.type.shape
        rest = iter(leaves)
        nests = [
            pytree.unflatten(structure, [next(rest) for _ in range(structure.leaves)])
            for structure, _ in args
        ]
        made = zip(run(*nests), results, strict=True)
        found = tuple(leaves_of(part, root, cure) for part, (root, cure) in made)
        kept.append(found)
        return [as_tracer(leaf) for part in found for leaf in part.leaves]

    body.__name__ = name_of(fn)
    body.__dict__["__wrapped__"] = fn  # where its line is looked up
    try:
        sub = subtrace(body, [leaf_type.leaf for leaf_type in leaf_types], body_of=title)
    except RecursionError:
        raise trace_error(
            f"{title}: {name_of(fn)} calls itself without end while it is recorded",
            help="branches that are not known are all recorded: write the recursion as a loop, "
            "gradc.while_loop(condition, body, carry)",
        ) from None
    if sub.failing is not None:
        raise refused(f"a body of {title}", "write it as Python's own loop or branch")
    used = {operand for node in sub.function.nodes for operand in node.operands}
    used.update(sub.function.results)
    # what only a discarded trace of an inner body asked for is not taken
    params = sub.function.params[len(leaf_types) :]
    captured = [
        value if param in used else None for param, value in zip(params, sub.captured, strict=True)
    ]
    return Body(sub.function, tuple(captured), kept[-1])


def union(bodies: Sequence[Body]) -> tuple[Value, ...]:
    """Return what bodies captured, each value once."""
    return tuple(
        dict.fromkeys(value for body in bodies for value in body.captured if value is not None)
    )
