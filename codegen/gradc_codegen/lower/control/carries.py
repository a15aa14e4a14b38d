"""The carries of a loop while it is written: where each lives, and how it gets its next value.

Numbers, and arrays of a few elements, live on the stack, which LLVM turns into registers. A larger
array is overwritten in place where its body can; else it is double-buffered: of two places one is
read and one written. No array is copied at a step.
"""

from __future__ import annotations

from gradc_codegen.lower.control.control_site import ControlSite
from gradc_codegen.nest.carry_storage import Way
from gradc_codegen.text.module import MEMORY
from gradc_ir.core.graph import Value


class Carry:
    """A carry while its loop runs: where the body reads it and where it writes it.

    By itself it is an array that the body overwrites; other ways to keep one differ from that.
    """

    def __init__(self, site: ControlSite, position: int, second: str) -> None:
        self.site = site
        self.type = site.node.results[position].type
        self.position = position
        self.place = site.place(position)
        self.second = second

    def begin(self, init: Value) -> None:
        """Write what it starts from into its place."""
        self.site.begin(init, self.position, self.place)

    def arguments(self) -> tuple[str, str]:
        """Return what the body is given: the carry, and where its next value goes."""
        return f"ptr {self.place}", f"ptr {self.place}"

    def step(self) -> None:
        """Make the next value the current one."""

    def end(self) -> None:
        """Put the last value where the result is."""


class _Number(Carry):
    def begin(self, init: Value) -> None:
        self.site.store(init, self.place)

    def arguments(self) -> tuple[str, str]:
        return self.site.argument_at(self.type, self.place), f"ptr {self.place}"


class _Few(Carry):
    """An array of a few elements, on the stack; copying it is a move between registers."""

    def begin(self, init: Value) -> None:
        writer = self.site.writer
        self.array = f"[{self.type.count} x {MEMORY[self.type.dtype]}]"
        self.now, self.then = writer.stack.take(self.array), writer.stack.take(self.array)
        self.site.begin(init, self.position, self.now)

    def arguments(self) -> tuple[str, str]:
        return f"ptr {self.now}", f"ptr {self.then}"

    def step(self) -> None:
        self.site.copy(self.type, self.then, self.now)

    def end(self) -> None:
        self.site.copy(self.type, self.now, self.place)
        for place in (self.now, self.then):
            self.site.writer.stack.release(place)


class _DoubleBuffered(Carry):
    """An array with two places, one read and one written; pointers to them are swapped."""

    def begin(self, init: Value) -> None:
        writer = self.site.writer
        self.slots = [writer.stack.take("ptr"), writer.stack.take("ptr")]
        for slot, place in zip(self.slots, (self.place, self.second)):
            writer.do(f"store ptr {place}, ptr {slot}")
        self.site.begin(init, self.position, self.place)

    def arguments(self) -> tuple[str, str]:
        self.now, self.then = (self.site.writer.load("ptr", slot) for slot in self.slots)
        return f"ptr {self.now}", f"ptr {self.then}"

    def step(self) -> None:
        for slot, place in zip(self.slots, (self.then, self.now)):
            self.site.writer.do(f"store ptr {place}, ptr {slot}")

    def end(self) -> None:
        writer = self.site.writer
        last = writer.load("ptr", self.slots[0])
        elsewhere = writer.emit(f"icmp ne ptr {last}, {self.place}")
        writer.where(elsewhere, lambda: self.site.copy(self.type, last, self.place))
        for slot in self.slots:
            writer.stack.release(slot)


CARRIES: dict[Way, type[Carry]] = {
    Way.NUMBER: _Number,
    Way.FEW: _Few,
    Way.PLACED: Carry,
    Way.DOUBLE_BUFFERED: _DoubleBuffered,
}
