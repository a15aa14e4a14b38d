"""How a call of BLAS or LAPACK is written: every argument by its address, as Fortran does."""

from __future__ import annotations

from collections.abc import Sequence

from gradc_codegen.text.module import REGISTER, literal
from gradc_codegen.text.writer import Writer
from gradc_ir.core.types import DType

LARGEST_INTEGER = 2**31 - 1

_PREFIX = {DType.F64: "d", DType.F32: "s"}


class Fortran:
    """Writes calls of one function's routines; every argument is passed by its address."""

    def __init__(self, writer: Writer, dtype: DType) -> None:
        self._writer = writer
        self._dtype = dtype

    def integer(self, value: str) -> str:
        """Return the address of a 64-bit integer that fits 32 bits, made once, at the entry."""
        narrow = self._writer.at_entry(f"trunc i64 {value} to i32")
        return self._put("i32", narrow)

    def character(self, letter: str) -> str:
        """Return the address of a letter."""
        return self._put("i8", str(ord(letter)))

    def number(self, value: float) -> str:
        """Return the address of a number."""
        return self._put(REGISTER[self._dtype], literal(value, self._dtype))

    def result(self) -> str:
        """Return the address of an integer that routines write."""
        return self._writer.stack.own("i32")

    def call(self, routine: str, letters: Sequence[str], arguments: Sequence[str]) -> None:
        """Write a call: the letters first, then the other addresses.

        The lengths of the letters follow behind, as Fortran compilers want them; a routine that is
        C does not see them.
        """
        writer = self._writer
        symbol = f"@{_PREFIX[self._dtype]}{routine}_"
        pointers = [*map(self.character, letters), *arguments]
        given = [f"ptr {pointer}" for pointer in pointers] + ["i64 1"] * len(letters)
        writer.do(writer.module.call("void", symbol, *given))

    def _put(self, type_: str, value: str) -> str:
        place = self._writer.stack.own(type_)
        self._writer.entry.lines.append(f"  store {type_} {value}, ptr {place}")
        return place
