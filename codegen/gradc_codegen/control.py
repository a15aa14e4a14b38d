"""Loops and branches in machine code: each body is a function that LLVM inlines where it is called.

Numbers that a loop carries, and arrays of a few elements, live on the stack, which LLVM turns into
registers. A larger array is overwritten in place where its body can; else it has two places that
take turns. Nothing is copied at a step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from gradc_codegen.abi import LLVM_TYPES, Status
from gradc_codegen.bodies import first_operand
from gradc_codegen.carrying import Way, is_fill, ways
from gradc_codegen.elements import Elements
from gradc_codegen.emitter import MEMORY, Writer, literal
from gradc_codegen.loops import Kernel
from gradc_codegen.whole import arrays_of
from gradc_ir.graph import Node, Value
from gradc_ir.sizes import TAPE, Size, product
from gradc_ir.types import Type


class Body(NamedTuple):
    """A body's function in machine code: its name, whether it can fail, its reads under guards."""

    name: str
    fails: bool
    guarded_reads: int


class Lowering(Protocol):
    """What writing a node of control flow needs of the function it is written in."""

    elements: Elements

    @property
    def sizes(self) -> str:
        """The sizes as arguments of a call."""

    def body(self, node: Node, position: int) -> Body:
        """Return a node's body as a function of the module."""

    def refuse(self, condition: str, status: Status) -> None:
        """Return a status where a condition holds."""


def write_control(
    lowering: Lowering,
    node: Node,
    kernels: Sequence[Kernel],
    shares: Mapping[Value, Value],
    scratch: Sequence[str],
) -> dict[Value, str]:
    """Write a node of control flow; returns the registers of the numbers it makes.

    Parameters
    ----------
    kernels: its bodies.
    shares: values that share memory, as a kernel says.
    scratch: pointers, as :func:`gradc_codegen.carrying.control_scratch` asked for them.
    """
    writing = _Writing(lowering, node, kernels, shares, scratch)
    if node.op.name == "scan":
        writing.scan()
    elif node.op.name == "while":
        writing.while_()
    elif node.op.name == "cond":
        writing.branches()
    else:
        writing.branch(0)
    return writing.numbers()


# -- where a carry lives ---------------------------------------------------------------------------


class _Carry:
    """A carry while its loop runs: where the body reads it and where it writes it."""

    def __init__(self, writing: _Writing, position: int, second: str) -> None:
        self.writing = writing
        self.type = writing.node.results[position].type
        self.position = position
        self.place = writing.place(position)
        self.second = second

    def begin(self, init: Value) -> None:
        raise NotImplementedError

    def arguments(self) -> tuple[str, str]:
        """Return what the body is given: the carry, and where its next value goes."""
        raise NotImplementedError

    def step(self) -> None:
        """Make the next value the current one."""

    def end(self) -> None:
        """Put the last value where the result is."""


class _Number(_Carry):
    def begin(self, init: Value) -> None:
        self.writing.store(init, self.place)

    def arguments(self) -> tuple[str, str]:
        return self.writing.argument_at(self.type, self.place), f"ptr {self.place}"


class _Few(_Carry):
    """An array of a few elements, on the stack; copying it is a move between registers."""

    def begin(self, init: Value) -> None:
        writer = self.writing.writer
        self.array = f"[{self.type.count} x {MEMORY[self.type.dtype]}]"
        self.now, self.then = writer.stack(self.array), writer.stack(self.array)
        self.writing.begin(init, self.position, self.now)

    def arguments(self) -> tuple[str, str]:
        return f"ptr {self.now}", f"ptr {self.then}"

    def step(self) -> None:
        self.writing.copy(self.type, self.then, self.now)

    def end(self) -> None:
        self.writing.copy(self.type, self.now, self.place)
        for place in (self.now, self.then):
            self.writing.writer.release(self.array, place)


class _Placed(_Carry):
    """An array that the body overwrites."""

    def begin(self, init: Value) -> None:
        self.writing.begin(init, self.position, self.place)

    def arguments(self) -> tuple[str, str]:
        return f"ptr {self.place}", f"ptr {self.place}"


class _Turned(_Carry):
    """An array with two places that take turns; pointers to them are swapped."""

    def begin(self, init: Value) -> None:
        writer = self.writing.writer
        self.slots = [writer.stack("ptr"), writer.stack("ptr")]
        for slot, place in zip(self.slots, (self.place, self.second)):
            writer.do(f"store ptr {place}, ptr {slot}")
        self.writing.begin(init, self.position, self.place)

    def arguments(self) -> tuple[str, str]:
        self.now, self.then = (self.writing.writer.emit(f"load ptr, ptr {x}") for x in self.slots)
        return f"ptr {self.now}", f"ptr {self.then}"

    def step(self) -> None:
        for slot, place in zip(self.slots, (self.then, self.now)):
            self.writing.writer.do(f"store ptr {place}, ptr {slot}")

    def end(self) -> None:
        writer = self.writing.writer
        last = writer.emit(f"load ptr, ptr {self.slots[0]}")
        elsewhere = writer.emit(f"icmp ne ptr {last}, {self.place}")
        writer.where(elsewhere, lambda: self.writing.copy(self.type, last, self.place))
        for slot in self.slots:
            writer.release("ptr", slot)


_CLASSES: dict[Way, type[_Carry]] = {
    Way.NUMBER: _Number,
    Way.FEW: _Few,
    Way.PLACED: _Placed,
    Way.TURNED: _Turned,
}


# -- the writing -----------------------------------------------------------------------------------


class _Writing:
    """One node of control flow in the making."""

    def __init__(
        self,
        lowering: Lowering,
        node: Node,
        kernels: Sequence[Kernel],
        shares: Mapping[Value, Value],
        scratch: Sequence[str],
    ) -> None:
        self.lowering = lowering
        self.elements = lowering.elements
        self.writer: Writer = lowering.elements.writer
        self.node = node
        self.kernels = kernels
        self._shares = shares
        self.operands = arrays_of(node)
        self._scratch = scratch
        self._slots: dict[int, str] = {}

    # -- operands and results ----------------------------------------------------------------------

    def whole(self, value: Value) -> str:
        """Return where an operand begins."""
        return self.elements.whole(value)

    def place(self, position: int) -> str:
        """Return where a result is written: its memory, or for a number in a register the stack."""
        value = self.node.results[position]
        if value.type.shape or self.elements.in_memory(value):
            return self.elements.whole(value)
        found = self._slots.get(position)
        if found is None:
            found = self._slots[position] = self.writer.stack(MEMORY[value.type.dtype])
        return found

    def numbers(self) -> dict[Value, str]:
        """Return the registers of the numbers that were made, and give back their places."""
        found = {}
        for position, place in self._slots.items():
            value = self.node.results[position]
            found[value] = self.elements.load(place, value.type.dtype)
            self.writer.release(MEMORY[value.type.dtype], place)
        return found

    def begin(self, init: Value, position: int, place: str) -> None:
        """Write what a result starts from into its place, unless it is there already."""
        type_ = init.type
        last = self._shares.get(self.node.results[position])
        if last is not None and self._shares.get(init) is last:
            return
        if is_fill(init):
            number = self.elements.element(init.operands[0], ())
            self.writer.loop(
                "0",
                self.writer.size(type_.count),
                lambda index: self.elements.store(
                    self.elements.at(place, type_.dtype, index), type_.dtype, number
                ),
            )
        else:
            self.copy(type_, self.whole(init), place)

    def store(self, number: Value, place: str) -> None:
        self.elements.store(place, number.type.dtype, self.elements.element(number, ()))

    def argument(self, value: Value) -> str:
        """Return an operand as an argument of a body: a number, or where an array begins."""
        if value.type.shape:
            return f"ptr {self.whole(value)}"
        register = self.elements.element(value, ())
        type_ = LLVM_TYPES[value.type.dtype]
        if type_ != "i8":
            return f"{type_} {register}"
        if register in ("true", "false"):
            return f"i8 {int(register == 'true')}"
        return f"i8 {self.writer.emit(f'zext i1 {register} to i8')}"

    def argument_at(self, type_: Type, place: str) -> str:
        """Return what is at a place as an argument of a body."""
        if type_.shape:
            return f"ptr {place}"
        llvm = LLVM_TYPES[type_.dtype]
        return f"{llvm} {self.writer.emit(f'load {llvm}, ptr {place}')}"

    def copy(self, type_: Type, source: str, target: str) -> None:
        """Write a loop that copies an array."""
        writer, memory = self.writer, MEMORY[type_.dtype]

        def one(index: str) -> None:
            writer.store_at(memory, writer.load_at(memory, source, index), target, index)

        if source != target:
            writer.loop("0", writer.size(type_.count), one)

    def call(self, body: int, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        """Write the call of a body, and the return of its status when that is not OK."""
        made = self.lowering.body(self.node, body)
        writer = self.writer
        writer.guarded_reads += made.guarded_reads
        arguments = [*filter(None, [self.lowering.sizes]), *inputs, *outputs]
        work = self._scratch[body]
        status = writer.emit(f"call i32 {made.name}({', '.join([*arguments, f'ptr {work}'])})")
        if made.fails:
            fine = writer.emit(f"icmp eq i32 {status}, 0")
            failed, following = writer.labels("failed", "following")
            writer.do(f"br i1 {fine}, label %{following}, label %{failed}")
            writer.start(failed)
            writer.do(f"ret i32 {status}")
            writer.start(following)

    # -- branches ----------------------------------------------------------------------------------

    def branches(self) -> None:
        """Write a cond: the first body is for a condition that does not hold."""
        writer = self.writer
        arguments = self._branch_arguments()
        pred = self.elements.element(self.operands[0], ())
        yes, no, joined = writer.labels("then", "otherwise", "joined")
        writer.do(f"br i1 {pred}, label %{yes}, label %{no}")
        for block, body in ((yes, 1), (no, 0)):
            writer.start(block)
            writer.open()
            self.call(body, *arguments)
            writer.close()
            writer.do(f"br label %{joined}")
        writer.start(joined)

    def branch(self, body: int) -> None:
        """Write a body that runs once."""
        self.call(body, *self._branch_arguments())

    def _branch_arguments(self) -> tuple[list[str], list[str]]:
        first = first_operand(self.node, 0)
        operands = self.operands[first:]
        places = [self.place(i) for i in range(len(self.node.results))]
        inputs: dict[int, str] = {}
        for result, param in self.kernels[0].overwrites.items():
            self.begin(operands[param], result, places[result])
            inputs[param] = f"ptr {places[result]}"
        arguments = [inputs[i] if i in inputs else self.argument(x) for i, x in enumerate(operands)]
        return arguments, [f"ptr {place}" for place in places]

    # -- loops -------------------------------------------------------------------------------------

    def _begin(self, init: Sequence[Value]) -> list[_Carry]:
        second = iter(self._scratch[len(self.kernels) :])
        carries = []
        for position, way in enumerate(ways(self.node, self.kernels)):
            carry = _CLASSES[way](self, position, next(second) if way is Way.TURNED else "")
            carry.begin(init[position])
            carries.append(carry)
        return carries

    def _step(
        self,
        body: int,
        consts: Sequence[str],
        carries: Sequence[_Carry],
        rows: Sequence[Value],
        index: str,
    ) -> None:
        """Write one call of a loop's body, with the rows at an index."""
        pairs = [carry.arguments() for carry in carries]
        inputs = [
            self.argument_at(row(x.type), self._row(x.type, self.whole(x), index)) for x in rows
        ]
        outputs = [
            f"ptr {self._row(x.type, self.place(len(carries) + i), index)}"
            for i, x in enumerate(self._stacks(len(carries)))
        ]
        self.call(
            body,
            [*consts, *(now for now, _ in pairs), *inputs],
            [*(then for _, then in pairs), *outputs],
        )
        for carry in carries:
            carry.step()

    def _stacks(self, carries: int) -> tuple[Value, ...]:
        """Return the results that have a row for each step."""
        count = int(self.node.op.name == "while")
        return self.node.results[carries : len(self.node.results) - count]

    def _row(self, type_: Type, place: str, index: str) -> str:
        writer = self.writer
        width = writer.size(product(type_.shape[1:]))
        return self.elements.at(place, type_.dtype, writer.multiply(index, width))

    def _clear(self, carries: int, first: str) -> None:
        """Write zeros into the rows that were not visited."""
        writer = self.writer
        for position, value in enumerate(self._stacks(carries)):
            place, dtype = self.place(carries + position), value.type.dtype
            width = writer.size(product(value.type.shape[1:]))
            zero = "0" if MEMORY[dtype] == "i8" else literal(0, dtype)

            def one(
                index: str, place: str = place, type_: str = MEMORY[dtype], zero: str = zero
            ) -> None:
                writer.store_at(type_, zero, place, index)

            writer.loop(writer.multiply(first, width), writer.size(value.type.count), one)

    def scan(self) -> None:
        """Write a loop over rows."""
        writer, given, operands = self.writer, self.node.attributes, self.operands
        length: Size | None = given["length"]
        trips = self._trips(length)
        start = first_operand(self.node, 0)
        first, last = start + given["consts"], start + given["consts"] + given["carries"]
        consts = [self.argument(x) for x in operands[start:first]]
        carries = self._begin(operands[first:last])

        def step(index: str) -> None:
            at = index
            if given["reverse"]:
                at = writer.subtract(writer.subtract(trips, "1"), index)
            self._step(0, consts, carries, operands[last:], at)

        writer.loop("0", trips, step)
        for carry in carries:
            carry.end()
        if given["counted"]:
            self._clear(len(carries), trips)

    def _trips(self, length: Size | None) -> str:
        writer = self.writer
        if not self.node.attributes["counted"]:
            assert length is not None
            return writer.size(length)
        count = self.elements.element(self.operands[0], ())
        negative = writer.emit(f"icmp slt i64 {count}, 0")
        trips = writer.emit(f"select i1 {negative}, i64 0, i64 {count}")
        if length is not None:
            too_many = writer.emit(f"icmp sgt i64 {trips}, {writer.size(length)}")
            self.lowering.refuse(too_many, _overrun(length))
        return trips

    def while_(self) -> None:
        """Write a loop with a condition."""
        writer, given, operands = self.writer, self.node.attributes, self.operands
        split = given["condition_consts"]
        first = split + given["body_consts"]
        asked = [self.argument(x) for x in operands[:split]]
        consts = [self.argument(x) for x in operands[split:first]]
        carries = self._begin(operands[first:])
        count, holds = self.place(len(self.node.results) - 1), writer.stack("i8")
        writer.store_at("i64", "0", count, "0")
        head, inside, done = writer.labels("while", "holds", "done")
        writer.do(f"br label %{head}")
        writer.start(head)
        writer.open()
        self.call(0, [*asked, *(carry.arguments()[0] for carry in carries)], [f"ptr {holds}"])
        flag = writer.emit(f"icmp ne i8 {writer.emit(f'load i8, ptr {holds}')}, 0")
        writer.do(f"br i1 {flag}, label %{inside}, label %{done}")
        writer.start(inside)
        index = writer.load_at("i64", count, "0")
        length: Size | None = given["length"]
        if length is not None:
            full = writer.emit(f"icmp sge i64 {index}, {writer.size(length)}")
            self.lowering.refuse(full, _overrun(length))
        self._step(1, consts, carries, (), index)
        writer.store_at("i64", writer.add(index, "1"), count, "0")
        writer.do(f"br label %{head}{writer.module.keep_scalar()}")
        writer.close()
        writer.start(done)
        writer.release("i8", holds)
        for carry in carries:
            carry.end()
        self._clear(len(carries), writer.load_at("i64", count, "0"))


def row(type_: Type) -> Type:
    """Return the type of one row."""
    return type_.with_shape(type_.shape[1:])


def _overrun(length: Size) -> Status:
    """Return the status for a loop that has more steps than its length."""
    return Status.TAPE if length == TAPE else Status.LIMIT
