"""Contractions of which only some elements are read.

The gradient by a triangle of a matrix is a sum of outer products, of which a gather then takes the
triangle. Gathering the operands instead computes those elements alone, each from the same terms in
the same order.
"""

from __future__ import annotations

import math
from collections import Counter

from gradc_ir import build
from gradc_ir.core.builder import rebuilt
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.ops.linalg import condition_of, parse_spec
from gradc_ir.pipeline import PlainPass

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class SampleContractions(PlainPass):
    """The function is equal to the bit."""

    name = "sample"
    summary = "compute of a contraction no more elements than a gather takes of it"

    def __call__(self, function: Function) -> Function:
        """Return the function with operands gathered in the place of products."""
        readers = Counter(operand for node in function.nodes for operand in node.operands)
        readers.update(function.results)
        sampled = {node for node in function.nodes if _takes_few(node, readers)}
        if not sampled:
            return function
        return rebuilt(function, sampled.__contains__, _sampled)


def _takes_few(node: Node, readers: Counter[Value]) -> bool:
    """Whether a node gathers less than all of a contraction that nothing else reads."""
    if node.op.name != "gather" or node.operands[0].op.name != "contract":
        return False
    product, first = node.operands[:2]
    lengths = [product.type.shape[axis] for axis in node.attributes["axes"]]
    if readers[product] != 1 or first.type.rank != 1:
        return False
    if condition_of(product.node.attributes["spec"]) is not None:
        return False
    taken = first.type.shape[0]
    return isinstance(taken, int) and taken < math.prod(
        length if isinstance(length, int) else 1 for length in lengths
    )


def _sampled(node: Node, operands: list[Value]) -> list[Value]:
    _, *indices = operands
    product = operands[0].node
    left, right, result = parse_spec(product.attributes["spec"])
    index_of = {result[axis]: index for axis, index in zip(node.attributes["axes"], indices)}
    sample = next(letter for letter in _LETTERS if letter not in left + right)
    gathered, specs = [], []
    for value, labels in zip(product.operands, (left, right)):
        axes = tuple(axis for axis, label in enumerate(labels) if label in index_of)
        if axes:
            value = build.gather(value, [index_of[labels[axis]] for axis in axes], axes)
            labels = sample + "".join(label for label in labels if label not in index_of)
        gathered.append(value)
        specs.append(labels)
    kept = "".join(label for label in result if label not in index_of)
    x, y = gathered
    return [build.contract(x, y, f"{specs[0]},{specs[1]}->{sample}{kept}")]
