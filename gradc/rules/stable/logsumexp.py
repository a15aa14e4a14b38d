"""Stable rules for sums of exponentials along axes: logsumexp and softmax."""

from __future__ import annotations

from gradc.rules.engine import procedure, stable
from gradc.rules.forms import (
    is_maximum,
    largest,
    operand_of,
    over_axes,
    replace_factor,
    sum_of_exponentials,
)
from gradc_ir import build
from gradc_ir.graph import Node, Value
from gradc_ir.rearrange import peel, rearrange


@procedure(
    "log-sum-exp",
    "log(reduce_sum(exp(?x))) => logsumexp(?x)",
    stable,
    "each exponential may overflow although the result is about the largest exponent",
    roots=("log",),
    loss=10.0,
)
def log_sum_exp(value: Value) -> Value | None:
    """Turn the logarithm of a sum of exponentials into logsumexp, unless it is shifted already."""
    found = sum_of_exponentials(value.operands[0])
    if found is None or found.is_shifted:
        return None
    return rearrange(build.logsumexp(found.exponent, found.axes), found.moves)


@procedure(
    "shifted-log-sum-exp",
    "add(reduce_max(?x), log(reduce_sum(exp(sub(?x, reduce_max(?x)))))) => logsumexp(?x)",
    stable,
    "a shift by the largest exponent is what logsumexp does; its derivative does not "
    "depend on the shift, and infinite shifts are left out",
    roots=("add",),
    loss=10.0,
)
def shifted_log_sum_exp(value: Value) -> Value | None:
    """Recognise a logsumexp that was shifted by hand."""
    for one, other in (value.operands, value.operands[::-1]):
        source, moves = peel(one)
        if source.op.name != "log":
            continue
        found = sum_of_exponentials(rearrange(source.operands[0], moves))
        whole = None if found is None else found.whole
        if found is None or whole is None:
            continue
        if is_maximum(other, whole, found.axes) and _same_arrangement(other, found.moves):
            return rearrange(build.logsumexp(whole, found.axes), found.moves)
    return None


def _same_arrangement(maximum: Value, moves: list[Node]) -> bool:
    """Whether the added maximum is arranged as the logarithm is."""
    source, arranged = peel(maximum)
    while source.op.name in ("stop_gradient", "select"):
        source, inner = peel(source.operands[0 if source.op.name == "stop_gradient" else 1])
        arranged = [*arranged, *inner]
    return rearrange(source, arranged) is rearrange(source, moves)


@procedure(
    "softmax",
    "div(exp(?x), reduce_sum(exp(?x))) => "
    "div(exp(sub(?x, reduce_max(?x))), reduce_sum(exp(sub(?x, reduce_max(?x)))))",
    stable,
    "inf / inf from 710, 0 / 0 from -745; far below the largest, the shift rounds",
    roots=("div",),
    loss=10.0,
    examples=[
        "div(exp(?x), reduce_sum(exp(?x))) => "
        "div(exp(sub(?x, reduce_max(?x))), reduce_sum(exp(sub(?x, reduce_max(?x)))))"
    ],
)
def softmax(value: Value) -> Value | None:
    """Shift the exponents above and below the line by the largest one."""
    above, below = value.operands
    found = sum_of_exponentials(below)
    if found is None or found.is_shifted:
        return None
    shift = largest(found.exponent, found.axes)
    arranged = rearrange(shift, found.moves)

    def shifted(factor: Value) -> Value | None:
        exponent = operand_of(factor, "exp")
        return None if exponent is None else build.exp(build.sub(exponent, arranged))

    numerator = replace_factor(above, shifted)
    if numerator is None:
        return None
    return build.div(numerator, rearrange(_shifted_sum(found.exponent, found.axes), found.moves))


@procedure(
    "log-softmax",
    "sub(?x, logsumexp(?x)) => "
    "sub(sub(?x, reduce_max(?x)), log(reduce_sum(exp(sub(?x, reduce_max(?x))))))",
    stable,
    "the difference of two large numbers rounds; the largest exponent cancels exactly",
    roots=("sub",),
    loss=10.0,
)
def log_softmax(value: Value) -> Value | None:
    """Subtract the largest exponent before the rest of a logsumexp."""
    x, total = value.operands
    source, moves = peel(total)
    if source.op.name != "logsumexp":
        return None
    exponent, axes = source.operands[0], source.node.attributes["axes"]
    shift = rearrange(largest(exponent, axes), moves)
    rest = rearrange(build.log(_shifted_sum(exponent, axes)), moves)
    return build.sub(build.sub(x, shift), rest)


@procedure(
    "exp-log-softmax",
    "exp(sub(?x, log(reduce_sum(exp(?y))))) => div(exp(?x), reduce_sum(exp(?y)))",
    stable,
    "log and exp undo each other, and each rounds; for sums shifted by the largest exponent",
    roots=("exp",),
    loss=1.0,
    examples=[
        "exp(sub(sub(?x, reduce_max(?x)), log(reduce_sum(exp(sub(?x, reduce_max(?x))))))) "
        "=> div(exp(sub(?x, reduce_max(?x))), reduce_sum(exp(sub(?x, reduce_max(?x)))))"
    ],
)
def exp_log_softmax(value: Value) -> Value | None:
    """Undo the logarithm of a softmax."""
    difference, moves = peel(value.operands[0])
    if difference.op.name != "sub":
        return None
    x, logarithm = (rearrange(operand, moves) for operand in difference.operands)
    total = operand_of(logarithm, "log")
    found = None if total is None else sum_of_exponentials(total)
    if total is None or found is None or not found.is_shifted:
        return None
    return build.div(build.exp(x), total)


def _shifted_sum(exponent: Value, axes: tuple[int, ...]) -> Value:
    shift = over_axes(largest(exponent, axes), exponent, axes)
    return build.reduce_sum(build.exp(build.sub(exponent, shift)), axes)


RULES = [log_sum_exp, shifted_log_sum_exp, softmax, log_softmax, exp_log_softmax]
