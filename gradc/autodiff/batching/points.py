"""The points of a batched function: how values stand for all of them, and which are at work.

Within the body of a loop that some points have left, or in a branch that some points did not take,
a *mask* says which points are at work. What the others compute is thrown away, but it must not
fail, and it need not be computed: indices are made harmless for them, loops end for them, and what
is written into an array is what was there, so that the array *is* the old one for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from gradc.autodiff.batching.varying import Varying
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.op import Op
from gradc_ir.core.sizes import Shape, Size
from gradc_ir.core.types import DType, Type


class Mapped(NamedTuple):
    """A value of the batched function, and whether it has the leading axis of points."""

    value: Value
    varies: bool


Rule: TypeAlias = Callable[["Points", Node, list[Mapped]], Sequence[Mapped]]
# Of an op all of whose results vary as soon as an operand does.
ValueRule: TypeAlias = Callable[["Points", Node, list[Mapped]], Sequence[Value]]


class Points:
    """The points, as the graph that is being built sees them.

    Parameters
    ----------
    size: how many points there are.
    mask: ``bool[size]``, which of them are at work, at least one; None for all.
    rule_of: the batching rule of an op.
    varying: which values of a body vary.
    both: whether branches run that no point may take.
    """

    def __init__(
        self,
        size: Size,
        mask: Value | None,
        rule_of: Callable[[Op], Rule],
        varying: Varying,
        both: bool = False,
    ) -> None:
        self.runs_both = both
        self.size = size
        self.mask = mask
        self.varying = varying
        self._rule_of = rule_of
        self._bases: dict[Value, Value] = {}

    def masked(self, mask: Value | None) -> Points:
        """Return the same points, of which those in the mask are at work."""
        return Points(self.size, mask, self._rule_of, self.varying, self.runs_both)

    def run(self, function: Function, operands: Sequence[Mapped]) -> list[Mapped]:
        """Build the function here, for all points at once."""
        mapping = dict(zip(function.params, operands, strict=True))
        builder = build.active()
        for node in function.body:
            given = [mapping[operand] for operand in node.operands]
            lines = function.locations.get(node, ())
            with builder.at(lines):
                if any(operand.varies for operand in given):
                    results = self._rule_of(node.op)(self, node, given)
                else:
                    values = tuple([operand.value for operand in given])
                    made = builder.apply(node.op, values, node.attributes)
                    results = [Mapped(value, False) for value in made.results]
            for each in results:
                builder.replace(each.value, lines)
            mapping.update(zip(node.results, results, strict=True))
        return [mapping[result] for result in function.results]

    # -- values ------------------------------------------------------------------------------------

    def type_of(self, type_: Type, varies: bool) -> Type:
        """Return the type that a value of one point has here."""
        return type_.with_shape((self.size, *type_.shape)) if varies else type_

    def parameters(
        self, types: Sequence[Type], flags: Sequence[bool], after: int = 0
    ) -> list[Mapped]:
        """Return parameters of the function that is being built, after those it has."""
        return [
            Mapped(build.active().param(after + i, self.type_of(type_, varies)), varies)
            for i, (type_, varies) in enumerate(zip(types, flags, strict=True))
        ]

    def spread(self, value: Value, varies: bool) -> Value:
        """Return the value with the axis of points, repeated if it is shared by all points."""
        if varies:
            return value
        shape = (self.size, *value.type.shape)
        return build.broadcast(value, shape, tuple(range(1, len(shape))))

    def spread_all(self, operands: Sequence[Mapped]) -> list[Value]:
        """Return the values, each with the axis of points."""
        return [self.spread(*operand) for operand in operands]

    def numbers(self, dtype: DType, shape: Shape) -> Value:
        """Return the number of its point for every element of ``shape``."""
        return build.broadcast(build.iota(dtype, self.size), (self.size, *shape), (0,))

    def any(self, flags: Value) -> Value:
        """Return whether a ``bool[size]`` holds for some point."""
        return build.reduce_max(flags, [0])

    # -- the mask ----------------------------------------------------------------------------------

    def both(self, flags: Value) -> Value:
        """Return which points are at work and have their flag set."""
        return flags if self.mask is None else build.logical_and(self.mask, flags)

    def choose(self, flags: Value, x: Value, y: Value | float, axis: int = 0) -> Value:
        """Return x for the points whose flag is set and y for others; their axis is ``axis``."""
        return build.select(build.broadcast(flags, x.type.shape, (axis,)), x, y)

    def at_work(self, x: Value, idle: Value | float, axis: int = 0) -> Value:
        """Return x for the points at work, and ``idle`` for the others."""
        return x if self.mask is None else self.choose(self.mask, x, idle, axis)

    def note_base(self, value: Value, base: Value) -> None:
        """Note that a value is what ``base`` is, for all points that are not at work."""
        self._bases[value] = base

    def base(self, value: Value) -> Value:
        """Return the oldest value that is the same for all points that are not at work."""
        while value in self._bases:
            value = self._bases[value]
        return value

    def freeze(self, new: Value, old: Value) -> Value:
        """Return the new value for points at work, the old one for others."""
        if self.base(new) is self.base(old):
            return new
        return self.at_work(new, old)


def all_vary(rule: ValueRule) -> Rule:
    """Return the rule of an op all of whose results vary."""

    def mapped(points: Points, node: Node, operands: list[Mapped]) -> Sequence[Mapped]:
        return [Mapped(value, True) for value in rule(points, node, operands)]

    return mapped


def elementwise(points: Points, node: Node, operands: list[Mapped]) -> Sequence[Value]:
    """Spread the operands: repeating costs nothing in an elementwise op."""
    spread = tuple(points.spread_all(operands))
    return build.active().apply(node.op, spread, node.attributes).results
