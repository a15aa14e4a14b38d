"""Loops over arrays of one emitted math function, in vectors of so many lanes, in this process."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradc_codegen.compile_function import compile_function
from gradc_codegen.interface.python_kernel import Kernel
from gradc_codegen.machine.jit import LoadedModule, compile_module
from gradc_codegen.math.emitted.function_text import text_of
from gradc_codegen.math.emitted.table import DEFINITIONS, operands_of
from gradc_codegen.target.target import machine_of, target
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type, dtype_of

ELEMENT = {DType.F64: "double", DType.F32: "float"}
# NumPy's names of functions, where they are others
NUMPY = {
    **{name: f"arc{name[1:]}" for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")},
    "atan2": "arctan2",
    "pow": "power",
}


def loop_text(name: str, dtype: DType, lanes: int, operands: int, where: str = "") -> str:
    """Return ``void loop(count, operands …, results)``, which calls a function of LLVM's text.

    Parameters
    ----------
    name: of a function on numbers, or with ``lanes`` on vectors of so many, whose results are too.
    where: what stands behind the call: ``alwaysinline``, say.
    """
    element = ELEMENT[dtype]
    type_ = element if lanes == 1 else f"<{lanes} x {element}>"
    lines, arguments, pointers = [], [], []
    for k in range(operands):
        pointers.append(f"ptr noalias %x{k}, ")
        lines.append(f"  %from{k} = getelementptr {element}, ptr %x{k}, i64 %i")
        lines.append(f"  %v{k} = load {type_}, ptr %from{k}, align 4")
        arguments.append(f"{type_} %v{k}")
    body = "\n".join(lines)
    return f"""
define void @loop(i64 %count, {"".join(pointers)}ptr noalias %y) noinline {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %following, %loop ]
{body}
  %w = call {type_} {name}({", ".join(arguments)}) {where}
  %to = getelementptr {element}, ptr %y, i64 %i
  store {type_} %w, ptr %to, align 4
  %following = add nuw nsw i64 %i, {lanes}
  %more = icmp slt i64 %following, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


@functools.cache
def emitted_loop(word: str, dtype: DType, lanes: int, cpu: str = "native") -> LoadedModule:
    """Return the loop of :func:`loop_text` over a word's function."""
    # one number at a time: LLVM makes no vectors either
    return compile_module(emitted_text(word, dtype, lanes, cpu), cpu, 0 if lanes == 1 else None)


def emitted_text(word: str, dtype: DType, lanes: int, cpu: str | None = None) -> str:
    """Return the module of :func:`emitted_loop`; without a CPU, of the architecture's baseline."""
    operands, machine = operands_of(word), machine_of(target(cpu))
    text, declarations = text_of("@function", DEFINITIONS[word], dtype, operands, lanes, machine)
    loop = loop_text("@function", dtype, lanes, operands, "alwaysinline")
    return "\n".join([text, *declarations, loop])


def apply(word: str, *operands: NDArray[Any], lanes: int = 8, cpu: str = "native") -> NDArray[Any]:
    """Return a word's function of each element of arrays of one size and float dtype."""
    first = operands[0]
    code = emitted_loop(word, dtype_of(first.dtype), lanes, cpu)
    return run(code, *operands, lanes=lanes)


def run(code: LoadedModule, *operands: NDArray[Any], lanes: int = 8) -> NDArray[Any]:
    """Return what a loop of :func:`loop_text` makes of arrays of one size and float dtype."""
    first = operands[0]
    padded = [np.ones(-(-first.size // lanes) * lanes, first.dtype) for _ in (*operands, first)]
    for place, operand in zip(padded, operands):
        place[: operand.size] = operand
    pointers = [ctypes.c_void_p(place.ctypes.data) for place in padded]
    loop = ctypes.CFUNCTYPE(None, ctypes.c_int64, *map(type, pointers))(code.address("loop"))
    if first.size:
        loop(padded[0].size, *pointers)
    return padded[-1][: first.size]


def apply_op(name: str, *operands: NDArray[Any]) -> NDArray[Any]:
    """Return what a compiled elementwise op makes of arrays of one size and float dtype."""
    (found,) = _op(name, dtype_of(operands[0].dtype), len(operands))(operands)
    return found


@functools.cache
def _op(name: str, dtype: DType, operands: int) -> Kernel:
    with Builder() as builder:
        given = [builder.param(i, Type(dtype, (symbol("n"),))) for i in range(operands)]
        names = [f"x{i}" for i in range(operands)]
        function = builder.function(name, given, [build.elementwise(name, *given)], names)
    return compile_function(function)
