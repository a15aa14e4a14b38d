"""Conditions of users' rules on their variables: ``"0 < x < 1 and y >= 0"``."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping

from gradc.rules.engine import REALS, Guard, Interval
from gradc_ir.errors import RuleError
from gradc_ir.matching.pattern import Match

_HELP = 'write comparisons of a variable with numbers, "0 < x < 1 and y >= 0", or a function'


def intervals(text: str) -> dict[str, Interval]:
    """Return the open interval of each variable that a condition speaks of.

    An end that belongs to the interval is moved to the next double outside. Raises RuleError for
    what is not made of comparisons of one variable with numbers.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise RuleError(f"not a condition: {text!r}", found=str(error.msg), help=_HELP) from error
    found: dict[str, Interval] = {}
    parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    for part in parts:
        if not isinstance(part, ast.Compare):
            raise RuleError(f"a condition cannot say {ast.unparse(part)}", help=_HELP)
        sides = [part.left, *part.comparators]
        for left, relation, right in zip(sides, part.ops, sides[1:], strict=False):
            name, interval = _interval(left, relation, right)
            low, high = found.get(name, REALS)
            found[name] = max(low, interval[0]), min(high, interval[1])
    for name, (low, high) in found.items():
        if not low < high:
            raise RuleError(f"no {name} satisfies {text!r}")
    return found


def _interval(left: ast.expr, relation: ast.cmpop, right: ast.expr) -> tuple[str, Interval]:
    if isinstance(relation, (ast.Gt, ast.GtE)):
        left, right = right, left
    elif not isinstance(relation, (ast.Lt, ast.LtE)):
        raise RuleError("a condition compares by <, <=, > and >= only", help=_HELP)
    closed = isinstance(relation, (ast.LtE, ast.GtE))
    if isinstance(left, ast.Name) and left.id != "inf":
        high = _number(right)
        return left.id, (-math.inf, math.nextafter(high, math.inf) if closed else high)
    if isinstance(right, ast.Name) and right.id != "inf":
        low = _number(left)
        return right.id, (math.nextafter(low, -math.inf) if closed else low, math.inf)
    raise RuleError("a condition compares a variable with a number", help=_HELP)


def _number(tree: ast.expr) -> float:
    if isinstance(tree, ast.Name) and tree.id == "inf":
        return math.inf
    try:
        return float(ast.literal_eval(tree))
    except (ValueError, TypeError):
        raise RuleError(
            f"{ast.unparse(tree)} is not a number",
            found="no rule can know how two values compare before they are computed",
            help=_HELP,
        ) from None


def guard(wanted: Mapping[str, Interval]) -> Guard:
    """Return the guard that says yes where all variables surely lie in their open intervals."""

    def holds(match: Match) -> bool:
        return all(
            match.is_within(name, _next(low, math.inf), _next(high, -math.inf))
            for name, (low, high) in wanted.items()
        )

    return holds


def _next(end: float, towards: float) -> float:
    return end if math.isinf(end) else math.nextafter(end, towards)
