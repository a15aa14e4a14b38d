"""Places on the stack of an LLVM function, which are lent and given back."""

from __future__ import annotations

from collections.abc import Iterator


class Stack:
    """The places of one function. ``numbers`` are those that names of registers are made with."""

    def __init__(self, numbers: Iterator[int]) -> None:
        # they come before all else: LLVM has those in registers, no others
        self.lines: list[str] = []
        self._numbers = numbers
        self._free: dict[str, list[str]] = {}
        self._taken: dict[str, list[str]] = {}

    def own(self, type_: str) -> str:
        """Return a place that the whole function has for itself."""
        name = f"%t{next(self._numbers)}"
        self.lines.append(f"  {name} = alloca {type_}")
        return name

    def take(self, type_: str, alignment: int | None = None) -> str:
        """Return a place for now; give it back with :meth:`release`.

        Without an alignment it is one to a cache line for what is more than a number.
        """
        if alignment is None:
            alignment = 64 if type_.startswith(("[", "<")) else 8
        kind = f"{type_}, align {alignment}"
        free = self._free.setdefault(kind, [])
        place = free.pop() if free else self.own(kind)
        self._taken[place] = free
        return place

    def release(self, place: str) -> None:
        """Give back a place."""
        self._taken.pop(place).append(place)
