"""How many bytes of scratch a kernel takes: the memory that a derivative holds."""

from __future__ import annotations

import ctypes

from gradc_codegen.interface.python_kernel import Kernel
from gradc_codegen.lower.lower import lower
from gradc_ir.core.graph import Function


def scratch_bytes(function: Function, *sizes: int) -> int:
    """Return the scratch of a function's kernel for these sizes, in the order of its symbols."""
    kernel = Kernel(function, lower(function, "measured"), "measured", native=False)
    assert len(kernel.signature.sizes) == len(sizes)
    types = [ctypes.c_int64 for _ in sizes]
    address = kernel.compiled.address("measured_worksize")
    return int(ctypes.CFUNCTYPE(ctypes.c_int64, *types)(address)(*sizes))
