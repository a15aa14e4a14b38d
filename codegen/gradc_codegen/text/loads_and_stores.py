"""Loads and stores: of one element, of lanes side by side, or of lanes anywhere."""

from __future__ import annotations

from gradc_codegen.text.indices import Lane, varies
from gradc_codegen.text.module import MEMORY, suffix
from gradc_codegen.text.writer import Writer
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.types import DType


class _Lanes(NamedTuple):
    """Where the elements of lanes are.

    Parameters
    ----------
    pointers: one pointer, to lanes side by side, or one for each lane, with the type.
    suffix: how the names of LLVM's intrinsics for it end.
    mask: the lanes that are loaded or stored, with the type; empty for all, side by side.
    first: so many lanes are loaded or stored, the first ones side by side, if that is known now.
    """

    pointers: str
    suffix: str
    mask: str
    first: int | None = None


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
            return writer.load(MEMORY[dtype], self.pointer(base, position, dtype))
        type_ = writer.type_of(MEMORY[dtype], True)
        at = self._lanes(base, position, dtype, mask)
        if not at.mask:
            return writer.emit_vector(f"load {type_}, {at.pointers}, align {dtype.bytes}")
        if at.first:
            return self._load_first(at.first, at.pointers, dtype)
        way = "load" if at.pointers.startswith("ptr") else "gather"
        count = writer.lanes if writer.mask is None else writer.first
        if way == "gather" and count and self._loads_one_by_one(dtype):
            return self._one_by_one(base, position, dtype, count)
        alignment, rest = f"i32 {dtype.bytes}", f"{type_} zeroinitializer"
        name = f"@llvm.masked.{way}.{at.suffix}"
        return writer.emit_vector(
            writer.module.call(type_, name, at.pointers, alignment, at.mask, rest)
        )

    def _loads_one_by_one(self, dtype: DType) -> bool:
        """Whether lanes from anywhere are loaded each by itself: only as many as a register has."""
        machine = self._writer.module.machine
        return not machine.gathers and self._writer.lanes * dtype.bytes <= machine.vector_bytes

    def _one_by_one(self, base: str, position: str, dtype: DType, count: int) -> str:
        """Write a load of each of the first lanes, which are those that count, and their vector."""
        writer, element = self._writer, MEMORY[dtype]
        type_, index_type = writer.type_of(element, True), writer.type_of("i64", True)
        if isinstance(position, Lane):
            base = self.pointer(base, position.origin, dtype, inside=False)
            position = Lane("0", position.step)
        at = writer.index_vector(position)
        found = "poison" if count == writer.lanes else "zeroinitializer"
        for lane in range(count):
            place = writer.emit(f"extractelement {index_type} {at}, i64 {lane}")
            loaded = writer.load(element, self.pointer(base, place, dtype))
            found = writer.emit_vector(
                f"insertelement {type_} {found}, {element} {loaded}, i64 {lane}"
            )
        return found

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
        if at.first is not None:
            self._store_first(at.first, at.pointers, dtype, register)
            return
        way = "store" if at.pointers.startswith("ptr") else "scatter"
        given = f"{type_} {register}", at.pointers, f"i32 {dtype.bytes}", at.mask
        masked = writer.module.call("void", f"@llvm.masked.{way}.{at.suffix}", *given)
        if way == "scatter" or writer.whole is None or writer.whole[0] != writer.mask:
            writer.do(masked)
            return
        # what is stored without a mask processors hand on to what loads it
        plain = f"store {type_} {register}, {at.pointers}, align {dtype.bytes}"
        writer.either(writer.whole[1], lambda: writer.do(plain), lambda: writer.do(masked))

    # Vectors of as many elements as there are: LLVM keeps what is stored so, and loaded again, in
    # registers, and processors hand it on from the one to the other, neither of which holds under
    # a mask.

    def _load_first(self, count: int, pointer: str, dtype: DType) -> str:
        writer, element = self._writer, MEMORY[dtype]
        if count == 1:  # passes of LLVM fail at vectors of one element
            whole = writer.type_of(element, True)
            loaded = writer.emit(f"load {element}, {pointer}")
            return writer.emit_vector(
                f"insertelement {whole} zeroinitializer, {element} {loaded}, i64 0"
            )
        type_ = f"<{count} x {element}>"
        loaded = writer.emit_vector(f"load {type_}, {pointer}, align {dtype.bytes}")
        return self._resized(loaded, type_, "zeroinitializer", count, writer.lanes)

    def _store_first(self, count: int, pointer: str, dtype: DType, register: str) -> None:
        writer, element = self._writer, MEMORY[dtype]
        whole = writer.type_of(element, True)
        if count == 1:
            first = writer.emit(f"extractelement {whole} {register}, i64 0")
            writer.do(f"store {element} {first}, {pointer}")
        elif count:
            first = self._resized(register, whole, "poison", writer.lanes, count)
            writer.do(f"store <{count} x {element}> {first}, {pointer}, align {dtype.bytes}")

    def _resized(self, register: str, type_: str, rest: str, count: int, wanted: int) -> str:
        """Write the first elements of a vector of ``count``; those behind are the rest's."""
        if count == wanted:
            return register
        lanes = ", ".join(f"i32 {min(lane, count)}" for lane in range(wanted))
        return self._writer.emit_vector(
            f"shufflevector {type_} {register}, {type_} {rest}, <{wanted} x i32> <{lanes}>"
        )

    def _lanes(self, base: str, position: str, dtype: DType, mask: bool) -> _Lanes:
        writer = self._writer
        of_dtype = "i8" if dtype is DType.BOOL else suffix(dtype)
        lanes = f"v{writer.lanes}{of_dtype}"
        flags = writer.type_of("i1", True)
        if isinstance(position, Lane) and position.step == "1":
            used = writer.mask if mask else None
            pointer = self.pointer(base, position.origin, dtype, used is None)
            if used is None:
                return _Lanes(f"ptr {pointer}", f"{lanes}.p0", "")
            return _Lanes(f"ptr {pointer}", f"{lanes}.p0", f"{flags} {used}", writer.first)
        # lanes that do not count may have any position
        pointers = f"{writer.type_of('ptr', True)} {self._pointers(base, position, dtype)}"
        used = writer.mask or "splat (i1 true)"
        return _Lanes(pointers, f"{lanes}.v{writer.lanes}p0", f"{flags} {used}")

    def fetch(self, base: str, position: str, dtype: DType) -> None:
        """Write a hint that a position will be read soon; it may be outside of memory.

        The hint is for the second cache: what is worked on fills the first.
        """
        writer = self._writer
        pointer = f"ptr {self.pointer(base, position, dtype, inside=False)}"
        writer.do(
            writer.module.call("void", "@llvm.prefetch.p0", pointer, "i32 0", "i32 2", "i32 1")
        )

    def pointer(self, base: str, position: str, dtype: DType, inside: bool = True) -> str:
        """Return the pointer to a position; one that is not surely ``inside`` may be anywhere."""
        if position == "0":
            return base
        how = "inbounds " if inside else ""
        return self._writer.emit(f"getelementptr {how}{MEMORY[dtype]}, ptr {base}, i64 {position}")

    def _pointers(self, base: str, position: str, dtype: DType) -> str:
        writer = self._writer
        type_ = writer.type_of("i64", True)
        if isinstance(position, Lane):
            # what is known of lanes stays apart: machines add a number and a vector as they load
            base = self.pointer(base, position.origin, dtype, inside=False)
            position = Lane("0", position.step)
        at = writer.index_vector(position)
        return writer.emit_vector(f"getelementptr {MEMORY[dtype]}, ptr {base}, {type_} {at}")
