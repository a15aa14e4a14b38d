"""What the text of a rule means: over the reals in SymPy, and as a graph of the language."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from gradc.rules.algebra.forms import over_axes
from gradc.rules.verify.special_functions import special_functions
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.op import TABLE
from gradc_ir.core.types import Array, DType

_VARIABLE = re.compile(r"\?(\w+)(?::\w+)?")
_REDUCTIONS = ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "logsumexp", "norm")
# Arrays of three are as good as any for sums of terms that are all alike.
LENGTH = 3
_NUMBERS = {"E": np.e, "ROOT_TWO": np.sqrt(2), "QUARTER_PI": np.pi / 4, "HALF_PI": np.pi / 2}
_WORDS = {"true": True, "false": False, "inf": float("inf"), "nan": float("nan")}


def sides(equation: str) -> tuple[str, str]:
    """Return the two sides of an equation as Python expressions: ``?x`` is the name ``x``."""
    left, _, right = equation.partition("=>")
    return _VARIABLE.sub(r"\1", left).strip(), _VARIABLE.sub(r"\1", right).strip()


@cache
def variables(equation: str) -> tuple[str, ...]:
    """Return the names of the variables of an equation, in order of appearance."""
    return tuple(dict.fromkeys(match.group(1) for match in _VARIABLE.finditer(equation)))


@cache
def array_variables(equation: str) -> frozenset[str]:
    """Return the variables that are reduced: those within a reduction on either side."""
    found = {
        inner.id
        for name, operands in _calls(equation)
        if name in (*_REDUCTIONS, "contract")
        for operand in (operands if name == "contract" else operands[:1])
        for inner in ast.walk(operand)
        if isinstance(inner, ast.Name)
    }
    return frozenset(found.intersection(variables(equation)))


@cache
def bool_variables(equation: str) -> frozenset[str]:
    """Return the variables that stand where a condition is wanted."""
    found = {
        part.id
        for name, operands in _calls(equation)
        if name == "select" or name.startswith("logical_")
        for part in (operands[:1] if name == "select" else operands)
        if isinstance(part, ast.Name)
    }
    return frozenset(found.difference(_WORDS))


def _calls(equation: str) -> Iterator[tuple[str, list[ast.expr]]]:
    """Yield the name and the operands of every op on either side of an equation."""
    for side in sides(equation):
        for node in ast.walk(ast.parse(side, mode="eval")):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield node.func.id, node.args


def evaluate(side: str, namespace: Mapping[str, Any]) -> Any:
    """Return the value of one side of an equation, its names taken from a namespace."""
    return eval(compile(side, "<rule>", "eval"), {"__builtins__": {}, **_WORDS, **namespace})


# -- over the reals --------------------------------------------------------------------------------

# What SymPy has by the same name, and by the name of the inverse.
_SAME_IN_SYMPY = ("sign", "floor", "sqrt", "exp", "log", "sin", "cos", "tan", "sinh", "cosh",
                  "tanh", "erf", "erfc")  # fmt: skip
_INVERSES = ("sin", "cos", "tan", "sinh", "cosh", "tanh", "tan2")


@cache
def real_functions() -> dict[str, Callable[..., Any]]:
    """Return every elementwise op and reduction as a function of SymPy expressions.

    Arrays are NumPy arrays of expressions. ``reduce_max`` and ``stop_gradient`` are one number that
    nothing is known about: rules use them as shifts, and no result may depend on a shift.
    """
    import sympy as s

    def norm(x: Any, y: Any) -> Any:
        return s.sqrt(s.sympify(x) ** 2 + s.sympify(y) ** 2)

    scalar = {
        **{name: getattr(s, name) for name in _SAME_IN_SYMPY},
        **{f"arc{name}": getattr(s, f"a{name}") for name in _INVERSES},
        "neg": lambda x: -x,
        "add": lambda x, y: x + y,
        "sub": lambda x, y: x - y,
        "mul": lambda x, y: x * y,
        "fma": lambda x, y, z: x * y + z,
        "div": lambda x, y: x / s.sympify(y),
        "power": lambda x, y: s.sympify(x) ** y,
        "abs": s.Abs,
        "maximum": s.Max,
        "minimum": s.Min,
        "exp_product": lambda x, y: s.exp(x * y),
        "expm1": lambda x: s.exp(x) - 1,
        "log1p": lambda x: s.log(1 + x),
        "exp2": lambda x: s.Integer(2) ** x,
        "log2": lambda x: s.log(x, 2),
        "log10": lambda x: s.log(x, 10),
        "cbrt": s.cbrt,  # the real root for x >= 0
        "hypot": norm,
        "softplus": lambda x: s.log(1 + s.exp(x)),
        "sigmoid": lambda x: 1 / (1 + s.exp(-x)),
        "sigmoid_derivative": lambda x: s.exp(-x) / (1 + s.exp(-x)) ** 2,
        "logaddexp": lambda x, y: s.log(s.exp(x) + s.exp(y)),
        "log1mexp": lambda x: s.log(1 - s.exp(x)),
        "direction_cosine": lambda x, y: x / norm(x, y),
        "coth_sum": lambda x, y, t: t * (s.coth(x * t / 2) + s.coth(y * t / 2)) / 2,
        "sin_sum": lambda x, y: s.sin(x + y),
        "cos_sum": lambda x, y: s.cos(x + y),
        "sin_difference": lambda x, y: s.sin(x + y) - s.sin(x),
        "cos_difference": lambda x, y: s.cos(x + y) - s.cos(x),
        "tan_difference": lambda x, y: s.tan(x + y) - s.tan(x),
        "geometric_sum": lambda x, y: ((1 + x) ** y - 1) / x,
        "power_mean": lambda x, y, p, w, c: (
            (c * (w * s.sympify(x) ** p + (1 - w) * s.sympify(y) ** p)) ** (1 / p)
        ),
        "log_mixture": lambda x, y, t: s.log(t * s.exp(x) + (1 - t) * s.exp(y)),
        **{name: getattr(s, name.capitalize()) for name in ("eq", "ne", "lt", "le")},
        "logical_not": s.Not,
        "logical_and": s.And,
        "logical_or": s.Or,
        "logical_xor": s.Xor,
        "select": lambda p, x, y: s.Piecewise((x, p), (y, True)),
        "exactly": lambda x: x,
        "fence": lambda x: x,
        "sloped": lambda x, y: x,
        "floor_divide": lambda x, y: s.floor(s.sympify(x) / y),
        "remainder": lambda x, y: x - y * s.floor(s.sympify(x) / y),
    }
    scalar |= special_functions()
    table: dict[str, Callable[..., Any]] = {name: _lifted(f) for name, f in scalar.items()}
    table["reduce_sum"] = lambda x: sum(x)
    table["contract"] = lambda x, y: sum(x * y)
    table["reduce_prod"] = lambda x: s.Mul(*x)
    table["reduce_max"] = table["stop_gradient"] = lambda x: MAXIMUM()
    table["logsumexp"] = lambda x: s.log(sum(s.exp(part) for part in x))
    table["norm"] = lambda x: s.sqrt(sum(part**2 for part in x))
    table["E"] = s.E  # the base that power-e takes for e
    table["ROOT_TWO"] = s.sqrt(2)  # which rules for the normal take a number for
    table["QUARTER_PI"], table["HALF_PI"] = s.pi / 4, s.pi / 2
    return table


@cache
def MAXIMUM() -> Any:
    """Return the symbol for a shift, such as the largest element of an array."""
    import sympy

    return sympy.Symbol("maximum", real=True)


def elements_of(name: str) -> Array:
    """Return the symbols that the array of a variable consists of."""
    import sympy

    return np.array([sympy.Symbol(f"{name}{i}", real=True) for i in range(LENGTH)], dtype=object)


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

    def elementwise(name: str, *operands: Any) -> Value:
        ranked = [operand for operand in operands if isinstance(operand, Value)]
        like = max(ranked, key=lambda x: x.type.rank, default=None)
        if like is None:
            values = [build.full((length,), operand, dtype) for operand in operands]
        else:
            values = [_fitted(operand, like, dtype) for operand in operands]
        return build.apply(name, *values)

    table: dict[str, Any] = {
        name: partial(elementwise, name)
        for name, op in TABLE.items()
        if op.is_elementwise and name != "cast"
    }
    table |= {name: partial(build.apply, name, axes=(1,)) for name in _REDUCTIONS}
    table["contract"] = partial(build.contract, spec="ij,ij->i")
    return table | {name: float(dtype.numpy.type(number)) for name, number in _NUMBERS.items()}


def _fitted(operand: Any, like: Value, dtype: DType) -> Value:
    if isinstance(operand, Value):
        return over_axes(operand, like, (1,)) if operand.type.rank < like.type.rank else operand
    if isinstance(operand, bool):
        dtype = DType.BOOL
    elif like.type.dtype is not DType.BOOL:
        dtype = like.type.dtype
    return build.full(like.type.shape, operand, dtype)
