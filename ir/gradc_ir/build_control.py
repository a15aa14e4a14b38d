"""Smart constructors of control flow; :mod:`gradc_ir.build` has them beside all others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradc_ir.core.builder import active
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import Size
from gradc_ir.ops import TABLE


def call(
    operands: Sequence[Value],
    *,
    name: str,
    body: Function,
    vjp: Function | None = None,
    jvp: Function | None = None,
    constants: Sequence[str] = (),
) -> tuple[Value, ...]:
    """Return the results of a function that carries its own derivatives.

    ``constants`` has a name for each operand that those have no derivative by, "" for the others.
    """
    named = tuple(constants) if any(constants) else ()
    return _apply("call", *operands, name=name, body=body, vjp=vjp, jvp=jvp, constants=named)


def checkpoint(body: Function, operands: Sequence[Value]) -> tuple[Value, ...]:
    """Return the results of a function whose inner values reverse mode computes again."""
    return _apply("checkpoint", *operands, body=body)


def scan(
    body: Function,
    consts: Sequence[Value],
    init: Sequence[Value],
    rows: Sequence[Value],
    *,
    length: Size | None,
    reverse: bool = False,
    count: Value | None = None,
    checkpoint: Size | None = None,
) -> tuple[Value, ...]:
    """Return the last carries and the stacked rows of a loop; ``count`` is an i64 scalar."""
    counted = count is not None
    operands = [*([count] if count is not None else []), *consts, *init, *rows]
    return _apply(
        "scan",
        *operands,
        body=body,
        consts=len(consts),
        carries=len(init),
        length=length,
        reverse=reverse,
        counted=counted,
        checkpoint=checkpoint,
    )


def while_loop(
    condition: Function,
    body: Function,
    condition_consts: Sequence[Value],
    body_consts: Sequence[Value],
    init: Sequence[Value],
    *,
    length: Size | None = None,
) -> tuple[Value, ...]:
    """Return the last carries, the stacked rows and the number of steps of a loop."""
    return _apply(
        "while",
        *condition_consts,
        *body_consts,
        *init,
        condition=condition,
        body=body,
        condition_consts=len(condition_consts),
        body_consts=len(body_consts),
        length=length,
    )


def cond(
    pred: Value, then: Function, otherwise: Function, operands: Sequence[Value]
) -> tuple[Value, ...]:
    """Return the results of one of two functions, chosen by a bool scalar."""
    return _apply("cond", pred, *operands, then=then, otherwise=otherwise)


def _apply(name: str, /, *operands: Value, **attributes: Any) -> tuple[Value, ...]:
    return active().apply(TABLE[name], operands, attributes).results
