"""Groups of zeros that do not join a sum.

To join 0.0 changes -0.0 and nothing else. The first group of a chunk always joins. Behind it the
chunk is -0.0 only if every element of that group was, so if none of them was masked away: then
later groups that are left out join 0.0 in the place of their elements.
"""

from __future__ import annotations

from gradc_codegen.text.writer import Writer


class Skipped:
    """What is known of the chunk at hand, on the stack.

    Parameters
    ----------
    writer: where instructions go.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._is_first = writer.stack.take("i1")
        self._may_be_negative = writer.stack.take("i1")

    def begin_chunk(self) -> None:
        """Write that no group has joined yet."""
        self._writer.do(f"store i1 true, ptr {self._is_first}")
        self._writer.do(f"store i1 false, ptr {self._may_be_negative}")

    def join_group(self) -> None:
        """Write that a group has joined."""
        self._writer.do(f"store i1 false, ptr {self._is_first}")

    def release(self) -> None:
        """Give back the stack."""
        self._writer.stack.release(self._is_first)
        self._writer.stack.release(self._may_be_negative)

    @property
    def is_first(self) -> str:
        """Whether the group at hand is the first of its chunk."""
        return self._writer.load("i1", self._is_first)

    @property
    def may_be_negative(self) -> str:
        """Whether the chunk may be -0.0 behind its first group."""
        return self._writer.load("i1", self._may_be_negative)

    def note(self, is_full: str) -> None:
        """Note of a group whether no element was masked away; only that of the first counts."""
        may_be = self._writer.emit(f"or i1 {self.may_be_negative}, {is_full}")
        self._writer.do(f"store i1 {may_be}, ptr {self._may_be_negative}")
