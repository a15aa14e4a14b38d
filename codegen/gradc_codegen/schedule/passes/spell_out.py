"""Composite ops become simple ones, and a statement reduces one axis at most."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from gradc_codegen.arrays.blas import MATRIX_PRODUCT, by_blas
from gradc_codegen.nest.rare_sums import RARE_SUM
from gradc_ir import build
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.builder import rebuilt
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.op import Op
from gradc_ir.core.sizes import product
from gradc_ir.graphs.in_turn import contracted_in_turn, logsumexp_in_turn, reduced_in_turn
from gradc_ir.graphs.matrices import solution_by_lu
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.interpreter import composed
from gradc_ir.meaning import functions
from gradc_ir.meaning.norms import SCALES
from gradc_ir.ops import TABLE
from gradc_ir.ops.linalg import condition_of, contracted, parse_spec

_SPELLED_OUT = ("logsumexp", "norm", "solve", *composed.BODIES)


def _of_double(name: str, meaning: Callable[..., Any]) -> Op:
    return Op(
        f"{name}_of_double",
        "elementwise",
        1,
        lambda x: (x,),
        lambda x: meaning(2 * x),
        f"The {name} of twice a number.",
        scalar=f"math.{name}_of_double",
    )


# The derivative of tanh(x) is that of a sigmoid at 2 x, and shares what both are made of.
_OF_DOUBLE = {
    "sigmoid": _of_double("sigmoid", functions.sigmoid),
    "sigmoid_derivative": _of_double("sigmoid_derivative", functions.sigmoid_derivative),
}


def _beside(name: str, other: str) -> Op:
    op = TABLE[name]
    return replace(op, name=f"{name}_beside_{other}", scalar=f"{op.scalar}_beside_{other}")


# Of one number both share what they are made of.
_BESIDE = {"sin": _beside("sin", "cos"), "cos": _beside("cos", "sin")}


# Ops that are none of the language: they are made here.
OWN_OPS: tuple[Op, ...] = (MATRIX_PRODUCT, RARE_SUM, *_OF_DOUBLE.values(), *_BESIDE.values())


@dataclass(frozen=True)
class SpellOut:
    """The function is equal, to the bit, and of ops the schedule knows.

    ``logsumexp``, ``norm``, ``solve`` and composed ops are spelled out, reductions and contractions
    over several axes become chains over one axis each (the last axis first, as the order of
    reduction says), scatters have one index axis. Fences (``stop_gradient``, ``exactly``) have done
    their work and go. Bodies of control flow are prepared when they are scheduled.

    With ``blas`` contractions that are bound by arithmetic go to BLAS, whose bits are its own.
    """

    blas: bool = False
    name = "spell-out"
    summary = "spell out composite ops; reduce one axis at a time; give large products to BLAS"

    def __call__(self, function: Function) -> Function:
        """Return the function with simple ops in the place of composite ones."""
        both = _with_sine_and_cosine(function)

        def is_other(node: Node) -> bool:
            if node.op.name in _BESIDE:
                return node.operands[0] in both
            return _is_composite(node, self.blas)

        if not any(map(is_other, function.nodes)):
            return function

        def make(node: Node, operands: list[Value]) -> list[Value]:
            made = None
            if self.blas and node.op.name == "contract":
                made = by_blas(function, node, operands)
            return [_expand(node, operands) if made is None else made]

        return rebuilt(function, is_other, make)


def _with_sine_and_cosine(function: Function) -> set[Value]:
    """Return the arrays whose elements' sines and cosines are both computed."""
    sines, cosines = (
        {node.operands[0] for node in function.nodes if node.op.name == name} for name in _BESIDE
    )
    return {x for x in sines & cosines if x.type.rank}


def _is_composite(node: Node, blas: bool) -> bool:
    name = node.op.name
    if name in _SPELLED_OUT or node.op.scalar == "identity":
        return True
    if name in _OF_DOUBLE:
        return _is_double(node.operands[0])
    if node.op.family == "reduce":
        return len(node.attributes["axes"]) > 1
    if name == "contract":
        return blas or len(contracted(node.attributes["spec"])) > 1 or _is_outer(node)
    if name in ("scatter_set", "scatter_add"):
        return node.operands[2].type.rank > 1
    return False


def _expand(node: Node, operands: list[Value]) -> Value:
    name = node.op.name
    if node.op.scalar == "identity":
        return operands[0]
    if name in _BESIDE:
        return build.active().apply(_BESIDE[name], (operands[0],), {}).results[0]
    if name in _OF_DOUBLE:
        return build.active().apply(_OF_DOUBLE[name], (_half(operands[0]),), {}).results[0]
    if name == "logsumexp":
        return logsumexp_in_turn(operands[0], node.attributes["axes"])
    if name == "norm":
        return _expand_norm(operands[0], node.attributes["axes"])
    if name in composed.BODIES:
        return composed.BODIES[name](*operands)
    if name == "solve":
        return solution_by_lu(*operands, from_transposed=node.attributes["transposed"])
    if node.op.family == "reduce":
        return reduced_in_turn(name, operands[0], node.attributes["axes"])
    if name == "contract":
        if _is_outer(node):
            return _outer(node, operands)
        return contracted_in_turn(operands[0], operands[1], node.attributes["spec"])
    return _flatten_scatter(node, operands)


def _is_outer(contraction: Node) -> bool:
    """Whether a contraction sums nothing: its elements are products, which readers may compute."""
    spec = contraction.attributes["spec"]
    return not contracted(spec) and condition_of(spec) is None


def _outer(contraction: Node, operands: Sequence[Value]) -> Value:
    *labels, result = parse_spec(contraction.attributes["spec"])
    shape = contraction.results[0].type.shape
    factors: list[Value] = []
    for operand, own in zip(operands, labels):
        axes = [result.index(label) for label in own]
        turned = build.transpose(operand, tuple(sorted(range(len(axes)), key=axes.__getitem__)))
        factors.append(build.broadcast(turned, shape, tuple(sorted(axes))))
    return build.mul(*factors)


def _is_double(x: Value) -> bool:
    """Whether a value is a product with 2 or -2."""
    return x.op.name == "mul" and scalar_constant(x.operands[1]) in (2, -2)


def _half(double: Value) -> Value:
    x, factor = double.operands
    return x if scalar_constant(factor) == 2 else build.neg(x)


def _rare_sum(x: Value, flag: Value, axes: tuple[int, ...]) -> Value:
    kept = [axis for axis in range(x.type.rank) if axis not in axes]
    for axis in sorted(axes, reverse=True):
        shape = tuple(size for i, size in enumerate(x.type.shape) if i != axis)
        places = tuple(place - (place > axis) for place in kept)
        flags = build.broadcast(flag, shape, places)
        x = build.active().apply(RARE_SUM, (x, flags), {"axes": (axis,)}).results[0]
    return x


def _expand_norm(x: Value, axes: tuple[int, ...]) -> Value:
    """Rows whose sum of squares leaves the range are scaled, and summed again."""
    total = reduced_in_turn("reduce_sum", x * x, axes)
    least, up, down = SCALES[x.type.dtype.bytes]
    tiny = build.lt(total, build.full_like(total, least))
    rare = build.logical_or(tiny, build.eq(total, build.full_like(total, math.inf)))
    ups, downs = build.full_like(total, up), build.full_like(total, down)
    kept = tuple(axis for axis in range(x.type.rank) if axis not in axes)
    scaled = x * build.broadcast(build.select(tiny, ups, downs), x.type.shape, kept)
    again = build.sqrt(_rare_sum(scaled * scaled, rare, axes))
    return build.select(rare, again * build.select(tiny, downs, ups), build.sqrt(total))


def _flatten_scatter(node: Node, operands: list[Value]) -> Value:
    x, part, *indices = operands
    shape = indices[0].type.shape
    count = product(shape)
    flat = [build.reshape(index, (count,)) for index in indices]
    rest = part.type.shape[len(shape) :]
    axes = node.attributes["axes"]
    return build.apply(node.op.name, x, build.reshape(part, (count, *rest)), *flat, axes=axes)
