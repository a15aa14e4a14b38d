"""What formulas may be made of, and their steps.

A formula is a closed Function of numbers: its parameters are of one float dtype, or conditions.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from gradc_ir.core.graph import Function, Value

Operand: TypeAlias = int | float  # the number of a value, or a number

# How many operands the words have that are computed; those of plain arithmetic are among them.
PRIMITIVES = {
    **dict.fromkeys(("neg", "abs", "sqrt", "floor", "exponent", "significand", "grown"), 1),
    **dict.fromkeys(("add", "sub", "mul", "div", "lt", "eq", "scale"), 2),
    "select": 3,
}
ARITHMETIC = frozenset({"neg", "abs", "sqrt", "add", "sub", "mul", "div", "power"})
# Words that are ops, and made of the others.
FUNCTIONS = {
    **dict.fromkeys(("exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "cbrt"), 1),
    **dict.fromkeys(("sinh", "cosh", "tanh", "arcsin", "arccos", "arctan"), 1),
    **dict.fromkeys(("arcsinh", "arccosh", "arctanh", "sigmoid", "sigmoid_derivative"), 1),
    **dict.fromkeys(("softplus", "log1mexp", "sign", "logical_not", "stop_gradient", "fence"), 1),
    **dict.fromkeys(("power", "exp_product", "hypot", "arctan2", "direction_cosine"), 2),
    **dict.fromkeys(("logaddexp", "maximum", "minimum", "le", "ne"), 2),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), 2),
}
WORDS = frozenset({*ARITHMETIC, *FUNCTIONS, "lt", "eq", "floor", "select"})


class Step(NamedTuple):
    """One op of a formula: operands are counted first, then what the steps make."""

    word: str
    operands: tuple[Operand, ...]


class Steps(NamedTuple):
    """Steps in an order, and which values are results."""

    steps: tuple[Step, ...]
    results: tuple[int, ...]


def steps_of(body: Function) -> Steps:
    """Return the steps of formulas, in the order in which they were built; constants stand in them.

    Those that are built by passes come as they do in the function, of which they are taken.
    """
    places: dict[Value, Operand] = {param: i for i, param in enumerate(body.params)}
    steps: list[Step] = []
    for node in sorted(body.body, key=lambda node: node.serial):
        (value,) = node.results
        if node.op.name == "constant":
            places[value] = float(node.attributes["value"].array)
        else:
            places[value] = len(body.params) + len(steps)
            steps.append(Step(node.op.name, tuple([places[x] for x in node.operands])))
    return Steps(tuple(steps), tuple([int(places[result]) for result in body.results]))
