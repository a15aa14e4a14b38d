"""How large the partials are that a derivative is the sum of: what its roundings go by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc.rules.verify.arithmetic import Wide
from gradc.rules.verify.balls import Undecided, growing
from gradc.rules.verify.gate.exact import RealFunction, columns_of
from gradc_ir.core.binding import bind_sizes
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.types import Array
from gradc_ir.interpreter.interpret import Symbols, interpret, watched

# Bits of a size that is known.
_ENOUGH = 20
# Ops that move or add: of sizes they make sizes.
_MOVING = frozenset(
    {"broadcast", "reshape", "transpose", "concatenate", "stack", "element", "slice", "pad"}
    | {"gather", "scatter_add", "reduce_sum", "select"}
)


def size_of_partials(function: RealFunction, point: Array, result: int) -> Any | None:
    """Return the sum of the sizes of all partials, along all ways to a result, as a ball.

    The last parameter of the graph is the cotangent, in which the derivatives are linear. None
    where a partial is no finite number.
    """
    graph, arrays = function.graph, function.assemble(point[:, np.newaxis])
    for _ in growing():
        try:
            sizes = _sizes(graph, arrays, function.arithmetic())
        except (Undecided, ArithmeticError, ValueError, NotImplementedError):
            continue
        found = columns_of(sizes, 1)[result][0]
        if found.is_finite() and found.rel_accuracy_bits() > _ENOUGH:
            return found
    return None


def _sizes(graph: Function, arrays: Sequence[Array], arithmetic: Wide) -> list[Array]:
    wide = [arithmetic.wide(array) for array in arrays]
    symbols = bind_sizes(graph.param_types, [array.shape for array in wide], graph.names)
    sizes: dict[Value, Array] = {graph.params[-1]: abs(wide[-1])}

    def note(
        function: Function, node: Node, operands: Sequence[Array], results: Sequence[Array]
    ) -> None:
        if function is graph and any(operand in sizes for operand in node.operands):
            of = [sizes.get(*each) for each in zip(node.operands, operands, strict=True)]
            for value, made in zip(node.results, results, strict=True):
                sizes[value] = _size(node, list(of), made, arithmetic, symbols)

    with watched(note):
        made = interpret(graph, wide, arithmetic)
    return [abs(sizes.get(*each)) for each in zip(graph.results, made, strict=True)]


def _size(node: Node, sizes: list[Any], made: Array, arithmetic: Wide, symbols: Symbols) -> Array:
    """Return how large the terms of a result are, given those of the operands."""
    match node.op.name:
        case "add" | "sub":
            found: Array = abs(sizes[0]) + abs(sizes[1])
        case "neg":
            found = sizes[0]
        case "mul":
            found = abs(sizes[0]) * abs(sizes[1])
        case "div":
            found = abs(sizes[0] / sizes[1])
        case name if name in _MOVING:
            (found,) = arithmetic.evaluate(node, sizes, symbols)
        case _:
            found = made
    return found


__all__ = ["size_of_partials"]
