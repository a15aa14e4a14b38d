"""What is handed on from step to step of a loop: one thing, and a list that grows."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from gradc.capture.held.heap import Held
from gradc.capture.held.leaves import common_type, type_of
from gradc.capture.held.nests import Nest, take_apart
from gradc.capture.held.uniform import NotUniform
from gradc.control.leaf_types import LeafType
from gradc.tracing import Tracer
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Value


@dataclass
class Slot:
    """One thing that is handed on.

    Parameters
    ----------
    path: what a user calls it.
    nest, start: its nest, and its leaves before the loop.
    leaf_types: the types of the leaves in all steps.
    given, parameters: what stands for them in the step that is recorded, and its parameters.
    after: the leaves after that step.
    """

    path: str
    nest: Nest
    start: list[Any]
    leaf_types: list[LeafType]
    given: list[Tracer] = field(default_factory=list)
    parameters: list[Value | None] = field(default_factory=list)
    after: list[Any] = field(default_factory=list)

    @classmethod
    def of(cls, path: str, value: Any) -> Slot:
        """Return the slot of something that has this value before the loop."""
        nest, leaves = take_apart(value)
        return cls(path, nest, leaves, [type_of(leaf) for leaf in leaves])

    def widen(self, value: Any) -> bool:
        """Have room for another value; return whether that is more than there was.

        Raises NotUniform for a value of another nest, shape or dtype.
        """
        nest, leaves = take_apart(value)
        if nest != self.nest:
            raise Changes(self.path, str(self.nest), str(nest))
        grew = False
        for position, leaf in enumerate(leaves):
            if position < len(self.given) and leaf is self.given[position]:
                continue
            have = self.leaf_types[position]
            new = common_type(have, type_of(leaf))
            if new is None:
                raise Changes(self.path, str(have), str(type_of(leaf)))
            grew = grew or new != have
            self.leaf_types[position] = new
        self.after = leaves
        return grew


class Changes(NotUniform):
    """Something is of another kind after a step than before it."""

    def __init__(self, path: str, before: str, after: str) -> None:
        self.path = path
        super().__init__(f"{path} is {before} before a step and {after} after it")


@dataclass
class Grown:
    """A list to which each step appends; ``tail``: how many last elements its steps may read."""

    held: Held
    tail: int = 0
    added: list[Any] = field(default_factory=list)
    nests: list[Nest] = field(default_factory=list)
    leaves: list[Any] = field(default_factory=list)

    @property
    def contents(self) -> list[Any]:
        """What it holds before the loop."""
        return list(self.held.parts.values())
