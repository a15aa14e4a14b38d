"""Arithmetic with exponents without bound: nothing overflows or underflows on the way.

Formulas are a text of steps and of their results, ``"mul %0 %0; add %1 1.0; div %0 %3 -> %4"``:
operands are numbered first, then what the steps make. Numbers stand for themselves.
A number is held as a significand, rounded to the dtype in each step, and an exponent beside it; the
result is rounded once more where it is subnormal or infinite.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from gradc_ir.reduction import Array

Operand: TypeAlias = int | float  # the number of a value, or a number

# How many operands a word has; the exponent of a power is a whole number.
WORDS = {"neg": 1, "abs": 1, "sqrt": 1, "add": 2, "sub": 2, "mul": 2, "div": 2, "power": 2}
# A number so far below another does not change their sum.
_FAR = 100


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


def interpret(
    operands: Sequence[Any], formulas: str, result: int, meanings: Callable[[str], Any]
) -> Any:
    """Return a result of formulas in other numbers than floats, by the meanings of words."""
    steps, results = parse_formulas(formulas)
    values = list(operands)
    # numbers that stand for themselves are arrays as well
    number = functools.partial(np.asarray, dtype=np.asarray(operands[0]).dtype)
    for word, given in steps:
        values.append(
            meanings(word)(
                *(values[each] if isinstance(each, int) else number(each) for each in given)
            )
        )
    return values[results[result]]


class Wide(NamedTuple):
    """Numbers as significands, of magnitude 1/2 to 1, and exponents; 0, inf and nan have 0."""

    significand: Array
    exponent: Array


def compute(*arrays: Array, formulas: str, result: int) -> Array:
    """Return a result of formulas of arrays of one shape and float dtype, by its place."""
    steps, results = parse_formulas(formulas)
    with np.errstate(all="ignore"):
        values = [_wide(array) for array in arrays]
        for word, operands in steps:
            if word == "power":
                values.append(_power(values[int(operands[0])], int(operands[1])))
                continue
            given = [
                values[each] if isinstance(each, int) else _wide(np.full_like(arrays[0], each))
                for each in operands
            ]
            values.append(_STEPS[word](*given))
        made = values[results[result]]
        exponent = np.clip(made.exponent, -5000, 5000).astype(np.int32)
        return np.asarray(np.ldexp(made.significand, exponent))


def _wide(x: Array) -> Wide:
    significand, exponent = np.frexp(x)
    known = np.isfinite(x) & (x != 0)
    return Wide(
        np.where(known, significand, x).astype(x.dtype),
        np.where(known, exponent, 0).astype(np.int64),
    )


def _normal(significand: Array, exponent: Array) -> Wide:
    inner = _wide(significand)
    special = ~np.isfinite(significand) | (significand == 0)
    return Wide(inner.significand, np.where(special, 0, inner.exponent + exponent))


def _neg(x: Wide) -> Wide:
    return Wide(-x.significand, x.exponent)


def _abs(x: Wide) -> Wide:
    return Wide(np.abs(x.significand), x.exponent)


def _mul(x: Wide, y: Wide) -> Wide:
    return _normal(x.significand * y.significand, x.exponent + y.exponent)


def _div(x: Wide, y: Wide) -> Wide:
    return _normal(x.significand / y.significand, x.exponent - y.exponent)


def _sqrt(x: Wide) -> Wide:
    odd = x.exponent % 2
    return _normal(np.sqrt(np.ldexp(x.significand, odd.astype(np.int32))), (x.exponent - odd) // 2)


def _add(x: Wide, y: Wide) -> Wide:
    larger = np.where(
        x.significand == 0,
        y.exponent,
        np.where(y.significand == 0, x.exponent, np.maximum(x.exponent, y.exponent)),
    )

    def aligned(z: Wide) -> Array:
        below = np.clip(z.exponent - larger, -_FAR, 0).astype(np.int32)
        return np.asarray(np.ldexp(z.significand, below))

    return _normal(aligned(x) + aligned(y), larger)


def _sub(x: Wide, y: Wide) -> Wide:
    return _add(x, _neg(y))


def _power(x: Wide, exponent: int) -> Wide:
    """Return a whole power above 0, by squaring."""
    result = None
    while exponent:
        if exponent % 2:
            result = x if result is None else _mul(result, x)
        exponent //= 2
        if exponent:
            x = _mul(x, x)
    assert result is not None
    return result


_STEPS: dict[str, Callable[..., Wide]] = {
    "neg": _neg,
    "abs": _abs,
    "sqrt": _sqrt,
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
}
