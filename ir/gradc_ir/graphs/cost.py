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
_DIVISION = 16
_SUMMED_PRODUCT = 4  # each waits for the one before it
_PER_ELEMENT = {
    **dict.fromkeys(("param", "constant", "iota", "size", "reshape", "broadcast"), 0),
    **dict.fromkeys(("transpose", "concatenate", "slice", "pad", "set_slice", "gather"), 1),
    **dict.fromkeys(("neg", "add", "sub", "mul", "abs", "sign", "floor", "cast", "select"), 1),
    **dict.fromkeys(("maximum", "minimum", "eq", "ne", "lt", "le"), 1),
    **dict.fromkeys(("logical_not", "logical_and", "logical_or", "logical_xor"), 1),
    **dict.fromkeys(("stop_gradient", "exactly", "fence"), 0),
    **dict.fromkeys(("div", "sqrt", "floor_divide", "remainder"), _DIVISION),
}
_PER_ELEMENT_READ = {
    **dict.fromkeys(("reduce_sum", "reduce_prod", "reduce_max", "reduce_min"), 1),
    **dict.fromkeys(("cumsum", "scatter_set", "scatter_add"), 2),
}


def work(node: Node) -> int:
    """Return what it costs to run a node."""
    name = node.op.name
    if name in _PER_ELEMENT:
        return _PER_ELEMENT[name] * elements(node.results[0])
    if name in _PER_ELEMENT_READ:
        return _PER_ELEMENT_READ[name] * sum(map(elements, node.operands))
    if name == "contract":
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
