"""What it costs to run a node: estimates, to weigh running it again against keeping its results.

The unit is one cheap operation on one element; a symbolic size counts as 1000.
"""

from __future__ import annotations

from gradc_ir.core import sizes
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.sizes import Size
from gradc_ir.ops.linalg import contracted, parse_spec

# Of what is not to be run again: functions beyond arithmetic, factorisations, sorting, loops.
GREAT = 10**30

_SYMBOL = 1000
_SUMMED_PRODUCT = 4  # each waits for the one before it


def work(node: Node) -> int:
    """Return what it costs to run a node."""
    work = node.op.work
    if work is not None:
        read = work.read and work.read * sum(map(elements, node.operands))
        return (work.made and work.made * elements(node.results[0])) + read
    if node.op.name == "contract":
        spec = node.attributes["spec"]
        left, right, _ = parse_spec(spec)
        x, y = node.operands
        lengths = {**dict(zip(left, x.type.shape)), **dict(zip(right, y.type.shape))}
        products = number(sizes.product(lengths.values()))
        return (_SUMMED_PRODUCT if contracted(spec) else 1) * products
    return GREAT


def elements(value: Value) -> int:
    """Return how many elements a value has."""
    return number(value.type.count)


def number(size: Size) -> int:
    """Return a number to weigh a size by."""
    if isinstance(size, int):
        return size
    return max(0, sizes.evaluate(size, dict.fromkeys(sizes.symbols(size), _SYMBOL)))
