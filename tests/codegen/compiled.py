"""Running a function both ways for the tests of the compiler: as machine code and interpreted."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc_codegen.interface.python_kernel import Kernel
from gradc_codegen.lower.lower import lower
from gradc_codegen.machine.jit import compile_module
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import Type
from gradc_ir.interpreter.interpret import interpret
from tests.comparing import assert_same_bits


def function_of(
    types: Sequence[Type], body: Callable[..., Any], names: Sequence[str] | None = None
) -> Function:
    """Return the function of parameters of these types that ``body`` builds."""
    with Builder() as builder:
        params = [builder.param(i, type_) for i, type_ in enumerate(types)]
        results = body(*params)
        results = [results] if isinstance(results, Value) else list(results)
        return builder.function("test", params, results, names)


def kernel_of(function: Function, level: int | None = 0, blas: bool = False) -> Kernel:
    """Return a function's kernel, called through its C signature."""
    code = compile_module(lower(function, "test", blas), level=level)
    return Kernel(function, code, "test", native=False)


def assert_compiled_same(function: Function, *cases: Sequence[Any], level: int | None = 0) -> None:
    """Machine code and interpreter give the same bits for each case of arguments."""
    kernel = kernel_of(function, level)
    for case in cases:
        arrays = [
            np.asarray(x, dtype=type_.dtype.numpy) for x, type_ in zip(case, function.param_types)
        ]
        for found, want in zip(kernel(arrays), interpret(function, arrays), strict=True):
            assert_same_bits(found, want)


def call_raw(kernel: Kernel, *arguments: Any) -> int:
    """Call a kernel's C function with numbers, arrays (by pointer) and None (NULL)."""
    types = [
        {"i64": ctypes.c_int64, "double": ctypes.c_double, "ptr": ctypes.c_void_p}[a.llvm]
        for a in kernel.signature.arguments
    ]
    values = [a.ctypes.data if isinstance(a, np.ndarray) else a for a in arguments]
    return int(ctypes.CFUNCTYPE(ctypes.c_int32, *types)(kernel.address)(*values))


__all__ = ["Builder", "assert_compiled_same", "build", "call_raw", "function_of", "kernel_of"]
