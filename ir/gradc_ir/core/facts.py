"""Facts about ops that a room knows by itself: a file a family, loaded when an op of it is met."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gradc_ir.core.op import TABLE, Op

Fact = TypeVar("Fact")


class Facts(dict[str, Fact]):
    """What a room knows of each op, by the op's name.

    The table stands below the files that fill it. They are named as the families of ops, and their
    room registers how one is loaded; asking the table for an op loads the file of its family. A
    family is there as a whole or not at all, also while another thread loads it.

    Parameters
    ----------
    what: what such a fact is, for errors: ``"derivative"``.
    """

    def __init__(self, what: str) -> None:
        super().__init__()
        self._what = what
        self._load: Callable[[str], object] | None = None
        self._declared: dict[str, Fact] = {}

    def load_by(self, load: Callable[[str], object]) -> None:
        """Register what loads the file of a family, which declares the facts of all its ops."""
        self._load = load

    def declared(self, op: Op) -> Fact | None:
        """Return what its file has declared of an op so far."""
        return self._declared.get(op.name)

    def declare(self, op: Op, fact: Fact) -> None:
        """Enter what is known of an op; a file that declares it in parts enters it anew."""
        self._declared[op.name] = fact

    def __missing__(self, name: str) -> Fact:
        """Load the family of an op; KeyError where nothing is known of the op then."""
        family = TABLE[name].family
        if self._load is None:
            raise LookupError(f"no room is imported that declares a {self._what} of an op")
        self._load(family)
        if name not in self._declared:
            raise KeyError(f"the op {name} has no {self._what} in the file of its family, {family}")
        found = {op: fact for op, fact in self._declared.items() if TABLE[op].family == family}
        self.update(found)
        return found[name]
