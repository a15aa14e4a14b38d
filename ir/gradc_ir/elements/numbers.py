"""Elementwise ops of numbers that are known in part, by identities that hold to the bit."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeAlias

import numpy as np

from gradc_ir import build
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.op import TABLE, Attributes, Op
from gradc_ir.core.sizes import Shape
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.interpreter import as_compiled

Number: TypeAlias = int | float | bool

# What has no sign where it is zero, whatever it is of.
_UNSIGNED = frozenset({"abs", "cos", "exp", "exp2", "cosh", "sigmoid", "softplus", "hypot"})
_FOLDED_BY_RULE: dict[str, Callable[..., Value | None]] = {}


def of(op: Op, operands: Sequence[Value], attributes: Attributes) -> Value:
    """Return an elementwise op, in the active builder, of numbers or of arrays of one shape.

    Numbers among arrays are the same for all elements.
    """
    for operand in operands:
        if operand.type.shape:
            operands = _of_one_shape(operands, operand.type.shape)
            break
    rule = _FOLDED_BY_RULE.get(op.name)
    if rule is not None:
        known = [scalar_constant(operand) for operand in operands]
        found = rule(*operands, *known)
        if found is not None:
            return found
    elif any(operand.op.name != "constant" for operand in operands):
        return build.active().apply(op, tuple(operands), attributes).results[0]
    else:
        known = [scalar_constant(operand) for operand in operands]
    if None not in known and not op.is_fence:
        # derivatives are made of a few numbers, whose products are asked for again and again
        builder = build.active()
        answers = builder.answers.setdefault(_folded, {})
        key = (op.name, *operands, *attributes.values())
        if key not in answers:
            answers[key] = _folded(op, operands, known, attributes)
        folded: Value | None = answers[key]
        if folded is not None:
            builder.note(folded.node, builder.here)
            return folded
    return build.active().apply(op, tuple(operands), attributes).results[0]


def _of_one_shape(operands: Sequence[Value], shape: Shape) -> list[Value]:
    return [
        operand if operand.type.shape else build.broadcast(operand, shape, ())
        for operand in operands
    ]


def _folded(
    op: Op, operands: Sequence[Value], known: Sequence[Number | None], attributes: Attributes
) -> Value | None:
    """Return what an op makes of known numbers, None where that is not known here."""
    meaning = as_compiled.meaning(op)
    if meaning is None:
        return None
    arrays = [
        np.asarray(number, operand.type.dtype.numpy) for number, operand in zip(known, operands)
    ]
    (type_,) = op.infer(*[operand.type for operand in operands], **attributes)
    with suppress(as_compiled.NotKnown):
        made = np.asarray(meaning(*arrays, **attributes)).item()
        return build.full(type_.shape, made, type_.dtype)
    return None


def _rule(rule: Callable[..., Value | None]) -> Callable[..., Value | None]:
    _FOLDED_BY_RULE[rule.__name__.strip("_")] = rule
    return rule


def _is_plus_zero(number: Number | None) -> bool:
    return type(number) is float and number == 0 and not np.signbit(number)


def _is_minus_zero(number: Number | None) -> bool:
    return type(number) is float and number == 0 and bool(np.signbit(number))


@_rule
def _neg(x: Value, known: Number | None) -> Value | None:
    if x.op.name == "neg" and x.type.dtype.is_float:
        return x.operands[0]
    return None


@_rule
def _mul(x: Value, y: Value, a: Number | None, b: Number | None) -> Value | None:
    if a is not None and b is None:
        x, y, a, b = y, x, b, a
    if a is not None or b is None or not x.type.dtype.is_float:
        return None
    if b == 1:
        return x
    if b == -1:
        return build_of("neg", x)
    if x.op.name == "neg":
        return build_of("mul", x.operands[0], build.full_like(y, -b))
    return None


@_rule
def _add(x: Value, y: Value, a: Number | None, b: Number | None) -> Value | None:
    if a is not None and b is None:
        x, y, a, b = y, x, b, a
    if a is not None or b is None:
        return None
    if not x.type.dtype.is_float:
        return x if b == 0 else None
    if _is_minus_zero(b) or (_is_plus_zero(b) and is_unsigned(x)):
        return x
    return None


@_rule
def _sub(x: Value, y: Value, a: Number | None, b: Number | None) -> Value | None:
    if a is None and b is not None:
        return x if _is_plus_zero(b) or (type(b) is int and b == 0) else None
    if b is None and _is_minus_zero(a):
        return build_of("neg", y)
    return None


@_rule
def _div(x: Value, y: Value, a: Number | None, b: Number | None) -> Value | None:
    if a is None and b == 1:
        return x
    return build_of("neg", x) if a is None and b == -1 else None


@_rule
def _fma(
    x: Value, y: Value, z: Value, a: Number | None, b: Number | None, c: Number | None
) -> Value | None:
    if a is not None and b is None:
        x, y, a, b = y, x, b, a
    if a is not None:
        return None
    if b == 1:
        return build_of("add", x, z)
    if b == -1:
        return build_of("sub", z, x)
    if _is_minus_zero(c):
        return build_of("mul", x, y)
    if b is not None and x.op.name == "neg":
        return build_of("fma", x.operands[0], build.full_like(y, -b), z)
    if x.node.serial > y.node.serial and b is None:
        return build_of("fma", y, x, z)  # one order, so that equal ones are the same
    return None


@_rule
def _select(
    condition: Value, x: Value, y: Value, holds: Number | None, a: Number | None, b: Number | None
) -> Value | None:
    if holds is not None:
        return x if holds else y
    return x if x is y else None


@_rule
def _logical_and(x: Value, y: Value, a: Number | None, b: Number | None) -> Value | None:
    for known, other in ((a, y), (b, x)):
        if known is not None:
            return other if known else build.full_like(x, False)
    return x if x is y else None


@_rule
def _logical_or(x: Value, y: Value, a: Number | None, b: Number | None) -> Value | None:
    for known, other in ((a, y), (b, x)):
        if known is not None:
            return build.full_like(x, True) if known else other
    return x if x is y else None


@_rule
def _logical_not(x: Value, known: Number | None) -> Value | None:
    return x.operands[0] if x.op.name == "logical_not" else None


def build_of(name: str, *operands: Value) -> Value:
    """Return an elementwise op, by its name, as :func:`of` does."""
    return of(TABLE[name], operands, {})


def product_sum(terms: Sequence[tuple[Value, Value]], *, begins_with_zero: bool) -> Value:
    """Return a contraction's sum of products; there is one at least.

    ``begins_with_zero``: others were left out, so it is never -0.
    """
    (x, y), *rest = terms
    if not x.type.dtype.is_float:
        products = [build_of("mul", *term) for term in terms]
        return functools.reduce(lambda total, term: build_of("add", total, term), products)
    if begins_with_zero:
        total = build_of("fma", x, y, build.zeros_like(x))
    else:
        total = build_of("mul", x, y)
    for x, y in rest:
        total = build_of("fma", x, y, total)
    return total


def is_unsigned(value: Value) -> bool:
    """Whether a value is never -0, but where it underflows to that.

    It looks a few steps back: sums are unsigned where one of their terms is.
    """
    return _is_unsigned(value.node, 4)


def _is_unsigned(node: Node, depth: int) -> bool:
    name = node.op.name
    if name == "constant":
        array = node.attributes["value"].array
        return not bool(np.any((array == 0) & np.signbit(array)))
    if name in _UNSIGNED:
        return True
    if depth == 0:
        return False
    further = functools.partial(_is_unsigned, depth=depth - 1)
    nodes = [operand.node for operand in node.operands]
    if name == "mul":
        return operator.is_(*node.operands)
    if name == "add":
        return any(map(further, nodes))
    if name in ("sub", "sqrt", "broadcast"):
        return further(nodes[0])
    if name == "fma":
        return further(nodes[2])
    return name == "select" and all(map(further, nodes[1:]))
