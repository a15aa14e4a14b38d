"""What the text of a rule means: over the reals in SymPy, and as a graph of the language."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from gradc.rules.algebra.forms import over_axes
from gradc.rules.verify.special_functions import special_functions
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.op import TABLE
from gradc_ir.core.types import DType

_VARIABLE = re.compile(r"\?(\w+)(?::\w+)?")
_REDUCTIONS = ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "logsumexp")
_WORDS = {"true": True, "false": False, "inf": float("inf"), "nan": float("nan")}


def sides(equation: str) -> tuple[str, str]:
    """Return the two sides of an equation as Python expressions: ``?x`` is the name ``x``."""
    left, _, right = equation.partition("=>")
    return _VARIABLE.sub(r"\1", left).strip(), _VARIABLE.sub(r"\1", right).strip()


def variables(equation: str) -> tuple[str, ...]:
    """Return the names of the variables of an equation, in order of appearance."""
    return tuple(dict.fromkeys(match.group(1) for match in _VARIABLE.finditer(equation)))


def array_variables(equation: str) -> frozenset[str]:
    """Return the variables that are reduced: those within a reduction on either side."""
    found = set()
    for side in sides(equation):
        for node in ast.walk(ast.parse(side, mode="eval")):
            if isinstance(node, ast.Call) and _name(node) in _REDUCTIONS:
                found |= {
                    inner.id for inner in ast.walk(node.args[0]) if isinstance(inner, ast.Name)
                }
    return frozenset(found) & frozenset(variables(equation))


def bool_variables(equation: str) -> frozenset[str]:
    """Return the variables that stand where a condition is wanted."""
    found = set()
    for side in sides(equation):
        for node in ast.walk(ast.parse(side, mode="eval")):
            if isinstance(node, ast.Call) and _name(node).startswith("logical_"):
                found |= {part.id for part in node.args if isinstance(part, ast.Name)}
            elif isinstance(node, ast.Call) and _name(node) == "select":
                found |= {part.id for part in node.args[:1] if isinstance(part, ast.Name)}
    return frozenset(found) - frozenset(_WORDS)


def _name(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else ""


def evaluate(side: str, namespace: Mapping[str, Any]) -> Any:
    """Return the value of one side of an equation, its names taken from a namespace."""
    return eval(compile(side, "<rule>", "eval"), {"__builtins__": {}, **_WORDS, **namespace})


# -- over the reals --------------------------------------------------------------------------------


@cache
def real_functions() -> dict[str, Callable[..., Any]]:
    """Return every elementwise op and reduction as a function of SymPy expressions.

    Arrays are NumPy arrays of expressions. ``reduce_max`` and ``stop_gradient`` are one number that
    nothing is known about: rules use them as shifts, and no result may depend on a shift.
    """
    import sympy as s

    def log1mexp(x: Any) -> Any:
        return s.log(1 - s.exp(x))

    scalar = {
        "neg": lambda x: -x,
        "add": lambda x, y: x + y,
        "sub": lambda x, y: x - y,
        "mul": lambda x, y: x * y,
        "div": lambda x, y: x / s.sympify(y),
        "power": lambda x, y: s.sympify(x) ** y,
        "abs": s.Abs,
        "sign": s.sign,
        "floor": s.floor,
        "maximum": s.Max,
        "minimum": s.Min,
        "sqrt": s.sqrt,
        "exp": s.exp,
        "exp_product": lambda x, y: s.exp(x * y),
        "expm1": lambda x: s.exp(x) - 1,
        "log": s.log,
        "log1p": lambda x: s.log(1 + x),
        "exp2": lambda x: s.Integer(2) ** x,
        "log2": lambda x: s.log(x, 2),
        "log10": lambda x: s.log(x, 10),
        "cbrt": s.cbrt,  # the real root for x >= 0
        "hypot": lambda x, y: s.sqrt(s.sympify(x) ** 2 + s.sympify(y) ** 2),
        "sinh": s.sinh,
        "cosh": s.cosh,
        "arcsin": s.asin,
        "arccos": s.acos,
        "arctan": s.atan,
        "arcsinh": s.asinh,
        "arccosh": s.acosh,
        "arctanh": s.atanh,
        "erf": s.erf,
        "erfc": s.erfc,
        "sin": s.sin,
        "cos": s.cos,
        "tan": s.tan,
        "tanh": s.tanh,
        "arctan2": s.atan2,
        "softplus": lambda x: s.log(1 + s.exp(x)),
        "sigmoid": lambda x: 1 / (1 + s.exp(-x)),
        "sigmoid_derivative": lambda x: s.exp(-x) / (1 + s.exp(-x)) ** 2,
        "logaddexp": lambda x, y: s.log(s.exp(x) + s.exp(y)),
        "log1mexp": log1mexp,
        "direction_cosine": lambda x, y: x / s.sqrt(s.sympify(x) ** 2 + s.sympify(y) ** 2),
        "coth_sum": lambda x, y, t: t * (s.coth(x * t / 2) + s.coth(y * t / 2)) / 2,
        "geometric_sum": lambda x, y: ((1 + x) ** y - 1) / x,
        "power_mean": lambda x, y, p, w, c: (
            (c * (w * s.sympify(x) ** p + (1 - w) * s.sympify(y) ** p)) ** (1 / p)
        ),
        "log_mixture": lambda x, y, t: s.log(t * s.exp(x) + (1 - t) * s.exp(y)),
        "eq": s.Eq,
        "ne": s.Ne,
        "lt": s.Lt,
        "le": s.Le,
        "logical_not": s.Not,
        "logical_and": s.And,
        "logical_or": s.Or,
        "logical_xor": s.Xor,
        "select": lambda p, x, y: s.Piecewise((x, p), (y, True)),
        "exactly": lambda x: x,
        "fence": lambda x: x,
        "floor_divide": lambda x, y: s.floor(s.sympify(x) / y),
        "remainder": lambda x, y: x - y * s.floor(s.sympify(x) / y),
    }
    scalar |= special_functions()
    table: dict[str, Callable[..., Any]] = {name: _lifted(f) for name, f in scalar.items()}
    table["reduce_sum"] = lambda x: sum(x)
    table["reduce_prod"] = lambda x: s.Mul(*x)
    table["reduce_max"] = table["stop_gradient"] = lambda x: MAXIMUM()
    table["logsumexp"] = lambda x: s.log(sum(s.exp(part) for part in x))
    table["E"] = s.E  # the base that power-e takes for e
    table["ROOT_TWO"] = s.sqrt(2)  # which rules for the normal take a number for
    table["QUARTER_PI"], table["HALF_PI"] = s.pi / 4, s.pi / 2
    return table


@cache
def MAXIMUM() -> Any:
    """Return the symbol for a shift, such as the largest element of an array."""
    import sympy

    return sympy.Symbol("maximum", real=True)


def _lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    def lifted(*operands: Any) -> Any:
        if any(isinstance(operand, np.ndarray) for operand in operands):
            return np.frompyfunc(function, len(operands), 1)(*operands)
        return function(*operands)

    return lifted


# -- as a graph ------------------------------------------------------------------------------------


def graph_functions(dtype: DType, length: Any) -> dict[str, Any]:
    """Return every elementwise op and reduction as a constructor on values of ``length`` samples.

    Scalars of the rule are vectors of samples, arrays are matrices with a row a sample.
    """

    def elementwise(name: str) -> Callable[..., Value]:
        def constructor(*operands: Any) -> Value:
            ranked = [operand for operand in operands if isinstance(operand, Value)]
            like = max(ranked, key=lambda x: x.type.rank, default=None)
            if like is None:
                values = [build.full((length,), operand, dtype) for operand in operands]
            else:
                values = [_fitted(operand, like, dtype) for operand in operands]
            return build.apply(name, *values)

        return constructor

    def reduction(name: str) -> Callable[..., Value]:
        return lambda x: build.apply(name, x, axes=(1,))

    table: dict[str, Any] = {
        name: elementwise(name)
        for name, op in TABLE.items()
        if op.is_elementwise and name != "cast"
    }
    table |= {name: reduction(name) for name in _REDUCTIONS}
    table["E"] = float(dtype.numpy.type(np.e))
    table["ROOT_TWO"] = float(dtype.numpy.type(np.sqrt(2)))
    table["QUARTER_PI"] = float(dtype.numpy.type(np.pi / 4))
    table["HALF_PI"] = float(dtype.numpy.type(np.pi / 2))
    return table


def _fitted(operand: Any, like: Value, dtype: DType) -> Value:
    if not isinstance(operand, Value):
        return build.full(
            like.type.shape,
            operand,
            DType.BOOL
            if operand is True or operand is False
            else like.type.dtype
            if like.type.dtype is not DType.BOOL
            else dtype,
        )
    return over_axes(operand, like, (1,)) if operand.type.rank < like.type.rank else operand
