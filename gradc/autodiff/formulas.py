"""Forward mode of formulas: the tangent of one is its partials times those of its leaves.

A formula is elementwise code, and sums along axes between its steps. The partials are made by
reverse mode from the formula's end, as a gradient's are: what cancels or leaves the range between
two steps does so in no tangent that is not one of the function itself.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, MutableMapping

from gradc.autodiff.cotangents import masks
from gradc.autodiff.cotangents.masks import Cotangent
from gradc.autodiff.fibres import Fibre, end_of, fibre_read, summed_along
from gradc.autodiff.table import Site, derivative_of
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.location import derivatives, parts

# Of more leaves, a formula's partials are more work than tangents that go step by step.
_MOST_LEAVES = 4
# How often a node may be gone through, on an average: formulas may share what they are made of.
_MOST_PASSES = 4
# What rearranges elements, through which a formula may go as well as through sums.
_MOVES = frozenset({"broadcast", "reshape", "concatenate"})


class _Formula(NamedTuple):
    """A value's formula: its steps, the last one first, and what it reads, with their fibres."""

    steps: list[Node]
    leaves: dict[Value, Fibre]


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
        if self._passes < 0 or not self._may_be_step(node):
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

    def _may_be_step(self, node: Node) -> bool:
        if node.op.name in _MOVES or node.op.name == "reduce_sum":
            return True
        if not node.op.is_elementwise and node.op.family != "reduce":
            return False
        return derivative_of(node, self._function).kind == "partials"

    def waits(self, value: Value) -> bool:
        """Whether the tangent of a value is still to be made."""
        return value in self._leaves

    def settle(self, value: Value) -> None:
        """Make the tangent of a value, if it waits, and those it needs before."""
        pending = [value]
        while pending:
            last = pending[-1]
            if last not in self._leaves:
                pending.pop()
                continue
            formula = self._formula(last)
            missing = [leaf for leaf in formula.leaves if leaf in self._leaves]
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            del self._leaves[last]
            made = self._by_partials(last, formula) if formula.steps else self._pushed(last)
            if made is not None:
                lines = self._function.locations.get(last.node, ())
                build.active().replace(made.factor, derivatives(lines, "d"))
                self._tangents[last] = made.apart()

    def _formula(self, end: Value) -> _Formula:
        """Return the formula of a value; it has no steps where a step of it repeats elements.

        What it reads are values with a tangent, or ones that wait and that it cannot go through.
        """
        found = _Formula([], {})
        fibres = {end: end_of(end)}
        queue = [(-self._place[end.node], 0)]
        reached = [end]
        while queue:
            value = reached[heapq.heappop(queue)[1]]
            if value in self._leaves:
                node = value.node
                read = dict.fromkeys(
                    x for x in node.operands if x in self._leaves or x in self._tangents
                )
                fibre = fibre_read(node, fibres[value])
                if fibre is not None and all(fibres.get(x, fibre) == fibre for x in read):
                    found.steps.append(node)
                    for operand in read:
                        if operand not in fibres:
                            fibres[operand] = fibre
                            heapq.heappush(queue, (-self._place[operand.node], len(reached)))
                            reached.append(operand)
                    continue
                if value is end:
                    return _Formula([], dict.fromkeys(read, fibres[end]))
            found.leaves[value] = fibres[value]
        return found

    def _by_partials(self, end: Value, formula: _Formula) -> Cotangent | None:
        """Return the tangent of a value, of the partials by all that its formula reads."""
        total: Cotangent | None = None
        partials = dict(self._partials(end, formula.steps))
        for leaf, fibre in sorted(formula.leaves.items(), key=lambda x: self._place[x[0].node]):
            partial = partials.get(leaf)
            if partial is not None:
                moved = _times(self._tangents[leaf], partial)
                total = masks.add(total, moved and moved.summed(summed_along(fibre)))
        return total

    def _partials(self, end: Value, steps: list[Node]) -> Iterable[tuple[Value, Cotangent]]:
        """Return the partials of a formula by its steps and by what it reads."""
        self._passes -= len(steps)
        sums = {end: Cotangent(build.ones_like(self._new[end]))}
        builder = build.active()
        outer = builder.here
        for node in steps:
            total = sums.get(node.results[0])
            if total is None:
                continue
            builder.here = parts(derivatives(self._function.locations.get(node, ()), "d")) or outer
            derivative = derivative_of(node, self._function)
            assert derivative.reverse is not None
            for operand, part in zip(node.operands, derivative.reverse(self._site(node), [total])):
                both = masks.add(sums.get(operand), part)
                if both is not None:
                    sums[operand] = both
        builder.here = outer
        return sums.items()

    def _pushed(self, value: Value) -> Cotangent | None:
        """Return the tangent of what moves elements about, from those of its operands."""
        derivative = derivative_of(value.node, self._function)
        assert derivative.forward is not None
        site = self._site(value.node)
        return derivative.forward(site, [self._tangents.get(x) for x in value.node.operands])[0]

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
    if mask is not None and not partial.clean:  # a sum of zeros that stay zero is a plain zero
        tangent = tangent.under(mask.value(), by_value=mask.by_value)
    return tangent.times(partial.value)
