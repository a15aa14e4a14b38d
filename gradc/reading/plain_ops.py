"""Ops on plain arrays by their names, for texts that are run: what NumPy has no name for."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc_ir.build import Builder, apply_all
from gradc_ir.core.op import TABLE
from gradc_ir.core.types import Array, Type, dtype_of
from gradc_ir.errors import DTypeError
from gradc_ir.interpreter.interpret import interpret


def op(name: str, *operands: Any, **attributes: Any) -> Any:
    """Return what an op of the language makes of arrays: one array, or a tuple of them.

    Operands of elementwise ops are broadcast; a text does not tell whole numbers from floats.
    """
    arrays = [np.asarray(operand) for operand in operands]
    if TABLE[name].is_elementwise:
        arrays = list(np.broadcast_arrays(*arrays))
    if not any(array.dtype.kind == "f" for array in arrays):
        try:
            return _made(name, arrays, attributes)
        except DTypeError:
            pass
    kept = range(2, len(arrays)) if TABLE[name].family == "index" else range(0)
    floats = [x if i in kept or x.dtype.kind == "b" else x.astype(float)
              for i, x in enumerate(arrays)]  # fmt: skip
    return _made(name, floats, attributes)


def _made(name: str, arrays: list[Array], attributes: dict[str, Any]) -> Any:
    with Builder() as builder:
        params = [
            builder.param(i, Type(dtype_of(array.dtype), array.shape))
            for i, array in enumerate(arrays)
        ]
        results = apply_all(name, *params, **attributes)
        function = builder.function(name, params, results)
    made = interpret(function, arrays)
    return made[0][()] if len(made) == 1 else made
