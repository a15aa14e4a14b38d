"""Stable rules for sums of exponentials along axes: logsumexp and softmax."""

from __future__ import annotations

from itertools import permutations

from gradc.rules.algebra.forms import (
    finite_shift,
    is_maximum,
    largest,
    over_axes,
    replace_factor,
    replace_in_terms,
    sum_of_exponentials,
)
from gradc.rules.algebra.parts import operand_of
from gradc.rules.engine import procedure, stable
from gradc.rules.stable.logarithms.means_of_exponentials import scaled_again, unscale, unscaled
from gradc_ir import build
from gradc_ir.core.graph import Node, Value
from gradc_ir.graphs.rearrange import peel, rearrange, scalar_constant
from gradc_ir.ranges.knowledge import is_nonnegative


@procedure(
    "log-sum-exp",
    "log(reduce_sum(exp(?x))) => logsumexp(?x)",
    stable,
    "each exponential may overflow although the result is about the largest exponent",
    on="log: reduce_sum",
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
    on="add: log",
    loss=10.0,
)
def shifted_log_sum_exp(value: Value) -> Value | None:
    """Recognise a logsumexp that was shifted by hand."""
    for one, other in permutations(value.operands):
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
    on="div: reduce_sum",
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
        return None if exponent is None else build.exp(exponent - arranged)

    numerator = replace_factor(above, shifted)
    if numerator is None:
        return None
    return numerator / rearrange(_shifted_sum(found.exponent, found.axes), found.moves)


@procedure(
    "softmax-mean",
    "div(reduce_sum(mul(?w, exp(?x))), reduce_sum(exp(?x))) => "
    "div(reduce_sum(mul(?w, exp(sub(?x, reduce_max(?x))))), "
    "reduce_sum(exp(sub(?x, reduce_max(?x)))))",
    stable,
    "inf / inf from 710, 0 / 0 from -745; far below the largest, the shift rounds",
    on="div: reduce_sum",
    loss=10.0,
    examples=[
        "div(reduce_sum(mul(?w, exp(?x))), reduce_sum(exp(?x))) => "
        "div(reduce_sum(mul(?w, exp(sub(?x, reduce_max(?x))))), "
        "reduce_sum(exp(sub(?x, reduce_max(?x)))))"
    ],
)
def softmax_mean(value: Value) -> Value | None:
    """Shift the exponents of two sums along the same axes by the largest one."""
    above, below = value.operands
    found = sum_of_exponentials(below)
    if found is None or found.is_shifted:
        return None
    exponent, axes = found.exponent, found.axes

    def shifted(factor: Value) -> Value | None:
        if operand_of(factor, "exp") is not exponent:
            return None
        shift = over_axes(largest(exponent, axes), exponent, axes)
        return build.exp(exponent - shift)

    def summed(factor: Value) -> Value | None:
        source, moves = peel(factor)
        if source.op.name != "reduce_sum" or source.node.attributes["axes"] != axes:
            return None
        inner = replace_in_terms(source.operands[0], shifted)
        return None if inner is None else rearrange(build.reduce_sum(inner, axes), moves)

    numerator = replace_factor(above, summed)
    if numerator is None:
        return None
    return numerator / rearrange(_shifted_sum(exponent, axes), found.moves)


@procedure(
    "log-softmax",
    "sub(?x, logsumexp(?x)) => "
    "sub(sub(?x, reduce_max(?x)), log(reduce_sum(exp(sub(?x, reduce_max(?x))))))",
    stable,
    "the difference of two large numbers rounds; the largest exponent cancels exactly",
    on="sub: logsumexp",
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
    return x - shift - rest


@procedure(
    "exp-log-softmax",
    "exp(sub(?x, log(reduce_sum(exp(?y))))) => div(exp(?x), reduce_sum(exp(?y)))",
    stable,
    "log and exp undo each other, and each rounds; for sums shifted by the largest exponent",
    on="exp: sub",
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
    return build.exp(x) / total


def _shifted_sum(exponent: Value, axes: tuple[int, ...]) -> Value:
    shift = over_axes(largest(exponent, axes), exponent, axes)
    return build.reduce_sum(build.exp(exponent - shift), axes)


@procedure(
    "log-softmax-difference",
    "sub(sub(?x, log(reduce_sum(exp(sub(?z, reduce_max(?z)))))), "
    "sub(?y, log(reduce_sum(exp(sub(?z, reduce_max(?z))))))) => add(sub(?x, ?y), "
    "sub(stop_gradient(log(reduce_sum(exp(sub(?z, reduce_max(?z)))))), "
    "stop_gradient(log(reduce_sum(exp(sub(?z, reduce_max(?z))))))))",
    stable,
    "the normaliser rounds both; it cancels, as the derivative by a weight of cross entropy has it",
    on="sub: sub slice",
)
def log_softmax_difference(value: Value) -> Value | None:
    """Subtract two logarithms of one softmax without what they have in common."""
    (left, moves), (right, other_moves) = map(peel, value.operands)
    if left.op.name != "sub" or right.op.name != "sub":
        return None
    (x, shared), (y, other) = left.operands, right.operands
    if shared is not other or not _is_normaliser(shared):
        return None
    if not _are_alike(moves, other_moves, shared):
        return None
    # a normaliser that is no number, as of a nan among the exponents, is none without it either
    lost = build.stop_gradient(rearrange(shared, moves))
    return rearrange(x, moves) - rearrange(y, other_moves) + (lost - lost)


def _are_alike(moves: list[Node], other: list[Node], shared: Value) -> bool:
    """Whether a value is the same in two slices: it is spread over what they differ in."""
    if len(moves) != len(other):
        return False
    differing = [(one, two) for one, two in zip(moves, other) if not _is_same_step(one, two)]
    if not differing:
        return True
    one, two = differing[0]
    if len(differing) > 1 or one is not moves[-1] or {one.op.name, two.op.name} != {"slice"}:
        return False
    if shared.op.name != "broadcast" or one.results[0].type != two.results[0].type:
        return False
    kept = shared.node.attributes["axes"]
    return one.attributes["steps"] == two.attributes["steps"] and all(
        one.attributes["starts"][axis] == two.attributes["starts"][axis] for axis in kept
    )


def _is_same_step(one: Node, other: Node) -> bool:
    return (
        one.op is other.op
        and one.attributes == other.attributes
        and (one.results[0].type == other.results[0].type)
    )


def _is_normaliser(value: Value) -> bool:
    """Whether a value is subtracted by log-softmax: the logarithm of the sum, or the shift."""
    source, _ = peel(value)
    if source.op.name in ("logsumexp", "logaddexp", "softplus"):
        return True
    if source.op.name == "log":
        found = sum_of_exponentials(source.operands[0])
        return found is not None and found.is_shifted
    if source.op.name == "stop_gradient":  # which is dropped when nothing differentiates any more
        source, _ = peel(source.operands[0])
    return source.op.name == "select" and peel(source.operands[1])[0].op.name == "reduce_max"


@procedure(
    "softmax-entropy",
    "reduce_sum(mul(sub(?x, log(reduce_sum(exp(?x)))), div(exp(?x), reduce_sum(exp(?x))))) => "
    "sub(reduce_sum(mul(?x, div(exp(?x), reduce_sum(exp(?x))))), log(reduce_sum(exp(?x))))",
    stable,
    "the weights sum to 1, so the normaliser need not be among what is weighted: by an exponent, "
    "its weighted mean cancels for exponents that are nearly equal; before the slopes' own rule, "
    "that of the normaliser cancels instead",
    on="reduce_sum: mul",
    loss=10.0,
    examples=[
        "reduce_sum(mul(sub(sub(?x, reduce_max(?x)), log(reduce_sum(exp(sub(?x, "
        "reduce_max(?x)))))), div(exp(sub(?x, reduce_max(?x))), reduce_sum(exp(sub(?x, "
        "reduce_max(?x))))))) => sub(reduce_sum(mul(sub(?x, reduce_max(?x)), div(exp(sub(?x, "
        "reduce_max(?x))), reduce_sum(exp(sub(?x, reduce_max(?x))))))), "
        "log(reduce_sum(exp(sub(?x, reduce_max(?x))))))"
    ],
)
def softmax_entropy(value: Value) -> Value | None:
    """Take the normaliser out of the weighted sum of a log-softmax."""
    axes, source = value.node.attributes["axes"], value.operands[0]
    if source.op.name != "mul":
        return None
    for logs, weights in permutations(source.operands):
        if logs.op.name != "sub" or weights.op.name != "div":
            continue
        (x, normaliser), (powers, total) = logs.operands, weights.operands
        found = sum_of_exponentials(total)
        if found is None or not found.is_shifted or found.axes != axes:
            continue
        inner = operand_of(normaliser, "log")
        if operand_of(powers, "exp") is not x or found.exponent is not x or inner is not total:
            continue
        plain = peel(normaliser)[0]
        if plain.type == value.type:
            return build.reduce_sum(x * weights, axes) - plain
    return None


@procedure(
    "scaled-logaddexp",
    "mul(?t, logaddexp(div(?x, ?t), div(?y, ?t))) => "
    "add(?x, mul(?t, softplus(div(sub(?y, ?x), ?t))))",
    stable,
    "the derivative by the scale is a small difference of large numbers unless the larger operand "
    "is taken out",
    on="mul div: logaddexp logsumexp",
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
    return unscale(value, _less_largest)


def _less_largest(inner: str, scale: Value, logarithm: Value) -> Value | None:
    source, moves = peel(logarithm)
    if source.op.name not in ("logaddexp", "logsumexp") or scalar_constant(scale) is not None:
        return None
    found = [unscaled(operand, inner, scale) for operand in source.operands]
    first, last = found[0], found[-1]
    if first is None or last is None or _is_shifted(first.x) or _is_shifted(last.x):
        return None
    if source.op.name == "logsumexp":
        axes = source.node.attributes["axes"]
        x, spread = first
        shift = largest(x, axes)
        shifted = build.apply(inner, x - over_axes(shift, x, axes), spread)
        rest = build.logsumexp(shifted, axes)
    else:
        top = build.maximum(first.x, last.x)
        if not is_nonnegative(first.spread):
            # below 0 the scale makes the smallest the one that counts
            falls = build.lt(first.spread, 0.0)
            top = build.select(falls, build.minimum(first.x, last.x), top)
        shift = finite_shift(top)
        rest = build.logaddexp(
            *(build.apply(inner, x - shift, spread) for x, spread in (first, last))
        )
    scaled = scaled_again(rearrange(rest, moves), inner, scale)
    return rearrange(shift, moves) + scaled


def _is_shifted(x: Value) -> bool:
    return x.op.name == "sub" and peel(x.operands[1])[0].op.name == "stop_gradient"


RULES = [
    log_sum_exp,
    shifted_log_sum_exp,
    softmax,
    softmax_mean,
    log_softmax,
    exp_log_softmax,
    log_softmax_difference,
    softmax_entropy,
    scaled_logaddexp,
]
