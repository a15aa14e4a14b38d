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
from gradc_ir.rearrange import peel, rearrange, scalar_constant


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
    among=("log",),
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
    among=("reduce_sum",),
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
    among=("logsumexp",),
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


@procedure(
    "log-softmax-difference",
    "sub(sub(?x, log(reduce_sum(exp(sub(?z, reduce_max(?z)))))), "
    "sub(?y, log(reduce_sum(exp(sub(?z, reduce_max(?z))))))) => sub(?x, ?y)",
    stable,
    "the normaliser rounds both; it cancels, as the derivative by a weight of cross entropy has it",
    roots=("sub",),
    among=("sub",),
)
def log_softmax_difference(value: Value) -> Value | None:
    """Subtract two logarithms of one softmax without what they have in common."""
    left, right = value.operands
    if left.op.name != "sub" or right.op.name != "sub":
        return None
    (x, shared), (y, other) = left.operands, right.operands
    if shared is not other or not _is_normaliser(shared):
        return None
    return build.sub(x, y)


def _is_normaliser(value: Value) -> bool:
    """Whether a value is subtracted by log-softmax: the logarithm of the sum, or the shift."""
    source, _ = peel(value)
    if source.op.name == "log":
        found = sum_of_exponentials(source.operands[0])
        return found is not None and found.is_shifted
    if source.op.name == "stop_gradient":
        source, _ = peel(source.operands[0])
        return source.op.name == "select" and peel(source.operands[1])[0].op.name == "reduce_max"
    return False


@procedure(
    "scaled-logaddexp",
    "mul(?t, logaddexp(div(?x, ?t), div(?y, ?t))) => "
    "add(?x, mul(?t, softplus(div(sub(?y, ?x), ?t))))",
    stable,
    "the derivative by the scale is a small difference of large numbers unless the larger operand "
    "is taken out",
    roots=("mul", "div"),
    factors=("logaddexp", "logsumexp"),
    domain={"t": (1e-3, 1e3)},
    condition="y < x",
    loss=10.0,
    examples=[
        "mul(?t, logaddexp(div(?x, ?t), div(?y, ?t))) => "
        "add(?x, mul(?t, softplus(div(sub(?y, ?x), ?t))))",
        "div(logaddexp(mul(?x, ?t), mul(?y, ?t)), ?t) => "
        "add(?x, div(softplus(mul(sub(?y, ?x), ?t)), ?t))",
    ],
)
def scaled_logaddexp(value: Value) -> Value | None:
    """Take the largest operand out of a scaled logarithm of a sum of exponentials."""
    if value.op.name == "div":
        return _less_largest("mul", value.operands[1], value.operands[0], value)
    for scale, logarithm in (value.operands, value.operands[::-1]):
        made = _less_largest("div", scale, logarithm, value)
        if made is not None:
            return made
    return None


def _less_largest(inner: str, scale: Value, logarithm: Value, whole: Value) -> Value | None:
    source, moves = peel(logarithm)
    if source.op.name not in ("logaddexp", "logsumexp") or scalar_constant(scale) is not None:
        return None
    unscaled = []
    for operand in source.operands:
        if operand.op.name != inner:
            return None
        x, spread = operand.operands
        if inner == "mul" and _is_spread(x, scale, moves):
            x, spread = spread, x
        if not _is_spread(spread, scale, moves) or _is_shifted(x):
            return None
        unscaled.append((x, spread))
    if source.op.name == "logsumexp":
        axes = source.node.attributes["axes"]
        (x, spread) = unscaled[0]
        shift = largest(x, axes)
        shifted = build.apply(inner, x - over_axes(shift, x, axes), spread)
        rest = build.logsumexp(shifted, axes)
    else:
        shift = _finite_larger(unscaled[0][0], unscaled[1][0])
        parts = [build.apply(inner, x - shift, spread) for x, spread in unscaled]
        rest = build.logaddexp(parts[0], parts[1])
    rest = rearrange(rest, moves)
    scaled = rest * scale if whole.op.name == "mul" else rest / scale
    return build.add(rearrange(shift, moves), scaled)


def _is_spread(value: Value, scale: Value, moves: list[Node]) -> bool:
    """Whether a value is the scale, spread over what is reduced."""
    return value is scale or peel(value)[0] is peel(scale)[0]


def _is_shifted(x: Value) -> bool:
    return x.op.name == "sub" and peel(x.operands[1])[0].op.name == "stop_gradient"


def _finite_larger(x: Value, y: Value) -> Value:
    """Return the larger operand where it is finite: a shift, as :func:`largest` is one."""
    top = build.maximum(x, y)
    finite = build.select(build.lt(build.abs(top), float("inf")), top, 0)
    return build.stop_gradient(finite)


RULES = [
    log_sum_exp,
    shifted_log_sum_exp,
    softmax,
    log_softmax,
    exp_log_softmax,
    log_softmax_difference,
    scaled_logaddexp,
]
