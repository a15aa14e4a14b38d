"""Loops and branches in machine code: each body is a function, inlined where it is called."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from gradc_codegen.abi import Status
from gradc_codegen.lower.control.carries import CARRIES, Carry
from gradc_codegen.lower.control.control_site import ControlSite
from gradc_codegen.lower.lowering import Bounds
from gradc_codegen.nest.carry_storage import Way, ways
from gradc_codegen.nest.strips import STRIPS, Writes, writes
from gradc_codegen.schedule.control_bodies import first_operand
from gradc_codegen.text.module import MEMORY, literal
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import TAPE, Size, product
from gradc_ir.core.types import DType, Type
from gradc_ir.meaning import reduction


class Control(ControlSite):
    """A node of control flow in the making."""

    def write(self, bounds: Bounds | None = None) -> dict[Value, str]:
        """Write it, or of a loop that carries nothing a range of steps.

        Returns the registers of the numbers it makes.
        """
        if self.node.op.name == "scan":
            self.scan(bounds)
        elif self.node.op.name == "while":
            self.while_()
        elif self.node.op is STRIPS:
            self.strips(bounds)
        elif self.node.op.name == "cond":
            self.branches()
        else:
            self.call(0, *self._branch_arguments())
        return self.numbers()

    # -- branches ----------------------------------------------------------------------------------

    def branches(self) -> None:
        """Write a cond: the first body is for a condition that does not hold."""
        arguments = self._branch_arguments()
        pred = self.elements.element(self.operands[0], ())
        self.writer.either(
            pred,
            lambda: self.call(1, *arguments),
            lambda: self.call(0, *arguments),
            ("then", "otherwise", "joined"),
        )

    def _branch_arguments(self) -> tuple[list[str], list[str]]:
        first = first_operand(self.node, 0)
        operands = self.operands[first:]
        places = [self.place(i) for i in range(len(self.node.results))]
        inputs: dict[int, str] = {}
        for result, param in self.nests[0].overwrites.items():
            self.begin(operands[param], result, places[result])
            inputs[param] = f"ptr {places[result]}"
        arguments = [inputs[i] if i in inputs else self.argument(x) for i, x in enumerate(operands)]
        return arguments, [f"ptr {place}" for place in places]

    # -- loops -------------------------------------------------------------------------------------

    def _begin(self, init: Sequence[Value], begins: Sequence[bool] = ()) -> list[Carry]:
        """Return the carries; ``begins``: which of them start from something, else all."""
        second = iter(self._scratch[len(self.nests) :])
        carries = []
        for position, way in enumerate(ways(self.node, self.nests)):
            carry = CARRIES[way](self, position, next(second) if way is Way.DOUBLE_BUFFERED else "")
            if not begins or begins[position]:
                carry.begin(init[position])
            carries.append(carry)
        return carries

    def _step(
        self,
        body: int,
        consts: Sequence[str],
        carries: Sequence[Carry],
        rows: Sequence[tuple[Type, str]],
        index: str,
    ) -> None:
        """Write one call of a loop's body, with the rows at an index of arrays at some places."""
        pairs = [carry.arguments() for carry in carries]
        inputs = [
            self.argument_at(row(type_), self._row(type_, place, index)) for type_, place in rows
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
        return self.elements.memory.pointer(place, writer.multiply(index, width), type_.dtype)

    def _clear(self, carries: int, first: str, last: str | None = None) -> None:
        """Write zeros into the rows that were not visited: those from one on, or to another."""
        writer = self.writer
        for position, value in enumerate(self._stacks(carries)):
            if value in self._left_open:
                continue
            place, dtype = self.place(carries + position), value.type.dtype
            width = writer.size(product(value.type.shape[1:]))
            zero = "0" if dtype is DType.BOOL else literal(0, dtype)
            one = functools.partial(writer.store_at, MEMORY[dtype], zero, place)
            end = writer.size(value.type.count) if last is None else writer.multiply(last, width)
            writer.loop(writer.multiply(first, width), end, one)

    def scan(self, bounds: Bounds | None) -> None:
        """Write a loop over rows, or over a range of them."""
        writer, given, operands = self.writer, self.node.attributes, self.operands
        length: Size | None = given["length"]
        trips = self._trips(length)
        start = first_operand(self.node, 0)
        first, last = start + given["consts"], start + given["consts"] + given["carries"]
        consts = [self.argument(x) for x in operands[start:first]]
        carries = self._begin(operands[first:last])
        # what is in memory for an operand may have another shape
        types = [x.type for x in self.node.operands[last:]]
        rows = [(type_, self.whole(x)) for type_, x in zip(types, operands[last:])]

        def step(index: str) -> None:
            at = index
            if given["reverse"]:
                at = writer.subtract(writer.subtract(trips, "1"), index)
            self._step(0, consts, carries, rows, at)

        begin, end = bounds or ("0", trips)
        last = end
        if bounds is not None and given["counted"]:
            # of a range as many as are visited, none where it begins behind these
            end = writer.minimum(end, trips)
            is_some = writer.emit(f"icmp slt i64 {begin}, {end}")
            end = writer.emit(f"select i1 {is_some}, i64 {end}, i64 {begin}")
        writer.loop(begin, end, step)
        for carry in carries:
            carry.end()
        if given["counted"]:
            self._clear(len(carries), end, None if bounds is None else last)

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

    def strips(self, bounds: Bounds | None) -> None:
        """Write a loop over strips, or over those of a range of rows."""
        writer, given = self.writer, self.node.attributes
        consts = [self.argument(x) for x in self.operands[: given["consts"]]]
        written = writes(self.node)
        carries = self._begin(
            self.operands[given["consts"] :], [each is Writes.ALL for each in written]
        )
        sums = [carry for carry, each in zip(carries, written) if each is Writes.CHUNK]
        first, last = bounds or ("0", writer.size(given["size"]))

        def strip(first: str, end: str) -> None:
            count = writer.minimum(writer.subtract(end, first), str(given["strip"]))
            pairs = [carry.arguments() for carry in carries]
            inputs = [*consts, *(now for now, _ in pairs)]
            self.call(0, inputs, [then for _, then in pairs], (first, count))
            for carry in carries:
                carry.step()

        def chunk(start: str) -> None:
            # a strip is in one chunk of the sums over all rows
            end = writer.minimum(writer.add(start, str(reduction.CHUNK)), last)
            for carry in sums:
                number = writer.emit(f"lshr i64 {start}, {reduction.CHUNK.bit_length() - 1}")
                init = self.operands[given["consts"] + carry.position]
                self.fill(init, self._row(init.type, carry.place, number), row(init.type))
            mark = writer.module.keep_plain()
            writer.loop(start, end, lambda first: strip(first, end), given["strip"], True, mark)

        writer.loop(first, last, chunk, reduction.CHUNK, mark=writer.module.keep_plain())
        for carry in carries:
            carry.end()

    def while_(self) -> None:
        """Write a loop with a condition."""
        writer, given, operands = self.writer, self.node.attributes, self.operands
        split = given["condition_consts"]
        first = split + given["body_consts"]
        asked = [self.argument(x) for x in operands[:split]]
        consts = [self.argument(x) for x in operands[split:first]]
        carries = self._begin(operands[first:])
        count, holds = self.place(len(self.node.results) - 1), writer.stack.take("i8")
        writer.store_at("i64", "0", count, "0")
        head, inside, done = writer.labels("while", "holds", "done")
        writer.jump(head)
        writer.start(head)
        writer.open()
        self.call(0, [*asked, *(carry.arguments()[0] for carry in carries)], [f"ptr {holds}"])
        flag = writer.emit(f"icmp ne i8 {writer.load('i8', holds)}, 0")
        writer.branch(flag, inside, done)
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
        writer.stack.release(holds)
        for carry in carries:
            carry.end()
        self._clear(len(carries), writer.load_at("i64", count, "0"))


def row(type_: Type) -> Type:
    """Return the type of one row."""
    return type_.with_shape(type_.shape[1:])


def _overrun(length: Size) -> Status:
    """Return the status for a loop that has more steps than its length."""
    return Status.TAPE if length == TAPE else Status.LIMIT
