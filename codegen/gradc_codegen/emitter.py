"""Writing LLVM text: a module, and functions with loops, sizes and a memory of values."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from gradc_ir.constant import Constant
from gradc_ir.sizes import Atom, Expr, Maximum, Size, SquareRoot
from gradc_ir.types import DType

# the type of a value in a register, and in memory
REGISTER = {
    DType.F64: "double",
    DType.F32: "float",
    DType.I64: "i64",
    DType.I32: "i32",
    DType.BOOL: "i1",
}
MEMORY = {**REGISTER, DType.BOOL: "i8"}

# A loop of fewer trips does not fill a vector.
_FEWEST_TRIPS = 4


def literal(value: object, dtype: DType) -> str:
    """Return a number as LLVM writes it; floats by their bits."""
    if dtype is DType.BOOL:
        return "true" if value else "false"
    if dtype.is_integer:
        return str(int(value))  # type: ignore[call-overload]
    number = float(value)  # type: ignore[arg-type]
    return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"


class Module:
    """The text of a module: functions, and what they declare, share and refer to.

    Without ``fma`` it is for a machine that has none: math functions are the C library's.
    """

    def __init__(self, name: str, fma: bool = True) -> None:
        self.name = name
        self.fma = fma
        self.functions: list[str] = []
        self._declared: dict[str, None] = {}
        self._helpers: dict[str, str] = {}
        self._constants: dict[Constant, str] = {}
        self._globals: list[str] = []
        self._metadata: list[str] = []
        self._named = 0

    def keep_rolled(self) -> str:
        """Return the mark of a loop that must meet the vectoriser before it is unrolled."""
        return self._loop_mark("!0, !1")

    def keep_plain(self) -> str:
        """Return the mark of a loop that is neither unrolled nor vectorised, to compile faster."""
        return self._loop_mark("!0, !3")

    def keep_scalar(self) -> str:
        """Return the mark of a loop that is not vectorised, because LLVM would do it wrongly."""
        return self._loop_mark("!3")

    def _loop_mark(self, properties: str) -> str:
        if not self._metadata:
            self._metadata += [
                '!0 = !{!"llvm.loop.unroll.disable"}',
                '!1 = !{!"llvm.loop.vectorize.followup_vectorized", !2}',
                '!2 = !{!"llvm.loop.unroll.full"}',
                '!3 = !{!"llvm.loop.vectorize.enable", i1 false}',
            ]
        number = len(self._metadata)
        self._metadata.append(f"!{number} = distinct !{{!{number}, {properties}}}")
        return f", !llvm.loop !{number}"

    def fresh(self, kind: str) -> str:
        """Return a name for a further function of a kind."""
        self._named += 1
        return f"{kind}{self._named}"

    def declare(self, line: str) -> None:
        """Declare an external function."""
        self._declared[line] = None

    def help(self, name: str, text: Callable[[], str]) -> None:
        """Define an internal function once."""
        if name not in self._helpers:
            self._helpers[name] = ""  # it may ask for itself
            self._helpers[name] = text()

    def constant(self, constant: Constant) -> str:
        """Return the global that holds an array."""
        found = self._constants.get(constant)
        if found is None:
            found = self._constants[constant] = f"@{self.name}.constant{len(self._constants)}"
            type_ = MEMORY[constant.type.dtype]
            flat = constant.array.reshape(-1)
            if flat.dtype == np.bool_:
                elements = [f"i8 {int(x)}" for x in flat]
            else:
                elements = [f"{type_} {literal(x, constant.type.dtype)}" for x in flat]
            self._globals.append(
                f"{found} = private unnamed_addr constant [{len(elements)} x {type_}] "
                f"[{', '.join(elements)}], align 64"
            )
        return found

    def __str__(self) -> str:
        parts = [
            f"; {self.name}",
            "\n".join(self._globals),
            "\n\n".join(self.functions),
            "\n\n".join(self._helpers.values()),
            "\n".join(self._declared),
            "\n".join(self._metadata),
        ]
        return "\n\n".join(part for part in parts if part) + "\n"


class Writer:
    """One function in the making: entry lines, body lines, loops, and what is already computed."""

    def __init__(self, module: Module, symbols: dict[str, str]) -> None:
        self.module = module
        self.entry: list[str] = []
        self.lines: list[str] = []
        self.block = "body"
        self._count = 0
        self._symbols = symbols
        self._sizes: dict[Size, str] = {}
        # what is computed here, by key; one dict for each loop or branch around
        self._known: list[dict[object, str]] = [{}]
        self._stack_slots: dict[str, list[str]] = {}
        # how many elements were read under a condition of their index
        self.guarded_reads = 0
        self._open_loops = 0

    # -- lines -------------------------------------------------------------------------------------

    def fresh(self) -> str:
        """Return a new name."""
        self._count += 1
        return f"%t{self._count}"

    def emit(self, instruction: str) -> str:
        """Write an instruction with a result; returns its name."""
        self._count += 1
        name = f"%t{self._count}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Write an instruction without a result."""
        self.lines.append(f"  {instruction}")

    def start(self, block: str) -> None:
        """Begin a block; the one before must have ended."""
        self.lines.append(f"{block}:")
        self.block = block

    def labels(self, *kinds: str) -> list[str]:
        """Return new block names with a number in common."""
        self._count += 1
        return [f"{kind}{self._count}" for kind in kinds]

    def at_entry(self, instruction: str) -> str:
        """Write an instruction at the function's entry, where it is computed once."""
        name = self.fresh()
        self.entry.append(f"  {name} = {instruction}")
        return name

    def stack(self, type_: str) -> str:
        """Return a place on the stack; give it back with :meth:`release`."""
        free = self._stack_slots.setdefault(type_, [])
        alignment = 64 if type_.startswith("[") else 8
        return free.pop() if free else self.at_entry(f"alloca {type_}, align {alignment}")

    def release(self, type_: str, place: str) -> None:
        """Give back a place on the stack."""
        self._stack_slots[type_].append(place)

    @property
    def in_loop(self) -> bool:
        """Whether what is written is in a loop that runs often enough to inline functions in it."""
        return self._open_loops > 0

    # -- what is already computed ------------------------------------------------------------------

    def known(self, key: object) -> str | None:
        """Return the register that holds what the key stands for, if it is computed here."""
        for scope in reversed(self._known):
            found = scope.get(key)
            if found is not None:
                return found
        return None

    def remember(self, key: object, name: str) -> str:
        """Note a register for a key, up to the end of the innermost loop or branch."""
        self._known[-1][key] = name
        return name

    def open(self) -> None:
        """Enter a loop or a branch."""
        self._known.append({})

    def close(self) -> None:
        """Leave a loop or a branch: what was computed in it is not known behind it."""
        self._known.pop()

    # -- index arithmetic: numbers are folded ------------------------------------------------------

    def add(self, a: str, b: str) -> str:
        """Return a + b of indices."""
        if a == "0":
            return b
        if b == "0":
            return a
        if _is_number(a) and _is_number(b):
            return str(int(a) + int(b))
        return self.emit(f"add nsw i64 {a}, {b}")

    def subtract(self, a: str, b: str) -> str:
        """Return a - b of indices."""
        if b == "0":
            return a
        if _is_number(a) and _is_number(b):
            return str(int(a) - int(b))
        return self.emit(f"sub nsw i64 {a}, {b}")

    def multiply(self, a: str, b: str) -> str:
        """Return a * b of indices."""
        if a == "1" or b == "0":
            return b
        if b == "1" or a == "0":
            return a
        if _is_number(a) and _is_number(b):
            return str(int(a) * int(b))
        return self.emit(f"mul nsw i64 {a}, {b}")

    def linear(self, indices: list[str], sizes: list[Size]) -> str:
        """Return the row-major position of indices in a shape."""
        result = "0"
        for index, size in zip(indices, sizes):
            result = (
                self.add(self.multiply(result, self.size(size)), index) if result != "0" else index
            )
        return result

    # -- memory ------------------------------------------------------------------------------------

    def load_at(self, type_: str, base: str, position: str) -> str:
        """Return the element of an array at a position."""
        address = self.emit(f"getelementptr inbounds {type_}, ptr {base}, i64 {position}")
        return self.emit(f"load {type_}, ptr {address}")

    def store_at(self, type_: str, register: str, base: str, position: str) -> None:
        """Write a register to a position of an array."""
        address = self.emit(f"getelementptr inbounds {type_}, ptr {base}, i64 {position}")
        self.do(f"store {type_} {register}, ptr {address}")

    # -- sizes -------------------------------------------------------------------------------------

    def size(self, size: Size) -> str:
        """Return a size as an operand, computed at the entry."""
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
                term = self.at_entry(f"mul i64 {term}, {factor}")
            if factors and coefficient != 1:
                term = self.at_entry(f"mul i64 {term}, {coefficient}")
            total = term if total is None else self.at_entry(f"add i64 {total}, {term}")
        assert total is not None
        return total

    def _atom(self, atom: Atom) -> str:
        if isinstance(atom, str):
            return self._symbols[atom]
        if isinstance(atom, Maximum):
            return self.maximum_at_entry(self.size(atom.left), self.size(atom.right))
        if isinstance(atom, SquareRoot):
            return square_root(self.at_entry, self.size(atom.of))
        # rounded down; by 0 it is defined to be 0, so that a size never traps
        numerator, divisor = self.size(atom.numerator), self.size(atom.denominator)
        zero = self.at_entry(f"icmp eq i64 {divisor}, 0")
        safe = self.at_entry(f"select i1 {zero}, i64 1, i64 {divisor}")
        quotient = self.at_entry(f"sdiv i64 {numerator}, {safe}")
        rest = self.at_entry(f"srem i64 {numerator}, {safe}")
        signs = self.at_entry(f"xor i64 {rest}, {safe}")
        differ = self.at_entry(f"icmp slt i64 {signs}, 0")
        inexact = self.at_entry(f"icmp ne i64 {rest}, 0")
        down = self.at_entry(f"and i1 {differ}, {inexact}")
        step = self.at_entry(f"sext i1 {down} to i64")
        floored = self.at_entry(f"add i64 {quotient}, {step}")
        return self.at_entry(f"select i1 {zero}, i64 0, i64 {floored}")

    def maximum_at_entry(self, a: str, b: str) -> str:
        """Return the larger of two sizes."""
        self.module.declare("declare i64 @llvm.smax.i64(i64, i64)")
        return self.at_entry(f"call i64 @llvm.smax.i64(i64 {a}, i64 {b})")

    # -- loops -------------------------------------------------------------------------------------

    def loop(
        self,
        start: str,
        end: str,
        body: Callable[[str], None],
        step: int = 1,
        runs: bool = False,
        mark: str = "",
    ) -> None:
        """Write a loop from start to end, exclusive.

        Parameters
        ----------
        runs: whether it is known to run at least once.
        mark: what LLVM is told about it.
        """
        worthwhile = True
        if _is_number(start) and _is_number(end):
            if int(start) >= int(end):
                return
            runs = True
            if int(start) + step >= int(end):
                body(start)
                return
            worthwhile = (int(end) - int(start)) // step >= _FEWEST_TRIPS
        head, latch, exit_ = self.labels("loop", "next", "done")
        if runs:
            self.do(f"br label %{head}")
        else:
            some = self.emit(f"icmp slt i64 {start}, {end}")
            self.do(f"br i1 {some}, label %{head}, label %{exit_}")
        before = self.block
        self.start(head)
        index, following = f"%{head}.i", f"%{head}.n"
        self.do(f"{index} = phi i64 [ {start}, %{before} ], [ {following}, %{latch} ]")
        reads = self.guarded_reads
        self.open()
        self._open_loops += worthwhile
        body(index)
        self._open_loops -= worthwhile
        self.close()
        if self.guarded_reads - reads > 1:
            # Where one guard decides another, LLVM 20 to 22 merge indices of the two, and the
            # vectoriser takes the merged one of a lane that reads nothing for that of all lanes.
            mark = self.module.keep_scalar()
        self.do(f"br label %{latch}")
        self.start(latch)
        self.do(f"{following} = add nuw nsw i64 {index}, {step}")
        more = self.emit(f"icmp slt i64 {following}, {end}")
        self.do(f"br i1 {more}, label %{head}, label %{exit_}{mark}")
        self.start(exit_)

    def plain_loop(self, start: str, end: str, body: Callable[[str], None], step: int = 1) -> None:
        """Write a loop as :meth:`loop` does, that stays as it is: none that time is spent in."""
        self.loop(start, end, body, step, mark=self.module.keep_plain())

    def branch_if_less(self, a: str, b: str, body: Callable[[], None]) -> None:
        """Write a body that runs where a < b."""
        if _is_number(a) and _is_number(b):
            if int(a) < int(b):
                body()
            return
        self.where(self.emit(f"icmp slt i64 {a}, {b}"), body)

    def where(self, condition: str, body: Callable[[], None]) -> None:
        """Write a body that runs where a condition holds."""
        inside, following = self.labels("where", "after")
        self.do(f"br i1 {condition}, label %{inside}, label %{following}")
        self.start(inside)
        self.open()
        body()
        self.close()
        self.do(f"br label %{following}")
        self.start(following)

    def return_unless_ok(self, status: str) -> None:
        """Write the return of what a function of the module returned, where that is not OK."""
        fine = self.emit(f"icmp eq i32 {status}, 0")
        failed, following = self.labels("failed", "following")
        self.do(f"br i1 {fine}, label %{following}, label %{failed}")
        self.start(failed)
        self.do(f"ret i32 {status}")
        self.start(following)

    def minimum(self, a: str, b: str) -> str:
        """Return the smaller of two indices."""
        if _is_number(a) and _is_number(b):
            return str(min(int(a), int(b)))
        self.module.declare("declare i64 @llvm.smin.i64(i64, i64)")
        return self.emit(f"call i64 @llvm.smin.i64(i64 {a}, i64 {b})")

    def text(self, head: str) -> str:
        """Return the whole function; ``head`` is its first line without the brace."""
        return "\n".join(
            [f"{head} {{", "entry:", *self.entry, "  br label %body", "body:", *self.lines, "}"]
        )


def _is_number(text: str) -> bool:
    return text[0] != "%"


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
