"""Writing one LLVM function: its lines, index arithmetic, lanes, loops and branches."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from gradc_codegen.text.entry import Entry
from gradc_codegen.text.indices import Lane, first_lanes, is_number, is_vector, parts_of, varies
from gradc_codegen.text.module import Module
from gradc_codegen.text.stack import Stack
from gradc_ir.core.sizes import Size

# LLVM's names of what is done with two indices, also where both are known now.
_ON_NUMBERS: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
}
# A loop of fewer trips does not fill a vector.
_FEWEST_TRIPS = 4


class Writer:
    """One function in the making: its first block, which runs once, and what comes behind it.

    What must be computed once stands in the first block: where it is needed, while that is being
    written, and later at its end.

    Parameters
    ----------
    module: what the function is part of.
    symbols: the registers of symbolic sizes.
    """

    # how many iterations run at once here, and which of them count: None for all
    lanes = 1
    mask: str | None = None
    left = ""  # under the mask of a loop's last lanes, how many these are
    first: int | None = None  # as a number, where it is known and the mask has these alone
    whole: tuple[str, str] | None = None  # a mask that mostly has all lanes, the flag that it has

    def __init__(self, module: Module, symbols: dict[str, str]) -> None:
        self.module = module
        self._numbers = itertools.count(1)  # of names
        self.stack = Stack(self._numbers)
        self.checks: list[str] = []  # they come before the first block
        self.entry = Entry(module, symbols, self._numbers)
        self.lines = self.entry.lines  # until the first block ends
        self.block = "body"
        # what is computed here, by key; one dict for each loop or branch around
        self._known: list[dict[object, str]] = [{}]
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
        return f"%t{next(self._numbers)}"

    def emit(self, instruction: str) -> str:
        """Write an instruction with a result; returns its name."""
        name = self.fresh()
        self.lines.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Write an instruction without a result."""
        self.lines.append(f"  {instruction}")

    def start(self, block: str) -> None:
        """Begin a block; the one before must have ended."""
        if self.lines is self.entry.lines:
            self.lines = [self.lines.pop()]
        self.lines.append(f"{block}:")
        self.block = block

    def jump(self, block: str) -> None:
        """End a block, and go on in another one."""
        self.do(f"br label %{block}")

    def branch(self, condition: str, then: str, otherwise: str, mark: str = "") -> None:
        """End a block, and go on in one or the other as a condition says."""
        self.do(f"br i1 {condition}, label %{then}, label %{otherwise}{mark}")

    def labels(self, *kinds: str) -> list[str]:
        """Return new block names with a number in common."""
        number = next(self._numbers)
        return [f"{kind}{number}" for kind in kinds]

    def at_entry(self, instruction: str) -> str:
        """Write an instruction into the first block, where it is computed once."""
        return self.entry.emit(instruction)

    def size(self, size: Size) -> str:
        """Return a size as an operand, computed at the entry."""
        return self.entry.size(size)

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

    def once(self, key: object, make: Callable[[], str]) -> str:
        """Return the register for a key, which is made where none is known."""
        return self.known(key) or self.remember(key, make())

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

    # -- lanes -------------------------------------------------------------------------------------

    def type_of(self, type_: str, vector: bool) -> str:
        """Return the type of one number, or of one for each lane."""
        return f"<{self.lanes} x {type_}>" if vector else type_

    def emit_vector(self, instruction: str) -> str:
        """Write an instruction whose result has an element for each lane; returns its name."""
        name = f"%v{next(self._numbers)}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def write(self, vector: bool, instruction: str) -> str:
        """Write an instruction with a result that is a vector or not; returns its name."""
        return self.emit_vector(instruction) if vector else self.emit(instruction)

    def spread(self, register: str, type_: str) -> str:
        """Return a register with an element for each lane: itself, or many times the number."""
        if is_vector(register):
            return register
        if not register.startswith("%"):
            return f"splat ({type_} {register})"

        def make() -> str:
            whole = self.type_of(type_, True)
            first = self.emit_vector(f"insertelement {whole} poison, {type_} {register}, i64 0")
            return self.emit_vector(
                f"shufflevector {whole} {first}, {whole} poison, <{self.lanes} x i32> "
                "zeroinitializer"
            )

        return self.once(("spread", register, self.lanes), make)

    def index_vector(self, index: str) -> str:
        """Return an index as a vector."""
        if not isinstance(index, Lane):
            return self.spread(index, "i64")

        def make() -> str:
            type_ = self.type_of("i64", True)
            if is_number(index.step):
                moved = self._lanes(int(index.step))
            else:
                step = self.spread(index.step, "i64")
                moved = self.emit_vector(f"mul {type_} {step}, {self._lanes()}")
            start = "zeroinitializer" if index.origin == "0" else self.spread(index.origin, "i64")
            return self.emit_vector(f"add {type_} {start}, {moved}")

        return self.once(("index", index, self.lanes), make)

    def _lanes(self, step: int = 1) -> str:
        """Return the vector of the numbers of lanes, times a step."""
        return f"<{', '.join(f'i64 {step * lane}' for lane in range(self.lanes))}>"

    def below(self, count: str) -> str:
        """Return the mask of as many lanes as are left."""
        if is_number(count):
            return first_lanes(int(count), self.lanes)
        type_ = self.type_of("i64", True)
        left = self.spread(count, "i64")
        return self.emit_vector(f"icmp slt {type_} {self._lanes()}, {left}")

    @contextmanager
    def in_lanes(
        self, lanes: int, mask: str | None = None, first: int | None = None
    ) -> Iterator[None]:
        """Write what runs in lanes; the mask says which of them count: if known, so many."""
        before = self.lanes, self.mask, self.first
        self.lanes, self.mask, self.first = lanes, mask, first
        self.open()
        yield
        self.close()
        self.lanes, self.mask, self.first = before

    def masked(self, condition: str) -> str:
        """Return the mask of the lanes that count and where a condition holds too."""
        if self.mask is None:
            return condition
        type_ = self.type_of("i1", True)
        return self.emit_vector(f"and {type_} {self.mask}, {condition}")

    # -- arithmetic --------------------------------------------------------------------------------

    def add(self, a: str, b: str) -> str:
        """Return a + b of indices."""
        if a == "0":
            return b
        if b == "0":
            return a
        return self._arithmetic("add", a, b)

    def subtract(self, a: str, b: str) -> str:
        """Return a - b of indices."""
        if b == "0":
            return a
        return self._arithmetic("sub", a, b)

    def multiply(self, a: str, b: str) -> str:
        """Return a * b of indices."""
        if a == "1" or b == "0":
            return b
        if b == "1" or a == "0":
            return a
        return self._arithmetic("mul", a, b)

    def _arithmetic(self, name: str, a: str, b: str) -> str:
        if is_number(a) and is_number(b):
            return str(_ON_NUMBERS[name](int(a), int(b)))
        if varies(a) or varies(b):
            return self._by_lane(name, a, b)
        instruction = f"{name} nsw i64 {a}, {b}"
        return self.once(instruction, lambda: self.emit(instruction))

    def _by_lane(self, name: str, a: str, b: str) -> str:
        if is_vector(a) or is_vector(b) or (name == "mul" and varies(a) and varies(b)):
            type_ = self.type_of("i64", True)
            return self.emit_vector(
                f"{name} {type_} {self.index_vector(a)}, {self.index_vector(b)}"
            )
        if name == "mul":
            lane, number = (a, b) if isinstance(a, Lane) else (b, a)
            assert isinstance(lane, Lane)
            return Lane(self.multiply(lane.origin, number), self.multiply(lane.step, number))
        (x, dx), (y, dy) = parts_of(a), parts_of(b)
        join = self.add if name == "add" else self.subtract
        step = join(dx, dy)
        return join(x, y) if step == "0" else Lane(join(x, y), step)

    def linear(self, indices: list[str], sizes: list[Size]) -> str:
        """Return the row-major position of indices in a shape."""
        result = "0"
        for index, size in zip(indices, sizes):
            result = (
                self.add(self.multiply(result, self.size(size)), index) if result != "0" else index
            )
        return result

    # -- memory ------------------------------------------------------------------------------------

    def load(self, type_: str, pointer: str) -> str:
        """Return what is at a pointer."""
        return self.emit(f"load {type_}, ptr {pointer}")

    def load_at(self, type_: str, base: str, position: str) -> str:
        """Return the element of an array at a position."""
        address = self.emit(f"getelementptr inbounds {type_}, ptr {base}, i64 {position}")
        return self.load(type_, address)

    def store_at(self, type_: str, register: str, base: str, position: str) -> None:
        """Write a register to a position of an array."""
        address = self.emit(f"getelementptr inbounds {type_}, ptr {base}, i64 {position}")
        self.do(f"store {type_} {register}, ptr {address}")

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
        if is_number(start) and is_number(end):
            if int(start) >= int(end):
                return
            runs = True
            if int(start) + step >= int(end):
                body(start)
                return
            worthwhile = (int(end) - int(start)) // step >= _FEWEST_TRIPS
        head, latch, exit_ = self.labels("loop", "next", "done")
        if runs:
            self.jump(head)
        else:
            self.branch(self.emit(f"icmp slt i64 {start}, {end}"), head, exit_)
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
        self.jump(latch)
        self.start(latch)
        self.do(f"{following} = add nuw nsw i64 {index}, {step}")
        self.branch(self.emit(f"icmp slt i64 {following}, {end}"), head, exit_, mark)
        self.start(exit_)

    def plain_loop(self, start: str, end: str, body: Callable[[str], None], step: int = 1) -> None:
        """Write a loop as :meth:`loop` does, that stays as it is: none that time is spent in."""
        self.loop(start, end, body, step, mark=self.module.keep_plain())

    def branch_if_less(self, a: str, b: str, body: Callable[[], None]) -> None:
        """Write a body that runs where a < b."""
        if is_number(a) and is_number(b):
            if int(a) < int(b):
                body()
            return
        self.where(self.emit(f"icmp slt i64 {a}, {b}"), body)

    def where(self, condition: str, body: Callable[[], None]) -> None:
        """Write a body that runs where a condition holds."""
        inside, following = self.labels("where", "after")
        self.branch(condition, inside, following)
        self._arm(inside, body, following)
        self.start(following)

    def either(
        self,
        condition: str,
        then: Callable[[], None],
        otherwise: Callable[[], None],
        names: tuple[str, str, str] = ("yes", "no", "after"),
    ) -> None:
        """Write two bodies, of which the first runs where a condition holds.

        ``names`` are those of their blocks, and of the one behind them.
        """
        yes, no, following = self.labels(*names)
        self.branch(condition, yes, no)
        self._arm(yes, then, following)
        self._arm(no, otherwise, following)
        self.start(following)

    def _arm(self, block: str, body: Callable[[], None], following: str) -> None:
        self.start(block)
        self.open()
        body()
        self.close()
        self.jump(following)

    def return_unless_ok(self, status: str) -> None:
        """Write the return of what a function of the module returned, where that is not OK."""
        fine = self.emit(f"icmp eq i32 {status}, 0")
        failed, following = self.labels("failed", "following")
        self.branch(fine, following, failed)
        self.start(failed)
        self.do(f"ret i32 {status}")
        self.start(following)

    def lane_loop(
        self, end: str, lanes: int, body: Callable[[Lane], None], start: str = "0"
    ) -> None:
        """Write a loop that runs several iterations at once; the last ones under a mask."""
        whole = self.whole_blocks(start, end, lanes)

        def block(index: str) -> None:
            with self.in_lanes(lanes):
                body(Lane(index, "1"))

        self.loop(start, whole, block, lanes, mark=self.module.keep_scalar())
        self.branch_if_less(whole, end, lambda: self.masked_block(whole, end, lanes, body))

    def masked_block(self, start: str, end: str, lanes: int, body: Callable[[Lane], None]) -> None:
        """Write several iterations at once, of which those before the end count."""
        with self.in_block(lanes, self.subtract(end, start)):
            body(Lane(start, "1"))

    @contextmanager
    def in_block(self, lanes: int, left: str | None) -> Iterator[None]:
        """Write what runs in the lanes of a block, of which ``left`` count if that is given."""
        mask, first = None, None
        if left is not None:
            self.left = left
            with self.in_lanes(lanes):
                mask = self.below(left)
            first = min(max(int(left), 0), lanes) if is_number(left) else None
        with self.in_lanes(lanes, mask, first):
            yield

    def whole_blocks(self, start: str, end: str, block: int) -> str:
        """Return where the whole blocks from start to end are over."""
        length = self.subtract(end, start)
        if is_number(length):
            return self.add(start, str(int(length) // block * block))
        return self.add(start, self.emit(f"and i64 {length}, {-block}"))

    def minimum(self, a: str, b: str) -> str:
        """Return the smaller of two indices."""
        if is_number(a) and is_number(b):
            return str(min(int(a), int(b)))
        return self.emit(self.module.call("i64", "@llvm.smin.i64", f"i64 {a}", f"i64 {b}"))

    # -- the whole ---------------------------------------------------------------------------------

    def procedure(self, name: str, parameters: Sequence[str], attributes: str = "") -> str:
        """Return the whole function as an internal one without a result."""
        self.do("ret void")
        return self.text(f"define internal void {name}({', '.join(parameters)}){attributes}")

    def text(self, head: str) -> str:
        """Return the whole function; ``head`` is its first line without the brace."""
        first = ["entry:", *self.stack.lines, *self.checks, "  br label %body", "body:"]
        rest = [] if self.lines is self.entry.lines else self.lines
        return "\n".join([f"{head} {{", *first, *self.entry.lines, *rest, "}"])
