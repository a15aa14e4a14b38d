"""The last rules: forms that only compute, which are not to be differentiated or matched again.

They run when everything else is done, since what stands on their right sides hides the sums,
exponentials and differences that other rules look for, and picks elements apart whose derivative is
that of the whole.
"""

from __future__ import annotations

import math

from gradc.rules.algebra.factors import Product, product, whole
from gradc.rules.algebra.forms import negated, over_axes, sum_of_exponentials
from gradc.rules.engine import procedure, stable
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Node, Value
from gradc_ir.graphs.rearrange import REARRANGEMENTS, peel, rearrange, scalar_constant

# -- sums of exponentials of which the largest is 1 ------------------------------------------------


class Softmax(NamedTuple):
    """``exp(exponent)`` and its sum over axes, where the largest exponent was subtracted."""

    exponent: Value
    total: Value
    axes: tuple[int, ...]

    @property
    def powers(self) -> Value:
        """The exponentials."""
        return build.exp(self.exponent)

    def others(self) -> Value:
        """Return the total less 1, which is the largest term: the sum of the others.

        Where several terms are largest it is at least 1, and the difference does not cancel.
        """
        largest = build.eq(self.exponent, build.zeros_like(self.exponent))
        others = build.reduce_sum(build.select(largest, 0, self.powers), self.axes)
        one = build.lt(build.abs(self.total - others - 1), 0.25)
        return build.select(one, others, self.total - 1)

    def complement(self, moves: list[Node]) -> Value:
        """Return the total less each term, rearranged."""
        exponent, powers, total, others = (
            rearrange(value, moves)
            for value in (
                self.exponent,
                self.powers,
                self.spread(self.total),
                self.spread(self.others()),
            )
        )
        largest = build.eq(exponent, build.zeros_like(exponent))
        return build.select(largest, others, total - powers)

    def spread(self, reduced: Value) -> Value:
        """Return a result of the reduction over the axes again."""
        return over_axes(reduced, self.exponent, self.axes)


def _softmax_of(total: Value) -> tuple[Softmax, list[Node]] | None:
    source, moves = peel(total)
    found = sum_of_exponentials(source)
    if found is None or not found.is_shifted or found.moves:
        return None
    return Softmax(found.exponent, source, found.axes), moves


@procedure(
    "log-of-shifted-sum",
    "log(reduce_sum(exp(sub(?x, reduce_max(?x))))) => log1p(sub(reduce_sum(exp(sub(?x, "
    "reduce_max(?x)))), 1))",
    stable,
    "a sum that is nearly its largest term, 1, has rounded the others away",
    on="log: reduce_sum",
)
def log_of_shifted_sum(value: Value) -> Value | None:
    """Take the logarithm of one and the sum of the terms that are not the largest one."""
    found = _softmax_of(value.operands[0])
    if found is None:
        return None
    softmax, moves = found
    return rearrange(build.log1p(softmax.others()), moves)


# -- differences of a weight and its share ---------------------------------------------------------


class Share(NamedTuple):
    """``sum * exp(exponent) / total``, rearranged: what softmax gives an element of a sum."""

    softmax: Softmax
    moves: list[Node]
    sum: Value
    power: Value


def _share(value: Value) -> Share | None:
    """Return the share that a product with an exponential and one over its sum is."""
    source, moves = peel(value)
    entire = product(source)
    for factor in entire.above:
        power, _ = peel(factor)
        if power.op.name != "exp" or power is not factor:
            continue
        for below in entire.below:
            found = _total_of(below, power)
            if found is not None:
                return _made(found, moves, entire.without(whole(power, below=(below,))), power)
        for other in entire.above:
            inner, spread = peel(other)
            if inner.op.name != "div":
                continue
            found = _total_of(rearrange(inner.operands[1], spread), power)
            if found is not None:
                numerator = rearrange(inner.operands[0], spread)
                rest = whole(numerator) * entire.without(whole(power, other))
                return _made(found, moves, rest, power)
    return None


def _made(softmax: Softmax, moves: list[Node], rest: Product, power: Value) -> Share:
    total = rearrange(rest.value(power), moves)
    return Share(softmax, moves, total, rearrange(power, moves))


def _total_of(value: Value, power: Value) -> Softmax | None:
    """Return the softmax whose total, spread over its axes, a value is."""
    found = _softmax_of(value)
    if found is None or found[0].exponent is not power.operands[0]:
        return None
    softmax = found[0]
    return softmax if softmax.spread(softmax.total) is value else None


def _rest_of(total: Value, part: Value) -> Value | None:
    """Return a sum less a part of it, None when it is not known to be a part."""
    a, b = scalar_constant(total), scalar_constant(part)
    if total is part or (a is not None and a == b):
        return build.zeros_like(part)
    if total.op.name == "add" and part in total.operands:
        return total.operands[1 - total.operands.index(part)]
    if part.op.name == "sub" and a is not None and scalar_constant(part.operands[0]) == a:
        return part.operands[1]
    source, _ = peel(total)
    if source.op.name == "reduce_sum" and source.operands[0] is part:
        return total - part
    return None


@procedure(
    "weight-minus-share",
    "sub(?x, div(mul(?x, exp(sub(?y, reduce_max(?y)))), reduce_sum(exp(sub(?y, reduce_max(?y)))))) "
    "=> div(mul(?x, sub(reduce_sum(exp(sub(?y, reduce_max(?y)))), exp(sub(?y, reduce_max(?y))))), "
    "reduce_sum(exp(sub(?y, reduce_max(?y)))))",
    stable,
    "the difference cancels where nearly all of the sum is one term; differentiation makes such",
    on="add sub: exp select",
)
def weight_minus_share(value: Value) -> Value | None:
    """Join a weight and minus its share of softmax, as the gradient of cross entropy has them."""
    left, right = value.operands
    for weight, other in ((left, right), (right, left)):
        condition, chosen = _masked(other)
        share = _share(chosen)
        if share is None:
            continue
        # the share is taken from the weight, or the weight from the share
        sign = -1 if value.op.name == "sub" and other is left else 1
        total = _simple(share.sum)
        rest = (_rest_of if value.op.name == "sub" else _rest_of_opposite)(total, weight)
        if rest is None:
            continue
        softmax, power = share.softmax, share.power
        below = rearrange(softmax.spread(softmax.total), share.moves)
        others = softmax.complement(share.moves)
        if scalar_constant(rest) == 0:
            made = weight * (others / below)
        else:
            made = (weight * others - rest * power) / below
        # beside an infinite one a finite one has no share, and an infinite one none that is known
        is_infinite = rearrange(softmax.spread(build.eq(softmax.total, math.inf)), share.moves)
        made = build.select(is_infinite, weight + (power - power), made)
        if condition is not None:
            made = build.select(condition, made, weight)
        return made if sign > 0 else -made
    return None


def _masked(value: Value) -> tuple[Value | None, Value]:
    """Return a condition and a value, which is 0 where the condition does not hold."""
    if value.op.name == "select" and scalar_constant(value.operands[2]) == 0:
        return value.operands[0], value.operands[1]
    return None, value


def _rest_of_opposite(total: Value, part: Value) -> Value | None:
    """Return minus a sum, less a part of that, None when it is not known to be a part."""
    source, _ = peel(total)
    if source.op.name == "reduce_sum" and _are_opposite(source.operands[0], part):
        return -(total + part)
    rest = _rest_of(_simple(-total), part)
    if rest is None:
        rest = _rest_of(total, _simple(-part))
        rest = None if rest is None else -rest
    return rest


def _are_opposite(x: Value, y: Value) -> bool:
    while x.op.name in REARRANGEMENTS and x.op is y.op and x.node.attributes == y.node.attributes:
        x, y = x.operands[0], y.operands[0]
    if x.op.name == y.op.name == "select" and x.operands[0] is y.operands[0]:
        pairs = zip(x.operands[1:], y.operands[1:])
        return all(negated(a, b) for a, b in pairs)
    return negated(x, y)


def _simple(value: Value) -> Value:
    """Return a value without double signs and detours, a number as one."""
    if value.op.name == "reshape":
        return _without_detour(value)
    if value.op.name == "neg":
        number = scalar_constant(value.operands[0])
        if number is not None:
            return build.full_like(value, -number)
        if value.operands[0].op.name == "neg":
            return value.operands[0].operands[0]
    return value


def _without_detour(value: Value) -> Value:
    """Return what was spread over axes and taken from them again."""
    part = value.operands[0]
    spread = part.operands[0] if part.op.name == "slice" else part
    if spread.op.name != "broadcast":
        return value
    source, axes = spread.operands[0], spread.node.attributes["axes"]
    shape, whole = part.type.shape, spread.type.shape
    kept = all(
        shape[axis] == whole[axis] if axis in axes else shape[axis] == 1
        for axis in range(len(shape))
    )
    undone = kept and list(axes) == sorted(axes) and source.type.shape == value.type.shape
    return source if undone else value


RULES = [log_of_shifted_sum, weight_minus_share]
