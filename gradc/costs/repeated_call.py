"""A kernel with arguments, called again and again from machine code, to be measured."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence

import numpy as np

from gradc_codegen.abi import Signature, Status
from gradc_codegen.interface.python_kernel import Kernel
from gradc_codegen.machine.jit import LoadedModule, compile_module
from gradc_ir.core.graph import Function
from gradc_ir.core.types import Array
from gradc_ir.errors import GradcError

# A turn takes so long, and there are so many.
_TURN, _TURNS = 0.004, 9


def seconds_a_call(run: Callable[[int], object]) -> float:
    """Return the seconds that one of many calls takes: the least of some turns.

    They are of the processor's time, which other programs that want the core do not make longer;
    what they leave of the caches does.
    """
    calls = 1
    while True:
        taken = _seconds(run, calls)
        if taken >= _TURN or calls > 2**40:
            break
        calls = max(2 * calls, min(int(calls * _TURN / max(taken, 1e-7)), 100 * calls))
    return min(_seconds(run, calls) for _ in range(_TURNS)) / calls


def _seconds(run: Callable[[int], object], calls: int) -> float:
    begun = time.thread_time()
    run(calls)
    return time.thread_time() - begun


class RepeatedCall:
    """A kernel with arguments, ready to be called again and again from machine code."""

    def __init__(self, function: Function, arrays: Sequence[Array], kernel: Kernel) -> None:
        made = kernel(arrays)  # which checks them, and finds how long tapes are
        shapes = tuple([array.shape for array in kernel_arrays(kernel, arrays)])
        plan = kernel._plans[shapes]
        self.sizes, self.scratch = plan.sizes, plan.scratch
        self.results = made
        self.kept = [*kernel_arrays(kernel, arrays), *made, np.empty(plan.scratch + 64, np.uint8)]
        inputs = [
            array[()].item() if argument.by_value else array.ctypes.data
            for array, argument in zip(self.kept, kernel.signature.inputs)
        ]
        outputs = [array.ctypes.data for array in made]
        self.arguments = [*plan.sizes, *inputs, *outputs, self.kept[-1].ctypes.data]
        self.types = [
            ctypes.c_int64,
            ctypes.c_void_p,
            *[_C[argument.llvm] for argument in kernel.signature.arguments],
        ]
        self.kernel = kernel
        self.module = _repeating(kernel.signature)

    def seconds(self) -> float:
        """Return how long a call takes."""
        return seconds_a_call(self.run)

    def run(self, calls: int, address: int | None = None) -> None:
        """Call so many times."""
        run = ctypes.CFUNCTYPE(ctypes.c_int32, *self.types)(self.module.address("repeat"))
        status = run(calls, address or self.kernel.address, *self.arguments)
        if status != Status.OK:
            raise GradcError(f"the kernel returned {Status(status).name}")


def kernel_arrays(kernel: Kernel, arrays: Sequence[Array]) -> list[Array]:
    """Return arguments as the kernel takes them: contiguous, of its dtypes."""
    return [
        np.require(array, type_.dtype.numpy, ["C", "A"])
        for array, type_ in zip(arrays, kernel.function.param_types, strict=True)
    ]


_C = {"i64": ctypes.c_int64, "i32": ctypes.c_int32, "i8": ctypes.c_uint8, "ptr": ctypes.c_void_p,
      "double": ctypes.c_double, "float": ctypes.c_float}  # fmt: skip


def _repeating(signature: Signature) -> LoadedModule:
    """Return a function that calls a kernel of a signature many times."""
    types = [argument.llvm for argument in signature.arguments]
    given = ", ".join(f"{type_} %a{i}" for i, type_ in enumerate(types))
    return compile_module(
        f"""define i32 @repeat(i64 %calls, ptr %kernel, {given}) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %all = phi i32 [ 0, %entry ], [ %any, %loop ]
  %status = call i32 %kernel({given})
  %any = or i32 %all, %status
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %calls
  br i1 %more, label %loop, label %end
end:
  ret i32 %any
}}
"""
    )
