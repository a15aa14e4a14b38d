"""SymPy's expressions as NumPy functions of their symbols."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from gradc_ir.errors import RuleError


def parameters_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's parameters; none where it has no signature."""
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ()


def symbols_of(expression: Any) -> tuple[str, ...]:
    """Return the names of the symbols of a SymPy expression, in the order of the alphabet."""
    return tuple(sorted(str(symbol) for symbol in expression.free_symbols))


def numpy_function(expressions: Any, names: Sequence[str], what: str) -> Callable[..., Any]:
    """Return a Python function of these names that computes SymPy expressions with NumPy.

    ``expressions`` is one expression or number, or a sequence of them; ``what`` says for errors
    what they are. Raises RuleError when one is neither, or has a symbol that is none of the names.
    """
    import sympy

    several = isinstance(expressions, tuple | list)
    found = []
    for one in expressions if several else (expressions,):
        if not isinstance(one, sympy.Expr | int | float):
            raise RuleError(
                f"{what}: {one!r:.60} is no SymPy expression",
                help="write them with sympy.symbols, or give a function",
            )
        expression = sympy.sympify(one)
        strange = sorted(set(map(str, expression.free_symbols)) - set(names))
        if strange:
            raise RuleError(
                f"{what}: {expression} has the symbol {strange[0]}",
                found=f"the arguments are {', '.join(names) or 'none'}",
            )
        found.append(expression)
    symbols = [sympy.Symbol(name) for name in names]
    plain = [one.subs({s: sympy.Symbol(str(s)) for s in one.free_symbols}) for one in found]
    made: Callable[..., Any] = sympy.lambdify(
        symbols, plain if several else plain[0], modules=["scipy", "numpy"], cse=True
    )
    return made
