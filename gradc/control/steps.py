"""How often a loop runs, what it visits, and how many of its carries reverse mode stores."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.arguments import pytree
from gradc.control.bodies import described
from gradc.control.leaf_types import LeafType, Leaves, leaves_of
from gradc.tracing import Tracer, current
from gradc.tracing.core.as_tracer import as_tracer
from gradc.tracing.core.promote import unify
from gradc.tracing.core.source import dtype_error, shape_error, trace_error
from gradc.tracing.core.state import running
from gradc.tracing.core.symbolic_size import SymbolicSize, as_size
from gradc.tracing.core.tracer import make, read
from gradc_ir import build
from gradc_ir.classes.quick import dataclass
from gradc_ir.core import sizes
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Shape, Size
from gradc_ir.core.types import DType


@dataclass(frozen=True)
class Steps:
    """How often a loop runs.

    Parameters
    ----------
    length: the number of steps; None when only the running program knows it.
    count: that number then.
    """

    length: Size | None
    count: Value | None = None


def integer(title: str, name: str, given: Any) -> Size | Tracer:
    """Return an integer a user gave as a size, or as a tracer when it is not known.

    Raises DTypeError for what is no integer, ShapeError for an array.
    """
    if isinstance(given, SymbolicSize):
        return given.expr
    if isinstance(given, Tracer) and given.known is not None:
        given = given.known
    if isinstance(given, np.ndarray) and given.ndim == 0:
        given = given[()]
    if isinstance(given, Tracer):
        if given.type.shape:
            raise shape_error(
                f"{title}: {name} is an array, not a number",
                found=f"{name}: {given.type}",
            )
        if given.type.dtype.is_integer:
            return given
    elif isinstance(given, int | np.integer) and not isinstance(given, bool):
        return int(given)
    raise dtype_error(
        f"{title}: {name} has to be an integer, it is {described(given)}",
        help=f"round it where that is meant: np.int64({name})",
    )


def as_value(number: Size | Tracer) -> Value:
    """Return an integer as an i64 value of the running trace."""
    if isinstance(number, Tracer):
        return build.cast(read(number), DType.I64)
    return build.size_value(number)


def rows_of(title: str, xs: Any) -> Leaves:
    """Return the leaves of what a loop goes through, as arrays; each has a first axis.

    Raises ShapeError for a leaf that is a number, or when their first axes are not of one size.
    """
    found = leaves_of(pytree.map_leaves(_array, xs), "xs", f"{title} goes through arrays")
    first: tuple[str, Size] | None = None
    for path, leaf in zip(found.paths, found.leaves):
        shape = _shape_of(leaf)
        if not shape:
            raise shape_error(
                f"{title}: {path} is a number, it has no rows to go through",
                help="a list is a nest of arrays here: write np.array([…]) for the array of its "
                "numbers",
            )
        if first is None:
            first = path, shape[0]
        else:
            _same_length(title, (*first, "rows"), (path, shape[0], "rows"))
    return found


def _array(leaf: Any) -> Any:
    if isinstance(leaf, range):
        leaf = np.array(leaf)
    if isinstance(leaf, Tracer) or not isinstance(leaf, np.ndarray) or current() is None:
        return leaf
    return as_tracer(leaf)


def _same_length(title: str, left: tuple[str, Size, str], right: tuple[str, Size, str]) -> None:
    error = shape_error(
        f"{title}: {left[0]} and {right[0]} are not of one length",
        found=[f"{name}: {size} {unit}".rstrip() for name, size, unit in (left, right)],
        help="take the rows that both have: x[:n]",
    )
    if left[1] != right[1] and 1 in (left[1], right[1]):
        raise error  # a size that broadcasts; no symbol stands for it
    unify(left[1], right[1], lambda: error)


def length_of(title: str, rows: Leaves, length: Any) -> Size | Tracer:
    """Return how many steps a loop makes through rows, or as often as ``length`` says.

    Raises TraceError when nothing says it, ShapeError when rows and length do not agree.
    """
    given = None if length is None else integer(title, "length", length)
    if isinstance(given, int) and given < 0:
        raise shape_error(
            f"{title}: length is {given}, below 0",
        )
    if not rows.leaves:
        if given is None:
            raise trace_error(
                f"{title}: nothing says how many steps it makes",
                help=f"give it arrays to go through, {title}(f, init, xs), or length=n",
            )
        return given
    count = _shape_of(rows.leaves[0])[0]
    if isinstance(given, Tracer):
        raise trace_error(
            f"{title}: length is not known while the function is traced, but xs has rows",
            found=f"{rows.paths[0]}: {count} rows",
            help="leave length out, and have the body do nothing in the steps beyond it: np.where",
        )
    if given is not None:
        _same_length(title, (rows.paths[0], count, "rows"), ("length", given, "steps"))
    return count


def _shape_of(leaf: Any) -> Shape:
    return leaf.type.shape if isinstance(leaf, Tracer) else np.shape(leaf)


def row_of(leaf: Any, i: int) -> Any:
    """Return a copy of a row of an array, which the body may write to."""
    row = np.asarray(leaf)[i]
    return np.array(row) if isinstance(row, np.ndarray) else row


def row_type_of(leaf: Tracer) -> LeafType:
    """Return the type of a row of a traced array."""
    return LeafType(leaf.type.with_shape(leaf.type.shape[1:]))


def slots(title: str, checkpoint: Any, length: Size | None) -> Size | None:
    """Return with how many stored carries reverse mode is to run; None for all it needs.

    ``"sqrt"`` is as many as keep both the carries and the steps between two of them few: about the
    root of twice the number of steps.
    """
    if checkpoint is None:
        return None
    if isinstance(checkpoint, str) and checkpoint == "sqrt":
        if length is None:
            raise trace_error(
                f'{title}: checkpoint="sqrt" needs a number of steps known before the loop',
                help="give the number of carries to store: checkpoint=100",
            )
        return sizes.square_root(2 * length) + 1
    if isinstance(checkpoint, int | np.integer | SymbolicSize) and not isinstance(checkpoint, bool):
        found = as_size(checkpoint)
        if not isinstance(found, int) or found >= 1:
            return found
    raise trace_error(
        f"{title}: checkpoint={checkpoint!r:.40} is no way to store carries",
        help='pass "sqrt", or how many carries to store, at least 1',
    )


def counter(length: Size, first: Size) -> Tracer:
    """Return the integers from the first one on, as rows."""
    numbers = build.iota(DType.I64, length)
    if first != 0:
        offset = build.size_value(first)
        numbers = numbers + build.broadcast_to(offset, (length,))
    return make(running(), numbers)
