"""Formulas as a text of steps and of their results: ``"mul %0 %0; add %1 1.0; div %0 %3 -> %4"``.

Operands are numbered first, then what the steps make. Numbers stand for themselves.
"""

from __future__ import annotations

import functools
from typing import NamedTuple, TypeAlias

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
WORDS = {**PRIMITIVES, **FUNCTIONS}


class Step(NamedTuple):
    """One op of a formula."""

    word: str
    operands: tuple[Operand, ...]


class Formulas(NamedTuple):
    """Steps, and which values are results."""

    steps: tuple[Step, ...]
    results: tuple[int, ...]


@functools.lru_cache(maxsize=1024)
def parse_formulas(text: str) -> Formulas:
    """Return what a text says; raises ValueError when that is no formula."""
    steps = []
    body, _, results = text.partition("->")
    for part in body.split(";"):
        word, *operands = part.split()
        if WORDS.get(word) != len(operands):
            raise ValueError(f"no step of a formula: {part.strip()}")
        steps.append(
            Step(word, tuple(int(each[1:]) if each[0] == "%" else float(each) for each in operands))
        )
    return Formulas(tuple(steps), tuple(int(each[1:]) for each in results.split()))


def print_formulas(formulas: Formulas) -> str:
    """Return the text of formulas, which :func:`parse_formulas` reads."""
    steps = [
        " ".join(
            [word, *(f"%{each}" if isinstance(each, int) else repr(each) for each in operands)]
        )
        for word, operands in formulas.steps
    ]
    return f"{'; '.join(steps)} -> {' '.join(f'%{each}' for each in formulas.results)}"
