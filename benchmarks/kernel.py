"""gradc's kernel of a case, called from a compiled loop by its address."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from benchmarks.native import library_of
from benchmarks.rows.row import Array, Case, Row
from benchmarks.turns import Contestant, processor_seconds
from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.runtime.collector import collector_paused
from gradc.runtime.executable import Executable
from gradc.tracing import trace
from gradc_codegen.abi import Argument
from gradc_codegen.interface.python_kernel import Kernel
from gradc_ir.core.binding import bind_sizes
from gradc_ir.core.sizes import Shape, evaluate, symbol
from gradc_ir.core.types import Type, dtype_of


def executable_of(row: Row, arguments: tuple[Array, ...]) -> Executable:
    """Return what a first call with these arguments compiles."""
    types = tuple(Type(dtype_of(array.dtype), _shape(row, array)) for array in arguments)
    request = Request("value") if row.wrt is None else Request(row.of, row.wrt)
    with collector_paused():
        return Executable(derive(trace(row.function, types).function, request), blas=True)


def _shape(row: Row, array: Array) -> Shape:
    return (symbol("n"), *array.shape[1:]) if row.symbolic else array.shape


def gradc_kernel(case: Case) -> Contestant:
    """Return gradc as a contestant.

    Raises
    ------
    RuntimeError: there is no kernel, only the interpreter, or the kernel fails.
    """
    start = processor_seconds()
    made = executable_of(case.row, case.arguments)
    compiling = processor_seconds() - start
    if made.kernel is None:
        raise RuntimeError(made.reason)
    loop = KernelLoop(made.kernel, case.arguments)
    loop.run(1)
    return Contestant("gradc", loop.run, loop.results, compiling, loop.scratch)


class KernelLoop:
    """A compiled loop around a kernel, with the arrays it works on."""

    def __init__(self, kernel: Kernel, arguments: tuple[Array, ...]) -> None:
        self._kernel = kernel  # its code goes with it
        function, signature = kernel.function, kernel.signature
        values = bind_sizes(function.param_types, [array.shape for array in arguments])
        if signature.tape is not None:
            raise RuntimeError("a loop whose length only the running program knows")
        sizes = [values[symbol] for symbol in function.size_symbols]
        self.results = [
            np.empty([evaluate(size, values) for size in type_.shape], type_.dtype.numpy)
            for type_ in function.result_types
        ]
        worksize = ctypes.CFUNCTYPE(ctypes.c_int64, *(ctypes.c_int64 for _ in sizes))(
            kernel.compiled.address(f"{kernel.name}_worksize")
        )
        self.scratch = int(worksize(*sizes))
        self._held = [
            *(np.array(size, np.int64) for size in sizes),
            *arguments,
            *self.results,
            np.empty(self.scratch, np.uint8),
        ]
        self._pointers = (ctypes.c_void_p * len(self._held))(
            *(array.ctypes.data for array in self._held)
        )
        self._loop = library_of(_loop_text(signature.arguments), ["-O2"]).loop

    def run(self, calls: int) -> None:
        """Call so many times; RuntimeError when a call fails."""
        address = ctypes.c_void_p(self._kernel.address)
        status = self._loop(address, self._pointers, ctypes.c_int64(calls))
        if status:
            raise RuntimeError(f"the kernel returned the status {status}")


def _loop_text(arguments: Sequence[Argument]) -> str:
    """Return C that calls a kernel so many times, and stops when a call fails."""
    types = ", ".join(argument.c.removesuffix(argument.identifier) for argument in arguments)
    values = ", ".join(
        f"*({argument.c.removesuffix(argument.identifier)}*)held[{position}]"
        if argument.by_value
        else f"held[{position}]"
        for position, argument in enumerate(arguments)
    )
    return f"""
#include <stdint.h>
typedef int32_t kernel({types});
int32_t loop(kernel *run, void **held, int64_t calls) {{
  int32_t status = 0;
  for (int64_t i = 0; i < calls && !status; ++i) status = run({values});
  return status;
}}
"""
