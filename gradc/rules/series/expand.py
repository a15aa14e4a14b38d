"""The pass that puts a polynomial where a function of one value cancels near a point.

``(1 - cos(x)) / (x * x)`` loses all digits for small x, and so does nearly every derivative of such
a quotient. Near the point, a polynomial takes its place; elsewhere, what stood there stays.
"""

from __future__ import annotations

from gradc.rules.engine import tell
from gradc.rules.series import numbers
from gradc.rules.series.steps import ARITHMETIC
from gradc_ir import build
from gradc_ir.core.builder import Builder
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.walk import changed_bodies
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.matching.rewrite import Fired
from gradc_ir.pipeline import PlainPass


class ExpandSeries(PlainPass):
    """Replaces what cancels, or is 0/0, near a point by a polynomial there.

    It runs when all derivatives are taken: polynomials of its own would be differentiated into
    ones of a lower degree, whose error nobody has measured.
    """

    name = "series"
    summary = "put polynomials where a function of one value cancels near a point"

    def __call__(self, function: Function) -> Function:
        """Return the function with polynomials near such points."""
        bodies = changed_bodies(function, self)
        found = {}
        if any(_may_need_one(node) for node in function.nodes):
            # not on top: sums and products alone need no search
            from gradc.rules.series.finding import expansions

            found = expansions(function)
        if not found and not bodies:
            return function
        mapping: dict[Value, Value] = {}
        with Builder() as builder:
            for node in function.nodes:
                locations = function.locations.get(node, ())
                if node in bodies:
                    operands = [mapping[operand] for operand in node.operands]
                    with builder.at(locations):
                        made = build.apply_all(node.op.name, *operands, **bodies[node])
                    builder.note(made[0].node, locations)
                    mapping.update(zip(node.results, made))
                    continue
                builder.copy(node, mapping, locations)
                for value in node.results:
                    if value in found:
                        with builder.at(locations):
                            for expansion in found[value]:
                                closed = mapping[value]
                                mapping[value] = expansion.selected(mapping, value)
                                builder.replace(mapping[value], locations)
                                tell(self.name, Fired(self.name, locations, closed, mapping[value]))
            return builder.function(
                function.name,
                [mapping[param] for param in function.params],
                [mapping[result] for result in function.results],
                function.names,
                function.location,
            )


def _may_need_one(node: Node) -> bool:
    """Whether a node is a function: without one, there are only sums and products."""
    return (
        (node.op.name in numbers.FUNCTIONS and node.op.name not in ARITHMETIC)
        and node.results[0].type.dtype.is_float
        and any(scalar_constant(operand) is None for operand in node.operands)
    )
