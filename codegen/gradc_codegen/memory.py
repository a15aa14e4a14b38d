"""Loads and stores: of one element, of lanes side by side, or of lanes anywhere."""

from __future__ import annotations

from gradc_codegen.emitter import Writer
from gradc_codegen.indices import Lane, varies
from gradc_codegen.module import MEMORY
from gradc_ir.types import DType

_NAMES = {DType.F64: "f64", DType.F32: "f32", DType.I64: "i64", DType.I32: "i32", DType.BOOL: "i8"}


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
        suffix = f"v{writer.lanes}{_NAMES[dtype]}"
        flags = writer.type_of("i1", True)
        used = writer.mask if mask else None
        if isinstance(position, Lane) and position.step == "1":
            pointer = self.pointer(base, position.origin, dtype, used is None)
            if used is None:
                return writer.emit_vector(f"load {type_}, ptr {pointer}, align {dtype.bytes}")
            name = f"@llvm.masked.load.{suffix}.p0"
            writer.module.declare(f"declare {type_} {name}(ptr, i32, {flags}, {type_})")
            return writer.emit_vector(
                f"call {type_} {name}(ptr {pointer}, i32 {dtype.bytes}, {flags} {used}, "
                f"{type_} zeroinitializer)"
            )
        pointers = self._pointers(base, position, dtype)
        many = writer.type_of("ptr", True)
        name = f"@llvm.masked.gather.{suffix}.v{writer.lanes}p0"
        writer.module.declare(f"declare {type_} {name}({many}, i32, {flags}, {type_})")
        return writer.emit_vector(
            f"call {type_} {name}({many} {pointers}, i32 {dtype.bytes}, "
            f"{flags} {writer.mask or 'splat (i1 true)'}, {type_} zeroinitializer)"
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
        suffix = f"v{writer.lanes}{_NAMES[dtype]}"
        flags = writer.type_of("i1", True)
        used = writer.mask if mask else None
        if isinstance(position, Lane) and position.step == "1":
            pointer = self.pointer(base, position.origin, dtype, used is None)
            if used is None:
                writer.do(f"store {type_} {register}, ptr {pointer}, align {dtype.bytes}")
                return
            name = f"@llvm.masked.store.{suffix}.p0"
            writer.module.declare(f"declare void {name}({type_}, ptr, i32, {flags})")
            writer.do(
                f"call void {name}({type_} {register}, ptr {pointer}, i32 {dtype.bytes}, "
                f"{flags} {used})"
            )
            return
        pointers = self._pointers(base, position, dtype)
        many = writer.type_of("ptr", True)
        name = f"@llvm.masked.scatter.{suffix}.v{writer.lanes}p0"
        writer.module.declare(f"declare void {name}({type_}, {many}, i32, {flags})")
        writer.do(
            f"call void {name}({type_} {register}, {many} {pointers}, i32 {dtype.bytes}, "
            f"{flags} {writer.mask or 'splat (i1 true)'})"
        )

    def fetch(self, base: str, position: str, dtype: DType) -> None:
        """Write a hint that a position will be read soon; it may be outside of memory."""
        writer = self._writer
        writer.module.declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        pointer = self.pointer(base, position, dtype, inside=False)
        writer.do(f"call void @llvm.prefetch.p0(ptr {pointer}, i32 0, i32 3, i32 1)")

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
