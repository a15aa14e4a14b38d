"""The ops that work on whole arrays, outside all loops, and how each is compiled."""

from __future__ import annotations

from gradc_codegen.arrays import blas, cholesky_lu, decompositions, external, scans, sorting
from gradc_codegen.arrays.whole_array_site import WholeOp
from gradc_codegen.nest.carry_storage import inits, is_fill
from gradc_ir.core.graph import Node, Value

WHOLE: dict[str, WholeOp] = {
    "matrix_product": WholeOp(lambda node: (), blas.write_product),
    "external": WholeOp(lambda node: (), external.write_external),
    "argsort": WholeOp(sorting.scratch, sorting.write_argsort),
    "cumsum": WholeOp(lambda node: (), scans.write_cumsum),
    "recurrence": WholeOp(lambda node: (), scans.write_recurrence),
    "cholesky": WholeOp(cholesky_lu.cholesky_scratch, cholesky_lu.write_cholesky),
    "lu": WholeOp(cholesky_lu.lu_scratch, cholesky_lu.write_lu),
    "triangular_solve": WholeOp(lambda node: (), cholesky_lu.write_triangular_solve),
    "qr": WholeOp(decompositions.qr_scratch, decompositions.write_qr),
    "eigh": WholeOp(decompositions.eigh_scratch, decompositions.write_eigh),
    "svd": WholeOp(decompositions.svd_scratch, decompositions.write_svd),
}


def is_whole(node: Node) -> bool:
    """Whether a node works on whole arrays: an op of the table above, or control flow."""
    return node.op.name in WHOLE or node.op.family == "control"


def arrays_of(node: Node) -> tuple[Value, ...]:
    """Return the values whose memory an op reads for its operands: a reshape has its operand's."""
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
