"""``cond`` and ``switch``: one of several functions, chosen while the program runs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from gradc.arguments import pytree
from gradc.autodiff.parameters import parameters
from gradc.control.bodies import Body, check_callable, invoke, record, union
from gradc.control.carries import same_shape
from gradc.control.leaf_types import (
    LeafType,
    Leaves,
    joined,
    leaves_of,
    owned,
    tracers_of,
    values_of,
)
from gradc.control.predicates import as_bool, truth_of
from gradc.control.steps import as_value, integer
from gradc.traceback import boundary
from gradc.tracing.core.source import dtype_error, shape_error, trace_error
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import read
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import DType, Type

_OPERAND_CURE = "what is no number is not handed to a branch: the branch may just use it"


@boundary
def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *operands: Any
) -> Any:
    """Return ``true_fn(*operands)`` where ``pred`` is true, else ``false_fn(*operands)``.

    In traced code only the branch that is taken runs, and derivatives are those of that branch. A
    condition that is known while tracing chooses at once, as ``if`` does.

    Parameters
    ----------
    pred: one truth value, or a number, of which 0 is false.
    true_fn, false_fn: the branches. They may use traced values around them, and return the same
        nest of the same shapes and dtypes; a Python number takes the dtype of the other branch.
    operands: nests of numbers and arrays for the branches, which may write to them: the arrays
        themselves are not changed.

    Raises
    ------
    ShapeError when ``pred`` is an array; ShapeError, DTypeError or TraceError when the branches
    return different shapes, dtypes or nests.
    """
    title = "gradc.cond"
    check_callable(title, "true_fn", true_fn)
    check_callable(title, "false_fn", false_fn)
    known = truth_of(title, "pred", pred)
    if known is not None:
        return invoke(true_fn if known else false_fn, *_copies(operands))
    decided = read(as_bool(title, "pred", pred))
    branches = _Branches(title, (("true_fn", true_fn), ("false_fn", false_fn)), operands)
    then, otherwise = branches.functions
    return branches.nested(build.cond(decided, then, otherwise, branches.operands))


@boundary
def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """Return ``branches[index](*operands)``; an index outside is that of the nearest branch.

    In traced code only the branch that is taken runs, and derivatives are those of that branch. An
    index that is known while tracing chooses at once.

    Parameters
    ----------
    index: an integer.
    branches: functions, as those of :func:`gradc.cond`.
    operands: nests of numbers and arrays for the branches.

    Raises
    ------
    DTypeError when ``index`` is no integer; TraceError without branches; ShapeError, DTypeError or
    TraceError when the branches return different shapes, dtypes or nests.
    """
    title = "gradc.switch"
    functions = list(branches)
    if not functions:
        raise trace_error(
            f"{title}: there are no branches to choose from",
            help=f"give a list of functions: {title}(i, [f, g], x)",
        )
    named = [(f"branches[{i}]", function) for i, function in enumerate(functions)]
    for name, function in named:
        check_callable(title, name, function)
    chosen = integer(title, "index", index)
    if isinstance(chosen, int):
        return invoke(functions[min(max(chosen, 0), len(functions) - 1)], *_copies(operands))
    recorded = _Branches(title, named, operands)
    tree = _tree(recorded.functions, 0, recorded.operands)
    given = [as_value(chosen), *recorded.operands]
    return recorded.nested(running().builder.inline(tree, given))


def _copies(operands: Sequence[Any]) -> list[Any]:
    """Return operands that a branch may write to."""
    return [pytree.map_leaves(owned, operand) for operand in operands]


class _Branches:
    """Functions recorded for the same operands, with results of the same types."""

    def __init__(
        self, title: str, named: Sequence[tuple[str, Callable[..., Any]]], operands: Sequence[Any]
    ) -> None:
        given = leaves_of(tuple(operands), "operands", _OPERAND_CURE)
        self._title = title
        self._bodies = [_recorded(title, name, fn, given) for name, fn in named]
        names = [name for name, _ in named]
        results = [body.results[0] for body in self._bodies]
        self._structure = results[0].structure
        self._leaf_types = results[0].leaf_types
        for name, result in zip(names[1:], results[1:]):
            self._leaf_types = self._agreed(names[0], name, results[0], result)
        captured = union(self._bodies)
        self.operands = [*captured, *values_of(given.leaves)]
        self.functions = [body.closed(captured, self._leaf_types) for body in self._bodies]

    def nested(self, values: Sequence[Value]) -> Any:
        """Return the results as the branches return them."""
        return pytree.unflatten(self._structure, tracers_of(values, self._leaf_types))

    def _agreed(self, first: str, other: str, left: Leaves, right: Leaves) -> tuple[LeafType, ...]:
        if left.structure != right.structure:
            raise trace_error(
                f"{self._title}: the branches return different nests",
                found=[f"{first}: {left.structure}", f"{other}: {right.structure}"],
                help="return the same nest from each, * for a number or an array",
            )
        found = []
        for path, have, new in zip(left.paths, self._leaf_types, right.leaf_types, strict=True):
            error = functools.partial(self._error, path, (first, have), (other, new))
            leaf_type = joined(have, new) if same_shape(have, new, error) else None
            if leaf_type is None:
                raise error()
            found.append(leaf_type)
        return tuple(found)

    def _error(self, path: str, left: tuple[str, LeafType], right: tuple[str, LeafType]) -> Any:
        (first, have), (other, new) = left, right
        line = f"{path} is {have} from {first} and {new} from {other}"
        if have.type.shape != new.type.shape:
            return shape_error(
                f"{self._title}: the branches return different shapes",
                found=line,
                help="return the same shape from each: np.full(shape, number), np.broadcast_to(…)",
            )
        wanted = have.type.dtype if have.weak is None else new.type.dtype
        return dtype_error(
            f"{self._title}: the branches return different dtypes",
            found=line,
            help=f"cast one of them: .astype(np.{wanted.numpy})",
        )


def _recorded(title: str, name: str, fn: Callable[..., Any], given: Leaves) -> Body:
    def run(operands: Any) -> tuple[Any]:
        return (invoke(fn, *operands),)

    return record(title, fn, run, [(given.structure, given.leaf_types)], [("result", "")])


def _tree(functions: Sequence[Function], first: int, operands: Sequence[Value]) -> Function:
    """Return the function of (index, operands…) that runs one of the functions.

    ``first`` is the index of the first one. Halving the choice clamps the index, too.
    """
    types = [Type(DType.I64), *(operand.type for operand in operands)]
    with Builder() as builder:
        builder.here = running().builder.here
        index, *rest = params = parameters(types)
        if len(functions) == 1:
            results = builder.inline(functions[0], rest)
        else:
            half = len(functions) // 2
            low = _tree(functions[:half], first, operands)
            high = _tree(functions[half:], first + half, operands)
            results = build.cond(build.lt(index, first + half), low, high, params)
        return builder.function("switch", params, results)
