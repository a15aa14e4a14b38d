"""A kernel that reads the processor's clock around each of its top-level loops, to be measured.

It computes what the kernel computes. ``NAME_clock`` returns where its counts stand: one ``i64`` for
each group of items, of ticks since the module was loaded.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc_codegen.abi import Signature
from gradc_codegen.lower.lower import FunctionLowering
from gradc_codegen.lower.prologue import symbols_of, write_worksize
from gradc_codegen.nest.loop_nest import Item, LoopNest
from gradc_codegen.storage.buffers import plan
from gradc_codegen.text.module import ANY_MACHINE, Machine, Module

# The intrinsic that reads a clock which every program may read, by the first part of a triple.
CLOCKS = {"x86_64": "llvm.readcyclecounter", "aarch64": "llvm.readsteadycounter"}


def lower_clocked(
    nest: LoopNest,
    name: str,
    groups: Sequence[Sequence[Item]],
    clock: str,
    machine: Machine = ANY_MACHINE,
) -> str:
    """Return LLVM text of a module for a loop nest whose groups of items are clocked.

    The ``groups`` are all the items of the nest, in order; ``clock`` is one of ``CLOCKS``.
    """
    signature = Signature.of(nest.function)
    module = Module(name, machine)
    made = plan(nest)
    lowering = _Clocked(module, name, nest, made, signature, symbols_of(nest))
    lowering.groups, lowering.clock = groups, clock
    lowering.main()
    write_worksize(module, nest, [made], signature)
    size = len(groups)
    return (
        f"{module}\n@{name}.ticks = internal global [{size} x i64] zeroinitializer\n"
        f"declare i64 @{clock}()\n"
        f"define ptr @{name}_clock() {{\n  ret ptr @{name}.ticks\n}}\n"
    )


class _Clocked(FunctionLowering):
    groups: Sequence[Sequence[Item]]
    clock: str

    def body_of(self, body: Sequence[Item]) -> None:
        """Write the items; those of the whole nest with the clock between them."""
        if body is not self._nest.body:
            super().body_of(body)
            return
        writer = self.writer
        for number, group in enumerate(self.groups):
            before = writer.emit(f"call i64 @{self.clock}()")
            super().body_of(group)
            after = writer.emit(f"call i64 @{self.clock}()")
            taken = writer.emit(f"sub i64 {after}, {before}")
            place = writer.emit(f"getelementptr i64, ptr @{self._name}.ticks, i64 {number}")
            known = writer.emit(f"load i64, ptr {place}")
            total = writer.emit(f"add i64 {known}, {taken}")
            writer.do(f"store i64 {total}, ptr {place}")
