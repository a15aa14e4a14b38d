"""What stands in a list for elements that a step cannot know: whoever asks is told so.

Only so many last elements are there in a step. Which one an index means is known where it moves
with the steps as the list grows.
"""

from __future__ import annotations

from typing import Any, NoReturn

from gradc.capture.held.uniform import NotUniform
from gradc.tracing import Tracer
from gradc.tracing.core.state import Trace, running
from gradc.tracing.core.tracer import read
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Value


@dataclass(frozen=True)
class Growth:
    """How a list grows: it has ``length`` elements before the first step, and ``each`` more after
    every one; ``tail`` of these are there in a step of ``trace``.
    """

    trace: Trace
    length: int
    each: int
    tail: int

    def from_the_end(self, index: Tracer, known: int) -> int | None:
        """Return which of the ``known`` last elements an index means, from the end; None for any.

        It moves by as many places in a step as the list grows, and is never negative.
        """
        if index.type.shape or not index.type.dtype.is_integer or self.trace.step is None:
            return None
        found = _in_steps(read(index), self.trace.step[0], {})
        if found is None or found[1] != self.each or found[0] < 0:
            return None
        return found[0] - self.length - (known - self.tail)


_Moves = tuple[int, int] | None


def _in_steps(value: Value, step: Value, found: dict[Value, _Moves]) -> _Moves:
    """Return what an integer is at step 0, and by how much it grows; None where that varies."""
    origins = running().root.origins
    while value is not step and value in origins:
        value = origins[value]
    if value not in found:
        found[value] = None
        if value is step:
            found[value] = 0, 1
        elif value.op.name == "constant":
            found[value] = int(value.node.attributes["value"].array), 0
        elif value.op.name in ("add", "sub", "mul"):
            one, other = (_in_steps(operand, step, found) for operand in value.operands)
            found[value] = one and other and _combined(value.op.name, one, other)
    return found[value]


def _combined(op: str, one: tuple[int, int], other: tuple[int, int]) -> _Moves:
    if op == "add":
        return one[0] + other[0], one[1] + other[1]
    if op == "sub":
        return one[0] - other[0], one[1] - other[1]
    if one[1] and other[1]:
        return None
    return one[0] * other[0], one[0] * other[1] + one[1] * other[0]


class Fence:
    """In place of elements of a list to which the steps of a loop append."""

    def __init__(self, path: str, growth: Growth) -> None:
        self._path = path
        self._growth = growth

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise ReadsElements(self._path)

    def among_the_last(self, index: Any, known: int) -> Any:
        """Return an index of the list as one that counts from the end.

        Raises ReadsElements where it is of none of the ``known`` elements behind this one: how
        many it stands for is not known.
        """
        if type(index) is Tracer:
            index = self._growth.from_the_end(index, known)
        first = index.start if type(index) is slice else index
        last = index.stop if type(index) is slice else None
        step = index.step if type(index) is slice else None
        if type(first) is not int or step not in (None, 1):
            self._refuse()
        if not -known <= first < 0 or not (last is None or first <= last < 0):
            raise ReadsElements(self._path, -first)
        return index

    def __getattr__(self, name: str) -> Any:
        if name == "__gradc_refuse__":
            return self._refuse
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    def __str__(self) -> str:
        self._refuse()

    __repr__ = __str__


_ASKED = """
    add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul
    neg pos abs lt le gt ge eq ne bool len iter getitem setitem contains call float int index hash
    array array_ufunc array_function enter exit
"""
for _name in _ASKED.split():
    setattr(Fence, f"__{_name}__", Fence._refuse)


class ReadsElements(NotUniform):
    """A step reads what other steps have appended to a list: so many last elements, if known."""

    def __init__(self, path: str, count: int | None = None) -> None:
        self.path = path
        self.count = count
        super().__init__(f"it reads {path} in the steps that append to it")
