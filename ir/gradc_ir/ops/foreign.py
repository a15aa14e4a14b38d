"""Functions of C: of numbers, on each element, or of whole arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc_ir.core import foreign
from gradc_ir.core.op import declare
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType, Type, Types
from gradc_ir.errors import ShapeError


def _infer(
    *types: Type,
    symbol: str,
    sizes: Sequence[Size] | None,
    numbers: Sequence[bool],
    shapes: Sequence[Sequence[Size]],
    dtypes: Sequence[DType],
    kernel: bool,
) -> Types:
    if not types or any(not type_.shape for type_ in types):
        raise ShapeError(f"external {symbol}: its operands have axes")
    if sizes is None:
        shaped = shapes or numbers or kernel
        if len(dtypes) != 1 or shaped or len({type_.shape for type_ in types}) > 1:
            raise ShapeError(f"external {symbol}: a function of numbers has one shape, one result")
        return (types[0].with_dtype(dtypes[0]),)
    if len(numbers) != len(types) or len(shapes) != len(dtypes) or not all(map(len, shapes)):
        raise ShapeError(f"external {symbol}: its attributes do not fit its operands")
    for type_, is_number in zip(types, numbers):
        if is_number and type_.shape != (1,):
            raise ShapeError(f"external {symbol}: {type_} is no number")
    return tuple(Type(dtype, tuple(shape)) for dtype, shape in zip(dtypes, shapes))


def _external(
    *operands: Any,
    symbol: str,
    sizes: Sequence[int] | None,
    numbers: Sequence[bool],
    shapes: Sequence[Sequence[int]],
    dtypes: Sequence[DType],
    kernel: bool,
) -> Any:
    if sizes is None:
        return foreign.call_each(symbol, dtypes[0], operands)
    made = [np.zeros(tuple(shape), dtype.numpy) for shape, dtype in zip(shapes, dtypes)]
    foreign.call_whole(symbol, sizes, numbers, operands, made, kernel)
    return tuple(made) if len(made) > 1 else made[0]


declare(
    "external",
    "foreign",
    None,
    _infer,
    _external,
    attributes=("symbol", "sizes", "numbers", "shapes", "dtypes", "kernel"),
    summary="A function of C, by its symbol. Without sizes: of one number of each operand, to "
    "one number, for every element. Else void: of the sizes, of each operand's number or "
    "address, of the addresses of the results; a kernel also takes scratch and returns a status.",
)
