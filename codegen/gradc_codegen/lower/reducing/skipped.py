"""Groups of zeros that do not join a sum.

To join 0.0 changes -0.0 and nothing else. A chunk begins with -0.0. Behind its first group it is
-0.0 only if every element of that group was, so if none of them was masked away. The first group,
and later ones of such a chunk, join 0.0 in the place of their elements when they are left out.
"""

from __future__ import annotations

from gradc_codegen.text.writer import Writer


class Skipped:
    """What is known of the chunk at hand, on the stack.

    Parameters
    ----------
    writer: where instructions go.
    is_fresh: where each group is begun as a chunk, as in tasks, whether nothing is there that it
        joins; what is known of that is kept from group to group.
    """

    def __init__(self, writer: Writer, is_fresh: str | None = None) -> None:
        self._writer = writer
        self._is_fresh = is_fresh
        take = writer.stack.take if is_fresh is None else writer.stack.own
        self._is_first = take("i1")
        self._may_be_negative = take("i1")

    def begin_chunk(self) -> None:
        """Write that no group has joined yet."""
        is_first, may_be = "true", "false"
        if self._is_fresh is not None:
            is_first = self._is_fresh
            before = self._may_be_negative_now
            may_be = self._writer.emit(f"select i1 {is_first}, i1 false, i1 {before}")
        self._writer.do(f"store i1 {is_first}, ptr {self._is_first}")
        self._writer.do(f"store i1 {may_be}, ptr {self._may_be_negative}")

    def join_group(self) -> None:
        """Write that a group has joined."""
        self._writer.do(f"store i1 false, ptr {self._is_first}")

    def release(self) -> None:
        """Give back the stack."""
        if self._is_fresh is not None:
            return
        self._writer.stack.release(self._is_first)
        self._writer.stack.release(self._may_be_negative)

    @property
    def needs_zero(self) -> str:
        """Whether the chunk may be -0.0, so that a group that is left out joins a zero."""
        is_first = self._writer.load("i1", self._is_first)
        return self._writer.emit(f"or i1 {is_first}, {self._may_be_negative_now}")

    @property
    def _may_be_negative_now(self) -> str:
        """Whether the chunk may be -0.0 behind its first group."""
        return self._writer.load("i1", self._may_be_negative)

    def note(self, is_full: str) -> None:
        """Note of a group whether no element was masked away; only that of the first counts."""
        may_be = self._writer.emit(f"or i1 {self._may_be_negative_now}, {is_full}")
        self._writer.do(f"store i1 {may_be}, ptr {self._may_be_negative}")
