"""Structured control flow: ops that hold closed functions; captures are explicit operands.

Their meaning is in the interpreter, because it runs the bodies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradc_ir.errors import DTypeError, ShapeError
from gradc_ir.op import Attributes, Op, declare
from gradc_ir.types import DType, Type

if TYPE_CHECKING:
    from gradc_ir.graph import Function


def _expect(name: str, what: str, found: Sequence[Type], wanted: Sequence[Type]) -> None:
    if tuple(found) != tuple(wanted):
        raise ShapeError(
            f"{name}: {what} do not fit",
            found=f"({', '.join(map(str, found))}), wanted ({', '.join(map(str, wanted))})",
        )


def _infer_call(types: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    body: Function = attributes["body"]
    _expect("call", "operands", types, body.param_types)
    vjp: Function | None = attributes["vjp"]
    jvp: Function | None = attributes["jvp"]
    if vjp is not None:
        _expect("call", "vjp parameters", vjp.param_types, body.param_types + body.result_types)
        _expect("call", "gradients", vjp.result_types, body.param_types)
    if jvp is not None:
        _expect("call", "jvp parameters", jvp.param_types, body.param_types * 2)
        _expect("call", "tangents", jvp.result_types, body.result_types)
    return body.result_types


call = declare(
    Op(
        "call",
        "control",
        None,
        _infer_call,
        None,
        attributes=("name", "body", "vjp", "jvp"),
        summary="A function with derivatives of its own: vjp takes the operands and the "
        "results' cotangents to the operands' cotangents, jvp takes operands and tangents to "
        "the results' tangents; None where none is given.",
    )
)


def _infer_scan(types: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    body: Function = attributes["body"]
    consts, carries = attributes["consts"], attributes["carries"]
    init = tuple(types[consts : consts + carries])
    for x in types[consts + carries :]:
        if not x.shape or x.shape[0] != attributes["length"]:
            raise ShapeError(f"scan: {x} has not {attributes['length']} rows")
    rows = tuple(x.with_shape(x.shape[1:]) for x in types[consts + carries :])
    _expect("scan", "operands", (*types[:consts], *init, *rows), body.param_types)
    _expect("scan", "carries", body.result_types[:carries], init)
    return init + tuple(
        y.with_shape((attributes["length"], *y.shape)) for y in body.result_types[carries:]
    )


scan = declare(
    Op(
        "scan",
        "control",
        None,
        _infer_scan,
        None,
        attributes=("body", "consts", "carries", "length", "reverse"),
        summary="A loop: body takes consts, carries and one row of each further operand to "
        "carries and one row of each further result; last carries and stacked rows.",
    )
)


def _infer_while(types: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    condition: Function = attributes["condition"]
    body: Function = attributes["body"]
    split = attributes["condition_consts"]
    end = split + attributes["body_consts"]
    init = tuple(types[end:])
    _expect("while", "condition operands", (*types[:split], *init), condition.param_types)
    _expect("while", "the condition's results", condition.result_types, (Type(DType.BOOL),))
    _expect("while", "body operands", (*types[split:end], *init), body.param_types)
    _expect("while", "carries", body.result_types, init)
    return init


while_ = declare(
    Op(
        "while",
        "control",
        None,
        _infer_while,
        None,
        attributes=("condition", "body", "condition_consts", "body_consts"),
        summary="A loop that runs body on the carries as long as condition holds.",
    )
)


def _infer_cond(types: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    then: Function = attributes["then"]
    otherwise: Function = attributes["otherwise"]
    if not types or types[0] != Type(DType.BOOL):
        raise DTypeError("cond: the first operand must be a bool scalar")
    _expect("cond", "operands of then", types[1:], then.param_types)
    _expect("cond", "operands of otherwise", types[1:], otherwise.param_types)
    _expect("cond", "the branches' results", otherwise.result_types, then.result_types)
    return then.result_types


cond = declare(
    Op(
        "cond",
        "control",
        None,
        _infer_cond,
        None,
        attributes=("then", "otherwise"),
        summary="The results of then or of otherwise; only that one runs.",
    )
)
