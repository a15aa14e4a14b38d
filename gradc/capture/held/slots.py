"""What is handed on from step to step of a loop: one thing, and a list that grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from gradc.capture.held.heap import Held
from gradc.capture.held.leaves import common_of, common_type, stacked_leaves, type_of
from gradc.capture.held.nests import Nest, is_number, rebuilt, take_apart
from gradc.capture.held.uniform import NotUniform
from gradc.control.leaf_types import LeafType
from gradc.tracing import Tracer
from gradc.tracing.core.rows import whole
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Value
from gradc_ir.core.types import Type


@dataclass
class Slot:
    """One thing that is handed on.

    Parameters
    ----------
    path: what a user calls it.
    nest, start: its nest, and its leaves before the loop; of a long list of like numbers, which is
        one array in the steps, the list itself.
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
        number = _type_of_numbers(value)
        if number is not None:
            return cls(path, _rows(number, len(value)), [[*value]], [_many(number, len(value))])
        nest, leaves = take_apart(value)
        return cls(path, nest, leaves, [type_of(leaf) for leaf in leaves])

    def starts(self) -> list[Any]:
        """Return the leaves before the loop, as numbers and arrays of the trace around it."""
        if self.nest.kind != "rows":
            return self.start
        return [stacked_leaves(self.start[0], self._number)]

    def value(self, leaves: Sequence[Any]) -> Any:
        """Return what has these leaves; some may be those from before the loop."""
        if self.nest.kind == "rows" and type(leaves[0]) is list:
            return [*leaves[0]]
        return rebuilt(self.nest, leaves)

    def widen(self, value: Any) -> bool:
        """Have room for another value; return whether that is more than there was.

        Raises NotUniform for a value of another nest, shape or dtype.
        """
        grew = False
        if self.nest.kind == "rows":
            found = self._widen_rows(value)
            if found is not None:
                return found
            # a number each, from now on
            self.nest, self.start = take_apart(self.start[0])
            self.leaf_types = [type_of(leaf) for leaf in self.start]
            self.given, self.parameters = [], []
            grew = True
        nest, leaves = take_apart(value)
        if nest != self.nest:
            raise Changes(self.path, str(self.nest), str(nest))
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

    @property
    def _number(self) -> LeafType:
        """The type of a number in a list that is one array."""
        dtype = self.leaf_types[0].type.dtype
        return LeafType(Type(dtype), self.nest.what[2])

    def _widen_rows(self, value: Any) -> bool | None:
        """Have room for another list of numbers; None where it is none of as many."""
        count = len(self.start[0])
        number = _type_of_numbers(value)
        if number is None or len(value) != count:
            return None
        have = self._number
        new = common_type(have, number)
        if new is None:
            return None
        together = whole(value)
        self.after = [together if type(together) is Tracer else stacked_leaves(value, new)]
        if new == have:
            return False
        self.nest, self.leaf_types = _rows(new, count), [_many(new, count)]
        return True


# Lists of fewer numbers are a number each: a loop may keep them in registers.
_MANY = 32


def _type_of_numbers(value: Any) -> LeafType | None:
    """Return the type that the numbers of a long list have in common, None for anything else."""
    if type(value) is not list or len(value) < _MANY or not all(map(is_number, value)):
        return None
    try:
        found = common_of(value)
    except NotUniform:
        return None
    # whole numbers of Python's have no bounds: each is looked after
    is_one = found.scalar and not found.type.shape and found.type.dtype.is_float
    return found if is_one else None


def _rows(number: LeafType, count: int) -> Nest:
    return Nest("rows", (list, count, number.weak))


def _many(number: LeafType, count: int) -> LeafType:
    return LeafType(number.type.with_shape((count,)), None, False)


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
