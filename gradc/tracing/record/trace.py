"""Tracing: a Python function and the types of its arguments to a Function of the graph language."""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from gradc import on_need
from gradc.arguments import pytree
from gradc.arguments.flags import Static
from gradc.arguments.pytree import Structure
from gradc.tracing import numpy as numpy
from gradc.tracing.array import members
from gradc.tracing.captured.top import state
from gradc.tracing.captured.traced import Looked, Traced
from gradc.tracing.checks.checks import Checks, Failure, failure_in, join
from gradc.tracing.core import source
from gradc.tracing.core.as_tracer import as_tracer
from gradc.tracing.core.leaves import NumpyInteger, PythonNumber, abstract
from gradc.tracing.core.selection import Selection
from gradc.tracing.core.signals import NeedsConcreteSize, NeedsElements, NeedsNumber, SizesMustMatch
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.state import Trace, running
from gradc.tracing.core.symbolic_size import SymbolicSize
from gradc.tracing.core.table import AnyFunction
from gradc.tracing.core.tracer import Tracer, as_weak, make, may_be_weak, may_share, read
from gradc.tracing.lens.lens import Lens
from gradc.tracing.lens.modules import CastingType
from gradc.tracing.lens.user_classes import see_named_tuples
from gradc.tracing.record import debug_print
from gradc.tracing.record.argument_names import names_of_arguments
from gradc.tracing.record.unbound import unbound_error
from gradc_ir.classes.quick import dataclass
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import Type
from gradc_ir.errors import GradcError, TraceError
from gradc_ir.location import Location

members.attach()
on_need.announce(
    on_need.SELECTIONS, "gradc.tracing.masked.selected", "gradc.tracing.masked.products"
)
on_need.announce(on_need.NUMPY_OBJECTS, "gradc.tracing.array.iterating")


@dataclass(frozen=True, eq=False)
class Subtrace:
    """A function recorded inside a trace.

    ``function`` is closed: its parameters are the leaves of the arguments, then what it captured.
    ``operands`` are the outer values for all of them, in order, None for a leaf that was a type;
    ``captured`` is the tail of it that was captured. ``failing``: what it asserts and raises, as a
    function of the same parameters, where that is not handed on to the trace around it.
    """

    function: Function
    operands: tuple[Value | None, ...]
    captured: tuple[Value, ...]
    out_tree: Structure
    failing: tuple[Function, Failure] | None = None


def trace(
    fn: AnyFunction,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    name: str | None = None,
    captures: bool = True,
    at_hand: Mapping[str, int] | None = None,
) -> Traced:
    """Record a function.

    Parameters
    ----------
    fn: any callable; its Python code outside of installed packages is seen through the lens.
    args: nests of leaves; a leaf is a Type, a PythonNumber, a NumpyInteger, a Static, a number or
        an array.
    kwargs: the same for arguments given by name.
    name: the name of the Function, by default that of ``fn``.
    captures: whether loops and branches of Python's may become operations; they do not where
        what comes after one assigns to an array that may be one from before it.
    at_hand: symbolic sizes of the call that it is for, by which it goes where Python compares
        some; of none it takes the usual case. ``Traced.least`` says what was taken for granted.

    A traced function never changes its caller's arrays: an argument that it assigns to is a copy of
    its own. Arguments count as C-contiguous, which decides what reshape shares with what, and two
    arguments never share memory.

    Raises
    ------
    TraceError, ShapeError, DTypeError, IndexError for what the function does;
    NeedsConcreteSize when Python asks for the number behind a symbolic size.
    """
    kwargs = dict(kwargs or {})
    # values by name in the order they are given in: a dict's leaves come in that of its keys
    leaves, in_tree = pytree.flatten((tuple(args), tuple(kwargs.values())))
    paths = _argument_paths(fn, tuple(args), kwargs)
    types = [abstract(leaf, path) for leaf, path in zip(leaves, paths)]
    solved: dict[str, Size] = {}
    before: list[Looked] = []
    refused: TraceError | None = None
    knows_masks = False
    while True:
        given = [_substituted(leaf, solved) for leaf in types]
        try:
            found = _trace_once(
                fn,
                given,
                paths,
                in_tree,
                tuple(kwargs),
                name or _name_of(fn),
                solved,
                before,
                captures and refused is None,
                at_hand,
                knows_masks,
            )
        except GradcError as error:
            if refused is not None:
                raise refused from None
            if not (captures and isinstance(error, TraceError) and may_share(error)):
                raise
            refused, solved = error, {}
        except NeedsElements:
            knows_masks = True
        except SizesMustMatch as question:
            if question.looked is not None:
                before.append(question.looked)
            answer = question.solution()
            if answer is None:
                raise question.error from None
            symbol, size = _keep_first(answer, given)
            solved = {key: sizes.substitute(old, {symbol: size}) for key, old in solved.items()}
            solved[symbol] = size
        else:
            return found if refused is None else _noted(found, refused)


def _noted(found: Traced, why: TraceError) -> Traced:
    note = f"{why.at}: loops are unrolled: {why.what}"
    return replace(found, log=(*found.log, note))


def _keep_first(answer: tuple[str, Size], given: Sequence[Any]) -> tuple[str, Size]:
    """Of two symbols that become one, keep the one that appears first in the arguments."""
    symbol, size = answer
    other = str(size)
    if not isinstance(size, int) and other.isidentifier():
        names = [one for leaf in given if isinstance(leaf, Type) for one in leaf.symbols]
        if symbol in names and (other not in names or names.index(symbol) < names.index(other)):
            return other, sizes.symbol(symbol)
    return answer


def _substituted(leaf: Any, solved: Mapping[str, Size]) -> Any:
    if not solved or not isinstance(leaf, Type):
        return leaf
    return leaf.with_shape(tuple(sizes.substitute(size, solved) for size in leaf.shape))


def _trace_once(
    fn: AnyFunction,
    leaves: Sequence[Any],
    paths: Sequence[str],
    in_tree: Structure,
    keywords: Sequence[str],
    name: str,
    solved: Mapping[str, Size],
    before: Sequence[Looked],
    captures: bool,
    at_hand: Mapping[str, int] | None,
    knows_masks: bool,
) -> Traced:
    if state.top is not None:
        raise trace_error("trace() inside of a trace: use subtrace()")
    with closing(Lens(captures=captures)) as lens, Trace(None, lens) as running_trace:
        lens.trace = running_trace
        running_trace.at_hand = at_hand
        running_trace.knows_masks = knows_masks
        running_trace.looked_before(before)
        given, names = [], running_trace.names
        for leaf, path in zip(leaves, paths):
            if isinstance(leaf, Static):
                given.append(lens.see(leaf.value))
                continue
            parameter = _parameter(running_trace, leaf)
            wide = isinstance(leaf, PythonNumber) and leaf.wide
            if may_be_weak(parameter.type) and not wide:
                parameter.forms = frozenset({len(names)})
                running_trace.numbers |= parameter.forms
            is_int = isinstance(leaf, PythonNumber) and leaf.kind is int
            if is_int or isinstance(leaf, NumpyInteger):
                running_trace.integers[read(parameter)] = len(names)
            given.append(parameter)
            names.append(path)
        args, values = see_named_tuples(pytree.unflatten(in_tree, given))
        try:
            result = lens.see(fn)(*args, **dict(zip(keywords, values)))
            results, out_tree = _results(result, name)
        except NameError as error:
            raise unbound_error(error, running_trace) or error from None
        except (NeedsConcreteSize, NeedsElements, NeedsNumber, SizesMustMatch) as stop:
            lens.guard_types()
            stop.looked = running_trace.looked()
            raise
        lens.guard_types()
        lens.check_holders()
        if running_trace.prints:
            running_trace.keep_not("it prints numbers at every call")
        if running_trace.failure is not None:
            running_trace.keep_not("it asserts or raises on what it computes")
        hidden, guards, unkept, imports = running_trace.looked()
        deciding = running_trace.deciding
        asked = tuple(running_trace.rewritten)
    out_tree = pytree.normal(out_tree)
    names += _distinct([capture.name for capture in hidden], names)
    function = running_trace.builder.function(
        name, running_trace.params, results, names=names, location=_location_of(fn)
    )
    return Traced(
        function,
        out_tree,
        hidden,
        deciding,
        tuple(guards.values()),
        dict(solved),
        (*_unrolled(function), *running_trace.log),
        debug_print.closed(running_trace, names),
        dict(running_trace.least),
        unkept,
        imports,
        _checks(running_trace, function),
        tuple(running_trace.loops.values()),
        asked,
    )


def _checks(trace: Trace, function: Function) -> Checks | None:
    failure: Failure | None = trace.failure
    if failure is None:
        return None
    results = [*function.results, *failure.values]
    whole = trace.builder.function(
        function.name, trace.params, results, names=function.names, location=function.location
    )
    checks = tuple(check for _, check in trace.checks)
    return Checks(whole, checks, tuple(failure.numbers))


# A line that made more nodes than this was a loop that Python ran.
_NOTABLE_REPETITION = 1000


def _unrolled(function: Function) -> list[str]:
    counts = Counter(place for places in function.locations.values() for place in places)
    return [
        f"{place}: {count} operations come from this line: a Python loop was unrolled; "
        "gradc.fori_loop and gradc.scan record its body once"
        for place, count in counts.items()
        if count > _NOTABLE_REPETITION
    ]


def _distinct(names: Sequence[str], taken: Sequence[str]) -> list[str]:
    used = set(taken)
    found = []
    for name in names:
        candidate = name
        while candidate in used:
            candidate += "_"
        used.add(candidate)
        found.append(candidate)
    return found


def _parameter(trace: Trace, leaf: Type | PythonNumber | NumpyInteger) -> Tracer:
    if not isinstance(leaf, PythonNumber):
        return make(trace, trace.param(leaf if isinstance(leaf, Type) else leaf.type))
    value = trace.param(leaf.type)
    tracer = make(trace, value)
    tracer._weak = leaf.kind
    if leaf.wide:
        trace.root.wide_integers.add(value)
    return tracer


def _results(result: Any, name: str) -> tuple[list[Value], Structure]:
    leaves, structure = pytree.flatten(result)
    running()
    paths: list[str] = []
    values = []
    for position, leaf in enumerate(leaves):
        if isinstance(leaf, Tracer | np.ndarray | np.generic | int | float | SymbolicSize):
            values.append(read(as_tracer(leaf)))
            continue
        if isinstance(leaf, Selection):
            raise leaf.refused("be returned", at=leaf.made_at)
        paths = paths or pytree.paths(result, "result")
        kind = "type" if isinstance(leaf, CastingType) else leaf.__class__.__name__
        raise TraceError(
            f"{name} returns a {kind}, not a number or an array",
            found=f"{paths[position]} = {leaf!r:.60}",
            help="return numbers and arrays, in any nest of dict, list and tuple",
        )
    return values, structure


def _argument_paths(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """Return the path of each leaf, beginning with the name of its parameter."""
    paths: list[str] = []
    for arg, name in zip(args, names_of_arguments(fn, len(args))):
        paths += pytree.paths(arg, name)
    for keyword, value in kwargs.items():
        paths += pytree.paths(value, keyword)
    return paths


def _name_of(fn: Any) -> str:
    found = getattr(fn, "__name__", None) or getattr(getattr(fn, "func", None), "__name__", None)
    text = found or type(fn).__name__
    return text if text.isidentifier() else "f"


def _location_of(fn: Any) -> Location | None:
    function = inspect.unwrap(fn) if callable(fn) else fn
    code = getattr(getattr(function, "func", function), "__code__", None)
    return code and source.definition(code)


def subtrace(
    fn: AnyFunction,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    body_of: str | None = None,
) -> Subtrace:
    """Record a function called inside the running trace as a closed Function of its own.

    Parameters
    ----------
    fn: any callable.
    args: nests of tracers, values, numbers and arrays; a Type makes a parameter without an operand.
    kwargs: the same for arguments given by name.
    body_of: the name of the op of control flow that the function is a body of; the sizes of the
        function around it mean the same in it.

    Outer tracers that the function uses otherwise become further operands, level by level.
    """
    outer = running()
    kwargs = dict(kwargs or {})
    leaves, tree = pytree.flatten((tuple(args), tuple(kwargs.values())))
    operands: list[Value | None] = []
    with Trace(outer, outer.lens, body_of) as inner:
        inner.name_params = functools.partial(_argument_paths, fn, tuple(args), kwargs)
        given = []
        for leaf in leaves:
            if isinstance(leaf, Static):
                given.append(leaf.value)
                continue
            if isinstance(leaf, Type | PythonNumber):
                operands.append(None)
                given.append(_parameter(inner, leaf))
                continue
            with _outside(outer):
                tracer = as_tracer(make(outer, leaf) if isinstance(leaf, Value) else leaf)
                value = read(tracer)
            operands.append(value)
            parameter = make(inner, inner.param(value.type), contiguous=tracer.contiguous)
            parameter.scalar = tracer.scalar or not isinstance(leaf, Tracer)
            as_weak(parameter, tracer._weak or _weak_of(leaf), tracer.forms)
            outer.root.keep_wide(value, read(parameter))
            outer.root.origins[read(parameter)] = value
            given.append(parameter)
        inner_args, values = pytree.unflatten(tree, given)
        result = outer.lens.see(fn)(*inner_args, **dict(zip(kwargs, values)))
        results, out_tree = _results(result, _name_of(fn))
        if body_of is None:
            inner.lift_sizes(results)
    captured = tuple(inner.lifted)
    names = [inner.called.get(param, f"p{i}") for i, param in enumerate(inner.params)]
    function = inner.builder.function(_name_of(fn), inner.params, results, names, _location_of(fn))
    running()
    every = (*operands, *captured)
    outer.prints += debug_print.hand_out(inner, every, outer.builder)
    return Subtrace(function, every, captured, out_tree, _failing(inner, outer, every))


def _failing(
    inner: Trace, outer: Trace, operands: Sequence[Value | None]
) -> tuple[Function, Failure] | None:
    """Hand on what a function asserts and raises, to where it is called; else return it."""
    failure: Failure | None = inner.failure
    if failure is None:
        return None
    function = inner.builder.function("checks", inner.params, failure.values)
    if inner.body_of is not None or None in operands:
        return function, failure
    given = [operand for operand in operands if operand is not None]
    made = failure.of(outer.builder.inline(function, given))
    outer.failure = join(failure_in(outer), made)
    return None


def _weak_of(leaf: Any) -> type | None:
    return type(leaf) if type(leaf) in (int, float, bool) else None


@contextmanager
def _outside(trace: Trace) -> Iterator[None]:
    """Build in the outer trace for a moment, while an inner one is open."""
    before, state.top = state.top, trace
    try:
        with trace.builder:
            yield
    finally:
        state.top = before


def inline(function: Function, operands: Sequence[Tracer | Value]) -> tuple[Tracer, ...]:
    """Build a Function's graph in the running trace on these operands; returns tracers."""
    trace_ = running()
    values = [read(x) if isinstance(x, Tracer) else x for x in operands]
    return tuple(make(trace_, value) for value in trace_.builder.inline(function, values))


def call(fn: AnyFunction, *args: Any, **kwargs: Any) -> Any:
    """Call a function inside the running trace, seen through its lens."""
    return running().lens.see(fn)(*args, **kwargs)


def tracer_of(value: Value) -> Tracer:
    """Return a tracer of a value of the running trace."""
    return make(running(), value)


def value_of(x: Any) -> Value:
    """Return a tracer, number or array as a value of the running trace."""
    running()
    return read(as_tracer(x))
