"""Places on the stack of an LLVM function, which are lent and given back."""

from __future__ import annotations

from collections.abc import Iterator


class Stack:
    """The places of one function. ``numbers`` are those that names of registers are made with."""

    def __init__(self, numbers: Iterator[int]) -> None:
        # they come before all else: LLVM has those in registers, no others
        self._lines: list[str] = []
        self._arrays: dict[str, tuple[str, int]] = {}
        self._numbers = numbers
        self._free: dict[str, list[str]] = {}
        self._taken: dict[str, list[str]] = {}

    @property
    def lines(self) -> list[str]:
        """The lines that make the places."""
        arrays = [
            f"  {name} = alloca [{count} x {type_}], align 64"
            for type_, (name, count) in self._arrays.items()
        ]
        return [*self._lines, *arrays]

    def slot(self, type_: str) -> tuple[str, int]:
        """Return the array of a type that the whole function has, and a further place in it."""
        name, count = self._arrays.get(type_) or (f"%t{next(self._numbers)}", 0)
        self._arrays[type_] = name, count + 1
        return name, count

    def own(self, type_: str) -> str:
        """Return a place that the whole function has for itself."""
        name = f"%t{next(self._numbers)}"
        self._lines.append(f"  {name} = alloca {type_}")
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
