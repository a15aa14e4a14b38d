"""Carries: what goes from one step of a loop to the next keeps its nest, its shapes and dtypes.

What starts as a Python number takes the dtype that the body returns, as it would in a loop of
Python's; what starts as an array or a number of NumPy has the dtype it will have in every step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from gradc.arguments.pytree import Structure
from gradc.control.bodies import Body, record
from gradc.control.leaf_types import LeafType, Leaves, joined
from gradc.tracing import current
from gradc.tracing.core import source
from gradc.tracing.core.promote import unify
from gradc.tracing.core.source import trace_error
from gradc_ir.core.sizes import Size
from gradc_ir.errors import DTypeError, ShapeError, TraceError


def next_types(
    title: str, start: Leaves, leaf_types: Sequence[LeafType], after: Leaves
) -> tuple[LeafType, ...]:
    """Return the types of carries that were ``leaf_types`` before a step, ``after`` after it.

    They are the same unless a Python number takes another dtype.

    Parameters
    ----------
    title: the function of gradc, for messages.
    start: the carry the loop starts with.

    Raises
    ------
    TraceError when the nest is another one, ShapeError and DTypeError when a leaf is.
    """
    if start.structure != after.structure:
        raise _nest_error(title, start.structure, after.structure)
    new_types = after.leaf_types
    if new_types == tuple(leaf_types):
        return new_types
    found = []
    wrong: list[tuple[str, LeafType, LeafType]] = []
    for path, leaf_type, new in zip(start.paths, leaf_types, new_types, strict=True):
        fits = same_shape(
            leaf_type, new, functools.partial(_error, title, [(path, leaf_type, new)])
        )
        kept = joined(leaf_type, new) if fits else None
        if kept is None or (leaf_type.weak is None and kept.type.dtype is not leaf_type.type.dtype):
            wrong.append((path, leaf_type, new))
        else:
            found.append(kept)
    if wrong:
        raise _error(title, wrong)
    return tuple(found)


def record_step(
    title: str,
    fn: Callable[..., Any],
    run: Callable[..., Any],
    init: Leaves,
    rows: Sequence[tuple[Structure, Sequence[LeafType]]],
    results: Sequence[tuple[str, str]],
) -> tuple[Body, tuple[LeafType, ...]]:
    """Record the body of a loop, whose first argument and result is the carry.

    Python numbers take the dtypes that it returns, so it is recorded again until it keeps them.
    Takes what :func:`gradc.control.bodies.record` takes, ``rows`` for the further arguments; also
    returns the types of the carry. Raises as :func:`next_types` does.
    """
    types = tuple(map(_of_any_form, init.leaf_types))
    while True:
        body = record(title, fn, run, [(init.structure, types), *rows], results)
        found = next_types(title, init, types, body.results[0])
        if found == types:
            return body, types
        types = found


def _of_any_form(leaf_type: LeafType) -> LeafType:
    """Return the type of a carry: whether it stays a Python number any argument may decide."""
    if leaf_type.type.shape or (leaf_type.weak is None and not leaf_type.forms):
        return leaf_type
    trace = current()
    return leaf_type if trace is None else replace(leaf_type, forms=trace.root.numbers)


def same_shape(left: LeafType, right: LeafType, error: Callable[[], ShapeError]) -> bool:
    """Whether two types have one shape; sizes of which nobody knows yet are asked to be equal."""
    a, b = left.type.shape, right.type.shape
    if a == b:
        return True
    open_questions = [(p, q) for p, q in zip(a, b) if p != q]
    if len(a) != len(b) or any(_differ(p, q) for p, q in open_questions):
        return False
    for p, q in open_questions:
        unify(p, q, error)
    return True


def _differ(left: Size, right: Size) -> bool:
    # 1 is a size that broadcasts: no symbol stands for it
    return (isinstance(left, int) and isinstance(right, int)) or 1 in (left, right)


def _nest_error(title: str, start: Structure, after: Structure) -> TraceError:
    nothing = after.leaves == 0 and str(after) == "None"
    return trace_error(
        f"{title}: the body returns another nest than it is given",
        found=[f"at the start: {_shown(start)}", f"after the body: {_shown(after)}"],
        help="end the body with `return` and the new carry"
        if nothing
        else "return the carry in the nest it starts with, * for a number or an array",
    )


def _shown(structure: Structure) -> str:
    text = str(structure)
    return text if len(text) <= 120 else f"{text[:117]}…"


def _error(title: str, wrong: Sequence[tuple[str, LeafType, LeafType]]) -> Any:
    path, leaf_type, new = wrong[0]
    shapes = leaf_type.type.shape != new.type.shape
    lines = [f"{name} is {a} at the start and {b} after the body" for name, a, b in wrong]
    return (ShapeError if shapes else DTypeError)(
        f"{title}: a carry has to keep its {'shape' if shapes else 'dtype'}",
        at=source.location(),
        found=lines,
        help=_shape_cure(path, leaf_type, new) if shapes else _cast_cure(path, leaf_type, new),
    )


def _shape_cure(path: str, leaf_type: LeafType, new: LeafType) -> str:
    shape = new.type.shape
    missing = len(shape) - leaf_type.type.rank
    if missing >= 0 and all(a in (1, b) for a, b in zip(leaf_type.type.shape, shape[missing:])):
        text = f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"
        return f"start with the shape of the later steps: np.broadcast_to({path}, {text})"
    return "shapes are the same in every step: write into an array that is long enough, x[i] = v"


def _cast_cure(path: str, leaf_type: LeafType, new: LeafType) -> str:
    before, after = (f"np.{one.type.dtype.numpy}" for one in (leaf_type, new))
    if leaf_type.type.shape:
        return f"start with {path}.astype({after}), or return it as .astype({before})"
    return f"start with {after}({path}), or return {before}(…)"
