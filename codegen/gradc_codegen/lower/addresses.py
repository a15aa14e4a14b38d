"""Where values are: in outputs, in scratch, or in scratch for each lane of a block."""

from __future__ import annotations

from collections.abc import Callable

from gradc_codegen.lower.prologue import aligned_size
from gradc_codegen.storage.storage import Buffer, Plan, Storage
from gradc_codegen.text.indices import Lane, is_number
from gradc_codegen.text.writer import Writer
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Value


class Place(NamedTuple):
    """Where an element is, or one for each lane: a position, in elements, behind a base."""

    base: str
    position: str


class Addresses:
    """The places of values within one LLVM function.

    Parameters
    ----------
    writer: where instructions go.
    plan: where values live.
    arena: the pointer to aligned scratch.
    """

    def __init__(self, writer: Writer, plan: Plan, arena: str) -> None:
        self.writer = writer
        self.arena = arena
        self.own = "null"  # the scratch of the task at hand
        # in a part, which of the lanes in scratch the first one here is, and how many there are
        self.offset = "0"
        self.block: int | None = None
        # where one lane of a block is at hand by itself, its number
        self.lane: str | None = None
        self._plan = plan
        self._offsets: dict[bool, list[str]] = {}  # of the slots of each region
        # what is computed at the entry: where buffers and values begin, and flags, by number
        self._at_entry: dict[Buffer | Value | tuple[str, int], str] = {}

    def pointer(self, buffer: Buffer) -> str:
        """Return where a buffer begins."""

        def instruction() -> str:
            offset = str(buffer.offset) if buffer.slot < 0 else self._slot_offset(buffer)
            return f"getelementptr inbounds i8, ptr {self._region(buffer)}, i64 {offset}"

        return self._once(buffer, instruction)

    def _once(self, key: Buffer | Value | tuple[str, int], instruction: Callable[[], str]) -> str:
        """Return the register of an instruction at the entry, which is written when first asked."""
        found = self._at_entry.get(key)
        if found is None:
            found = self._at_entry[key] = self.writer.at_entry(instruction())
        return found

    def _region(self, buffer: Buffer) -> str:
        return self.own if buffer.is_own else self.arena

    def _slot_offset(self, buffer: Buffer) -> str:
        region = self._plan.own if buffer.is_own else self._plan.shared
        offsets = self._offsets.setdefault(buffer.is_own, [str(region.fixed_bytes)])
        while len(offsets) <= buffer.slot:
            length = aligned_size(self.writer, region, len(offsets) - 1)
            offsets.append(self.writer.at_entry(f"add i64 {offsets[-1]}, {length}"))
        return offsets[buffer.slot]

    def wanted(self, output: int) -> str:
        """Return the flag that says whether the caller wants an output."""
        if self._plan.all_wanted:
            return "true"
        return self._once(("wanted", output), lambda: f"icmp ne ptr %out{output}, null")

    def base(self, value: Value, storage: Storage) -> str:
        """Return where a value in memory begins: its output if that is wanted, or its scratch."""
        if storage.is_output_only:
            return f"%out{storage.output}"
        assert storage.buffer is not None
        scratch, output = self.pointer(storage.buffer), storage.output
        if output < 0:
            return scratch
        return self._once(
            value, lambda: f"select i1 {self.wanted(output)}, ptr %out{output}, ptr {scratch}"
        )

    def place(self, value: Value, index: tuple[str, ...]) -> Place:
        """Return where an element of a value in memory is."""
        storage, position = self._plan.storage[value], "0"
        kept, shape = storage.kept, value.type.shape
        if kept:
            sizes = [shape[axis] for axis in kept]
            position = self.writer.linear([index[axis] for axis in kept], sizes)
        if storage.lanes == 1:
            return Place(self.base(value, storage), position)
        buffer = storage.buffer
        assert buffer is not None
        if self.block is not None and buffer.slot < 0 and is_number(position):
            bytes_ = value.type.dtype.bytes
            at = int(position) * storage.lanes + buffer.offset // bytes_
            return Place(self._strip(buffer, bytes_), Lane(str(at), "1"))
        return Place(self.pointer(buffer), self.in_scratch(position, storage.lanes))

    def _strip(self, buffer: Buffer, bytes_: int) -> str:
        """Return where scratch were to begin if its first lane were the first one here."""
        writer, region = self.writer, self._region(buffer)

        def moved() -> str:
            offset = writer.multiply(self.offset, str(bytes_))
            return writer.emit(f"getelementptr inbounds i8, ptr {region}, i64 {offset}")

        return region if self.offset == "0" else writer.once(("strip", region, bytes_), moved)

    def in_scratch(self, position: str, lanes: int) -> str:
        """Return a position in scratch with the elements of all lanes, or of the one at hand."""
        lane = Lane(self.offset, "1") if self.lane is None else self.lane
        return self.writer.add(self.writer.multiply(position, str(lanes)), lane)
