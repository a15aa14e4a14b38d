"""Stable rules for quotients whose denominators grow like exp(x): both sides are scaled down.

A denominator such as ``p + b exp(x)`` is divided by exp(x) where that term is the larger one. What
is left is bounded, with derivatives of any order that neither overflow nor divide infinity by
infinity, and needs one exponential, that of ``m``, which is x or -x. A denominator with cosh(x) or
with exp(x) and exp(-x) grows like ``exp(abs(x))``: where a numerator grows with it, which
derivatives are full of, both are divided by that.
"""

from __future__ import annotations

import math
from functools import partial, reduce
from itertools import permutations
from operator import add, mul, truediv

from gradc.rules.algebra.forms import DEPTH as FORM_DEPTH
from gradc.rules.algebra.forms import negated, replace_in_terms, take_factor
from gradc.rules.algebra.parts import operand_of, parts
from gradc.rules.engine import INF, POSITIVE, procedure, stable
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import peel, rearrange, scalar_constant
from gradc_ir.ranges.knowledge import is_nonnegative

_GROWING = ("exp", "expm1", "cosh", "sinh")
_DEPTH = 6


class Folded(NamedTuple):
    """An exponent x as ``m``, which is -x beyond a threshold and x elsewhere."""

    x: Value
    threshold: Value
    surely_beyond: bool = False

    @property
    def m(self) -> Value:
        """x with one sign or the other: the exponent that does not grow."""
        return self.choose(-self.x, self.x)

    @property
    def shrunk(self) -> Value:
        """``exp(m)``."""
        return build.exp(self.m)

    @property
    def inverse_growth(self) -> Value:
        """``exp(-x)`` beyond the threshold, elsewhere 1."""
        return self.choose(self.shrunk, build.ones_like(self.x))

    def choose(self, beyond: Value, otherwise: Value) -> Value:
        """Return one value beyond the threshold, the other one for the rest."""
        if self.surely_beyond:
            return beyond
        return build.select(build.lt(self.threshold, self.x), beyond, otherwise)


def _folded(x: Value, threshold: Value | None = None) -> Folded | None:
    """Return an exponent folded, None when it is surely not positive: nothing grows then."""
    if not x.type.dtype.is_float or is_nonnegative(-x) or is_folded(x):
        return None
    if threshold is None:
        return Folded(x, build.zeros_like(x), is_nonnegative(x))
    return Folded(x, threshold)


def is_folded(x: Value) -> bool:
    """Whether an exponent is ``m`` of another one."""
    if x.op.name != "select" or x.operands[1].op.name != "neg":
        return False
    return x.operands[1].operands[0] is x.operands[2]


def _threshold(terms: list[Term]) -> Value | None:
    """Return where ``p + b exp(x)`` has equal terms, at least 0; None where that is 0.

    Below 0 nothing grows.
    """
    still = _total([term.coefficient for term in terms if term.x is None])
    growing = _total([term.coefficient for term in terms if term.x is not None])
    if still is None or growing is None:
        return None
    numbers = scalar_constant(still), scalar_constant(growing)
    if numbers[0] is not None and numbers[1]:
        ratio = abs(numbers[0] / numbers[1])
        return None if ratio <= 1 else build.full_like(still, math.log(ratio))
    equal = build.log(build.abs(still)) - build.log(build.abs(growing))
    return build.stop_gradient(build.maximum(equal, 0.0))


def _total(terms: list[Value]) -> Value | None:
    return reduce(add, terms) if terms else None


class Term(NamedTuple):
    """A term of a sum: a coefficient times exp, expm1, cosh or sinh of x, or without x alone."""

    coefficient: Value
    name: str = ""
    x: Value | None = None


def _terms(value: Value, depth: int = _DEPTH, minus: bool = False) -> list[Term]:
    """Return the terms of a sum, in order."""
    name = value.op.name
    if depth and name in ("add", "sub"):
        left, right = value.operands
        second = _terms(right, depth - 1, minus is not (name == "sub"))
        return [*_terms(left, depth - 1, minus), *second]
    if depth and name == "neg":
        return _terms(value.operands[0], depth - 1, not minus)
    growing, coefficient = take_factor(value, _growing) or ((), value)
    return [Term(-coefficient if minus else coefficient, *growing)]


def _growing(factor: Value) -> tuple[str, Value] | None:
    """Return the name and the argument of a growing function."""
    name, operands = parts(factor)
    return (name, operands[0]) if name in _GROWING else None


class Growth(NamedTuple):
    """A sum that grows exponentially: its terms, the exponent, whether on both sides of 0."""

    terms: list[Term]
    folded: Folded
    both_sides: bool

    @property
    def scale(self) -> Value:
        """One over the growth."""
        return self.folded.shrunk if self.both_sides else self.folded.inverse_growth

    def scaled(self) -> Value:
        """Return the sum divided by its growth, as a sum in the same order."""
        terms = self.terms
        cosines = [term for term in terms if term.name == "cosh"]
        still = [term for term in terms if term.x is None]
        is_pair = len(terms) == 2 and len(cosines) == len(still) == 1
        if is_pair and scalar_constant(still[0].coefficient) is None:
            return self._beside_cosine(still[0].coefficient, cosines[0].coefficient)
        total: Value = reduce(add, map(self._scaled_term, terms))
        return total

    def _beside_cosine(self, p: Value, b: Value) -> Value:
        """Return ``p + b cosh(x)`` scaled: as a sum with ``p + b``, which may cancel near 0."""
        small = self.folded.shrunk
        lost = 1.0 - small
        return (p + b) * small + 0.5 * b * (lost * lost)

    def _scaled_term(self, term: Term) -> Value:
        folded = self.folded
        if term.x is None:
            return term.coefficient * self.scale
        mirrored = term.x is not folded.x
        one, small = build.ones_like(folded.x), folded.shrunk
        if self.both_sides:
            small = small * small
        match term.name:
            case "exp":
                grown = folded.choose(small, one) if mirrored else folded.choose(one, small)
            case "expm1":
                less = build.expm1(folded.m)
                grown = folded.choose(-less, less)
            case "cosh":
                grown = 0.5 * (one + small)
            case _:
                half = 0.5 * build.expm1(2 * folded.m)
                grown = folded.choose(-half, half)
                grown = -grown if mirrored else grown
        return term.coefficient * grown


def growth(value: Value) -> Growth | None:
    """Return how a sum grows exponentially in one exponent, None when it surely does not."""
    if not value.type.dtype.is_float:
        return None
    source, moves = peel(value)
    terms = _terms(source)
    if moves:
        terms = [
            Term(
                rearrange(term.coefficient, moves),
                term.name,
                None if term.x is None else rearrange(term.x, moves),
            )
            for term in terms
        ]
    grown = [term for term in terms if term.x is not None]
    if not grown or grown[0].x is None:
        return None
    x = grown[0].x
    if not all(term.x is x or (term.x is not None and negated(term.x, x)) for term in grown):
        return None
    both_sides = any(term.name in ("cosh", "sinh") or term.x is not x for term in grown)
    if both_sides and any(term.name == "expm1" for term in grown):
        return None
    threshold = (
        None if both_sides or any(term.name == "expm1" for term in grown) else _threshold(terms)
    )
    folded = _folded(x, threshold)
    if folded is None or (len(terms) == 1 and grown[0].name != "expm1"):
        return None  # a power, or what has rules of its own
    return Growth(terms, folded, both_sides)


def _factors(value: Value, depth: int = _DEPTH) -> list[Value]:
    if depth and value.op.name == "mul":
        left, right = value.operands
        return [*_factors(left, depth - 1), *_factors(right, depth - 1)]
    return [value]


@procedure(
    "over-growing-sum",
    "div(?a, add(?p, mul(?b, exp(?x)))) => div(mul(?a, exp(neg(?x))), add(mul(?p, exp(neg(?x))), "
    "?b))",
    stable,
    "exp overflows: in a numerator with it, or in the derivative; here for positive x, while for "
    "the others nothing changes; a rounding or two more",
    on="div: / add sub expm1",
    loss=2.0,
    domain={"a": (-1e3, 1e3), "x": POSITIVE, "p": (0.5, 2), "b": (0.5, 2)},
    examples=[
        "div(?a, add(?p, mul(?b, exp(?x)))) => div(mul(?a, exp(neg(?x))), add(mul(?p, "
        "exp(neg(?x))), ?b))",
        "div(?a, expm1(?x)) => div(mul(?a, exp(neg(?x))), neg(expm1(neg(?x))))",
        "div(mul(?a, exp(?x)), mul(expm1(?x), expm1(?x))) => "
        "div(mul(?a, exp(neg(?x))), mul(expm1(neg(?x)), expm1(neg(?x))))",
        "div(sinh(?x), add(?p, cosh(?x))) => div(mul(-0.5, expm1(mul(-2, ?x))), add(mul(?p, "
        "exp(neg(?x))), mul(0.5, add(1, exp(mul(-2, ?x))))))",
    ],
)
def over_growing_sum(value: Value) -> Value | None:
    """Divide growing factors of both sides by what they grow like."""
    above, below = value.operands
    factors = _factors(below)
    scales: list[Value] = []
    for i, factor in enumerate(factors):
        found = growth(factor)
        if found is None:
            continue
        rest, scale = _scaled_down(above, found)
        if rest is not None:
            above, factors[i] = rest, found.scaled()
            scales.append(scale)
    return _paired(_factors(above), scales, factors) if scales else None


def _scaled_down(value: Value, growth: Growth) -> tuple[Value | None, Value]:
    """Return a product without a factor that grows alike, and that divided by the growth."""
    found = take_factor(value, partial(_alike, folded=growth.folded, both_sides=growth.both_sides))
    if found is not None:
        return found[::-1]
    return (None if growth.both_sides else value), growth.scale


def _paired(above: list[Value], scales: list[Value], below: list[Value]) -> Value:
    """Return the product of quotients of a factor above the line and one below.

    The scales, which may be 0, are multiplied first, and squares are made last: so nothing over-
    or underflows before it must.
    """
    scale: Value = reduce(mul, scales)
    above = [
        leaf for factor in above for leaf in equal_factors(factor) if scalar_constant(leaf) != 1
    ]
    above = [scale if not above else above[0] * scale, *above[1:]]
    total = above[0] / below[0]
    for factor, divisor in zip(above[1:], below[1:]):
        total = total * (factor / divisor)
    for factor in above[len(below) :]:
        total = total * factor
    return reduce(truediv, below[len(above) :], total)


def _alike(factor: Value, folded: Folded, both_sides: bool) -> Value | None:
    """Return a factor divided by a growth when it grows no faster, else None."""
    if factor.op.name not in ("add", "sub") and _growing(factor) is None:
        return None
    terms = _terms(factor)
    grown = [term for term in terms if term.x is not None]
    if not grown:
        return None
    names = ("exp", "cosh", "sinh") if both_sides else ("exp", "expm1")
    for term in grown:
        assert term.x is not None
        if term.name not in names:
            return None
        if term.x is not folded.x and not (both_sides and negated(term.x, folded.x)):
            return None
    return Growth(terms, folded, both_sides).scaled()


@procedure(
    "growing-factor-times-quotient",
    "mul(exp(?x), select(lt(0, ?x), exp(neg(?x)), 1)) => select(lt(0, ?x), 1, exp(?x))",
    stable,
    "exp overflows where the product is bounded",
    on="mul: exp expm1 cosh sinh",
    domain={"x": POSITIVE, "p": POSITIVE},
    loss=2.0,
    examples=[
        "mul(exp(?x), select(lt(0, ?x), exp(select(lt(0, ?x), neg(?x), ?x)), 1)) => "
        "select(lt(0, ?x), 1, exp(?x))",
        "mul(div(?a, add(?p, cosh(?x))), sinh(?x)) => div(mul(?a, mul(-0.5, expm1(mul(-2, ?x)))), "
        "add(mul(?p, exp(neg(?x))), mul(0.5, add(1, exp(mul(-2, ?x))))))",
    ],
)
def growing_factor_times_quotient(value: Value) -> Value | None:
    """Join a growing factor with a quotient of the same growth, or with its inverse."""
    for one, other in permutations(value.operands):
        if not _may_join(other):
            continue
        terms = _terms(one)
        exponents = [term.x for term in terms if term.x is not None]
        if not exponents or is_folded(exponents[0]):
            continue

        def take(factor: Value, one: Value = one, x: Value = exponents[0]) -> Value | None:
            folded = _inverse_growth_of(factor, x)
            if folded is not None:
                return _alike(one, folded, False)
            if factor.op.name != "div":
                return None
            divisors = _factors(factor.operands[1])
            for i, part in enumerate(divisors):
                found = growth(part)
                scaled = None if found is None else _alike(one, found.folded, found.both_sides)
                if found is not None and scaled is not None:
                    divisors[i] = found.scaled()
                    return factor.operands[0] * scaled / reduce(mul, divisors)
            return None

        made = replace_in_terms(other, take)
        if made is not None:
            return made
    return None


def _may_join(value: Value, depth: int = 2 * FORM_DEPTH) -> bool:
    """Whether a quotient or a choice stands among the factors of a value's terms."""
    name = value.op.name
    if name in ("div", "select"):
        return True
    if not depth or name not in ("mul", "neg", "add", "sub"):
        return False
    return any([_may_join(operand, depth - 1) for operand in value.operands])


def _inverse_growth_of(factor: Value, x: Value) -> Folded | None:
    """Return x folded when a factor is exp(-x) beyond a threshold and elsewhere 1."""
    if factor.op.name != "select" or operand_of(factor.operands[1], "exp") is None:
        return None
    condition = factor.operands[0]
    if condition.op.name != "lt" or condition.operands[1] is not x:
        return None
    folded = Folded(x, condition.operands[0])
    return folded if folded.inverse_growth is factor else None


@procedure(
    "log-of-inverse-growth",
    "log(mul(select(lt(0, ?x), exp(neg(?x)), 1), ?y)) => add(select(lt(0, ?x), neg(?x), 0), "
    "log(?y))",
    stable,
    "exp underflows although the logarithm is moderate",
    on="log: mul div neg select",
    loss=10.0,
    domain={"x": (1e-30, INF), "y": POSITIVE},
    examples=[
        "log(mul(select(lt(0, ?x), exp(select(lt(0, ?x), neg(?x), ?x)), 1), ?y)) => "
        "add(neg(?x), log(?y))",
        "log(div(select(lt(0, ?x), exp(select(lt(0, ?x), neg(?x), ?x)), 1), ?y)) => "
        "sub(neg(?x), log(?y))",
    ],
)
def log_of_inverse_growth(value: Value) -> Value | None:
    """Take the factors of a quotient that are 1 on one side and exp(m) on the other out of log."""
    found = take_factor(value.operands[0], chosen_exponent)
    return None if found is None else found[0] + build.log(found[1])


def chosen_exponent(factor: Value) -> Value | None:
    """Return the exponent of ``select(x > 0, exp(m), 1)`` or of the same the other way round."""
    source, moves = peel(factor)
    if source.op.name != "select":
        return None
    condition, *cases = source.operands
    for case, other in permutations(cases):
        exponent = operand_of(case, "exp")
        if exponent is not None and is_folded(exponent) and scalar_constant(other) == 1:
            zeros = build.zeros_like(other)
            chosen = (exponent, zeros) if case is cases[0] else (zeros, exponent)
            return rearrange(build.select(condition, *chosen), moves)
    return None


def equal_factors(factor: Value) -> list[Value]:
    """Return a small whole power as equal factors, any other factor alone."""
    if factor.op.name == "power":
        exponent = scalar_constant(factor.operands[1])
        if exponent in (2, 3, 4):
            return [factor.operands[0]] * int(exponent)
    return [factor]


RULES = [
    over_growing_sum,
    growing_factor_times_quotient,
    log_of_inverse_growth,
]
