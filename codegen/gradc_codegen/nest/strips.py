"""Strips: some rows of a long axis go through several loops before the next ones do; own ops.

``strips`` runs a body for one strip after another. The body knows by two sizes which one is at
hand, ``binds``: the number of its first row, and how many there are. ``sum_onto`` goes on with a
sum over the axis where the strip before left it, so that its order is that of the whole axis;
``joined_sums`` joins what strips have summed up chunk by chunk.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from gradc_codegen.nest.carry_storage import is_fill
from gradc_ir import ops
from gradc_ir.core.graph import Function, Node
from gradc_ir.core.op import Op
from gradc_ir.core.sizes import Size, floor_quotient, substitute, symbol
from gradc_ir.core.types import Axes, Type, Types
from gradc_ir.errors import ShapeError
from gradc_ir.meaning import reduction


def _infer_strips(
    *types: Type, body: Function, consts: int, size: Size, strip: int, binds: tuple[str, str]
) -> Types:
    carries = types[consts:]
    if types != body.param_types or carries != body.result_types:
        raise ShapeError("strips: operands do not fit", found=", ".join(map(str, types)))
    return carries


STRIPS = Op(
    "strips",
    "control",
    None,
    _infer_strips,
    None,
    attributes=("body", "consts", "size", "strip", "binds"),
    summary="A loop over strips of an axis of a size: body takes consts and carries to carries.",
)


def _infer_onto(x: Type, start: Type, *, axes: Axes, whole: Size) -> Types:
    (made,) = ops.reduce_sum.infer(x, axes=axes)
    if made != start:
        raise ShapeError(f"a sum that is {made} cannot go on from {start}")
    return (made,)


def _onto(name: str, word: str) -> Op:
    return Op(
        name,
        "reduce",
        2,
        _infer_onto,
        None,
        attributes=("axes", "whole"),
        scalar=word,
        summary="What came before, with the groups of one more strip of an axis joined to it.",
    )


# By the reductions that they are a part of; ``whole`` is the size of the whole axis.
ONTO = {"reduce_sum": _onto("sum_onto", "add"), "reduce_prod": _onto("product_onto", "mul")}
_ONTO = frozenset(op.name for op in ONTO.values())


def _infer_joined(x: Type, *, empty: float) -> Types:
    if not x.shape:
        raise ShapeError(f"there are no chunks in {x}")
    return (x.with_shape(x.shape[1:]),)


def _joined(name: str, word: str) -> Op:
    return Op(
        name,
        "order",
        1,
        _infer_joined,
        None,
        attributes=("empty",),
        scalar=word,
        summary="The rows of an array joined in pairs until one is left; empty if there is none.",
    )


# By the reductions whose chunks they join.
JOIN_CHUNKS = {
    "reduce_sum": _joined("joined_sums", "add"),
    "reduce_prod": _joined("joined_products", "mul"),
}

# All that a function has which goes in strips, beside the ops of the language.
OWN_OPS = (STRIPS, *ONTO.values(), *JOIN_CHUNKS.values())


def goes_on(node: Node) -> bool:
    """Whether a reduction goes on from its last operand."""
    return node.op.name in _ONTO


def whole_size(node: Node, size: Size) -> Size:
    """Return how many elements a reduction joins in all, those of other strips included."""
    whole: Any = node.attributes["whole"] if goes_on(node) else size
    return whole  # type: ignore[no-any-return]


def most_bytes(node: Node, bytes_: Size) -> Size:
    """Return how much scratch a body needs at most: that of the longest strip."""
    if node.op is not STRIPS:
        return bytes_
    _, count = node.attributes["binds"]
    return substitute(bytes_, {count: node.attributes["strip"]})


def bound_by(node: Node) -> tuple[str, ...]:
    """Return the sizes that a node of control flow binds for its body."""
    return node.attributes["binds"] if node.op is STRIPS else ()


class Writes(Enum):
    """What of a carry one strip writes."""

    WINDOW = "its own rows, which nothing has written before"
    CHUNK = "the sum of the chunk it is in, which goes on from the strip before"
    ALL = "all of it"


def writes(node: Node) -> list[Writes]:
    """Return what of each carry a strip writes."""
    given = node.attributes
    body: Function = given["body"]
    params = body.params[given["consts"] :]
    first = symbol(given["binds"][0])
    chunk = floor_quotient(first, reduction.CHUNK)
    found = []
    for init, param, result in zip(node.operands[given["consts"] :], params, body.results):
        written = Writes.ALL
        if is_fill(init) and result.op.name == "set_slice" and result.operands[0] is param:
            starts = result.node.attributes["starts"]
            if starts.count(first) == 1 and starts.count(0) == len(starts) - 1:
                written = Writes.WINDOW
            elif starts[0] == chunk and not any(starts[1:]):
                written = Writes.CHUNK
        found.append(written)
    return found


def rows_of_task(node: Node) -> int:
    """Return of how many rows, and of multiples of it, strips may run by themselves; 0 for none."""
    found = writes(node)
    if Writes.ALL in found:
        return 0
    strip: int = node.attributes["strip"]
    return reduction.CHUNK if Writes.CHUNK in found else strip


def of_all_strips(node: Node, work: Size) -> Size:
    """Return how much work all strips are, where one strip is so much."""
    if node.op is not STRIPS:
        return work
    first, count = node.attributes["binds"]
    return substitute(work, {first: 0, count: node.attributes["size"]})
