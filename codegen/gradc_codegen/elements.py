"""Reading one element of a value: from a register, from memory, or computed on the spot."""

from __future__ import annotations

from collections.abc import Callable

from gradc_codegen.axes import (
    Fixed,
    Index,
    IndexMap,
    Lookup,
    Regrouped,
    Shifted,
    Windowed,
    index_maps,
)
from gradc_codegen.buffers import ALIGNMENT, Buffer, Plan, Storage
from gradc_codegen.emitter import MEMORY, REGISTER, Writer, literal
from gradc_codegen.scalar import cast, lower_scalar
from gradc_ir.graph import Node, Value
from gradc_ir.types import DType


class Elements:
    """Access to the elements of values within one LLVM function.

    Parameters
    ----------
    writer: where instructions go.
    plan: where values live.
    arena: the pointer to aligned scratch.
    """

    def __init__(self, writer: Writer, plan: Plan, arena: str) -> None:
        self.writer = writer
        self.registers: dict[Value, str] = {}
        self.may_fail = False
        self._plan = plan
        self.arena = arena
        self._maps: dict[Node, tuple[IndexMap, ...]] = {}
        self._offsets: list[str] = []
        self._pointers: dict[Buffer, str] = {}
        self._bases: dict[Value, str] = {}
        self._wanted: dict[int, str] = {}
        self._scalars: dict[int, str] = {}

    # -- addresses ---------------------------------------------------------------------------------

    def pointer(self, buffer: Buffer) -> str:
        """Return where a buffer begins."""
        found = self._pointers.get(buffer)
        if found is None:
            offset = str(buffer.offset) if buffer.slot < 0 else self._slot_offset(buffer.slot)
            found = self.writer.at_entry(
                f"getelementptr inbounds i8, ptr {self.arena}, i64 {offset}"
            )
            self._pointers[buffer] = found
        return found

    def _slot_offset(self, slot: int) -> str:
        if not self._offsets:
            self._offsets.append(str(self._plan.fixed_bytes))
        while len(self._offsets) <= slot:
            length = aligned_size(self.writer, self._plan, len(self._offsets) - 1)
            self._offsets.append(self.writer.at_entry(f"add i64 {self._offsets[-1]}, {length}"))
        return self._offsets[slot]

    def wanted(self, output: int) -> str:
        """Return the flag that says whether the caller wants an output."""
        if self._plan.all_wanted:
            return "true"
        found = self._wanted.get(output)
        if found is None:
            found = self._wanted[output] = self.writer.at_entry(f"icmp ne ptr %out{output}, null")
        return found

    def base(self, value: Value, storage: Storage) -> str:
        """Return where a value in memory begins: its output if that is wanted, or its scratch."""
        found = self._bases.get(value)
        if found is None:
            if storage.is_output_only:
                return f"%out{storage.output}"
            assert storage.buffer is not None
            found = self.pointer(storage.buffer)
            if storage.output >= 0:
                flag = self.wanted(storage.output)
                found = self.writer.at_entry(
                    f"select i1 {flag}, ptr %out{storage.output}, ptr {found}"
                )
            self._bases[value] = found
        return found

    def address(self, value: Value, index: tuple[str, ...]) -> str:
        """Return the address of an element of a value in memory."""
        storage = self._plan.storage[value]
        shape = value.type.shape
        kept = storage.kept
        position = self.writer.linear(
            [index[axis] for axis in kept], [shape[axis] for axis in kept]
        )
        return self.at(self.base(value, storage), value.type.dtype, position)

    def at(self, base: str, dtype: DType, position: str) -> str:
        """Return the address of the element at a position from a base."""
        if position == "0":
            return base
        return self.writer.emit(
            f"getelementptr inbounds {MEMORY[dtype]}, ptr {base}, i64 {position}"
        )

    def load(self, address: str, dtype: DType) -> str:
        """Return what is at an address."""
        loaded = self.writer.emit(f"load {MEMORY[dtype]}, ptr {address}")
        return self.writer.emit(f"icmp ne i8 {loaded}, 0") if dtype is DType.BOOL else loaded

    def store(self, address: str, dtype: DType, register: str) -> None:
        """Write a register to an address."""
        if dtype is DType.BOOL:
            register = self.writer.emit(f"zext i1 {register} to i8")
        self.writer.do(f"store {MEMORY[dtype]} {register}, ptr {address}")

    def in_memory(self, value: Value) -> bool:
        """Whether a statement's value lives in memory rather than in a register."""
        return self._plan.storage[value].memory

    def is_stored(self, value: Value) -> bool:
        """Whether a value is some statement's, in memory or in a register."""
        return value in self._plan.storage

    def whole(self, value: Value) -> str:
        """Return where a value that is in memory whole begins."""
        storage = self._plan.storage.get(value)
        if storage is not None:
            return self.base(value, storage)
        node = value.node
        if node.op.name == "constant":
            return self.writer.module.constant(node.attributes["value"])
        return f"%in{node.attributes['index']}"

    # -- elements ----------------------------------------------------------------------------------

    def element(self, value: Value, index: tuple[str, ...]) -> str:
        """Return an element of a value in a register; axes it does not keep need no index."""
        found = self.registers.get(value)
        if found is not None:
            return found
        node = value.node
        name = node.op.name
        storage = self._plan.storage.get(value)
        if storage is None:
            if name == "constant" and not index:
                return literal(node.attributes["value"].array.item(), value.type.dtype)
            if name == "param" and not index:
                return self._scalar(node.attributes["index"], value.type.dtype)
        key = (value, index)
        known = self.writer.known(key)
        if known is None:
            known = self.writer.remember(key, self._element(value, storage, index))
        return known

    def _element(self, value: Value, storage: Storage | None, index: tuple[str, ...]) -> str:
        dtype = value.type.dtype
        if storage is not None:
            return self.load(self.address(value, index), dtype)
        node = value.node
        if node.op.name in ("param", "constant"):
            position = self.writer.linear(list(index), list(value.type.shape))
            return self.load(self.at(self.whole(value), dtype, position), dtype)
        return self.compute(node, index)

    def _scalar(self, position: int, dtype: DType) -> str:
        if dtype is not DType.BOOL:
            return f"%in{position}"
        found = self._scalars.get(position)
        if found is None:
            found = self._scalars[position] = self.writer.at_entry(f"icmp ne i8 %in{position}, 0")
        return found

    def maps(self, node: Node) -> tuple[IndexMap, ...]:
        """Return the index maps of a node."""
        found = self._maps.get(node)
        if found is None:
            found = self._maps[node] = index_maps(node)
        return found

    def compute(self, node: Node, index: tuple[str, ...]) -> str:
        """Return the element of a node's result at its own dims, computed from its operands."""
        op = node.op
        if op.is_elementwise:
            return lower_scalar(
                self.writer, node, [self.element(operand, index) for operand in node.operands]
            )
        name = op.name
        dtype = node.results[0].type.dtype
        if name == "size":
            return self.writer.size(node.attributes["size"])
        if name == "iota":
            return cast(self.writer, index[0], DType.I64, dtype)
        if name == "pad":
            zero = literal(0, dtype)
            return self._windowed(node, 0, index, lambda: zero)
        if name == "set_slice":
            base = node.operands[0]
            return self._windowed(node, 1, index, lambda: self.element(base, index))
        if name == "concatenate":
            return self._concatenated(node, 0, index)
        return self.element(node.operands[0], self.read_at(node, 0, index))

    def read_at(self, node: Node, position: int, index: tuple[str, ...]) -> tuple[str, ...]:
        """Return at which index a node reads an operand, given the index of its own dims."""
        return tuple(
            index[at] if type(at) is int else self._index(node, axis, at, index)
            for axis, at in enumerate(self.maps(node)[position])
        )

    def _index(self, node: Node, axis: int, at: Index, index: tuple[str, ...]) -> str:
        writer = self.writer
        if isinstance(at, Shifted):
            moved = writer.multiply(index[at.dim], str(at.step))
            return writer.add(writer.size(at.start), moved)
        if isinstance(at, Regrouped):
            result = writer.linear([index[dim] for dim in at.dims], list(at.dim_sizes))
            if result == "0":
                return result
            if at.divisor != 1:
                result = writer.emit(f"udiv i64 {result}, {writer.size(at.divisor)}")
            if at.modulus is not None:
                result = writer.emit(f"urem i64 {result}, {writer.size(at.modulus)}")
            return result
        if isinstance(at, Lookup):
            indices = node.operands[at.operand]
            return self.checked(indices, index[: indices.type.rank], node.operands[0], axis)
        assert isinstance(at, Fixed)
        return "0"

    def checked(self, indices: Value, at: tuple[str, ...], x: Value, axis: int) -> str:
        """Return an index operand's element, wrapped once; the kernel fails when it is outside."""
        writer = self.writer
        key = ("checked", indices, at, x.type.shape[axis])
        known = writer.known(key)
        if known is not None:
            return known
        found = cast(writer, self.element(indices, at), indices.type.dtype, DType.I64)
        length = writer.size(x.type.shape[axis])
        negative = writer.emit(f"icmp slt i64 {found}, 0")
        moved = writer.emit(f"add i64 {found}, {length}")
        wrapped = writer.emit(f"select i1 {negative}, i64 {moved}, i64 {found}")
        inside = writer.emit(f"icmp ult i64 {wrapped}, {length}")
        (following,) = writer.labels("inside")
        writer.do(f"br i1 {inside}, label %{following}, label %outside")
        writer.start(following)
        self.may_fail = True
        return writer.remember(key, wrapped)

    # -- reads under a guard -----------------------------------------------------------------------

    def _windowed(
        self, node: Node, position: int, index: tuple[str, ...], otherwise: Callable[[], str]
    ) -> str:
        """Return the operand's element where all windows hold, something else outside."""
        writer = self.writer
        conditions: list[str] = []
        at: list[str] = []
        for window in self.maps(node)[position]:
            if isinstance(window, Windowed):
                condition, inner = self._window(window, index[window.dim])
                conditions.append(condition)
                at.append(inner)
            else:
                assert isinstance(window, int)
                at.append(index[window])
        if not conditions:
            return self.element(node.operands[position], tuple(at))
        condition = conditions[0]
        for other in conditions[1:]:
            condition = writer.emit(f"and i1 {condition}, {other}")
        type_ = REGISTER[node.results[0].type.dtype]
        return self._branch(
            condition, type_, lambda: self.element(node.operands[position], tuple(at)), otherwise
        )

    def _concatenated(self, node: Node, position: int, index: tuple[str, ...]) -> str:
        if position == len(node.operands) - 1:
            (window,) = [w for w in self.maps(node)[position] if isinstance(w, Windowed)]
            start = self.writer.size(window.start)
            inner = self.writer.subtract(index[window.dim], start)
            at = tuple(inner if dim == window.dim else i for dim, i in enumerate(index))
            return self.element(node.operands[position], at)
        return self._windowed(
            node, position, index, lambda: self._concatenated(node, position + 1, index)
        )

    def _window(self, window: Windowed, index: str) -> tuple[str, str]:
        writer = self.writer
        distance = writer.subtract(index, writer.size(window.start))
        size = writer.size(window.size)
        if window.step == 1:
            return writer.emit(f"icmp ult i64 {distance}, {size}"), distance
        quotient = writer.emit(f"sdiv i64 {distance}, {window.step}")
        rest = writer.emit(f"srem i64 {distance}, {window.step}")
        whole = writer.emit(f"icmp eq i64 {rest}, 0")
        below = writer.emit(f"icmp ult i64 {quotient}, {size}")
        return writer.emit(f"and i1 {whole}, {below}"), quotient

    def _branch(
        self, condition: str, type_: str, then: Callable[[], str], otherwise: Callable[[], str]
    ) -> str:
        writer = self.writer
        writer.guarded_reads += 1
        yes, no, joined = writer.labels("yes", "no", "joined")
        writer.do(f"br i1 {condition}, label %{yes}, label %{no}")
        found = []
        for block, value in ((yes, then), (no, otherwise)):
            writer.start(block)
            writer.open()
            result = value()
            writer.close()
            found.append(f"[ {result}, %{writer.block} ]")
            writer.do(f"br label %{joined}")
        writer.start(joined)
        return writer.emit(f"phi {type_} {found[0]}, {found[1]}")


def aligned_size(writer: Writer, plan: Plan, slot: int) -> str:
    """Return the bytes a symbolic slot takes, up to the next cache line."""
    size = writer.maximum_at_entry(writer.size(plan.slots[slot]), "0")
    rounded = writer.at_entry(f"add i64 {size}, {ALIGNMENT - 1}")
    return writer.at_entry(f"and i64 {rounded}, {-ALIGNMENT}")
