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

from gradc.costs.ceilings import Ceilings, seconds_to_move
from gradc.costs.operations import Operations
from gradc.costs.repeated_call import RepeatedCall
from gradc.costs.traffic import Nested, traffic
from gradc_codegen.compile_function import Compilation
from gradc_codegen.interface.python_kernel import Kernel
from gradc_codegen.lower.clocked import CLOCKS, lower_clocked
from gradc_codegen.machine.jit import compile_module
from gradc_codegen.target.target import machine_of, target
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import Array, DType
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
    memory, arithmetic, functions: the least seconds for each, by the ceilings; quotients and roots
        are among the functions here.
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
    is_finite: whether all results were finite numbers.
    """

    name: str
    whole: Part
    loops: list[tuple[str, Part]] = field(default_factory=list)
    lines: dict[Location | None, Part] = field(default_factory=dict)
    scratch: int = 0
    is_finite: bool = True


def measure(final: Function, arrays: Sequence[Array], most: Ceilings, blas: bool) -> Measured:
    """Return what the kernel of a final function takes at these arguments.

    Raises GradcError where the kernel refuses them.
    """
    compilation = Compilation(final, blas=blas)
    kernel = compilation.kernel()
    call = RepeatedCall(final, arrays, kernel)
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
        length, count = _number(bytes_, numbers), _number(operations.all, numbers)
        slow = {one: _number(x, numbers) for one, x in operations.slow.items()}
        arithmetic = (count - sum(slow.values())) / flops
        functions = sum(x / most.function(one) for one, x in slow.items())
        calls = _number(operations.functions, numbers)
        return Part(taken, count, calls, length, length * by_byte, arithmetic, functions)

    total = sum((nest.operations for nest in nests), start=Operations())
    found = Measured(final.name, part(seconds, total, all_bytes), scratch=call.scratch)
    found.is_finite = all(np.isfinite(array).all() for array in call.results)
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
    call = RepeatedCall(compilation.function, arrays, Kernel(compilation.function, code, name))
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
