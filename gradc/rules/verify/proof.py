"""Proofs that the two sides of a rule are equal over the reals, by SymPy."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gradc.rules.engine import REALS, Interval, Rule
from gradc.rules.verify.meaning import (
    MAXIMUM,
    array_variables,
    bool_variables,
    elements_of,
    evaluate,
    real_functions,
    sides,
    variables,
)

INF = float("inf")


def prove(rule: Rule) -> None:
    """Raise AssertionError, with what remains of the difference, unless all equations hold."""
    for equation in rule.equations:
        remainder = difference(equation, rule.domain, rule.condition)
        if remainder is not None:
            raise AssertionError(f"{rule.name}: {equation}: the sides differ by {remainder}")


def difference(
    equation: str, domain: Mapping[str, Interval], condition: str | None = None
) -> Any | None:
    """Return what SymPy finds left - right to be, None when it is zero everywhere on the domain.

    What holds for all positive numbers is told much sooner than what holds between two of them.
    """
    wide = {
        name: (0.0, INF) if low >= 0 and high < INF else (low, high)
        for name, (low, high) in domain.items()
    }
    if wide != domain and _difference(equation, wide, condition) is None:
        return None
    return _difference(equation, domain, condition)


def _difference(equation: str, domain: Mapping[str, Interval], condition: str | None) -> Any | None:
    import sympy

    for namespace in _assignments(equation, domain, condition):
        names = {**real_functions(), **namespace}
        values = [
            np.atleast_1d(np.asarray(evaluate(side, names), dtype=object))
            for side in sides(equation)
        ]
        for left, right in zip(*np.broadcast_arrays(*values), strict=True):
            remainder = _unequal(sympy.sympify(left), sympy.sympify(right))
            if remainder is not None:
                return remainder
    return None


def _assignments(
    equation: str, domain: Mapping[str, Interval], condition: str | None
) -> Iterator[dict[str, Any]]:
    """Yield what the variables stand for, once for each combination of truth values."""
    import sympy

    arrays, conditions = array_variables(equation), bool_variables(equation)
    names = variables(equation)
    namespace: dict[str, Any] = {}
    for name in names:
        if name in arrays:
            namespace[name] = elements_of(name)
        elif name not in conditions:
            namespace[name] = _on_interval(name, domain.get(name, REALS))
    if condition is not None:
        lower, upper = (part.strip() for part in condition.split("<"))
        namespace[upper] = namespace[lower] + sympy.Symbol("gap", positive=True)
    for values in itertools.product((True, False), repeat=len(conditions)):
        yield namespace | dict(zip(sorted(conditions), map(sympy.sympify, values), strict=True))


def _on_interval(name: str, interval: Interval) -> Any:
    """Return a term that runs over the interval when its symbol runs over its own range."""
    import sympy

    low, high = interval
    if interval == REALS:
        return sympy.Symbol(name, real=True)
    distance = sympy.Symbol(name, positive=True)
    if high == INF:
        return sympy.nsimplify(low) + distance
    if low == -INF:
        return sympy.nsimplify(high) - distance
    # distance / (1 + distance) runs from 0 to 1
    return sympy.nsimplify(low) + sympy.nsimplify(high - low) * distance / (1 + distance)


def _unequal(left: Any, right: Any) -> Any | None:
    """Return a nonzero difference, or None when it is zero."""
    import sympy

    if left == right:
        return None
    # a symbol is a Boolean to SymPy, but the variables of conditions are truth values here
    logic = (sympy.logic.boolalg.BooleanFunction, sympy.logic.boolalg.BooleanAtom, sympy.Rel)
    if isinstance(left, logic) or isinstance(right, logic):
        same = sympy.simplify(sympy.Equivalent(left, right))
        return None if same == sympy.true else (left, right)
    rest = sympy.nsimplify(left - right, rational=True)
    if _is_zero(rest) or _is_constantly_zero(rest) or _is_zero_by_cases(rest):
        return None
    return rest


def _is_zero(expression: Any) -> bool:
    import sympy

    if expression == 0:
        return True
    try:
        plain = sympy.cancel(sympy.powsimp(sympy.expand(expression.rewrite(sympy.exp))))
    except sympy.PolynomialError:
        plain = expression
    return bool(plain == 0 or sympy.simplify(plain) == 0)


def _is_constantly_zero(expression: Any) -> bool:
    """Whether all derivatives vanish and the value at one point does: logarithms go away so."""
    import sympy

    symbols = sorted(expression.free_symbols, key=str)
    if not symbols or expression.has(sympy.Abs, sympy.sign, sympy.floor, sympy.Piecewise):
        return False
    if not all(_is_zero(sympy.diff(expression, symbol)) for symbol in symbols):
        return False
    at = {symbol: sympy.Integer(1) for symbol in symbols}
    value = sympy.N(expression.subs(at), 60)
    # a constant that is zero to 50 digits, in terms of small whole numbers, is zero
    return bool(abs(value) < sympy.Float("1e-50"))


def _is_zero_by_cases(expression: Any) -> bool:
    """Whether the expression is zero for each sign of each variable."""
    import sympy

    symbols = [symbol for symbol in expression.free_symbols if symbol.is_positive is None]
    size = sympy.Symbol("size", positive=True)
    if len(symbols) != 1:
        return False
    return all(
        _is_zero(expression.subs(symbols[0], case)) for case in (size, -size, sympy.Integer(0))
    )


__all__ = ["MAXIMUM", "difference", "prove"]
