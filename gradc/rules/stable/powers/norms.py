"""Stable rules for norms: roots of sums of squares, and quotients by them.

A sum of squares over- and underflows where its root does not. In a quotient by a norm, a term above
the line that has one of the squared numbers as a factor becomes a direction cosine, the derivative
of which cancels nowhere.
"""

from __future__ import annotations

import math
from itertools import permutations

from gradc.rules.algebra.parts import operands_of, parts
from gradc.rules.engine import INF, POSITIVE, procedure, rule, stable
from gradc.rules.stable.arithmetic.quotients import power_of
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import peel, scalar_constant
from gradc_ir.matching.pattern import Match

_DEPTH = 5


# -- sums of squares and their roots ---------------------------------------------------------------


def root_of_squares(total: Value, depth: int = _DEPTH) -> Value | None:
    """Return the root of a sum of squares and positive numbers as nested hypots, in its order."""
    name, operands = parts(total)
    power = power_of(total) if name == "mul" else None
    if power is not None and power[1] == 2 and power[2] > 0:
        return power[0] if power[2] == 1 else power[0] * math.sqrt(power[2])
    number = scalar_constant(total)
    if number is not None and 0 < number < INF and total.type.dtype.is_float:
        return build.full_like(total, math.sqrt(number))
    if name != "add" or not depth:
        return None
    roots = []
    for operand in operands:
        root = root_of_squares(operand, depth - 1)
        if root is None:
            return None
        roots.append(root)
    return build.hypot(*roots)


def _norm_of(total: Value) -> Value | None:
    """Return the root of a sum of two or more squares or a square and a number, else None."""
    if parts(total)[0] != "add":
        return None
    root = root_of_squares(total)
    return root if root is not None and root.op.name == "hypot" else None


def _has_constant(root: Value) -> bool:
    """Whether a number stands among what nested hypots are made of: they do not underflow."""
    if scalar_constant(root) is not None:
        return True
    source, _ = peel(root)
    return source.op.name == "hypot" and any(map(_has_constant, source.operands))


@procedure(
    "root-of-squares",
    "sqrt(add(mul(?x, ?x), mul(?y, ?y))) => hypot(?x, ?y)",
    stable,
    "the squares over- and underflow although the root does not",
    on="sqrt: add",
    examples=[
        "sqrt(add(mul(?x, ?x), mul(?y, ?y))) => hypot(?x, ?y)",
        "sqrt(add(1, mul(?x, ?x))) => hypot(1, ?x)",
        "sqrt(add(mul(?x, ?x), mul(mul(4, ?y), ?y))) => hypot(?x, mul(2, ?y))",
        "sqrt(add(add(mul(?x, ?x), mul(?y, ?y)), mul(?z, ?z))) => hypot(hypot(?x, ?y), ?z)",
    ],
)
def root_of_squares_rule(value: Value) -> Value | None:
    """Turn the root of a sum of squares into hypot."""
    return _norm_of(value.operands[0])


def _power_of_norm(m: Match) -> Value | None:
    exponent = m.number("c")
    norm = _norm_of(m["s"])
    # a higher power overflows with the squares
    if exponent is None or norm is None or not 0 < abs(exponent) <= 0.5:
        return None
    return build.power(norm, 2 * exponent)


# -- quotients by norms ----------------------------------------------------------------------------


class Component(NamedTuple):
    """One of the numbers that a norm is made of, with the pairs of which its cosines are."""

    value: Value
    pairs: tuple[tuple[Value, Value], ...]

    def cosine(self) -> Value:
        """Return the component divided by the norm."""
        (x, y), *rest = self.pairs
        made = build.direction_cosine(x, y)
        for x, y in rest:
            made = made * build.direction_cosine(x, y)
        return made


def _components(norm: Value) -> list[Component]:
    """Return what a norm is made of, hypots in it opened."""
    operands = operands_of(norm, "hypot")
    if operands is None:
        return []
    x, y = operands
    found: list[Component] = []
    for part, other in ((x, y), (y, x)):
        if scalar_constant(part) is None:
            found.append(Component(part, ((part, other),)))
            found += [
                Component(inner.value, (*inner.pairs, (part, other))) for inner in _components(part)
            ]
    return found


def with_cosines(above: Value, norm: Value) -> Value | None:
    """Return the quotient by a norm with direction cosines, None unless each term has one."""
    return _with_cosines(above, _components(norm), _DEPTH)


def _with_cosines(value: Value, components: list[Component], depth: int) -> Value | None:
    for component in components:
        if value is component.value:
            return component.cosine()
    name, operands = parts(value)
    if not depth or name not in ("mul", "div", "neg", "add", "sub"):
        return None
    made = [_with_cosines(operand, components, depth - 1) for operand in operands]
    first = made[0]
    if name == "neg":
        return None if first is None else -first
    left, right = operands
    if name in ("add", "sub"):
        second = made[1]
        if first is None or second is None:
            return None
        return build.apply(name, first, second)
    if first is not None:
        return build.apply(name, first, right)
    if name == "mul" and made[1] is not None:
        return left * made[1]
    return None


@procedure(
    "over-norm",
    "div(?x, hypot(?x, ?y)) => direction_cosine(?x, ?y)",
    stable,
    "squares over- and underflow although the quotient does not, and 1 / h - x * x / h**3, its "
    "derivative, cancels; a sum above the line that nearly cancels rounds more, and its derivative "
    "may overflow on the way where a factor is huge",
    on="div: / hypot power",
    loss=60.0,
    examples=[
        "div(?x, hypot(?x, ?y)) => direction_cosine(?x, ?y)",
        "div(mul(?a, ?x), hypot(?x, ?y)) => mul(?a, direction_cosine(?x, ?y))",
        "div(add(mul(?a, ?x), mul(?b, ?y)), hypot(?x, ?y)) => "
        "add(mul(?a, direction_cosine(?x, ?y)), mul(?b, direction_cosine(?y, ?x)))",
        "div(?x, power(add(mul(?x, ?x), mul(?y, ?y)), 1.5)) => "
        "div(div(direction_cosine(?x, ?y), hypot(?x, ?y)), hypot(?x, ?y))",
    ],
)
def over_norm(value: Value) -> Value | None:
    """Divide by the norms below the line one after the other, making direction cosines."""
    above, below = value.operands
    norms, rest = _norms_below(below, _DEPTH)
    if not norms:
        return None
    made = above
    for norm in norms:
        cosines = with_cosines(made, norm)
        if cosines is None and norms == [norm]:
            return None
        made = made / norm if cosines is None else cosines
    for factor in rest:
        made = made / factor
    return made


def _norms_below(value: Value, depth: int) -> tuple[list[Value], list[Value]]:
    """Return the norms that are factors of a value, and its other factors."""
    name, operands = parts(value)
    if name == "hypot":
        return [value], []
    if name == "power":
        norm, exponent = _norm_of(operands[0]), scalar_constant(operands[1])
        if norm is not None and exponent in (0.5, 1.5, 2, 2.5, 3):
            return [norm] * int(2 * exponent), []
        if operands[0].op.name == "hypot" and exponent in (2, 3, 4):
            return [operands[0]] * int(exponent), []
    if name != "mul" or not depth:
        return [], [value]
    if operands[0] is operands[1] and not _norms_below(operands[0], depth - 1)[0]:
        return [], [value]
    left, right = (_norms_below(operand, depth - 1) for operand in operands)
    return left[0] + right[0], left[1] + right[1]


@procedure(
    "times-over-norm",
    "mul(?x, div(1, hypot(?x, ?y))) => direction_cosine(?x, ?y)",
    stable,
    "as a quotient, whose derivative cancels nowhere",
    on="mul: hypot",
    loss=1.0,
    examples=[
        "mul(?x, div(1, hypot(?x, ?y))) => direction_cosine(?x, ?y)",
        "mul(?x, div(3, hypot(?x, ?y))) => mul(3, direction_cosine(?x, ?y))",
    ],
)
def times_over_norm(value: Value) -> Value | None:
    """Join a factor with the reciprocal of a norm that it is a component of."""
    for one, other in permutations(value.operands):
        sides = operands_of(other, "div")
        if sides is None:
            continue
        above, below = sides
        if scalar_constant(above) is not None and parts(below)[0] == "hypot":
            made = with_cosines(one, below)
            if made is not None:
                return above * made
    return None


# -- logarithms of sums of squares -----------------------------------------------------------------


@procedure(
    "log-of-squares",
    "log(add(mul(?x, ?x), mul(?y, ?y))) => mul(2, log(hypot(?x, ?y)))",
    stable,
    "the squares over- and underflow although the logarithm is moderate; near 1 the root rounds",
    on="log: mul add",
    domain={"x": POSITIVE},
    loss=2.0,
    examples=[
        "log(add(mul(?x, ?x), mul(?y, ?y))) => mul(2, log(hypot(?x, ?y)))",
        "log(mul(?x, ?x)) => mul(2, log(abs(?x)))",
    ],
)
def log_of_squares(value: Value) -> Value | None:
    """Take the exponent out of the logarithm of a square or of a sum of squares."""
    total = value.operands[0]
    factors = operands_of(total, "mul")
    if factors is not None and factors[0] is factors[1]:
        return 2 * build.log(build.abs(factors[0]))
    norm = _norm_of(total)
    if norm is None or _has_constant(norm):
        return None
    return 2 * build.log(norm)


RULES = [
    root_of_squares_rule,
    rule("power-of-norm", "power(?s, ?c:const) => power(hypot(?x, ?y), 2 * ?c)", stable,
         "the squares over- and underflow although the power does not", build=_power_of_norm,
         examples=["power(add(mul(?x, ?x), mul(?y, ?y)), 0.5) => hypot(?x, ?y)",
                   "power(add(mul(?x, ?x), mul(?y, ?y)), -0.5) => div(1, hypot(?x, ?y))"]),
    over_norm,
    times_over_norm,
    log_of_squares,
]  # fmt: skip
