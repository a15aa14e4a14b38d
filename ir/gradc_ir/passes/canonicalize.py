"""Brings every value to one spelling: what later passes and rules then need to know of."""

from __future__ import annotations

from gradc_ir import build
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.op import TABLE
from gradc_ir.graphs.picks import join_picks
from gradc_ir.graphs.rearrange import apply as rearranged
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.graphs.updates import add_in_place
from gradc_ir.graphs.windows import read_update
from gradc_ir.matching.operand_order import ORDER_OPERANDS, in_order
from gradc_ir.matching.rewrite import FunctionRule, rewrite
from gradc_ir.ops.linalg import parse_spec
from gradc_ir.passes.fold import FoldConstants
from gradc_ir.pipeline import PlainPass

_LABELS = "ijklmnopqrstuvwxyzabcdefghIJKLMNOPQRSTUVWXYZABCDEFGH"
# A slice is not moved, since it leaves elements out.
_HOISTED = frozenset({"broadcast", "reshape", "transpose"})


class Canonicalize(PlainPass):
    """Changes no bit of any result.

    What depends on constants only is evaluated; constants are spread scalars where all their
    elements are the same. Rearrangements of rearrangements are one; they come after elementwise
    ops, and after reductions over other axes, which so work on the smaller array. A read of what an
    update wrote reads that. Operands of commutative ops are in order; labels of contractions are
    named by where they first stand.
    """

    name = "canonicalize"
    summary = "bring every value to one spelling, a number where it is known"

    def __call__(self, function: Function) -> Function:
        """Return the function in its canonical spelling."""
        return rewrite(function, RULES, arrange=in_order)


def spread_constant(value: Value) -> Value | None:
    """Turn a constant array of equal elements, or of none, into a spread scalar."""
    array = value.node.attributes["value"].array
    if not array.size:
        return build.full(value.type.shape, 0, value.type.dtype)
    made = build.constant(array) if array.ndim else value
    return None if made is value else made


def join_rearrangements(value: Value) -> Value | None:
    """Join a rearrangement with the one before it, and leave out what changes nothing."""
    node = value.node
    operand = node.operands[0]
    number = scalar_constant(operand)
    if number is not None:
        made = build.full(value.type.shape, number, value.type.dtype)
        return None if made is value else made
    if node.op is operand.op and node.op.name == "transpose":
        inner = operand.node.attributes["permutation"]
        outer = node.attributes["permutation"]
        return build.transpose(operand.operands[0], tuple(inner[axis] for axis in outer))
    if node.op.name == "transpose" and operand.op.name == "broadcast":
        permutation = node.attributes["permutation"]
        axes = tuple(permutation.index(axis) for axis in operand.node.attributes["axes"])
        if list(axes) == sorted(axes):
            return build.broadcast(operand.operands[0], value.type.shape, axes)
    made = rearranged(node, operand)
    return None if made is value else made


def hoist_rearrangement(value: Value) -> Value | None:
    """Turn ``f(broadcast(x), 2)`` into ``broadcast(f(x, 2))``: the same elements, computed once."""
    node = value.node
    moves = [x.node for x in node.operands if scalar_constant(x) is None]
    if not moves or node.op.is_fence:
        return None
    first = moves[0]
    if first.op.name not in _HOISTED or any(not _same_move(first, move) for move in moves):
        return None
    shape = first.operands[0].type.shape
    operands = []
    for operand in node.operands:
        number = scalar_constant(operand)
        if number is None:
            operands.append(operand.operands[0])
        else:
            operands.append(build.full(shape, number, operand.type.dtype))
    return rearranged(first, build.apply(node.op.name, *operands, **node.attributes))


def _same_move(first: Node, second: Node) -> bool:
    return (
        first.op is second.op
        and first.attributes == second.attributes
        and first.operands[0].type.shape == second.operands[0].type.shape
    )


def narrow_operands(value: Value) -> Value | None:
    """Turn ``f(broadcast(x), broadcast(y))`` into ``broadcast(f(broadcast(x), broadcast(y)))``.

    The axes that all operands are repeated along come last, so that f is computed once for them.
    """
    node = value.node
    moves = [x.node for x in node.operands if scalar_constant(x) is None]
    if len(moves) < 2 or node.op.is_fence or any(move.op.name != "broadcast" for move in moves):
        return None
    kept = sorted({axis for move in moves for axis in move.attributes["axes"]})
    shape = value.type.shape
    if len(kept) == len(shape):
        return None
    narrow = tuple(shape[axis] for axis in kept)
    operands = []
    for operand in node.operands:
        number = scalar_constant(operand)
        if number is not None:
            operands.append(build.full(narrow, number, operand.type.dtype))
        else:
            axes = tuple(map(kept.index, operand.node.attributes["axes"]))
            operands.append(build.broadcast(operand.operands[0], narrow, axes))
    made = build.apply(node.op.name, *operands, **node.attributes)
    return build.broadcast(made, shape, tuple(kept))


def narrow_reduction(value: Value) -> Value | None:
    """Turn ``reduce(broadcast(x))`` into ``broadcast(reduce(x))`` for axes that are repeated only.

    What is reduced is the same elements in the same order, once for all that are equal.
    """
    whole = value.operands[0]
    if whole.op.name != "broadcast":
        return None
    shape, reduced = whole.type.shape, value.node.attributes["axes"]
    spread = whole.node.attributes["axes"]
    kept = [axis for axis in range(len(shape)) if axis in spread or axis in reduced]
    if len(kept) == len(shape):
        return None
    narrow = tuple(shape[axis] for axis in kept)
    part = build.broadcast(whole.operands[0], narrow, tuple(map(kept.index, spread)))
    made = build.apply(value.op.name, part, axes=tuple(map(kept.index, reduced)))
    left = [axis for axis in range(len(shape)) if axis not in reduced]
    axes = tuple(left.index(axis) for axis in kept if axis not in reduced)
    return build.broadcast(made, value.type.shape, axes)


def cast_nothing(value: Value) -> Value | None:
    """Leave out a cast to the dtype a value has."""
    operand = value.operands[0]
    return operand if operand.type == value.type else None


def name_labels(value: Value) -> Value | None:
    """Name the labels of a contraction i, j, k … as they appear."""
    spec = value.node.attributes["spec"]
    left, right, _ = parse_spec(spec)
    names = dict(zip(dict.fromkeys(left + right), _LABELS))
    named = "".join(names.get(letter, letter) for letter in spec)
    x, y = value.operands
    return None if named == spec else build.contract(x, y, named)


_REDUCTIONS = frozenset({"reduce_sum", "reduce_prod", "reduce_max", "reduce_min"})
_ELEMENTWISE = frozenset(name for name, op in TABLE.items() if op.is_elementwise)

RULES = (
    FoldConstants().rule(),
    FunctionRule("spread-constant", {"constant"}, spread_constant),
    FunctionRule("join-rearrangements", {*_HOISTED, "slice"}, join_rearrangements),
    FunctionRule("read-update", {"slice"}, read_update),
    FunctionRule("add-in-place", {"scatter_set"}, add_in_place),
    FunctionRule("join-picks", {"gather", "slice"}, join_picks),
    FunctionRule("cast-nothing", {"cast"}, cast_nothing),
    FunctionRule("hoist-rearrangement", _ELEMENTWISE, hoist_rearrangement, direct=_HOISTED),
    FunctionRule("narrow-operands", _ELEMENTWISE, narrow_operands, direct={"broadcast"}),
    FunctionRule("narrow-reduction", _REDUCTIONS, narrow_reduction, direct={"broadcast"}),
    FunctionRule("name-labels", {"contract"}, name_labels),
    ORDER_OPERANDS,
)
