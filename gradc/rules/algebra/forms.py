"""Questions about the form of a value that patterns cannot ask, for guards and procedures."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import permutations
from typing import TypeVar

from gradc.rules.algebra.parts import operand_of
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Node, Value
from gradc_ir.graphs.rearrange import REARRANGEMENTS, peel, rearrange, scalar_constant
from gradc_ir.matching.pattern import Match

# How deep products and sums are looked into: a fixed bound keeps passes linear.
DEPTH = 4

Found = TypeVar("Found")


def negated(x: Value, y: Value) -> bool:
    """Whether one value is surely minus the other; the sign of a zero may differ."""
    while True:
        if x.type != y.type:
            return False
        if (x.op.name == "neg" and x.operands[0] is y) or (
            y.op.name == "neg" and y.operands[0] is x
        ):
            return True
        if scalar_constant(x) is not None and scalar_constant(y) is not None:
            return _opposite_numbers(x, y)
        if not (x.op.name in REARRANGEMENTS and _same_step(x.node, y.node)):
            break
        x, y = x.operands[0], y.operands[0]
    return _negated_terms(x, y)


def _same_step(x: Node, y: Node) -> bool:
    return x.op is y.op and x.attributes == y.attributes


def _negated_terms(x: Value, y: Value) -> bool:
    names = {x.op.name, y.op.name}
    if names == {"mul"} or names == {"div"}:
        a, b = x.operands
        orders = [y.operands] if names == {"div"} else permutations(y.operands)
        return any(
            (a is c and _opposite_numbers(b, d)) or (b is d and _opposite_numbers(a, c))
            for c, d in orders
        )
    if names == {"sub"}:
        return x.operands == y.operands[::-1]
    if names == {"add", "sub"}:
        # x + 3 and -3 - x
        total, difference = (x, y) if x.op.name == "add" else (y, x)
        constant, rest = difference.operands
        return any(
            a is rest and _opposite_numbers(b, constant) for a, b in permutations(total.operands)
        )
    return False


def _opposite_numbers(a: Value, b: Value) -> bool:
    left, right = scalar_constant(a), scalar_constant(b)
    return left is not None and right is not None and bool(left == -right)


def are_negated(m: Match) -> bool:
    """Guard: whether ``?y`` is minus ``?x``."""
    return negated(m["x"], m["y"])


# Which operands of a product, a quotient and a negation its factors stand in.
_FACTORS_IN = {"mul": (0, 1), "div": (0,), "neg": (0,)}


def _in_one_operand(value: Value, replace: Callable[[Value], Value | None]) -> Value | None:
    """Return a product with one operand replaced: the first that has a replacement."""
    operands = list(value.operands)
    for i in _FACTORS_IN.get(value.op.name, ()):
        made = replace(operands[i])
        if made is not None:
            operands[i] = made
            return build.apply(value.op.name, *operands, **value.node.attributes)
    return None


def replace_factor(
    value: Value, replace: Callable[[Value], Value | None], depth: int = DEPTH
) -> Value | None:
    """Return a product with one factor replaced: the first for which ``replace`` has a replacement.

    Looks through products, negations and numerators, a fixed number of levels deep.
    """
    made = replace(value)
    if made is not None or not depth:
        return made
    return _in_one_operand(value, partial(replace_factor, replace=replace, depth=depth - 1))


def take_factor(value: Value, find: Callable[[Value], Found | None]) -> tuple[Found, Value] | None:
    """Return what is found for the first factor that has such, and the product without it."""
    found: list[Found] = []

    def take(factor: Value) -> Value | None:
        one = find(factor)
        if one is None:
            return None
        found.append(one)
        return build.ones_like(factor)

    rest = replace_factor(value, take)
    return None if rest is None else (found[0], rest)


def split_factor(value: Value, name: str) -> tuple[Value, Value] | None:
    """Return the argument of the first factor that a unary op makes, and the product without it."""
    return take_factor(value, partial(operand_of, name=name))


def join_factors(
    value: Value, name: str, join: Callable[[Value, Value], Value | None]
) -> Value | None:
    """Return a product with a side f(x), f the op of this name, joined with a factor of the other.

    ``join`` is told x and each of the factors until it returns what stands for both.
    """
    for one, other in permutations(value.operands):
        argument = operand_of(one, name)
        if argument is not None:
            made = replace_factor(other, partial(join, argument))
            if made is not None:
                return made
    return None


def opposite_factors(value: Value, f: str, g: str, join: Callable[[Value], Value]) -> Value | None:
    """Return a product with its factors f(x) and g(-x), ops of these names, joined of x.

    One of them is a side of the product, the other may stand deeper.
    """

    def joined(x: Value, factor: Value) -> Value | None:
        opposite = operand_of(factor, g)
        return join(x) if opposite is not None and negated(opposite, x) else None

    def joined_back(opposite: Value, factor: Value) -> Value | None:
        x = operand_of(factor, f)
        return join(x) if x is not None and negated(x, opposite) else None

    made = join_factors(value, f, joined)
    return join_factors(value, g, joined_back) if made is None else made


def opposite_terms(value: Value, name: str) -> tuple[Value, Value] | None:
    """Return p and x when a difference is ``p * f(x) - p * f(-x)``, f the op of this name.

    Where p is 1, it need not be written.
    """
    found = []
    for term in value.operands:
        split = split_factor(term, name) if term.op.name in (*_FACTORS_IN, name) else None
        if split is None:
            return None
        found.append(split)
    (x, rest), (opposite, other) = found
    return (rest, x) if rest is other and negated(x, opposite) else None


class Sum(NamedTuple):
    """``rearranged(reduce_sum(exp(exponent), axes))``."""

    exponent: Value
    axes: tuple[int, ...]
    moves: list[Node]

    @property
    def is_shifted(self) -> bool:
        """Whether the largest exponent was subtracted, so that nothing overflows."""
        return self.whole is not None

    @property
    def whole(self) -> Value | None:
        """The exponent before its largest element was subtracted, None when that was not done."""
        source, moves = peel(self.exponent)
        if source.op.name != "sub":
            return None
        whole, shift = (rearrange(operand, moves) for operand in source.operands)
        return whole if is_maximum(shift, whole, self.axes) else None


def sum_of_exponentials(value: Value) -> Sum | None:
    """Return what is summed when a value is a reduction of exponentials, else None."""
    source, moves = peel(value)
    if source.op.name != "reduce_sum":
        return None
    exponent = operand_of(source.operands[0], "exp")
    return None if exponent is None else Sum(exponent, source.node.attributes["axes"], moves)


def is_maximum(value: Value, whole: Value, axes: tuple[int, ...]) -> bool:
    """Whether a value is the largest element of ``whole`` over axes, in any arrangement."""
    source, _ = peel(value)
    if source.op.name == "stop_gradient":
        source, _ = peel(source.operands[0])
    if source.op.name == "select":  # where it is finite
        source, _ = peel(source.operands[1])
    return (
        source.op.name == "reduce_max"
        and source.node.attributes["axes"] == axes
        and source.operands[0] is whole
    )


def is_exponential(value: Value, depth: int = DEPTH) -> bool:
    """Whether a value is surely an exponential, or a sum of exponentials and positive numbers."""
    source, _ = peel(value)
    if source.op.name == "exp":
        return True
    if source.op.name == "reduce_sum":
        return operand_of(source.operands[0], "exp") is not None
    if source.op.name == "add" and depth:
        return all(
            is_exponential(part, depth - 1) or _is_positive_number(part) for part in source.operands
        )
    return False


def _is_positive_number(value: Value) -> bool:
    number = scalar_constant(value)
    return number is not None and 0 < number < float("inf")


def over_axes(value: Value, like: Value, axes: tuple[int, ...]) -> Value:
    """Return a reduction's result spread again over the axes of ``like`` that were reduced."""
    kept = tuple(axis for axis in range(like.type.rank) if axis not in axes)
    return build.broadcast(value, like.type.shape, kept)


def largest(exponent: Value, axes: tuple[int, ...]) -> Value:
    """Return the largest element where it is finite: the shift that keeps exponentials finite.

    Results do not depend on it, so nothing is differentiated through it. Made of the nodes that
    logsumexp and its derivative are made of, to be shared with them.
    """
    return finite_shift(build.reduce_max(exponent, axes))


def finite_shift(top: Value) -> Value:
    """Return the largest of some exponents where it is finite, see :func:`largest`."""
    finite = build.select(build.lt(build.abs(top), float("inf")), top, 0)
    return build.stop_gradient(finite)


def replace_in_terms(
    value: Value, replace: Callable[[Value], Value | None], depth: int = DEPTH
) -> Value | None:
    """Return a value with one factor of each of its terms replaced; None unless all have one."""
    made = replace_factor(value, replace)
    if made is not None or not depth:
        return made
    inner = partial(replace_in_terms, replace=replace, depth=depth - 1)
    if value.op.name not in ("add", "sub"):
        return _in_one_operand(value, inner)
    left, right = map(inner, value.operands)
    if left is None or right is None:
        return None
    return build.apply(value.op.name, left, right)
