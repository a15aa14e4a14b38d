"""Forward mode of elementwise code: a formula's tangent is its partials times those of its leaves.

The partials are made by reverse mode from the formula's end, as a gradient's are: what cancels or
leaves the range between two steps does so in no tangent that is not one of the function itself.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping

from gradc.autodiff.cotangents import masks
from gradc.autodiff.cotangents.masks import Cotangent
from gradc.autodiff.table import Site, derivative_of
from gradc_ir import build
from gradc_ir.core.graph import Function, Node, Value

# Of more leaves, a formula's partials are more work than tangents that go step by step.
_MOST_LEAVES = 4
# How often a node may be gone through, on an average: formulas may share what they are made of.
_MOST_PASSES = 4


class Formulas:
    """The values of a function whose tangents wait until something else than a formula reads them.

    Parameters
    ----------
    function: what is differentiated.
    new: its values in the graph being built.
    tangents: of values that have one already; it gets those that are made.
    """

    def __init__(
        self,
        function: Function,
        new: dict[Value, Value],
        tangents: MutableMapping[Value, Cotangent],
    ) -> None:
        self._function = function
        self._new = new
        self._tangents = tangents
        self._leaves: dict[Value, frozenset[Value]] = {}
        self._place = {node: i for i, node in enumerate(function.nodes)}
        self._passes = _MOST_PASSES * len(self._place)

    def takes(self, node: Node) -> bool:
        """Whether a node, built already, is a step of a formula; its tangent then waits."""
        if not node.op.is_elementwise or self._passes < 0:
            return False
        if derivative_of(node, self._function).kind != "partials":
            return False
        leaves: frozenset[Value] = frozenset().union(
            *(
                self._leaves.get(operand, {operand} if operand in self._tangents else ())
                for operand in node.operands
            )
        )
        if not 0 < len(leaves) <= _MOST_LEAVES:
            return False
        self._leaves[node.results[0]] = leaves
        return True

    def waits(self, value: Value) -> bool:
        """Whether the tangent of a value is still to be made."""
        return value in self._leaves

    def settle(self, value: Value) -> None:
        """Make the tangent of a value, if it waits."""
        if self._leaves.pop(value, None) is None:
            return
        # some of its steps may have become leaves since it was taken
        found = [(x, partial) for x, partial in self._partials(value) if x in self._tangents]
        total: Cotangent | None = None
        for leaf, partial in sorted(found, key=lambda pair: self._place[pair[0].node]):
            total = masks.add(total, _times(self._tangents[leaf], partial))
        if total is not None:
            self._tangents[value] = total.apart()

    def _partials(self, value: Value) -> Iterable[tuple[Value, Cotangent]]:
        """Return the partials of a formula by its steps and by what it reads."""
        steps = {value.node}
        stack = [value.node]
        while stack:
            for operand in stack.pop().operands:
                if operand in self._leaves and operand.node not in steps:
                    steps.add(operand.node)
                    stack.append(operand.node)
        self._passes -= len(steps)
        sums = {value: Cotangent(build.ones_like(self._new[value]))}
        builder = build.active()
        outer = builder.here
        for node in sorted(steps, key=self._place.__getitem__, reverse=True):
            total = sums.get(node.results[0])
            if total is None:
                continue
            builder.here = self._function.locations.get(node, ()) or outer
            derivative = derivative_of(node, self._function)
            assert derivative.reverse is not None
            for operand, part in zip(node.operands, derivative.reverse(self._site(node), [total])):
                both = masks.add(sums.get(operand), part)
                if both is not None:
                    sums[operand] = both
        builder.here = outer
        return sums.items()

    def _site(self, node: Node) -> Site:
        return Site(
            node.op,
            (self._new[node.results[0]],),
            tuple([self._new[operand] for operand in node.operands]),
            node.attributes,
            tuple([x in self._leaves or x in self._tangents for x in node.operands]),
        )


def _times(tangent: Cotangent, partial: Cotangent) -> Cotangent | None:
    """Return a tangent times a partial, which is zero outside its mask."""
    mask = partial.mask
    if mask is not None:
        tangent = tangent.under(mask.value(), by_value=mask.by_value)
    return tangent.times(partial.value)
