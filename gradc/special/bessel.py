"""Bessel functions of real order; their derivatives are with respect to x, never to the order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gradc.special.recording import elementwise, floats
from gradc.tracing.building.by_name import number


def jv(v: Any, x: Any) -> Any:
    """Return the Bessel function of the first kind, of order v; ``jn`` is the same."""
    return elementwise("bessel_j", v, x)


def yv(v: Any, x: Any) -> Any:
    """Return the Bessel function of the second kind, of order v."""
    return elementwise("bessel_y", v, x)


def iv(v: Any, x: Any) -> Any:
    """Return the modified Bessel function of the first kind, of order v."""
    return elementwise("bessel_i", v, x)


def ive(v: Any, x: Any) -> Any:
    """Return ``exp(-abs(x)) * iv(v, x)``, which does not overflow."""
    return elementwise("bessel_i_scaled", v, x)


def kv(v: Any, x: Any) -> Any:
    """Return the modified Bessel function of the second kind, of order v."""
    return elementwise("bessel_k", v, x)


def kve(v: Any, x: Any) -> Any:
    """Return ``exp(x) * kv(v, x)``, which does not underflow."""
    return elementwise("bessel_k_scaled", v, x)


def _of_order(order: int, function: Callable[[Any, Any], Any], name: str) -> Callable[[Any], Any]:
    def of_order(x: Any) -> Any:
        return function(float(order), x)

    of_order.__name__ = of_order.__qualname__ = name
    of_order.__doc__ = f"Return ``{function.__name__}({order}, x)``; float dtype kept."
    return of_order


j0 = _of_order(0, jv, "j0")
j1 = _of_order(1, jv, "j1")
y0 = _of_order(0, yv, "y0")
y1 = _of_order(1, yv, "y1")
i0 = _of_order(0, iv, "i0")
i1 = _of_order(1, iv, "i1")
i0e = _of_order(0, ive, "i0e")
i1e = _of_order(1, ive, "i1e")
k0 = _of_order(0, kv, "k0")
k1 = _of_order(1, kv, "k1")
k0e = _of_order(0, kve, "k0e")
k1e = _of_order(1, kve, "k1e")


def _derivative(
    function: Callable[[Any, Any], Any], v: Any, x: Any, n: int, sign: float, factor: float
) -> Any:
    """Return the n-th derivative: factor ** n times the sum of binomials of nearby orders."""
    n = n if isinstance(n, int) else number(n, f"the derivative of {function.__name__}")
    terms = (sign**k * math.comb(n, k) * function(floats(v) - n + 2.0 * k, x) for k in range(n + 1))
    return factor**n * sum(terms)


def jvp(v: Any, z: Any, n: int = 1) -> Any:
    """Return the n-th derivative of jv by z, DLMF 10.6.7."""
    return _derivative(jv, v, z, n, -1.0, 0.5)


def yvp(v: Any, z: Any, n: int = 1) -> Any:
    """Return the n-th derivative of yv by z, DLMF 10.6.7."""
    return _derivative(yv, v, z, n, -1.0, 0.5)


def ivp(v: Any, z: Any, n: int = 1) -> Any:
    """Return the n-th derivative of iv by z, DLMF 10.29.5."""
    return _derivative(iv, v, z, n, 1.0, 0.5)


def kvp(v: Any, z: Any, n: int = 1) -> Any:
    """Return the n-th derivative of kv by z, DLMF 10.29.5."""
    return _derivative(kv, v, z, n, 1.0, -0.5)
