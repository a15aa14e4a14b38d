"""Bodies of control ops with other parameters: constants put in, equal parameters made one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.graphs.rearrange import scalar_constant

# What stands for a parameter: the position of a new one, or a constant of the function around.
Given: TypeAlias = int | Value

# Elements of an array that may be written out in more than one function.
_FEW = 16
# Carries that are told apart one after another, a pair a round, are not worth it.
_ROUNDS = 8


def is_known(value: Value) -> bool:
    """Whether a value is a number, spread or not, a short constant array or a size.

    Bodies may hold such values themselves, where rules and folding see them.
    """
    if value.op.name == "constant" and value.node.attributes["value"].array.size <= _FEW:
        return True
    return value.op.name == "size" or scalar_constant(value) is not None


def same_known(value: Value, other: Value) -> bool:
    """Whether two values of different functions are known to have the same type and bits."""
    if value.type != other.type or not (is_known(value) and is_known(other)):
        return False
    with Builder():
        return copy_known(value) is copy_known(other)


def copy_known(value: Value) -> Value:
    """Return a known value in the active builder."""
    number = scalar_constant(value)
    if number is not None:
        return build.full(value.type.shape, number, value.type.dtype)
    return build.active().apply(value.op, (), value.node.attributes).results[0]


class Operands:
    """The operands of a body: each once, and none that it may hold itself."""

    def __init__(self) -> None:
        self._places: dict[Value, int] = {}

    @property
    def values(self) -> list[Value]:
        """The operands, in the order in which they came."""
        return list(self._places)

    def place(self, value: Value) -> int:
        """Return the position of an operand."""
        return self._places.setdefault(value, len(self._places))

    def take(self, value: Value) -> Given:
        """Return what stands for an operand in the body: its position, or itself if known."""
        return value if is_known(value) else self.place(value)


def specialise(
    function: Function,
    given: Sequence[Given],
    count: int,
    results: Sequence[int] | None = None,
) -> Function:
    """Return a function of ``count`` parameters, and with some of the results; all for None.

    ``given`` has an entry a parameter of the old function.
    """
    wanted = range(len(function.results)) if results is None else results
    if list(given) == list(range(count)) and list(wanted) == list(range(len(function.results))):
        return function
    olds: dict[int, int] = {}
    for old, place in enumerate(given):
        if isinstance(place, int):
            olds.setdefault(place, old)
    with Builder() as builder:
        params = [builder.param(i, function.params[olds[i]].type) for i in range(count)]
        operands = [params[x] if isinstance(x, int) else copy_known(x) for x in given]
        ends = builder.inline(function, operands)
        names = [function.names[olds[i]] for i in range(count)]
        kept = [ends[i] for i in wanted]
        return builder.function(function.name, params, kept, names, function.location)


def param_place(value: Value) -> int | None:
    """Return the position of a parameter, None for any other value."""
    place: int | None = value.node.attributes["index"] if value.op.name == "param" else None
    return place


def outside(end: Value, operands: Sequence[Value]) -> Value | None:
    """Return a result of a body as a value of the active builder, if it is no more than that.

    It is an operand, or a known value; ``operands`` are those of the body.
    """
    place = param_place(end)
    if place is not None:
        return operands[place]
    return copy_known(end) if is_known(end) else None


def equal_carries(body: Function, first: int, init: Sequence[Value]) -> list[int]:
    """Return for each carry of a loop the first one that has the same value at every step.

    ``first`` is the position of the first carry among the body's parameters.
    """
    places: dict[Value, int] = {}
    same = [places.setdefault(value, i) for i, value in enumerate(init)]
    # carries that start equal are taken for equal, until the body tells them apart
    for _ in range(_ROUNDS):
        if len(set(same)) == len(same):
            return same
        with Builder() as builder:
            params = [builder.param(i, param.type) for i, param in enumerate(body.params)]
            for i, other in enumerate(same):
                params[first + i] = params[first + other]
            ends = builder.inline(body, params)
        parts: dict[tuple[int, Value], int] = {}
        finer = [parts.setdefault((same[i], ends[i]), i) for i in range(len(same))]
        if finer == same:
            return same
        same = finer
    return list(range(len(init)))
