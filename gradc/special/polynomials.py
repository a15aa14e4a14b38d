"""Orthogonal polynomials of a known degree, by their three-term recurrences (DLMF 18.9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradc.special.recording import floats
from gradc.tracing.building.by_name import refuse

Step = Callable[[int, Any, Any, Any], Any]


def _run(name: str, n: Any, x: Any, first: Callable[[Any], Any], step: Step) -> Any:
    """Return the n-th polynomial, from those of degree 0 (which is 1) and 1 by a recurrence."""
    degree = _degree(name, n)
    x = floats(x)
    before, now = 0.0 * x + 1.0, first(x)
    if degree == 0:
        return before
    for k in range(1, degree):
        before, now = now, step(k, x, now, before)
    return now


def _degree(name: str, n: Any) -> int:
    degree = getattr(n, "known", n)
    if degree is None or int(degree) != degree or degree < 0:
        raise refuse(f"{name} of a degree that is no known whole number", "pass a Python int")
    return int(degree)


def eval_legendre(n: int, x: Any) -> Any:
    """Return Legendre's polynomial P of degree n, a known number, at x."""
    return _run(
        "eval_legendre", n, x, lambda x: x,
        lambda k, x, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1),
    )  # fmt: skip


def eval_chebyt(n: int, x: Any) -> Any:
    """Return Chebyshev's polynomial of the first kind T of degree n, a known number, at x."""
    return _run("eval_chebyt", n, x, lambda x: x, lambda k, x, now, before: 2.0 * x * now - before)


def eval_chebyu(n: int, x: Any) -> Any:
    """Return Chebyshev's polynomial of the second kind U of degree n, a known number, at x."""
    return _run(
        "eval_chebyu", n, x, lambda x: 2.0 * x, lambda k, x, now, before: 2.0 * x * now - before
    )


def eval_hermite(n: int, x: Any) -> Any:
    """Return Hermite's polynomial H of degree n, a known number, at x."""
    return _run(
        "eval_hermite", n, x, lambda x: 2.0 * x,
        lambda k, x, now, before: 2.0 * (x * now - k * before),
    )  # fmt: skip


def eval_hermitenorm(n: int, x: Any) -> Any:
    """Return Hermite's polynomial He of degree n, a known number, at x."""
    return _run(
        "eval_hermitenorm", n, x, lambda x: x, lambda k, x, now, before: x * now - k * before
    )


def eval_laguerre(n: int, x: Any) -> Any:
    """Return Laguerre's polynomial L of degree n, a known number, at x."""
    return _run(
        "eval_laguerre", n, x, lambda x: 1.0 - x,
        lambda k, x, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1),
    )  # fmt: skip
