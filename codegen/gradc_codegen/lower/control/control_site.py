"""One node of control flow in machine code: its operands, its results, and calls of its bodies."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from gradc_codegen.arrays.whole_array_ops import arrays_of
from gradc_codegen.lower.addresses import Place
from gradc_codegen.lower.lowering import Lowering
from gradc_codegen.nest.carry_storage import is_fill
from gradc_codegen.nest.loop_nest import LoopNest
from gradc_codegen.text.module import MEMORY
from gradc_codegen.text.writer import Writer
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.types import Type

# Arrays of no more elements are copied as a vector.
_VECTOR = 32


class ControlSite:
    """Where a node of control flow is written.

    Parameters
    ----------
    lowering: the function it is written in.
    nests: its bodies.
    shares: values that share memory, as a loop nest says.
    scratch: pointers, as :func:`gradc_codegen.nest.carry_storage.control_scratch` asked for them.
    left_open: results whose rows need no zeros where they are not visited.
    """

    def __init__(
        self,
        lowering: Lowering,
        node: Node,
        nests: Sequence[LoopNest],
        shares: Mapping[Value, Value],
        scratch: Sequence[str],
        left_open: Container[Value],
    ) -> None:
        self.lowering = lowering
        self.elements = lowering.elements
        self.writer: Writer = lowering.elements.writer
        self.node = node
        self.nests = nests
        self._shares = shares
        self.operands = arrays_of(node)
        self._scratch = scratch
        self._left_open = left_open
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
            found = self._slots[position] = self.writer.stack.take(MEMORY[value.type.dtype])
        return found

    def numbers(self) -> dict[Value, str]:
        """Return the registers of the numbers that were made, and give back their places."""
        found = {}
        for position, place in self._slots.items():
            value = self.node.results[position]
            found[value] = self.elements.load(Place(place, "0"), value.type.dtype)
            self.writer.stack.release(place)
        return found

    def begin(self, init: Value, position: int, place: str) -> None:
        """Write what a result starts from into its place, unless it is there already."""
        type_ = init.type
        last = self._shares.get(self.node.results[position])
        if last is not None and self._shares.get(init) is last:
            return
        if is_fill(init):
            self.fill(init, place, type_)
        else:
            self.copy(type_, self.whole(init), place)

    def fill(self, init: Value, place: str, type_: Type) -> None:
        """Write the number that an array is of into one of a type."""
        number = self.elements.element(init.operands[0], ())
        self.writer.loop(
            "0",
            self.writer.size(type_.count),
            lambda index: self.elements.store(Place(place, index), type_.dtype, number),
        )

    def store(self, number: Value, place: str) -> None:
        """Write a number to a place."""
        register = self.elements.element(number, ())
        self.elements.store(Place(place, "0"), number.type.dtype, register)

    def argument(self, value: Value) -> str:
        """Return an operand as an argument of a body: a number, or where an array begins."""
        if value.type.shape:
            return f"ptr {self.whole(value)}"
        register = self.elements.element(value, ())
        type_ = MEMORY[value.type.dtype]
        if type_ != "i8":
            return f"{type_} {register}"
        if register in ("true", "false"):
            return f"i8 {int(register == 'true')}"
        return f"i8 {self.writer.emit(f'zext i1 {register} to i8')}"

    def argument_at(self, type_: Type, place: str) -> str:
        """Return what is at a place as an argument of a body."""
        if type_.shape:
            return f"ptr {place}"
        llvm = MEMORY[type_.dtype]
        return f"{llvm} {self.writer.load(llvm, place)}"

    def copy(self, type_: Type, source: str, target: str) -> None:
        """Write the copying of an array: a loop, or a vector of few elements."""
        writer, memory = self.writer, MEMORY[type_.dtype]
        if source != target and isinstance(type_.count, int) and 1 < type_.count <= _VECTOR:
            vector, end = f"<{type_.count} x {memory}>", f"align {type_.dtype.bytes}"
            loaded = writer.emit(f"load {vector}, ptr {source}, {end}")
            writer.do(f"store {vector} {loaded}, ptr {target}, {end}")
            return

        def one(index: str) -> None:
            writer.store_at(memory, writer.load_at(memory, source, index), target, index)

        if source != target:
            writer.loop("0", writer.size(type_.count), one)

    def call(
        self, body: int, inputs: Sequence[str], outputs: Sequence[str], sizes: Sequence[str] = ()
    ) -> None:
        """Write the call of a body, and the return of its status when that is not OK.

        ``sizes``: those that the node binds.
        """
        made = self.lowering.body(self.node, body)
        writer = self.writer
        writer.guarded_reads += made.guarded_reads
        bound = [f"i64 {size}" for size in sizes]
        arguments = [*filter(None, [self.lowering.sizes]), *bound, *inputs, *outputs]
        work = self._scratch[body]
        given = ", ".join([*arguments, f"ptr {work}", *self.lowering.runner])
        status = writer.emit(f"call i32 {made.name}({given})")
        if made.fails:
            writer.return_unless_ok(status)
