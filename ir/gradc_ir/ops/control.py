"""Structured control flow: ops that hold closed functions; captures are explicit operands.

Their meaning is in the interpreter, because it runs the bodies.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc_ir.core.graph import Function
from gradc_ir.core.op import declare
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType, Type, Types
from gradc_ir.errors import DTypeError, ShapeError


def _expect(name: str, what: str, found: Sequence[Type], wanted: Sequence[Type]) -> None:
    if tuple(found) != tuple(wanted):
        raise ShapeError(
            f"{name}: {what} do not fit",
            found=f"({', '.join(map(str, found))}), wanted ({', '.join(map(str, wanted))})",
        )


def _stacked(name: str, length: Size | None, rows: Sequence[Type]) -> Types:
    if length is None and rows:
        raise ShapeError(f"{name}: rows need a length")
    return tuple(row.with_shape((length, *row.shape)) for row in rows)  # type: ignore[arg-type]


def _infer_call(
    *types: Type,
    name: str,
    body: Function,
    vjp: Function | None,
    jvp: Function | None,
    constants: Sequence[str],
) -> Types:
    _expect("call", "operands", types, body.param_types)
    if vjp is not None:
        _expect("call", "vjp parameters", vjp.param_types, body.param_types + body.result_types)
        _expect("call", "gradients", vjp.result_types, body.param_types)
    if jvp is not None:
        _expect("call", "jvp parameters", jvp.param_types, body.param_types * 2)
        _expect("call", "tangents", jvp.result_types, body.result_types)
    if len(constants) not in (0, len(types)):
        raise ShapeError("call: constants has one name an operand, or none at all")
    return body.result_types


declare(
    "call",
    "control",
    None,
    _infer_call,
    None,
    attributes=("name", "body", "vjp", "jvp", "constants"),
    summary="A function with derivatives of its own: vjp takes the operands and the "
    "results' cotangents to the operands' cotangents, jvp takes operands and tangents to "
    "the results' tangents; None where none is given. Constants: for each operand that the "
    "rules have no derivative by what a user calls it, for the others nothing.",
)


def _infer_checkpoint(*types: Type, body: Function) -> Types:
    _expect("checkpoint", "operands", types, body.param_types)
    return body.result_types


declare(
    "checkpoint",
    "control",
    None,
    _infer_checkpoint,
    None,
    attributes=("body",),
    summary="A function that is kept apart: in reverse mode its inner values are not kept but "
    "computed again.",
)


def _infer_scan(
    *types: Type,
    body: Function,
    consts: int,
    carries: int,
    length: Size | None,
    counted: bool,
    **_: object,
) -> Types:
    if counted:
        if not types or types[0] != Type(DType.I64):
            raise DTypeError("scan: the first operand, the count, must be an i64 scalar")
        types = types[1:]
    elif length is None:
        raise ShapeError("scan: it has neither a length nor a count")
    init = types[consts : consts + carries]
    for x in types[consts + carries :]:
        if not x.shape or x.shape[0] != length:
            raise ShapeError(f"scan: {x} has not {length} rows")
    rows = tuple(x.with_shape(x.shape[1:]) for x in types[consts + carries :])
    _expect("scan", "operands", (*types[:consts], *init, *rows), body.param_types)
    _expect("scan", "carries", body.result_types[:carries], init)
    return init + _stacked("scan", length, body.result_types[carries:])


declare(
    "scan",
    "control",
    None,
    _infer_scan,
    None,
    attributes=("body", "consts", "carries", "length", "reverse", "counted", "checkpoint"),
    summary="A loop: body takes consts, carries and one row of each further operand to "
    "carries and one row of each further result; last carries and stacked rows. Reverse goes "
    "from the last row to the first. Counted: the first operand is how many rows are visited, "
    "the first ones; the others' results are zeros. Checkpoint: how many carries reverse mode "
    "stores, none for what it needs of every step.",
)


def _infer_while(
    *types: Type,
    condition: Function,
    body: Function,
    condition_consts: int,
    body_consts: int,
    length: Size | None,
) -> Types:
    split, end = condition_consts, condition_consts + body_consts
    init = types[end:]
    _expect("while", "condition operands", (*types[:split], *init), condition.param_types)
    _expect("while", "the condition's results", condition.result_types, (Type(DType.BOOL),))
    _expect("while", "body operands", (*types[split:end], *init), body.param_types)
    _expect("while", "carries", body.result_types[: len(init)], init)
    rows = _stacked("while", length, body.result_types[len(init) :])
    return (*init, *rows, Type(DType.I64))


declare(
    "while",
    "control",
    None,
    _infer_while,
    None,
    attributes=("condition", "body", "condition_consts", "body_consts", "length"),
    summary="A loop that runs body on the carries as long as condition holds, at most length "
    "times; last carries, stacked rows of the body's further results, and how often it ran.",
)


def _infer_cond(*types: Type, then: Function, otherwise: Function) -> Types:
    if not types or types[0] != Type(DType.BOOL):
        raise DTypeError("cond: the first operand must be a bool scalar")
    _expect("cond", "operands of then", types[1:], then.param_types)
    _expect("cond", "operands of otherwise", types[1:], otherwise.param_types)
    _expect("cond", "the branches' results", otherwise.result_types, then.result_types)
    return then.result_types


declare(
    "cond",
    "control",
    None,
    _infer_cond,
    None,
    attributes=("then", "otherwise"),
    summary="The results of then or of otherwise; only that one runs.",
)
