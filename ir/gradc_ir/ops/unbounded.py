"""Formulas whose exponents have no bound: what long products and quotients become in the end."""

from __future__ import annotations

from collections.abc import Sequence

from gradc_ir.core.op import Attributes, Op, declare
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import DTypeError
from gradc_ir.ops.elementwise import same_dtype, same_shape
from gradc_ir.wide_exponents.arithmetic import compute
from gradc_ir.wide_exponents.arithmetic import recover as recovered
from gradc_ir.wide_exponents.formulas import ARITHMETIC, WORDS, parse_formulas


def _is_float(dtype: DType) -> bool:
    return dtype.is_float


def _infer(types: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    return _type_of("unbounded", types, types, attributes, ARITHMETIC)


def _infer_recover(types: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    formulas = parse_formulas(attributes["formulas"])
    starts = types[len(formulas.results) : len(types) - attributes["guards"]]
    return _type_of("recover", types, starts, attributes, frozenset(WORDS))


def _type_of(
    name: str,
    types: Sequence[Type],
    starts: Sequence[Type],
    attributes: Attributes,
    words: frozenset[str],
) -> tuple[Type, ...]:
    """Return the type of what formulas of ``words`` make of some of the operands."""
    if not starts:
        raise DTypeError(f"{name}: a formula has operands")
    same_shape(name, types)
    same_dtype(name, types, _is_float)
    steps, results = parse_formulas(attributes["formulas"])
    count = len(starts)
    for step in steps:
        if step.word not in words:
            raise DTypeError(f"{name}: no step of these formulas: {step.word}")
        if any(isinstance(each, int) and not 0 <= each < count for each in step.operands):
            raise DTypeError(f"{name}: {step.word} asks for a value that is not there")
        count += 1
    if not 0 <= attributes["result"] < len(results) or max(results) >= count:
        raise DTypeError(f"{name}: a result that is not there")
    return (types[0],)


declare(
    Op(
        "unbounded",
        "unbounded",
        None,
        _infer,
        compute,
        attributes=("formulas", "result"),
        scalar="unbounded",
        summary="A formula that over- and underflows only in its result.",
    )
)
declare(
    Op(
        "recover",
        "unbounded",
        None,
        _infer_recover,
        recovered,
        attributes=("formulas", "result", "guards"),
        scalar="recover",
        summary="What is finite as it is; where it is not, a formula of what comes behind it.",
    )
)
