"""Where the nan of a value goes: into what is computed from it, or away by a choice.

A form from which a value has cancelled is a number where that value is none, unless the value is
nan elsewhere in it.
"""

from __future__ import annotations

from gradc.rules.algebra.parts import parts
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.ranges import knowledge

# Functions that are nan where any operand is.
_CARRYING = frozenset({
    "neg", "abs", "add", "sub", "mul", "div", "sqrt", "cbrt", "fence", "stop_gradient",
    "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan",
    "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh",
    "erf", "erfc", "softplus", "sigmoid", "sigmoid_derivative", "log1mexp",
})  # fmt: skip
# Comparisons that are false, and true, where an operand is nan.
_FALSE, _TRUE = ("lt", "le", "eq"), ("ne",)
_MOST = 64


def carries_nan(value: Value, source: Value) -> bool:
    """Whether a value is surely nan where another one, of which it is made, is nan."""
    return _carries(value, source, {})


def _carries(value: Value, source: Value, known: dict[Value, bool]) -> bool:
    if value is source:
        return True
    found = known.get(value)
    if found is None and len(known) < _MOST:
        known[value] = False
        name, operands = parts(value)
        if name == "select":
            found = all([_carries(each, source, known) for each in operands[1:]])
        else:
            found = name in _CARRYING and any(_carries(each, source, known) for each in operands)
        known[value] = found
    return bool(found)


def rules_out_nan(condition: Value, x: Value, *, holds: bool) -> bool:
    """Whether a condition that holds, or does not, surely tells that a value is no nan."""
    name, operands = parts(condition)
    if name == "logical_not":
        return rules_out_nan(operands[0], x, holds=not holds)
    if name == ("logical_and" if holds else "logical_or"):
        return any(rules_out_nan(each, x, holds=holds) for each in operands)
    return name in (_FALSE if holds else _TRUE) and any(carries_nan(each, x) for each in operands)


def with_nan_of(made: Value, x: Value) -> Value:
    """Return a value that is nan where another one is; elsewhere it stays as it is."""
    if knowledge.is_finite(x) or carries_nan(made, x):
        return made
    return build.select(build.eq(x, x), made, x)
