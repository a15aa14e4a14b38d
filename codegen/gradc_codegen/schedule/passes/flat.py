"""A function that goes element by element over arrays of one shape, as one over vectors.

Its loops run along memory, whatever the shape is: rows of three numbers fill no lanes. An element
is computed as before, so the bits are the same. The arrays of a kernel lie in memory one element
after another, so those who call it see no difference.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc_ir import build
from gradc_ir.core.builder import rebuilt
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.sizes import Shape, product
from gradc_ir.core.types import Type


def flat(function: Function) -> Function:
    """Return a function of vectors that computes the same; the very one where it is not such."""
    shapes = {type_.shape for type_ in (*function.param_types, *function.result_types)} - {()}
    if len(shapes) != 1:
        return function
    (shape,) = shapes
    if len(shape) < 2 or not all(_keeps(node, shape) for node in function.nodes):
        return function
    long = (product(shape),)

    def is_replaced(node: Node) -> bool:
        return node.results[0].type.shape == shape

    def make(node: Node, operands: list[Value]) -> Sequence[Value]:
        if node.op.name == "param":
            type_ = Type(node.results[0].type.dtype, long)
            return [build.apply("param", index=node.attributes["index"], type=type_)]
        if node.op.name == "broadcast":
            return [build.broadcast(operands[0], long, ())]
        return [build.apply(node.op.name, *operands, **node.attributes)]

    made = rebuilt(function, is_replaced, make)
    # sizes are arguments of the kernel, in their order
    return made if made.size_symbols == function.size_symbols else function


def _keeps(node: Node, shape: Shape) -> bool:
    """Whether each element of a node's result hangs on numbers and on elements at its own place."""
    if node.op.name == "broadcast":
        return node.operands[0].type.shape == ()
    if node.op.name in ("param", "constant"):
        return node.op.name == "param" or node.results[0].type.shape == ()
    return (
        node.op.is_elementwise
        and len(node.results) == 1
        and all(value.type.shape in ((), shape) for value in (*node.operands, *node.results))
    )
