"""A rule by itself before the gate: its left side, and what it alone makes of it."""

from __future__ import annotations

from collections.abc import Iterator

from gradc.derivatives import vjp
from gradc.rules import exact
from gradc.rules.engine import Rule
from gradc.rules.final.finish import FAMILIES, Finish
from gradc.rules.simplify import Simplify
from gradc.rules.verify.gate.equations import Left
from gradc.rules.verify.gate.judge import TOLERANCE, Judged
from gradc_ir.core.graph import Function
from gradc_ir.core.types import DType
from gradc_ir.errors import NoGradientError
from gradc_ir.passes import RecoverFinite, UnboundExponents

# Points of an equation, and differing ones of a result that are looked into.
MOST_POINTS, MOST_LOOKED_INTO = 6000, 60


def judged_alone(
    rule: Rule,
    dtype: DType,
    points: int = MOST_POINTS,
    most: int | None = MOST_LOOKED_INTO,
) -> Iterator[tuple[str, Judged]]:
    """Yield of each equation of a rule what it is, and what the gate says.

    The rule works with the exact ones, through which it meets what others make, before
    differentiation and after it; then come the last passes, as behind all rules. Those without
    derivatives have values alone, and nothing is differentiated behind one of the last rules.
    Equations of integers are left out.
    """
    simplify = Simplify([rule, *exact.RULES])
    is_last = any(rule in family.rules() for family in FAMILIES)
    for equation in rule.equations:
        if ":integer" in equation:
            continue
        left = Left(equation, dtype)
        columns = left.points(points)
        tolerance = TOLERANCE + rule.loss
        if not _has_slopes(left):
            value = _closed(simplify(left.graph))
            yield f"{equation}", left.value(columns).judge(value, tolerance, most)
            continue
        case = left.pulled(columns)
        if not is_last:
            before = _closed(vjp(simplify(left.graph), left.wrt))
            yield f"{equation}", case.judge(before, tolerance, most)
        after = _closed(simplify(left.pulled_graph))
        yield f"{equation}, after", case.judge(after, tolerance, most)


def _closed(function: Function) -> Function:
    """Return a function behind the last passes: removable quotients, exponents without bound."""
    return UnboundExponents()(RecoverFinite()(Finish()(function)))


def _has_slopes(left: Left) -> bool:
    if len(left.wrt) < len(left.names) or not left.graph.result_types[0].dtype.is_float:
        return False
    try:
        left.pulled_graph  # noqa: B018, which is made here
    except NoGradientError:  # of floor
        return False
    return True
