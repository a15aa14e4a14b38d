"""Stable rules for differences of logarithms of the gamma function: beta, binomial and Student's.

Of three that belong together, as in the logarithm of the beta function, the largest argument and
the one nearest to it make the difference ``log_poch``, which cancels nowhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gradc.rules.algebra.cancellation import as_product
from gradc.rules.algebra.factors import Product, whole
from gradc.rules.algebra.parts import (
    Term,
    exact_number,
    made_by,
    operands_of,
    parts,
    terms_of,
    total_of,
)
from gradc.rules.algebra.polynomial import Polynomial, polynomial
from gradc.rules.algebra.split_differences import terms
from gradc.rules.engine import POSITIVE, procedure, stable
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import peel

_DEPTH = 6


@procedure(
    "log-gamma-difference",
    "sub(lgamma(add(?x, ?y)), lgamma(?x)) => log_poch(?x, ?y)",
    stable,
    "the difference cancels where the step is small beside the argument, or both are large; near a "
    "zero of the difference the plain one may have been lucky",
    on="sub add: lgamma",
    domain={"x": POSITIVE, "y": POSITIVE},
    loss=12.0,
    examples=[
        "sub(lgamma(add(?x, ?y)), lgamma(?x)) => log_poch(?x, ?y)",
        "sub(add(?z, lgamma(add(?x, 0.5))), lgamma(?x)) => add(?z, log_poch(?x, 0.5))",
        "sub(lgamma(add(?x, 1)), lgamma(?x)) => log(?x)",
        "sub(sub(lgamma(add(?x, ?y)), lgamma(?x)), lgamma(?y)) => neg(betaln(?x, ?y))",
        "sub(add(lgamma(?x), lgamma(?y)), lgamma(add(?x, ?y))) => betaln(?x, ?y)",
    ],
)
def log_gamma_difference(value: Value) -> Value | None:
    """Join two or three logarithms of gamma functions among the terms of a sum."""
    terms = terms_of(value, _DEPTH)
    for join in (_joined_triple, _joined_pair):
        for plus in (True, False):
            made = join(terms, plus)
            if made is not None:
                return made
    return None


def _joined_triple(terms: list[Term], plus: bool) -> Value | None:
    """Join ``lgamma(s) - lgamma(a) - lgamma(b)``, of which two may be joined, or minus that."""
    for top in terms:
        if top.plus is not plus:
            continue
        whole, pair = operands_of(top.value, "lgamma"), operands_of(top.value, "log_poch")
        steps: list[tuple[list[Term], Value, Value]] = []
        if whole is not None:
            total = polynomial(whole[0])
        elif pair is not None and peel(pair[0])[0].op.name != "select":
            total = polynomial(pair[0]) + polynomial(pair[1])
            steps.append(([], pair[0], pair[1]))
        else:
            continue
        for other, argument in _others(terms, plus):
            found = _difference(total, argument)
            if found is not None:
                steps.append(([other], argument, found))
        if len(steps) > 1:
            (first, a, from_a), (second, b, from_b) = steps[:2]
            return _sum(terms, [top, *first, *second], _triple(a, from_a, b, from_b), plus)
    return None


def _joined_pair(terms: list[Term], plus: bool) -> Value | None:
    """Join ``lgamma(s) - lgamma(a)``, or minus that."""
    for top in terms:
        whole = operands_of(top.value, "lgamma")
        if top.plus is not plus or whole is None:
            continue
        for other, argument in _others(terms, plus):
            found = _difference(polynomial(whole[0]), argument)
            if found is not None:
                return _sum(terms, [top, other], _pair(argument, found), plus)
    return None


def _others(terms: list[Term], plus: bool) -> Iterator[tuple[Term, Value]]:
    """Yield the terms of the other sign that are lgamma, with their arguments."""
    for term in terms:
        argument = operands_of(term.value, "lgamma")
        if term.plus is not plus and argument is not None:
            yield term, argument[0]


def _difference(left: Polynomial, part: Value) -> Value | None:
    """Return left - part when what both share cancels, and one or two terms remain."""
    right = polynomial(part)
    rest = left - right
    if len(rest.terms) >= len(left.terms) + len(right.terms):
        return None
    # a step down is a step up of the other one
    if not any(number > 0 for number in rest.terms.values()):
        return None
    constant = rest.constant
    if constant is not None:
        return build.full_like(part, float(constant))
    made = as_product(rest)
    return None if made is None else made.value(part)


def _pair(base: Value, step: Value) -> Value:
    if exact_number(step) == 1:
        # of -0, too, the slope is that of the logarithm
        return build.log(build.select(build.lt(base, 0.0), -base, base))
    return build.log_poch(base, step)


def _triple(a: Value, from_a: Value, b: Value, from_b: Value) -> Value:
    """Return lgamma(s) - lgamma(a) - lgamma(b), where s is a + from_a and b + from_b."""
    first = build.le(b, a)
    base, other = build.select(first, a, b), build.select(first, b, a)
    difference = build.log_poch(base, build.select(first, from_a, from_b))
    return difference - build.apply("lgamma", other)


def _sum(terms: list[Term], joined: list[Term], made: Value, plus: bool) -> Value:
    """Return the sum in its order, with one value in place of the joined terms."""
    left = list(terms)
    for term in joined[1:]:
        left.remove(term)
    left[left.index(joined[0])] = Term(made, plus)
    if len(left) == 1 and not plus:
        return 0.0 - made  # a sum is never -0
    return total_of(left)


@procedure(
    "digamma-difference",
    "sub(mul(?a, digamma(add(?x, ?y))), mul(?a, digamma(?x))) => "
    "mul(?a, digamma_difference(?x, ?y))",
    stable,
    "the difference cancels where the step is small beside the argument; derivatives of quotients "
    "of gamma functions are such differences",
    on="sub add: digamma",
    domain={"x": POSITIVE, "y": POSITIVE},
    loss=4.0,
    examples=[
        "sub(mul(?a, digamma(add(?x, ?y))), mul(?a, digamma(?x))) => "
        "mul(?a, digamma_difference(?x, ?y))",
        "sub(digamma(add(?x, 0.5)), digamma(?x)) => digamma_difference(?x, 0.5)",
    ],
)
def digamma_difference(value: Value) -> Value | None:
    """Join two digamma functions that are multiplied with the same."""
    first, second = terms(value)
    if first.coefficient != -second.coefficient:
        return None
    for one in made_by("digamma", first.above):
        for other in made_by("digamma", second.above):
            rest, beside = first.without(whole(one)), second.without(whole(other))
            if one is other or _counted(rest) != _counted(beside):
                continue
            (x,), (y,) = parts(one)[1], parts(other)[1]
            for base, top, sign in ((y, x, 1), (x, y, -1)):
                step = _difference(polynomial(top), base)
                if step is not None:
                    found = whole(build.digamma_difference(base, step)) * rest
                    # the difference of equal numbers is 0, not -0
                    return found.times(sign).value(value) + 0.0
    return None


def _counted(entire: Product) -> tuple[Counter[Value], Counter[Value]]:
    return Counter(entire.above), Counter(entire.below)


RULES = [log_gamma_difference, digamma_difference]
