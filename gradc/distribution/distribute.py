"""The pass that takes out of a loop what no step needs of another: loop distribution.

A long loop of small steps is slow because each step waits for the one before. What does not wait -
the gates of a recurrent network that look at the input alone, the logarithm of each step's
likelihood - runs for all rows at once, in full lanes, and products of a matrix with each row become
one product of matrices. What waits is left in loops of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc_ir import build
from gradc_ir.core.builder import rebuilt
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.walk import changed_bodies
from gradc_ir.pipeline import PlainPass


class DistributeLoops(PlainPass):
    """Changes no bit of any result, but for products that become large enough for BLAS.

    Loops that run a counted number of steps, or that were told what to keep, stay as they are; so
    do those without carries, but for what is recovered outside of loops where it is not finite.
    """

    name = "distribute"
    summary = "take out of loops what no step needs of another"

    def __call__(self, function: Function) -> Function:
        """Return the function with its loops distributed."""
        bodies = changed_bodies(function, self)
        loops = [node for node in function.nodes if node.op.name == "scan"]
        if not loops and not bodies:
            return function
        from gradc.distribution.split_loop import (  # loops alone need it
            SplitLoop,
            worthwhile_stages,
        )

        found = {
            node: stages
            for node in loops
            if (stages := worthwhile_stages(node, bodies.get(node, node.attributes)["body"]))
        }
        if not found and not bodies:
            return function

        def make(node: Node, operands: Sequence[Value]) -> Sequence[Value]:
            attributes = bodies.get(node, node.attributes)
            if node in found:
                return SplitLoop(node, operands, attributes["body"], found[node]).results()
            return build.active().apply(node.op, tuple(operands), attributes).results

        return rebuilt(function, lambda node: node in found or node in bodies, make)
