"""Loads and stores: of one element, of lanes side by side, or of lanes anywhere."""

from __future__ import annotations

from typing import NamedTuple

from gradc_codegen.text.indices import Lane, varies
from gradc_codegen.text.module import MEMORY
from gradc_codegen.text.writer import Writer
from gradc_ir.core.types import DType

_NAMES = {DType.F64: "f64", DType.F32: "f32", DType.I64: "i64", DType.I32: "i32", DType.BOOL: "i8"}


class _Lanes(NamedTuple):
    """Where the elements of lanes are.

    Parameters
    ----------
    pointers: one pointer, to lanes side by side, or one for each lane, with the type.
    suffix: how the names of LLVM's intrinsics for it end.
    mask: the lanes that are loaded or stored, with the type; empty for all, side by side.
    """

    pointers: str
    suffix: str
    mask: str


class Memory:
    """Loads and stores of one function.

    A position is in elements behind a base. ``mask``: whether lanes side by side that do not count
    may be where nothing may be touched; without it all of them are loaded or stored.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def load(self, base: str, position: str, dtype: DType, mask: bool = True) -> str:
        """Write a load; returns the register, of the dtype as it is in memory."""
        writer = self._writer
        if not varies(position):
            return writer.emit(f"load {MEMORY[dtype]}, ptr {self.pointer(base, position, dtype)}")
        type_ = writer.type_of(MEMORY[dtype], True)
        at = self._lanes(base, position, dtype, mask)
        if not at.mask:
            return writer.emit_vector(f"load {type_}, {at.pointers}, align {dtype.bytes}")
        way = "load" if at.pointers.startswith("ptr") else "gather"
        name = f"@llvm.masked.{way}.{at.suffix}"
        kinds = [_type_in(at.pointers), "i32", _type_in(at.mask), type_]
        writer.module.declare(f"declare {type_} {name}({', '.join(kinds)})")
        return writer.emit_vector(
            f"call {type_} {name}({at.pointers}, i32 {dtype.bytes}, {at.mask}, "
            f"{type_} zeroinitializer)"
        )

    def store(
        self, base: str, position: str, dtype: DType, register: str, mask: bool = True
    ) -> None:
        """Write a store of a register of the dtype as it is in memory."""
        writer = self._writer
        if not varies(position):
            pointer = self.pointer(base, position, dtype)
            writer.do(f"store {MEMORY[dtype]} {register}, ptr {pointer}")
            return
        type_ = writer.type_of(MEMORY[dtype], True)
        at = self._lanes(base, position, dtype, mask)
        if not at.mask:
            writer.do(f"store {type_} {register}, {at.pointers}, align {dtype.bytes}")
            return
        way = "store" if at.pointers.startswith("ptr") else "scatter"
        name = f"@llvm.masked.{way}.{at.suffix}"
        kinds = [type_, _type_in(at.pointers), "i32", _type_in(at.mask)]
        writer.module.declare(f"declare void {name}({', '.join(kinds)})")
        writer.do(
            f"call void {name}({type_} {register}, {at.pointers}, i32 {dtype.bytes}, {at.mask})"
        )

    def _lanes(self, base: str, position: str, dtype: DType, mask: bool) -> _Lanes:
        writer = self._writer
        suffix = f"v{writer.lanes}{_NAMES[dtype]}"
        flags = writer.type_of("i1", True)
        if isinstance(position, Lane) and position.step == "1":
            used = writer.mask if mask else None
            pointer = self.pointer(base, position.origin, dtype, used is None)
            return _Lanes(f"ptr {pointer}", f"{suffix}.p0", f"{flags} {used}" if used else "")
        # lanes that do not count may have any position
        pointers = f"{writer.type_of('ptr', True)} {self._pointers(base, position, dtype)}"
        used = writer.mask or "splat (i1 true)"
        return _Lanes(pointers, f"{suffix}.v{writer.lanes}p0", f"{flags} {used}")

    def fetch(self, base: str, position: str, dtype: DType) -> None:
        """Write a hint that a position will be read soon; it may be outside of memory.

        The hint is for the second cache: what is worked on fills the first.
        """
        writer = self._writer
        writer.module.declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        pointer = self.pointer(base, position, dtype, inside=False)
        writer.do(f"call void @llvm.prefetch.p0(ptr {pointer}, i32 0, i32 2, i32 1)")

    def pointer(self, base: str, position: str, dtype: DType, inside: bool = True) -> str:
        """Return the pointer to a position; one that is not surely ``inside`` may be anywhere."""
        if position == "0":
            return base
        how = "inbounds " if inside else ""
        return self._writer.emit(f"getelementptr {how}{MEMORY[dtype]}, ptr {base}, i64 {position}")

    def _pointers(self, base: str, position: str, dtype: DType) -> str:
        writer = self._writer
        type_ = writer.type_of("i64", True)
        at = writer.index_vector(position)
        return writer.emit_vector(f"getelementptr {MEMORY[dtype]}, ptr {base}, {type_} {at}")


def _type_in(argument: str) -> str:
    """Return the type of an argument as it is passed: ``<8 x i1> %v3``, ``ptr %out0``."""
    head = argument.find(">") + 1
    return argument[:head] or argument.split(" ", 1)[0]
