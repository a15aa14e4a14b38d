"""Functions of mathematics of numbers that are known: what kernels would compute, computed now.

They are the functions that kernels call outside, each compiled once a process and kept on disk.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence

import numpy as np

from gradc_codegen.machine import jit
from gradc_codegen.math.emitted.table import operands_of
from gradc_codegen.math.functions import is_emitted
from gradc_codegen.math.scipy_words import has_other_words, scipy_name, word_with_options
from gradc_codegen.text.module import REGISTER
from gradc_ir.core.foreign import C_TYPES
from gradc_ir.core.op import Attributes, Op
from gradc_ir.core.types import Array, DType, dtype_of

# Fewer numbers are handed to the function one by one.
_FEW = 64


def computed(op: Op, attributes: Attributes, operands: Sequence[Array]) -> Array | None:
    """Return an op of mathematics of arrays of floats in one shape; None for what is not known.

    Not known is what kernels compute in more ways than one.
    """
    word = word_with_options(op, attributes)
    if has_other_words(word):
        return None
    if scipy_name(word) is not None:
        assert op.reference is not None
        return np.asarray(op.reference(*operands, **attributes))  # kernels call the same
    if not is_emitted(word):
        return None
    first = operands[0]
    address = jit.function_of_numbers(word.removeprefix("math."), dtype_of(first.dtype))
    if first.size <= _FEW:
        function = _function(address, dtype_of(first.dtype), operands_of(word))
        numbers = map(function, *(operand.ravel().tolist() for operand in operands))
        return np.array(list(numbers), first.dtype).reshape(first.shape)
    given = [np.ascontiguousarray(operand) for operand in operands]
    result = np.empty(first.shape, first.dtype)
    over = _over(dtype_of(first.dtype), len(given))
    over(address, first.size, result.ctypes.data, *(array.ctypes.data for array in given))
    return result


@functools.cache
def _function(address: int, dtype: DType, operands: int) -> Callable[..., float]:
    type_ = C_TYPES[dtype]
    return ctypes.CFUNCTYPE(type_, *[type_] * operands)(address)


@functools.cache
def _over(dtype: DType, operands: int) -> Callable[..., None]:
    """Return what calls a function of numbers for all elements of arrays.

    It takes addresses: the function, how many elements there are, the result, the operands.
    """
    type_, places = REGISTER[dtype], range(operands)
    lines = [
        f"define void @over(ptr %f, i64 %n, ptr %to{''.join(f', ptr %x{k}' for k in places)}) {{",
        "entry:",
        "  br label %step",
        "step:",
        "  %i = phi i64 [ 0, %entry ], [ %next, %step ]",
    ]
    for k in places:
        lines += [
            f"  %at{k} = getelementptr inbounds {type_}, ptr %x{k}, i64 %i",
            f"  %a{k} = load {type_}, ptr %at{k}",
        ]
    lines += [
        f"  %y = call {type_} %f({', '.join(f'{type_} %a{k}' for k in places)})",
        f"  %at = getelementptr inbounds {type_}, ptr %to, i64 %i",
        f"  store {type_} %y, ptr %at",
        "  %next = add i64 %i, 1",
        "  %more = icmp slt i64 %next, %n",
        "  br i1 %more, label %step, label %done",
        "done:",
        "  ret void",
        "}",
        "",
    ]
    loaded = jit.kept_module("\n".join(lines), 1)
    pointers = [ctypes.c_void_p] * (operands + 1)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, *pointers)(
        loaded.address("over")
    )
    _kept.append(loaded)
    return call


# the code of functions, which they do not keep
_kept: list[jit.LoadedModule] = []
