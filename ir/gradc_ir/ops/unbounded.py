"""Formulas whose exponents have no bound: what long products and quotients become in the end."""

from __future__ import annotations

from collections.abc import Sequence

from gradc_ir import unbounded as meaning
from gradc_ir.errors import DTypeError
from gradc_ir.op import Attributes, Op, declare
from gradc_ir.ops.elementwise import same_dtype, same_shape
from gradc_ir.types import DType, Type


def _is_float(dtype: DType) -> bool:
    return dtype.is_float


def _infer(types: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    if not types:
        raise DTypeError("unbounded: a formula has operands")
    same_shape("unbounded", types)
    same_dtype("unbounded", types, _is_float)
    steps, results = meaning.parse_formulas(attributes["formulas"])
    count = len(types)
    for step in steps:
        if any(isinstance(each, int) and not 0 <= each < count for each in step.operands):
            raise DTypeError(f"unbounded: {step.word} asks for a value that is not there")
        count += 1
    if not 0 <= attributes["result"] < len(results) or max(results) >= count:
        raise DTypeError("unbounded: a result that is not there")
    return (types[0],)


unbounded = declare(
    Op(
        "unbounded",
        "unbounded",
        None,
        _infer,
        meaning.compute,
        attributes=("formulas", "result"),
        scalar="unbounded",
        summary="A formula that over- and underflows only in its result.",
    )
)
