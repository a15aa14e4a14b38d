"""The lines of one LLVM function in the making, what is already computed in it, and its sizes."""

from __future__ import annotations

from collections.abc import Callable

from gradc_codegen.text.module import Module
from gradc_ir.core.sizes import Atom, Expr, Maximum, Size, SquareRoot


class Lines:
    """The first block, which runs once and before all others, and what comes behind it.

    What must be computed once stands in the first block: where it is needed, while that is being
    written, and later at its end.

    Parameters
    ----------
    module: what the function is part of.
    symbols: the registers of symbolic sizes.
    """

    def __init__(self, module: Module, symbols: dict[str, str]) -> None:
        self.module = module
        # places on the stack come before all else: LLVM has those in registers, no others
        self._places: list[str] = []
        self.checks: list[str] = []  # they come before the first block
        self.entry: list[str] = []
        self.lines = self.entry  # until the first block ends
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
        # whether functions are inlined in loops: not in bodies with very many of them
        self.inlines = True
        # whether the function is itself what a loop repeats
        self.runs_often = False

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
        if self.lines is self.entry:
            self.lines = [self.entry.pop()]
        self.lines.append(f"{block}:")
        self.block = block

    def labels(self, *kinds: str) -> list[str]:
        """Return new block names with a number in common."""
        self._count += 1
        return [f"{kind}{self._count}" for kind in kinds]

    def at_entry(self, instruction: str) -> str:
        """Write an instruction into the first block, where it is computed once."""
        name = self.fresh()
        self.entry.append(f"  {name} = {instruction}")
        return name

    def place(self, type_: str) -> str:
        """Return a place on the stack that the whole function has for itself."""
        name = self.fresh()
        self._places.append(f"  {name} = alloca {type_}")
        return name

    def stack(self, type_: str) -> str:
        """Return a place on the stack; give it back with :meth:`release`."""
        free = self._stack_slots.setdefault(type_, [])
        alignment = 64 if type_.startswith(("[", "<")) else 8
        return free.pop() if free else self.place(f"{type_}, align {alignment}")

    def release(self, type_: str, place: str) -> None:
        """Give back a place on the stack."""
        self._stack_slots[type_].append(place)

    @property
    def in_loop(self) -> bool:
        """Whether what is written is in a loop that runs often enough to inline functions in it."""
        return (self._open_loops > 0 or self.runs_often) and self.inlines

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

    def text(self, head: str) -> str:
        """Return the whole function; ``head`` is its first line without the brace."""
        first = ["entry:", *self._places, *self.checks, "  br label %body", "body:", *self.entry]
        rest = [] if self.lines is self.entry else self.lines
        return "\n".join([f"{head} {{", *first, *rest, "}"])


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
