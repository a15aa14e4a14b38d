"""``fori_loop`` and ``while_loop``: a carry that goes round a number of times, or while it may."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradc.arguments import pytree
from gradc.control.bodies import check_callable, invoke, record, union
from gradc.control.carries import record_step
from gradc.control.leaf_types import (
    LeafType,
    Leaves,
    cast_values,
    leaves_of,
    tracers_of,
    values_of,
)
from gradc.control.predicates import as_bool, truth_of
from gradc.control.stepping import CARRY_CURE, Carried, Loop
from gradc.control.steps import Steps, as_value, counter, integer, slots
from gradc.traceback import boundary
from gradc.tracing import Tracer, current
from gradc.tracing.core import source
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.tracer import weak_number
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.limit import too_many_steps

_COUNTER = LeafType(Type(DType.I64), int)


@boundary
def fori_loop(
    lower: Any, upper: Any, body: Callable[[Any, Any], Any], init: Any, *, checkpoint: Any = None
) -> Any:
    """Return the carry after ``body`` was applied for each integer from lower to upper.

    The same as::

        carry = init
        for i in range(lower, upper):
            carry = body(i, carry)
        return carry

    In traced code it is one operation, whatever the number of steps; elsewhere it is that loop.

    Parameters
    ----------
    lower, upper: integers; traced ones, and sizes such as ``len(x)``, too.
    body: takes the integer and the carry, returns the new carry. It may use traced values around
        it. The integer is one of Python's, as in a ``for``: it yields to the dtype of arrays.
    init: the first carry, any nest of numbers and arrays. Shapes and dtypes stay what they are; a
        Python number takes the dtype that ``body`` returns (in traced code, int64 for an integer).
        Arrays of it are not changed.
    checkpoint: with how many stored carries reverse mode is to run; see :func:`gradc.scan`.

    Raises
    ------
    DTypeError for a bound that is no integer; ShapeError, DTypeError or TraceError when the carry
    changes its shapes, its dtypes or its nest.
    """
    title = "gradc.fori_loop"
    check_callable(title, "body", body)
    first, last = integer(title, "lower", lower), integer(title, "upper", upper)
    carried = leaves_of(init, "carry", CARRY_CURE)
    loop = Loop(title, body, lambda carry, i: (invoke(body, i, carry), None), carried)
    if current() is None:
        slots(title, checkpoint, 1)
        return loop.run(range(first, last))[0]  # type: ignore[arg-type]
    if isinstance(first, Tracer) or isinstance(last, Tracer):
        return _counted(title, first, last, body, carried, checkpoint)
    length = sizes.maximum(last - first, 0)
    return loop.recorded(
        leaves_of(counter(length, first), "i"),
        [_COUNTER],
        Steps(length),
        checkpoint=slots(title, checkpoint, length),
    )[0]


def _counted(
    title: str,
    first: Size | Tracer,
    last: Size | Tracer,
    body: Callable[[Any, Any], Any],
    carried: Leaves,
    checkpoint: Any,
) -> Any:
    """Build a loop whose number of steps only the running program knows: it carries its integer."""

    def step(carry: Any, _: None) -> tuple[Any, None]:
        i = carry["i"]
        return {"i": i + 1, "carry": invoke(body, i, carry["carry"])}, None

    start = as_value(first)
    init = leaves_of({"i": weak_number(start, int), "carry": carried.nest}, "")
    steps = Steps(None, as_value(last) - start)
    loop = Loop(title, body, step, init)
    last_carry, _ = loop.recorded(
        leaves_of(None, "xs"), [], steps, checkpoint=slots(title, checkpoint, None)
    )
    return last_carry["carry"]


@boundary
def while_loop(
    cond: Callable[[Any], Any], body: Callable[[Any], Any], init: Any, *, max_iter: Any = None
) -> Any:
    """Return the carry after ``body`` was applied as long as ``cond`` of it is true.

    The same as::

        carry = init
        while cond(carry):
            carry = body(carry)
        return carry

    In traced code it is one operation; elsewhere it is that loop.

    Parameters
    ----------
    cond: takes the carry, returns one truth value, or a number, of which 0 is false.
    body: takes the carry, returns the new one. Both may use traced values around them.
    init: the first carry, any nest of numbers and arrays. Shapes and dtypes stay what they are; a
        Python number takes the dtype that ``body`` returns (in traced code, int64 for an integer).
        Arrays of it are not changed.
    max_iter: the most steps it may take, an integer or a size. Reverse mode then has room for so
        many; without it, the room grows with the steps.

    Raises
    ------
    LoopError when ``cond`` still holds after ``max_iter`` steps; ShapeError, DTypeError or
    TraceError when the carry changes its shapes, its dtypes or its nest, or when ``cond`` returns
    no truth value.
    """
    title = "gradc.while_loop"
    check_callable(title, "cond", cond)
    check_callable(title, "body", body)
    carried = leaves_of(init, "carry", CARRY_CURE)
    limit = _limit(title, max_iter)
    if current() is not None:
        return _record_while(title, cond, body, carried, limit)
    running = Carried(title, carried)
    step = 0
    while truth_of(title, "what cond returns", cond(running.nest)):
        if step == limit:
            raise too_many_steps(limit, source.location())
        running.take(body(running.nest))
        step += 1
    return running.nest


def _limit(title: str, max_iter: Any) -> Size | None:
    if max_iter is None:
        return None
    found = integer(title, "max_iter", max_iter)
    if isinstance(found, Tracer) or (isinstance(found, int) and found < 0):
        raise trace_error(
            f"{title}: max_iter has to be known before the loop, and at least 0",
            found="it is a traced value" if isinstance(found, Tracer) else f"it is {found}",
            help="ask for the number in the condition: carry the number of steps",
        )
    return found


def _record_while(
    title: str,
    cond: Callable[[Any], Any],
    body: Callable[[Any], Any],
    init: Leaves,
    limit: Size | None,
) -> Any:
    step, leaf_types = record_step(
        title, body, lambda carry: (invoke(body, carry),), init, [], [("carry", CARRY_CURE)]
    )
    (carry,) = step.results

    def condition(carry: Any) -> tuple[Any]:
        return (as_bool(title, "what cond returns", invoke(cond, carry)),)

    test = record(title, cond, condition, [(init.structure, leaf_types)], [("cond", "")])
    asked, stepped = union([test]), union([step])
    results = build.while_loop(
        test.closed(asked, test.leaf_types),
        step.closed(stepped, leaf_types),
        asked,
        stepped,
        cast_values(values_of(init.leaves), leaf_types),
        length=limit,
    )
    return pytree.unflatten(carry.structure, tracers_of(results[: len(leaf_types)], leaf_types))
