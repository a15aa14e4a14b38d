"""Stable rules for a square root beside a number that it is close to: p - sqrt(p*p + q).

Where the two have opposite signs, the sum is q over their difference, which does not cancel.
"""

from __future__ import annotations

from itertools import permutations

from gradc.rules.algebra.cancellation import polynomial_difference
from gradc.rules.algebra.difference_formulas import over
from gradc.rules.algebra.factors import Product, cancelled, product, set_apart, whole
from gradc.rules.algebra.nan_carriers import rules_out_nan, with_nan_of
from gradc.rules.algebra.parts import exact_number, parts
from gradc.rules.algebra.polynomial import Polynomial, polynomial
from gradc.rules.algebra.signs import plus_zero
from gradc.rules.algebra.split_differences import may_share_square, terms
from gradc.rules.engine import INF, POSITIVE, procedure, stable
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType
from gradc_ir.ranges import knowledge


def _radicand(value: Value) -> Polynomial | None:
    """Return what a value is the square root of."""
    name, operands = parts(value)
    if name == "sqrt":
        return polynomial(operands[0])
    if name == "hypot":
        x, y = (polynomial(operand) for operand in operands)
        return x * x + y * y
    return None


@procedure(
    "root-beside-its-square",
    "sub(sqrt(add(mul(?x, ?x), ?y)), ?x) => div(?y, add(sqrt(add(mul(?x, ?x), ?y)), ?x))",
    stable,
    "the difference cancels where x is positive and y is small beside its square",
    on="add sub: sqrt hypot",
    domain={"x": (0.0, 1e100), "y": (1e-100, INF), "z": (0.0, 1e100)},
    loss=2.0,
    examples=[
        "sub(sqrt(add(mul(?x, ?x), ?y)), ?x) => div(?y, add(sqrt(add(mul(?x, ?x), ?y)), ?x))",
        "sub(hypot(?x, ?y), ?x) => mul(div(?y, add(hypot(?x, ?y), ?x)), ?y)",
        "sub(sqrt(mul(?x, ?z)), mul(add(?x, ?z), 0.5)) => mul(mul(div(sub(?x, ?z), "
        "add(sqrt(mul(?x, ?z)), mul(add(?x, ?z), 0.5))), sub(?x, ?z)), -0.25)",
    ],
)
def root_beside_its_square(value: Value) -> Value | Product | None:
    """Turn the sum of a root and a number into a quotient where the number is negative."""
    first, second = terms(value)
    shared, *rests = set_apart(first, second)
    for mine, its in permutations(rests):
        size = mine.coefficient
        if not size or mine.below or len(mine.above) != 1 or not (its.above or its.below):
            continue
        square = _radicand(mine.above[0])
        if square is None or not may_share_square(square, its):
            continue
        made = _conjugate(mine.above[0], square, its.times(1 / size), value)
        if made is not None:
            entire = shared.times(size) * whole(made.value)
            # minus a square that is 0 is -0, and no difference is
            turns = made.is_square and size * made.sign < 0 and shared == whole()
            return plus_zero(entire.value(value)) if turns else entire
    return None


class _Conjugate(NamedTuple):
    """``root + beside``, and of what is above its line the sign, and whether it is a square."""

    value: Value
    sign: int
    is_square: bool


def _conjugate(root: Value, square: Polynomial, beside: Product, like: Value) -> _Conjugate | None:
    """Return root + beside."""
    size = beside.coefficient
    if float(size) != size:
        return None
    number = beside.value(like)
    known = polynomial(number)
    if knowledge.is_nonnegative(number) or not (known * known).is_small():
        return None
    delta = polynomial_difference(square, known * known)
    if delta is None:
        return None
    # what is left of the sum must not be taken for one of these again
    root = build.fence(_in_range(root))
    farther = root - number
    turned = over(delta, farther).value(like)
    above = delta.above
    is_square = len(above) == 2 and above[0] is above[1]
    sign = -1 if delta.coefficient < 0 else 1
    if knowledge.is_negative(number):
        return _Conjugate(turned, sign, is_square)
    cancels = build.lt(number, 0.0)
    if delta.above:
        # over infinity there is nothing to be known, and of the sum there is
        cancels = build.logical_and(cancels, build.lt(farther, INF))
    return _Conjugate(build.select(cancels, turned, root + number), sign, is_square)


def _in_range(root: Value) -> Value:
    """Return sqrt(b*b - p*q), scaled by powers of two where the products would leave the range."""
    name, operands = parts(root)
    inner, sides = parts(operands[0])
    if name != "sqrt" or inner not in ("add", "sub"):
        return root
    left, right = product(sides[0]), product(sides[1])
    if not (len(left.above) == len(right.above) == 2 and not left.below and not right.below):
        return root
    wide = root.type.dtype is DType.F64
    large, small, scale = (INF, 2.0**-960, 2.0**600) if wide else (INF, 2.0**-100, 2.0**80)
    size = build.maximum(build.abs(sides[0]), build.abs(sides[1]))
    up, down = build.lt(size, small), build.le(large, size)
    factor = build.select(up, scale, build.select(down, 1 / scale, build.ones_like(root)))
    back = build.select(up, 1 / scale, build.select(down, scale, build.ones_like(root)))
    scaled = [
        Product(side.coefficient, tuple(part * factor for part in side.above)).value(root)
        for side in (left, right)
    ]
    return build.sqrt(build.apply(inner, *scaled)) * back


@procedure(
    "quotient-of-cases",
    "div(select(lt(?v, 0), div(mul(?x, ?z), ?y), ?v), ?x) => "
    "select(lt(?v, 0), div(?z, ?y), div(?v, ?x))",
    stable,
    "a factor cancels in one case: the quotient of both would over- or underflow, or be 0 / 0",
    on="mul div: select",
    domain={"x": POSITIVE, "y": POSITIVE},
)
def quotient_of_cases(value: Value) -> Value | None:
    """Multiply each case on its own, when a factor cancels in one of them."""
    entire = product(value)
    for factor in dict.fromkeys((*entire.above, *entire.below)):
        name, operands = parts(factor)
        if name != "select":
            continue
        is_above = factor in entire.above
        rest = entire.without(whole(factor) if is_above else whole(below=(factor,)))
        cases = [product(operand) for operand in operands[1:]]
        if not is_above:
            if not all(case.coefficient for case in cases):
                continue
            cases = [case.reciprocal for case in cases]
        # what cancels within a case alone may be in the condition, which is left as it is
        if any(_share(rest, case) for case in cases):
            joined = [rest * case for case in cases]
            shorter = [
                case
                if _is_nothing(_shared_factors(case), operands[0], holds=holds)
                else cancelled(case)
                for case, holds in zip(joined, (True, False))
            ]
            if shorter == joined:
                continue
            made = [
                _with_nans(short.value(value), case, operands[0], holds=holds)
                for short, case, holds in zip(shorter, joined, (True, False))
            ]
            return build.select(operands[0], *made)
    return None


def _share(one: Product, other: Product) -> bool:
    """Whether a factor of a product divides the other one."""
    crossed = ((one.above, other.below), (one.below, other.above))
    return any(factor in below for above, below in crossed for factor in above)


def _is_nothing(factors: tuple[Value, ...], condition: Value, *, holds: bool) -> bool:
    """Whether a case is chosen only where a factor is zero: what cancels is 0 / 0 there, no 1."""
    name, operands = parts(condition)
    if name != ("eq" if holds else "ne"):
        return False
    one, other = (product(operand) for operand in operands)
    if one.coefficient:
        one, other = other, one
    return not one.coefficient and not set(factors).isdisjoint(other.above)


def _with_nans(made: Value, case: Product, condition: Value, *, holds: bool) -> Value:
    """Return a case, nan where a factor is that has cancelled, unless it is not chosen there."""
    for factor in _shared_factors(case):
        if not rules_out_nan(condition, factor, holds=holds):
            made = with_nan_of(made, factor)
    return made


def _shared_factors(case: Product) -> tuple[Value, ...]:
    return tuple(dict.fromkeys(factor for factor in case.above if factor in case.below))


@procedure(
    "log-of-root-sum",
    "log(add(?x, sqrt(add(mul(?x, ?x), 1)))) => arcsinh(?x)",
    stable,
    "the sum cancels where x is negative and rounds near zero, and its square overflows",
    on="log: add sub neg select",
    domain={"y": POSITIVE},
    loss=2.0,
    examples=[
        "log(add(?x, hypot(?x, 1))) => arcsinh(?x)",
        "log(sub(hypot(?x, 1), ?x)) => neg(arcsinh(?x))",
        "log(add(add(?y, 1), sqrt(add(mul(add(?y, 1), add(?y, 1)), -1)))) => arccosh(add(?y, 1))",
        "log(sub(add(?y, 1), sqrt(add(mul(add(?y, 1), add(?y, 1)), -1)))) => "
        "neg(arccosh(add(?y, 1)))",
    ],
)
def log_of_root_sum(value: Value) -> Value | None:
    """Turn the logarithm of x + sqrt(x*x + 1) or x + sqrt(x*x - 1) into its function."""
    total = value.operands[0]
    name, operands = parts(total)
    if name == "neg":
        return _logarithm(operands[0], turned=True)
    return _logarithm(total, turned=False)


def _logarithm(total: Value, *, turned: bool) -> Value | None:
    """Return log(total), or log(-total) when it is turned."""
    name, operands = parts(total)
    if name == "select":
        # as root_beside_its_square leaves it
        condition, bounds = parts(operands[0])
        if condition != "lt" or exact_number(bounds[1]) != 0:
            return None
        root = _other_term(operands[2], bounds[0])
        return None if root is None else _inverse_hyperbolic(bounds[0], root, turned)
    if name == "add":
        for x, root in permutations(operands):
            made = _inverse_hyperbolic(x, root, turned)
            if made is not None:
                return made
    if name == "sub":
        root, x = operands
        made = _inverse_hyperbolic(-x, root, turned)
        return made or _inverse_hyperbolic(-root, x, not turned)
    return None


def _other_term(total: Value, term: Value) -> Value | None:
    """Return what a sum is beside one of its terms, when that is fenced."""
    rest = polynomial(total) - polynomial(term)
    atoms = [monomial for monomial in rest.terms if len(monomial) == 1]
    if len(rest.terms) != 1 or not atoms or rest.terms[atoms[0]] != 1:
        return None
    ((root, power),) = atoms[0]
    name, operands = parts(root)
    return operands[0] if name == "fence" and power == 1 else None


def _inverse_hyperbolic(x: Value, root: Value, turned: bool) -> Value | None:
    """Return log(x + root), or log(-x - root) when it is turned."""
    name, operands = parts(root)
    if name == "mul":
        # sqrt(x - 1) * sqrt(x + 1)
        factors = [parts(operand) for operand in operands]
        if any(factor != "sqrt" for factor, _ in factors):
            return None
        inner = [polynomial(below[0]) for _, below in factors]
        square = inner[0] * inner[1]
    else:
        found = _radicand(root)
        if found is None:
            return None
        square = found
    inside, _ = parts(x)
    size = polynomial(parts(x)[1][0] if inside == "abs" else x)
    beyond = (square - size * size).constant
    if beyond == -1:
        return plus_zero(-build.arccosh(-x)) if turned else build.arccosh(x)
    return build.arcsinh(x) if beyond == 1 and not turned else None


@procedure(
    "one-minus-direction-cosine",
    "sub(1, direction_cosine(?x, ?y)) => mul(direction_cosine(?y, ?x), "
    "div(direction_cosine(?y, ?x), add(1, direction_cosine(?x, ?y))))",
    stable,
    "the difference cancels where x is large beside y; the squares of the two cosines sum to one",
    on="add sub: direction_cosine",
    domain={"x": POSITIVE, "y": POSITIVE},
    loss=2.0,
)
def one_minus_direction_cosine(value: Value) -> Value | None:
    """Turn a cosine minus its limit into the square of the other cosine over their sum."""
    for mine, its in permutations(terms(value)):
        if its.above or its.below or mine.below or len(mine.above) != 1 or not mine.coefficient:
            continue
        cosine = mine.above[0]
        name, operands = parts(cosine)
        limit = -its.coefficient / mine.coefficient
        if name != "direction_cosine" or abs(limit) != 1:
            continue
        x, y = operands
        sine = build.apply("direction_cosine", y, x)
        turned = limit < 0
        # what is left of the difference must not be taken for one of these again
        fenced = build.fence(cosine)
        total = 1.0 - fenced if turned else fenced + 1.0
        square = sine * (sine / total)
        apart = square if turned else -square
        plain = fenced + -float(limit)
        is_near = build.lt(x, 0.0) if turned else build.lt(0.0, x)
        # where it is 0 the cosine has left the range or is 1, and beside infinity it is none
        is_near = build.logical_and(is_near, build.lt(0.0, build.abs(sine)))
        made = build.select(is_near, apart, plain)
        return plus_zero(whole(made).times(mine.coefficient).value(value))
    return None


RULES = [
    log_of_root_sum,
    root_beside_its_square,
    one_minus_direction_cosine,
    quotient_of_cases,
]
