"""The ops that work on whole arrays, outside all loops, and how each is compiled."""

from __future__ import annotations

from gradc_codegen.arrays.running_products import begins_with_factors
from gradc_codegen.arrays.whole_array_site import WholeOp
from gradc_codegen.lazy_table import LazyTable
from gradc_codegen.nest.carry_storage import inits, is_fill
from gradc_ir.core.graph import Node, Value

WHOLE: LazyTable[WholeOp] = LazyTable(
    {
        "gradc_codegen.arrays.blas": "matrix_product",
        "gradc_codegen.arrays.external": "external",
        "gradc_codegen.arrays.sorting": "argsort",
        "gradc_codegen.arrays.long_sorts": "sorted_pieces merged_pieces",
        "gradc_codegen.arrays.scans": "cumsum recurrence",
        "gradc_codegen.arrays.chunk_sums": "joined_sums joined_products",
        "gradc_codegen.arrays.cholesky_lu": "cholesky lu triangular_solve",
        "gradc_codegen.arrays.decompositions": "qr eigh svd",
    }
)


def is_whole(node: Node) -> bool:
    """Whether a node works on whole arrays: an op of the table above, or control flow."""
    return node.op.name in WHOLE or node.op.family == "control"


def arrays_of(node: Node) -> tuple[Value, ...]:
    """Return the values whose memory an op reads for its operands: a reshape has its operand's.

    Of what a running product adds only the first element along the axis is read: its first factor.
    """
    if begins_with_factors(node):
        return (_in_memory(node.operands[0]),) * 2
    return tuple(map(_in_memory, node.operands))


def read_whole(node: Node) -> tuple[Value, ...]:
    """Return the arrays a node needs in memory whole: not those that carries are filled with."""
    starts = inits(node)
    return tuple(
        array
        for i, array in enumerate(arrays_of(node))
        if array.type.shape and not (i in starts and is_fill(array))
    )


def _in_memory(value: Value) -> Value:
    while value.op.name == "reshape" and value.type.shape and value.operands[0].type.shape:
        (value,) = value.operands
    return value
