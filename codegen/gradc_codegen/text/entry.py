"""The first block of an LLVM function, which runs once: the arithmetic of sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gradc_codegen.text.indices import is_number
from gradc_codegen.text.module import Module
from gradc_ir.core.size_atoms import Asked, BitLength, Maximum, SquareRoot
from gradc_ir.core.sizes import Atom, Expr, Size


class Entry:
    """The lines of a first block; each size is computed in it once.

    Parameters
    ----------
    module: what the function is part of.
    symbols: the registers of symbolic sizes.
    numbers: those that names of the function's registers are made with.
    """

    def __init__(self, module: Module, symbols: dict[str, str], numbers: Iterator[int]) -> None:
        self.lines: list[str] = []
        self._module = module
        self._symbols = symbols
        self._numbers = numbers
        self._sizes: dict[Size, str] = {}

    def emit(self, instruction: str) -> str:
        """Write an instruction with a result; returns its name."""
        name = f"%t{next(self._numbers)}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def add(self, a: str, b: str) -> str:
        """Return the sum of two numbers."""
        if is_number(a) and is_number(b):
            return str(int(a) + int(b))
        return self.emit(f"add i64 {a}, {b}")

    def size(self, size: Size) -> str:
        """Return a size as an operand."""
        if isinstance(size, int):
            return str(size)
        found = self._sizes.get(size)
        if found is None:
            found = self._sizes[size] = self._expression(size)
        return found

    def _expression(self, size: Expr) -> str:
        total: str | None = None
        for monomial, coefficient in size.terms:
            factors = [self._atom(atom) for atom in monomial]
            term = factors[0] if factors else str(coefficient)
            for factor in factors[1:]:
                term = self.emit(f"mul i64 {term}, {factor}")
            if factors and coefficient != 1:
                term = self.emit(f"mul i64 {term}, {coefficient}")
            total = term if total is None else self.emit(f"add i64 {total}, {term}")
        assert total is not None
        return total

    def _atom(self, atom: Atom) -> str:
        if isinstance(atom, str):
            return self._symbols[atom]
        parts = [self.size(part) for part in atom.parts]
        if isinstance(atom, Maximum):
            return self.maximum(*parts)
        if isinstance(atom, SquareRoot):
            return square_root(self.emit, *parts)
        if isinstance(atom, BitLength):
            return self._bit_length(*parts)
        if isinstance(atom, Asked):
            return self._asked(atom.function, parts)
        return self.quotient(*parts)

    def _asked(self, function: str, sizes: Sequence[str]) -> str:
        """Return the ``size_t`` that a function of C makes of sizes."""
        bits = self._module.machine.pointer_bits
        given = [f"i64 {size}" for size in sizes]
        found = self.emit(self._module.call(f"i{bits}", f"@{function}", *given))
        return found if bits == 64 else self.emit(f"zext i{bits} {found} to i64")

    def quotient(self, numerator: str, divisor: str) -> str:
        """Return a quotient of sizes, rounded down; by 0 it is 0, so that a size never traps."""
        if is_number(divisor) and int(divisor) > 0 and int(divisor).bit_count() == 1:
            return self.emit(f"ashr i64 {numerator}, {int(divisor).bit_length() - 1}")
        zero = self.emit(f"icmp eq i64 {divisor}, 0")
        safe = self.emit(f"select i1 {zero}, i64 1, i64 {divisor}")
        quotient = self.emit(f"sdiv i64 {numerator}, {safe}")
        rest = self.emit(f"srem i64 {numerator}, {safe}")
        signs = self.emit(f"xor i64 {rest}, {safe}")
        differ = self.emit(f"icmp slt i64 {signs}, 0")
        inexact = self.emit(f"icmp ne i64 {rest}, 0")
        down = self.emit(f"and i1 {differ}, {inexact}")
        step = self.emit(f"sext i1 {down} to i64")
        floored = self.emit(f"add i64 {quotient}, {step}")
        return self.emit(f"select i1 {zero}, i64 0, i64 {floored}")

    def _bit_length(self, size: str) -> str:
        positive = self.maximum(size, "0")
        call = self._module.call("i64", "@llvm.ctlz.i64", f"i64 {positive}", "i1 false")
        return self.emit(f"sub i64 64, {self.emit(call)}")

    def maximum(self, a: str, b: str) -> str:
        """Return the larger of two sizes."""
        return self.emit(self._module.call("i64", "@llvm.smax.i64", f"i64 {a}", f"i64 {b}"))

    def minimum(self, a: str, b: str) -> str:
        """Return the smaller of two sizes."""
        return self.emit(self._module.call("i64", "@llvm.smin.i64", f"i64 {a}", f"i64 {b}"))


def square_root(emit: Callable[[str], str], size: str) -> str:
    """Write the square root of a size, rounded down: that of the double is at most one off.

    ``emit`` writes an instruction and returns its name.
    """
    negative = emit(f"icmp slt i64 {size}, 0")
    positive = emit(f"select i1 {negative}, i64 0, i64 {size}")
    number = emit(f"sitofp i64 {positive} to double")
    found = emit(f"fptosi double {emit(f'call double @llvm.sqrt.f64(double {number})')} to i64")
    too_large = emit(f"icmp sgt i64 {emit(f'mul i64 {found}, {found}')}, {positive}")
    found = emit(f"add i64 {found}, {emit(f'sext i1 {too_large} to i64')}")
    following = emit(f"add i64 {found}, 1")
    too_small = emit(f"icmp sle i64 {emit(f'mul i64 {following}, {following}')}, {positive}")
    return emit(f"add i64 {found}, {emit(f'zext i1 {too_small} to i64')}")
