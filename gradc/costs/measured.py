"""What a kernel takes: its time, and what of it each loop and each line of the user's has.

The time of a whole call is measured of the kernel as it is. What each top-level loop has of it is
measured with the processor's clock, in a copy of the kernel; what each line has of a loop is its
part of the loop's least time, by the ceilings.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradc.costs.ceilings import Ceilings, seconds_a_call, seconds_to_move
from gradc.costs.operations import Operations
from gradc.costs.traffic import Nested, traffic
from gradc_codegen.abi import Signature, Status
from gradc_codegen.compile_function import Compilation
from gradc_codegen.interface.python_kernel import Kernel
from gradc_codegen.lower.clocked import CLOCKS, lower_clocked
from gradc_codegen.machine.jit import LoadedModule, compile_module
from gradc_codegen.target.target import machine_of, target
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import Array, DType
from gradc_ir.errors import GradcError
from gradc_ir.location import Location

# What takes so much of the time of a loop bounds it.
_BOUND = 0.5


@dataclass
class Part:
    """What a loop or a line takes, and what it would take at least.

    Parameters
    ----------
    seconds: that it takes.
    operations, calls: in all, and functions among them.
    bytes: that are read and written.
    memory, arithmetic, functions: the least seconds for each, by the ceilings.
    """

    seconds: float
    operations: int
    calls: int
    bytes: int
    memory: float
    arithmetic: float
    functions: float

    @property
    def least(self) -> float:
        """The seconds that it takes at least."""
        return max(self.memory, self.arithmetic + self.functions)

    @property
    def bound(self) -> str:
        """What bounds it: the ceiling it is closest to, or the order of its operations."""
        if self.seconds <= 0:
            return "nothing"
        found = {
            "memory": self.memory,
            "arithmetic": self.arithmetic,
            "functions": self.functions,
        }
        name = max(found, key=lambda one: found[one])
        if max(found[name], self.least) < _BOUND * self.seconds:
            return "order of operations"
        return name


@dataclass
class Measured:
    """A kernel that was measured.

    Parameters
    ----------
    name: the kernel.
    whole: the call.
    loops: its top-level loops by their titles, in order; nothing where no clock can be read.
    lines: the user's lines, in the order of the file; None is what no line made.
    scratch: bytes of memory beside arguments and results.
    """

    name: str
    whole: Part
    loops: list[tuple[str, Part]] = field(default_factory=list)
    lines: dict[Location | None, Part] = field(default_factory=dict)
    scratch: int = 0


def measure(final: Function, arrays: Sequence[Array], most: Ceilings, blas: bool) -> Measured:
    """Return what the kernel of a final function takes at these arguments.

    Raises GradcError where the kernel refuses them.
    """
    compilation = Compilation(final, blas=blas)
    kernel = compilation.kernel()
    call = _Call(final, arrays, kernel)
    seconds = call.seconds()
    nests = traffic(compilation.nest)
    numbers = dict(zip(final.size_symbols, call.sizes))
    lanes = {x.type.dtype for x in (*final.params, *final.results)}
    flops = most.flops["f32" if lanes & {DType.F32} and DType.F64 not in lanes else "f64"]

    moved = {"read": 0, "written": 0}
    for nest in nests:
        for share in nest.lines.values():
            moved["read"] += _number(share.read, numbers)
            moved["written"] += _number(share.written, numbers)
    all_bytes = sum(moved.values())
    by_byte = seconds_to_move(moved["read"], moved["written"]) / max(all_bytes, 1)

    def part(taken: float, operations: Operations, bytes_: Size) -> Part:
        count, calls = (_number(x, numbers) for x in operations)
        length = _number(bytes_, numbers)
        times = length * by_byte, (count - calls) / flops, calls / most.exponentials
        return Part(taken, count, calls, length, *times)

    total = sum((nest.operations for nest in nests), start=Operations())
    found = Measured(final.name, part(seconds, total, all_bytes), scratch=call.scratch)
    ticks = _ticks(compilation, nests, arrays)
    for nest, portion in zip(nests, ticks):
        taken = part(seconds * portion, nest.operations, nest.bytes)
        found.loops.append((nest.text, taken))
        _divide(nest, taken, part, found.lines)
    return found


def _divide(nest: Nested, whole: Part, part: Any, lines: dict[Location | None, Part]) -> None:
    """Give each line of a loop its part of the time, by the least that it takes."""
    own = {line: part(0.0, x.operations, x.read + x.written) for line, x in nest.lines.items()}
    least = sum(one.least for one in own.values())
    for line, one in own.items():
        share = one.least / least if least > 0 else 1 / len(own)
        one.seconds = whole.seconds * share
        before = lines.get(line)
        if before is None:
            lines[line] = one
            continue
        before.seconds += one.seconds
        before.operations += one.operations
        before.calls += one.calls
        before.bytes += one.bytes
        before.memory += one.memory
        before.arithmetic += one.arithmetic
        before.functions += one.functions


def _number(size: Size, numbers: dict[str, int]) -> int:
    if isinstance(size, int):
        return size
    known = {name: numbers.get(name, 0) for name in sizes.symbols(size)}
    return sizes.evaluate(size, known)


# -- calls -----------------------------------------------------------------------------------------


class _Call:
    """A kernel with arguments, ready to be called again and again from machine code."""

    def __init__(self, function: Function, arrays: Sequence[Array], kernel: Kernel) -> None:
        made = kernel(arrays)  # which checks them, and finds how long tapes are
        shapes = tuple([array.shape for array in kernel_arrays(kernel, arrays)])
        plan = kernel._plans[shapes]
        self.sizes, self.scratch = plan.sizes, plan.scratch
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
            *[_c_type(argument.llvm) for argument in kernel.signature.arguments],
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


def _c_type(llvm: str) -> Any:
    return _C[llvm]


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


def _ticks(
    compilation: Compilation, nests: Sequence[Nested], arrays: Sequence[Array]
) -> list[float]:
    """Return what part of the kernel's time each loop has; nothing where no clock can be read."""
    here = target("native")
    clock = CLOCKS.get(here.architecture)
    if clock is None:
        return []
    items = [nest.items for nest in nests]
    name = compilation.name
    text = lower_clocked(compilation.nest, name, items, clock, machine_of(here, False))
    code = compile_module(text)
    call = _Call(compilation.function, arrays, Kernel(compilation.function, code, name))
    counts = (ctypes.c_int64 * len(items)).from_address(
        ctypes.CFUNCTYPE(ctypes.c_void_p)(code.address(f"{name}_clock"))()
    )
    least: list[int] = []
    turns = max(3, min(200, int(0.05 / max(call.seconds(), 1e-7))))
    for _ in range(turns):
        before = list(counts)
        call.run(1)
        taken = [now - then for now, then in zip(counts, before)]
        least = [min(pair) for pair in zip(least, taken)] if least else taken
    total = sum(least)
    return [count / total for count in least] if total else []
