"""Stable rules for differences of one function at two arguments that share a term.

The difference of the arguments is made exactly, by :mod:`gradc.rules.algebra.cancellation`, and the
difference of the function is an expression of it that does not cancel.
"""

from __future__ import annotations

from collections.abc import Callable

from gradc.rules.algebra.cancellation import polynomial_difference
from gradc.rules.algebra.difference_formulas import Side, logarithm_of_quotient
from gradc.rules.algebra.factors import Product, product
from gradc.rules.algebra.parts import exact_number, parts
from gradc.rules.algebra.polynomial import number, polynomial
from gradc.rules.algebra.signs import plus_zero
from gradc.rules.algebra.split_differences import (
    NAMES,
    SAME,
    functions_apart,
    products_apart,
    quotients_apart,
    squares_apart,
    terms,
)
from gradc.rules.engine import INF, POSITIVE, Finder, Rule, procedure, stable
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.ranges import knowledge

_X = {"x": POSITIVE}

# Functions and sources that are infinite only where what they are made of is.
_MODERATE = frozenset(
    ("log", "log1p", "sin", "cos", "tanh", "arctan", "sigmoid", "param", "slice", "gather")
)


def _may_overflow(value: Value, depth: int = 4) -> bool:
    """Whether a value may be infinite although what it is made of is far from it."""
    name, operands = parts(value)
    if name in _MODERATE or exact_number(value) is not None:
        return False
    if name == "sqrt":
        below, terms_below = parts(operands[0])
        # infinite only on the side where there is no root
        if below == "sub" and exact_number(terms_below[0]) is not None:
            return not knowledge.is_nonnegative(terms_below[1])
    if not depth:
        return True
    if name == "mul" and any(exact_number(operand) is not None for operand in operands):
        return any(_may_overflow(operand, depth - 1) for operand in operands)
    if name in ("add", "sub", "neg", "sqrt", "cbrt", "abs", "select", "fence", "hypot"):
        numbers = [operand for operand in operands if operand.type.dtype.is_float]
        return any(_may_overflow(operand, depth - 1) for operand in numbers)
    return True


def _joined_terms(value: Value) -> tuple[Product, Product]:
    """Return the two terms of a sum; one that was added before already counts twice.

    The derivative by a factor that stands twice is made so.
    """
    first, second = terms(value)
    left, right = value.operands
    for total, term, sign in (
        (left, second, 1),
        (right, first, -1 if value.op.name == "sub" else 1),
    ):
        if total.op.name not in ("add", "sub") or not term.below:
            continue
        one, other = (each.times(sign) for each in terms(total))
        for kept, joined in ((one, other), (other, one)):
            if (joined.above, joined.below) == (term.above, term.below):
                count = term.coefficient + joined.coefficient
                if count:
                    return kept, Product(count, term.above, term.below)
    return first, second


@procedure(
    "difference-of-quotients",
    "sub(div(?p, ?x), div(?q, ?y)) => div(sub(mul(?p, ?y), mul(?q, ?x)), mul(?x, ?y))",
    stable,
    "close quotients cancel; where terms above the common denominator do, the rest is exact",
    on="add sub: /",
    domain=_X,
    examples=[
        "sub(div(1, add(?x, 1)), div(1, ?x)) => neg(div(div(1, add(?x, 1)), ?x))",
        "sub(1, div(1, add(?x, 1))) => sloped(div(?x, add(?x, 1)), sub(1, div(1, add(?x, 1))))",
        "sub(div(1, sqrt(?x)), div(1, sqrt(add(?x, 1)))) => "
        "div(div(div(1, add(sqrt(?x), sqrt(add(?x, 1)))), sqrt(?x)), sqrt(add(?x, 1)))",
    ],
)
def difference_of_quotients(value: Value) -> Value | None:
    """Subtract quotients over their common denominator."""
    first, second = _joined_terms(value)
    made = quotients_apart(first, second)
    if made is None:
        return None
    apart = made.value(value)
    # a number beside a quotient: its derivative has one term, that of the common fraction two
    is_single = bool(made.above) and not all(one.above or one.below for one in (first, second))
    # beside a number the quotient is left where a divisor is infinite: inf / inf is none
    divisors = dict.fromkeys(first.below + second.below)
    risky = [q for q in divisors if is_single or _may_overflow(q)]
    plain = _plain(value)
    if risky:
        finite = build.lt(build.abs(risky[0]), INF)
        for q in risky[1:]:
            finite = build.logical_and(finite, build.lt(build.abs(q), INF))
        apart = build.select(finite, apart, plain)
    has_roots = any(parts(q)[0] == "sqrt" for q in made.below)
    if has_roots and not is_single:
        # at a pole derivatives by the divisors, one by one, are infinities of both signs
        plain = build.select(build.lt(build.abs(plain), INF), apart, plain)
    return build.sloped(apart, plain)


def of(name: str) -> Callable[[Value], Value | None]:
    """Return the rewriting of differences of functions of this name."""

    def find(value: Value) -> Value | None:
        first, second = terms(value)
        made = functions_apart(first, second, (name,))
        if made is None:
            return None
        # beside a number the derivative is that of the function alone; of a power it is the sum of
        # two, which may cancel, and beside that of a cosine, series of quotients are not found
        is_single = name not in ("cos", "power") and not (first.above and second.above)
        return build.sloped(made.value(value), _plain(value)) if is_single else made.value(value)

    return find


def difference_of_cube_roots(value: Value) -> Value | None:
    """Subtract cube roots; of infinite ones the derivative is that of the plain difference."""
    made, plain = of("cbrt")(value), _plain(value)
    if made is None or made.op.name == "sloped":
        return made
    return build.sloped(made, build.select(build.eq(plain, plain), made, plain))


def by_plain_slopes(name: str) -> Finder:
    """Return the rewriting of differences whose derivatives are such, or cancel nowhere."""

    def find(value: Value) -> Value | None:
        made = of(name)(value)
        if made is None or made.op.name == "sloped":
            return made
        return build.sloped(made, _plain(value))

    return find


def _plain(value: Value) -> Value:
    """Return a sum as it is, which is not found again."""
    return build.apply(value.op.name, *(build.fence(operand) for operand in value.operands))


def difference_of_cosines(value: Value) -> Value | None:
    """Write a difference of cosines as a product; of two of them it is never -0."""
    total = of("cos")(value)
    if total is None or total.op.name == "sloped":
        return total
    return plus_zero(total)


@procedure(
    "difference-of-shared-squares",
    "sub(mul(?x, ?x), mul(?y, ?y)) => mul(sub(?x, ?y), add(?x, ?y))",
    stable,
    "close squares cancel; where terms of x and y do, x - y is exact",
    on="add sub: mul neg div",
    domain={"x": (-1e60, 1e60), "y": (-1e60, 1e60)},
    examples=[
        "sub(mul(add(?x, ?y), add(?x, ?y)), mul(?x, ?x)) => mul(?y, add(add(?x, ?y), ?x))",
    ],
)
def difference_of_squares(value: Value) -> Value | None:
    """Write a difference of squares as a product.

    Beside a number one of the last rules does it: a square by itself has the better derivative.
    """
    first, second = terms(value)
    if not (first.above and second.above):
        return None
    made = squares_apart(first, second)
    return None if made is None else plus_zero(made.value(value))


@procedure(
    "difference-of-products",
    "sub(mul(?p, f(?x)), mul(?q, f(?y))) => add(mul(sub(?p, ?q), f(?x)), "
    "mul(?q, sub(f(?x), f(?y))))",
    stable,
    "close products cancel; the differences are exact",
    on=f"add sub: {' '.join((*NAMES, *SAME))} select",
    loss=2.0,
    domain={"x": (1e-10, INF)},
    examples=[
        "sub(mul(add(?x, 1), log(add(?x, 1))), mul(?x, log(?x))) => "
        "add(log(add(?x, 1)), mul(?x, log1p(div(1, ?x))))"
    ],
)
def difference_of_products(value: Value) -> Product | None:
    """Subtract products factor by factor."""
    return products_apart(*terms(value), NAMES)


@procedure(
    "log-of-quotient",
    "log(div(?x, ?y)) => log1p(div(sub(?x, ?y), ?y))",
    stable,
    "the quotient rounds, which near one is all there is; x - y is exact where terms of both do",
    on="log: mul div neg",
    domain={"x": (-1.0, 1.0), "y": POSITIVE},
    examples=[
        "log(div(add(?x, 1), sub(1, ?x))) => mul(arctanh(?x), 2)",
        "log(div(add(?y, 1), ?y)) => log1p(div(1, ?y))",
    ],
)
def log_of_quotient(value: Value) -> Product | None:
    """Make the logarithm of a quotient of the exact difference of its sides."""
    one = product(value.operands[0])
    if one.coefficient <= 0 or len(one.above) > 1 or len(one.below) != 1:
        return None
    upper = one.above[0] if one.above else build.ones_like(value)
    x, y = polynomial(upper), polynomial(one.below[0])
    if one.coefficient != 1:
        if one.above:
            return None
        x, upper = number(one.coefficient), build.full_like(value, float(one.coefficient))
    delta = polynomial_difference(x, y)
    if delta is None:
        return None
    a, b = Side(value, x, (upper,)), Side(value, y, (one.below[0],))
    return logarithm_of_quotient(a, b, delta)


RULES: list[Rule] = [
    procedure(
        "difference-of-roots",
        "sub(sqrt(?x), sqrt(?y)) => div(sub(?x, ?y), add(sqrt(?x), sqrt(?y)))",
        stable,
        "close roots cancel; where terms of x and y do, x - y is exact",
        on="add sub: sqrt hypot",
        domain=_X, loss=2.0,
        examples=[
            "sub(sqrt(add(?x, 1)), sqrt(?x)) => div(1, add(sqrt(add(?x, 1)), sqrt(?x)))",
            "add(sqrt(add(?x, 1)), -1) => div(?x, add(sqrt(add(?x, 1)), 1))",
            "add(hypot(?x, 1), -1) => "
            "sloped(div(mul(?x, ?x), add(hypot(?x, 1), 1)), add(hypot(?x, 1), -1))",
        ],
    )(of("sqrt")),
    procedure(
        "difference-of-cube-roots",
        "sub(cbrt(?x), cbrt(?y)) => div(sub(?x, ?y), add(mul(cbrt(?x), add(cbrt(?x), cbrt(?y))), "
        "mul(cbrt(?y), cbrt(?y))))",
        stable,
        "close roots cancel; where terms of x and y do, x - y is exact",
        on="add sub: cbrt",
        domain=_X,
        examples=[
            "sub(cbrt(add(?x, 1)), cbrt(?x)) => div(1, add(mul(cbrt(add(?x, 1)), "
            "add(cbrt(add(?x, 1)), cbrt(?x))), mul(cbrt(?x), cbrt(?x))))",
        ],
    )(difference_of_cube_roots),
    procedure(
        "difference-of-powers",
        "sub(power(?x, ?c), power(?y, ?c)) => "
        "mul(power(?y, ?c), expm1(mul(?c, log1p(div(sub(?x, ?y), ?y)))))",
        stable,
        "close powers cancel, and each has the rounding of its base magnified by the exponent",
        on="add sub: power select",
        domain={"x": (0.0, 1.0), "y": (1.0, INF)}, loss=10.0,
        examples=[
            "add(power(add(?x, 1), ?n), -1) => expm1(mul(?n, log1p(?x)))",
            "sub(power(add(?y, 1), ?n), power(?y, ?n)) => "
            "mul(power(?y, ?n), expm1(mul(?n, log1p(div(1, ?y)))))",
        ],
    )(of("power")),
    procedure(
        "difference-of-logarithms",
        "sub(log(?x), log(?y)) => log1p(div(sub(?x, ?y), ?y))",
        stable,
        "close logarithms cancel; where terms of x and y do, x - y is exact",
        on="add sub: log log1p",
        loss=2.0, domain={"x": (1e-10, INF), "y": POSITIVE},
        examples=["sub(log(add(?x, 1)), log(?x)) => log1p(div(1, ?x))"],
    )(by_plain_slopes("log")),
    procedure(
        "difference-of-exponentials",
        "sub(exp(?x), exp(?y)) => mul(exp(?y), expm1(sub(?x, ?y)))",
        stable,
        "close exponentials cancel, and each has the rounding of its exponent",
        on="add sub: exp",
        domain={"x": (-700.0, 700.0), "y": (-INF, 1.0)},
        examples=["sub(exp(add(?x, ?y)), exp(?x)) => mul(exp(?x), expm1(?y))"],
    )(of("exp")),
    procedure(
        "difference-of-arctangents",
        "sub(arctan(?x), arctan(?y)) => arctan2(sub(?x, ?y), add(1, mul(?x, ?y)))",
        stable,
        "close angles cancel; where terms of x and y do, x - y is exact",
        on="add sub: arctan",
        domain={"x": (-1e70, 1e70)},
        examples=["sub(arctan(add(?x, 1)), arctan(?x)) => "
                  "arctan2(1, add(1, mul(add(?x, 1), ?x)))"],
    )(of("arctan")),
    procedure(
        "difference-of-sines",
        "sub(sin(?x), sin(?y)) => sin_difference(?y, sub(?x, ?y))",
        stable,
        "close sines cancel; where terms of x and y do, x - y is exact",
        on="add sub: sin",
        examples=["sub(sin(add(?x, ?y)), sin(?x)) => sin_difference(?x, ?y)"],
    )(of("sin")),
    procedure(
        "difference-of-cosines",
        "sub(cos(?x), cos(?y)) => cos_difference(?y, sub(?x, ?y))",
        stable,
        "close cosines cancel; where terms of x and y do, x - y is exact",
        on="add sub: cos",
        examples=["sub(1, cos(?x)) => mul(mul(sin(mul(?x, 0.5)), 2), sin(mul(?x, 0.5)))",
                  "sub(cos(add(?x, ?y)), cos(?x)) => cos_difference(?x, ?y)"],
        loss=2.0,
    )(difference_of_cosines),
    procedure(
        "cosh-minus-one",
        "add(cosh(?x), -1) => mul(mul(sinh(mul(?x, 0.5)), 2), sinh(mul(?x, 0.5)))",
        stable,
        "the difference cancels near zero",
        on="add sub: cosh",
        loss=2.0,
    )(of("cosh")),
    procedure(
        "difference-of-tangents",
        "sub(tan(?x), tan(?y)) => tan_difference(?y, sub(?x, ?y))",
        stable,
        "close tangents cancel; where terms of x and y do, x - y is exact",
        on="add sub: tan",
        examples=["sub(tan(add(?x, ?y)), tan(?x)) => tan_difference(?x, ?y)"],
        loss=2.0,
    )(of("tan")),
    difference_of_squares,
    difference_of_products,
    difference_of_quotients,
    log_of_quotient,
]  # fmt: skip
