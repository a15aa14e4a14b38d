"""``scan`` and ``map``: a function applied row by row, with and without a carry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gradc.arguments import pytree
from gradc.control.bodies import check_callable, described, interpreted, invoke, name_of
from gradc.control.leaf_types import Leaves, leaves_of
from gradc.control.stepping import CARRY_CURE, Loop, stacked_rows
from gradc.control.steps import (
    Steps,
    as_value,
    length_of,
    row_of,
    row_type_of,
    rows_of,
    slots,
)
from gradc.traceback import boundary
from gradc.tracing import Tracer, current
from gradc.tracing.core.source import trace_error


@boundary
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: Any = None,
    *,
    reverse: bool = False,
    checkpoint: Any = None,
) -> tuple[Any, Any]:
    """Go through the rows of arrays with a carry; return the last carry and the stacked rows.

    The same as::

        carry, ys = init, []
        for x in xs:
            carry, y = f(carry, x)
            ys.append(y)
        return carry, np.stack(ys)

    In traced code it is one operation, whatever the number of rows; elsewhere it is that loop.

    Parameters
    ----------
    f: takes the carry and a row, returns the new carry and a y. It may use traced values around it.
    init: the first carry, any nest of numbers and arrays. Shapes and dtypes stay what they are; a
        Python number takes the dtype that ``f`` returns (in traced code, int64 for an integer).
        Arrays of it are not changed.
    xs: a nest of arrays with a first axis of one size, or None with ``length``.
    length: the number of steps, where ``xs`` does not tell it.
    reverse: go from the last row to the first; a row of ys still belongs to its row of xs.
    checkpoint: what reverse mode keeps. By default all it needs of each step; a number is how many
        carries it stores, to compute the steps between them again; ``"sqrt"`` stores about the
        square root of twice the number of steps.

    Raises
    ------
    ShapeError when arrays have different numbers of rows, ShapeError, DTypeError or TraceError when
    the carry changes its shapes, its dtypes or its nest.
    """
    title = "gradc.scan"
    check_callable(title, "f", f)

    def step(carry: Any, x: Any) -> tuple[Any, Any]:
        found = invoke(f, carry, x)
        if not isinstance(found, tuple) or len(found) != 2:
            raise trace_error(
                f"{title}: {name_of(f)} has to return the carry and a y, a tuple of two",
                found=f"it returns {described(found)}"
                + (f" of {len(found)}" if isinstance(found, tuple | list) else ""),
                help="write return carry, y; with no y, return carry, None",
            )
        return found[0], found[1]

    return _run(title, f, step, init, xs, length, reverse, checkpoint)


@boundary
def map(f: Callable[[Any], Any], xs: Any, *, checkpoint: Any = None) -> Any:
    """Return the stacked results of a function of each row of arrays.

    Parameters
    ----------
    f: takes a row, in the nest of ``xs``.
    xs: a nest of arrays with a first axis of one size.
    checkpoint: as in :func:`scan`.

    It is a loop; ``gradc.vmap`` computes with all rows at once. Raises as :func:`scan` does.
    """
    check_callable("gradc.map", "f", f)

    def step(_: None, x: Any) -> tuple[None, Any]:
        return None, invoke(f, x)

    return _run("gradc.map", f, step, None, xs, None, False, checkpoint)[1]


def _run(
    title: str,
    f: Any,
    step: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any,
    length: Any,
    reverse: bool,
    checkpoint: Any,
) -> tuple[Any, Any]:
    rows = rows_of(title, xs)
    trips = length_of(title, rows, length)
    loop = Loop(title, f, step, leaves_of(init, "carry", CARRY_CURE))
    if current() is not None:
        steps = Steps(None, as_value(trips)) if isinstance(trips, Tracer) else Steps(trips)
        return loop.recorded(
            rows,
            [row_type_of(leaf) for leaf in rows.leaves],
            steps,
            reverse=bool(reverse),
            checkpoint=slots(title, checkpoint, steps.length),
        )
    assert isinstance(trips, int)
    slots(title, checkpoint, trips)
    if trips == 0:
        # recording it tells the types of its results
        found: tuple[Any, Any] = interpreted(
            lambda init, xs: _run(title, f, step, init, xs, trips, False, None), (init, rows.nest)
        )
        return found
    carry, made = loop.run(_visited(rows, trips, reverse))
    return carry, stacked_rows(title, made[::-1] if reverse else made)


def _visited(rows: Leaves, length: int, reverse: bool) -> Iterator[Any]:
    for i in reversed(range(length)) if reverse else range(length):
        yield pytree.unflatten(rows.structure, [row_of(leaf, i) for leaf in rows.leaves])
