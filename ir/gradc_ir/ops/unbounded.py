"""Formulas whose exponents have no bound: what long products and quotients become in the end.

A formula is the body of its op, a closed Function of numbers, which no pass looks into. A bool
parameter takes the number 1 or 0.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from gradc_ir.core.graph import Function
from gradc_ir.core.op import declare
from gradc_ir.core.types import DType, Type, Types
from gradc_ir.errors import DTypeError
from gradc_ir.ops.elementwise import same_dtype, same_shape
from gradc_ir.wide_exponents.arithmetic import compute
from gradc_ir.wide_exponents.arithmetic import recover as recovered
from gradc_ir.wide_exponents.formulas import ARITHMETIC
from gradc_ir.wide_exponents.functions import WORDS


def _is_float(dtype: DType) -> bool:
    return dtype.is_float


def _infer_recover(
    *types: Type,
    body: Function,
    result: int,
    guards: int,
    witnesses: int = 0,
    guarded: tuple[int, ...] = (),
) -> Types:
    if guarded and len(guarded) != guards:
        raise DTypeError(f"recover: {len(guarded)} guards say what they are of, of {guards}")
    starts = types[len(body.results) + witnesses : len(types) - guards]
    return _type_of("recover", types, starts, body, result)


def _type_of(
    name: str, types: Sequence[Type], starts: Sequence[Type], body: Function, result: int
) -> Types:
    """Return the type of what formulas make of some of the operands."""
    if not starts:
        raise DTypeError(f"{name}: a formula has operands")
    same_shape(name, types)
    dtype = same_dtype(name, types, _is_float)
    if len(body.params) != len(starts):
        raise DTypeError(f"{name}: {len(starts)} operands for {len(body.params)} of the formula")
    _check(name, body, Type(dtype))
    if not 0 <= result < len(body.results):
        raise DTypeError(f"{name}: a result that is not there")
    return (types[0],)


@functools.lru_cache(maxsize=256)
def _check(name: str, body: Function, number: Type) -> None:
    """Raise DTypeError unless formulas are made of steps that the op has, on numbers."""
    words = ARITHMETIC if name == "unbounded" else WORDS
    for node in body.nodes:
        if node.op.name not in words and node.op.name not in ("param", "constant"):
            raise DTypeError(f"{name}: no step of these formulas: {node.op.name}")
        if node.results[0].type not in (number, Type(DType.BOOL)):
            raise DTypeError(f"{name}: a formula of {number} has no {node.results[0].type}")
    if any(result.type != number for result in body.results):
        raise DTypeError(f"{name}: a result that is no number")


declare(
    "unbounded",
    "unbounded",
    None,
    lambda *types, body, result: _type_of("unbounded", types, types, body, result),
    compute,
    attributes=("body", "result"),
    scalar="unbounded",
    summary="A formula that over- and underflows only in its result; plain where it is no number.",
)
declare(
    "recover",
    "unbounded",
    None,
    _infer_recover,
    recovered,
    attributes=("body", "result", "guards"),
    options=("witnesses", "guarded"),
    scalar="recover",
    summary="What is finite as it is; where it is not, or what it hides is not, a formula of what "
    "comes behind it, unless that is no number or a pole.",
)
