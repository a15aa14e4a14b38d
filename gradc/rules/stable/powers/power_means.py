"""Stable rules for power means and p-norms: roots of sums of powers with one exponent.

Powers over- and underflow on the way to a mean, and for small exponents the sum is nearly that of
the weights, of which the root magnifies the rounding. There the mean is a geometric one, times
what the logarithm of a mean of exponentials has beyond the mean exponent.
"""

from __future__ import annotations

from fractions import Fraction

from gradc.rules.algebra.factors import Product, cancelled, product, whole
from gradc.rules.algebra.parts import exact_number, parts
from gradc.rules.algebra.polynomial import ONE, polynomial
from gradc.rules.engine import procedure, stable
from gradc.rules.stable.logarithms.means_of_exponentials import logarithm
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Value

_MOST_TERMS = 4
# How far weights may sum to something else than 1: roundings of each.
_LITTLE = Fraction(1, 2**20)
# The exponential of this times any number is 0.
_NOTHING = -1500.0


class Weight(NamedTuple):
    """The weight of a term: a number, or a value."""

    number: Fraction | None
    value: Value


class Term(NamedTuple):
    """``weight * base**exponent``."""

    weight: Weight
    base: Value


def _terms(total: Value) -> tuple[list[Term], Value] | None:
    """Return the terms of a sum of powers with one exponent, and that."""
    found: list[tuple[Product, Value]] = []
    exponent: Value | None = None
    scaled = product(total)
    factor, waiting = scaled.coefficient, list(scaled.above)
    if len(waiting) != 1 or scaled.below or factor <= 0:
        return None
    while waiting:
        value = waiting.pop()
        name, operands = parts(value)
        if name == "add":
            waiting += operands[::-1]
        else:
            entire = product(value)
            powers = [one for one in entire.above if parts(one)[0] == "power"]
            if len(powers) > 1 or (not powers and (entire.above or entire.below)):
                return None
            base = build.ones_like(value)
            if powers:
                base, own = parts(powers[0])[1]
                if exact_number(own) is not None or (exponent is not None and own is not exponent):
                    return None
                exponent = own
            rest = entire.without(whole(powers[0])) if powers else entire
            found.append((rest.times(factor), base))
        if len(found) + len(waiting) > _MOST_TERMS:
            return None
    if exponent is None or len(found) < 2:
        return None
    made = []
    for weight, base in found:
        is_number = not (weight.above or weight.below)
        if is_number and weight.coefficient <= 0:
            return None
        number = weight.coefficient if is_number else None
        made.append(Term(Weight(number, weight.value(total)), base))
    return made, exponent


def _complementary(first: Weight, second: Weight) -> bool:
    """Whether two weights, of which neither is a number, sum to 1."""
    if first.number is not None or second.number is not None:
        return False
    return (polynomial(first.value) + polynomial(second.value)).constant == 1


@procedure(
    "power-mean",
    "power(add(mul(?w, power(?x, ?p)), mul(sub(1, ?w), power(?y, ?p))), div(1, ?p)) => "
    "power_mean(?x, ?y, ?p, ?w, 1)",
    stable,
    "powers over- and underflow on the way to a mean, and for small exponents its root magnifies "
    "what the sum of the powers rounds away",
    on="power: add mul div",
    domain={"x": (1e-9, 1e9), "y": (1e-9, 1e9), "p": (1e-3, 100.0), "w": (0.01, 0.99)},
    loss=12.0,
)
def power_mean(value: Value) -> Value | None:
    """Take a root of a sum of powers as the larger number, or the geometric mean, times a rest."""
    total, root = value.operands
    found = _terms(total)
    if found is None:
        return None
    terms, exponent = found
    ratio = cancelled(product(root) * product(exponent))
    if ratio.below or not ratio.coefficient or not _is_inverse(root, exponent):
        return None
    made = _mean(terms, exponent)
    if made is None or ratio == Product(ONE):
        return made
    return build.power(made, ratio.value(value))


def _is_inverse(root: Value, exponent: Value) -> bool:
    """Whether what the exponent is made of stands on the other side in the root."""
    own, other = product(exponent), product(root)
    return bool(own.above or own.below) and (
        all(one in other.below for one in own.above)
        and all(one in other.above for one in own.below)
    )


def _mean(terms: list[Term], exponent: Value) -> Value | None:
    """Return the root of the sum, of more than two terms as a mean of means."""
    first, *others = terms
    if any(term.weight.number is None for term in terms):
        # only of two weights that are no numbers the total is known
        if len(terms) > 2 or not _complementary(first.weight, others[0].weight):
            return None
        return build.power_mean(first.base, others[0].base, exponent, first.weight.value, 1.0)
    mean, known = first.base, first.weight.number or ONE
    if all(term.weight.number == 1 for term in terms):
        for term in others:
            mean = build.power_mean(mean, term.base, exponent, 0.5, 2.0)
        return mean
    for term in others:
        total = known + (term.weight.number or ONE)
        factor = float(total) if term is others[-1] and abs(total - 1) > _LITTLE else 1.0
        mean = build.power_mean(mean, term.base, exponent, float(known / total), factor)
        known = total
    if known != 1 and abs(known - 1) <= _LITTLE:
        lost = float(logarithm(known)) / exponent
        # nothing is flat, however steep its logarithm is
        none = build.lt(lost, _NOTHING)
        mean = mean * build.select(none, build.zeros_like(lost), build.exp(lost))
    return mean


RULES = [power_mean]
