"""Polynomials: schemes that take fewer instructions, or that wait less for each other."""

from __future__ import annotations

from collections.abc import Sequence

from gradc_codegen.math.emitted.builder import Float, fma

# so many terms of a polynomial may wait for each other
_WAITING = 3


def polynomial(x: Float, coefficients: Sequence[float]) -> Float:
    """Return the polynomial with these coefficients, of the constant first.

    Groups of two, then of four terms are summed side by side and joined by Horner's scheme, so that
    fewer instructions wait for each other (G. Estrin, *Organization of computer systems*, 1960).
    """
    terms = [x.number(coefficient) for coefficient in coefficients]
    while len(terms) > _WAITING:
        pairs = [fma(x, b, a) for a, b in zip(terms[::2], terms[1::2])]
        terms = pairs + terms[2 * len(pairs) :]
        x = x * x
    result = terms[-1]
    for term in reversed(terms[:-1]):
        result = fma(x, result, term)
    return result


def horner(x: Float, coefficients: Sequence[float]) -> Float:
    """Return the polynomial with these coefficients by Horner's scheme: the fewest instructions.

    Each waits for the one before, where there is something else to do meanwhile: in loops.
    """
    *others, last = coefficients
    result = x.number(last)
    for coefficient in reversed(others):
        result = fma(x, result, coefficient)
    return result


def paired(x: Float, coefficients: Sequence[float]) -> Float:
    """Return the polynomial with these coefficients by Horner's scheme in x², of pairs of terms.

    It is one instruction longer than :func:`horner` and waits half as long.
    """
    terms = [x.number(coefficient) for coefficient in coefficients]
    pairs = [fma(x, b, a) for a, b in zip(terms[::2], terms[1::2])]
    pairs += terms[2 * len(pairs) :]
    square = x * x
    result = pairs[-1]
    for pair in reversed(pairs[:-1]):
        result = fma(square, result, pair)
    return result


def even_and_odd(x: Float, coefficients: Sequence[float]) -> Float:
    """Return the polynomial with these coefficients as one in x² and x times another.

    It is as long as :func:`paired`, waits a little longer, and copies fewer constants.
    """
    square = x * x
    return fma(x, horner(square, coefficients[1::2]), horner(square, coefficients[::2]))
