"""A rule by itself before the gate: its left side, and what it alone makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from gradc.autodiff.open_calls import OpenCalls
from gradc.derivatives import vjp
from gradc.rules import exact
from gradc.rules.engine import Rule
from gradc.rules.final.finish import FAMILIES, Finish
from gradc.rules.series import ExpandSeries, SettleGuards
from gradc.rules.simplify import Simplify
from gradc.rules.skip_zeros import SkipZeros
from gradc.rules.verify.gate.equations import Left
from gradc.rules.verify.gate.judge import TOLERANCE, Judged
from gradc_ir.core.graph import Function
from gradc_ir.core.types import DType
from gradc_ir.errors import NoGradientError
from gradc_ir.passes import Canonicalize, RecoverFinite, UnboundExponents

# Points of an equation, and differing ones of a result that are looked into.
MOST_POINTS, MOST_LOOKED_INTO = 6000, 60

# What comes behind all rules: series of what cancels, removable quotients, exponents without bound.
_LAST = (
    Canonicalize(),
    SkipZeros(),
    SettleGuards(),
    ExpandSeries(),
    Finish(),
    RecoverFinite(),
    UnboundExponents(),
)


def judged_alone(
    rule: Rule,
    dtype: DType,
    points: int = MOST_POINTS,
    most: int | None = MOST_LOOKED_INTO,
) -> Iterator[tuple[str, Judged]]:
    """Yield of each equation of a rule what it is, and what the gate says.

    The rule works with the exact ones, through which it meets what others make, before
    differentiation and after it; then come the last passes, as behind all rules. A right side may
    be one whose derivatives have series. Rules without derivatives have values alone, and nothing
    is differentiated behind one of the last rules. Equations of integers are left out.
    """
    simplify, others = Simplify([rule, *exact.RULES]), Simplify(exact.RULES)
    is_last = any(rule in family.rules() for family in FAMILIES)
    for equation in rule.equations:
        if ":integer" in equation:
            continue
        left = Left(equation, dtype)
        columns = left.points(points)

        def naive(left: Left = left, *, series: bool = True) -> Function:
            return _closed(others(left.pulled_graph), series=series)

        def naive_value(left: Left = left) -> Function:
            return _closed(others(left.graph))

        tolerance = TOLERANCE + rule.loss
        if not _has_slopes(left):
            value, case = _closed(simplify(left.graph)), left.value(columns)
            yield f"{equation}", case.judge(value, tolerance, most, without=naive_value)
            continue
        case = left.pulled(columns)
        if not is_last:
            before = _closed(vjp(simplify(left.graph), left.wrt))
            yield f"{equation}", case.judge(before, tolerance, most, without=naive)
        # series are of what the rule leaves, not of what is naive beside it
        after = _closed(simplify(left.pulled_graph), series=False)
        plain = partial(naive, series=False)
        yield f"{equation}, after", case.judge(after, tolerance, most, without=plain, patched=True)


def _closed(function: Function, *, series: bool = True) -> Function:
    """Return a function behind the last passes, of which the first fold what is made of numbers."""
    for each in (OpenCalls(), *_LAST):
        if series or not isinstance(each, ExpandSeries):
            function = each(function)
    return function


def _has_slopes(left: Left) -> bool:
    if len(left.wrt) < len(left.names) or not left.graph.result_types[0].dtype.is_float:
        return False
    try:
        left.pulled_graph  # noqa: B018, which is made here
    except NoGradientError:  # of floor
        return False
    return True
