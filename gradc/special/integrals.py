"""Elliptic and exponential integrals, the dilogarithm, and distribution functions of tests."""

from __future__ import annotations

from typing import Any

from gradc.special.gamma_functions import betainc, gammainc, gammaincc
from gradc.special.recording import elementwise, floats, numpy


def spence(x: Any) -> Any:
    """Return the integral of ``log(t) / (1 - t)`` from 1 to x, the dilogarithm of 1 - x."""
    return elementwise("spence", x)


def ellipk(m: Any) -> Any:
    """Return the complete elliptic integral of the first kind, of the parameter m."""
    return elementwise("ellipkm1", 1.0 - floats(m))


def ellipkm1(p: Any) -> Any:
    """Return ``ellipk(1 - p)``, accurate for small p."""
    return elementwise("ellipkm1", p)


def ellipe(m: Any) -> Any:
    """Return the complete elliptic integral of the second kind, of the parameter m."""
    return elementwise("ellipe", m)


def expi(x: Any) -> Any:
    """Return the exponential integral Ei, the principal value of that of ``exp(t) / t`` to x."""
    return elementwise("expi", x)


def exp1(x: Any) -> Any:
    """Return the exponential integral E1, that of ``exp(-t) / t`` from x; nan for negative x."""
    return elementwise("exp1", x)


def stdtr(df: Any, t: Any) -> Any:
    """Return the distribution function of Student's t; no derivative with respect to df."""
    return elementwise("stdtr", df, t)


def stdtrit(df: Any, p: Any) -> Any:
    """Return the quantile of Student's t; no derivative with respect to df."""
    return elementwise("stdtrit", df, p)


def chdtr(v: Any, x: Any) -> Any:
    """Return the distribution function of chi square, ``gammainc(v / 2, x / 2)``."""
    return gammainc(0.5 * floats(v), 0.5 * floats(x))


def chdtrc(v: Any, x: Any) -> Any:
    """Return ``1 - chdtr(v, x)``, accurate for large x."""
    return gammaincc(0.5 * floats(v), 0.5 * floats(x))


def gdtr(a: Any, b: Any, x: Any) -> Any:
    """Return the distribution function of the gamma distribution of rate a and shape b."""
    return gammainc(b, floats(a) * floats(x))


def gdtrc(a: Any, b: Any, x: Any) -> Any:
    """Return ``1 - gdtr(a, b, x)``, accurate for large x."""
    return gammaincc(b, floats(a) * floats(x))


def pdtr(k: Any, m: Any) -> Any:
    """Return the distribution function of Poisson's distribution of mean m, for k >= 0."""
    return gammaincc(numpy("floor", floats(k)) + 1.0, m)


def pdtrc(k: Any, m: Any) -> Any:
    """Return ``1 - pdtr(k, m)``, accurate for large k."""
    return gammainc(numpy("floor", floats(k)) + 1.0, m)


def fdtr(dfn: Any, dfd: Any, x: Any) -> Any:
    """Return the distribution function of the F distribution, for x >= 0."""
    dfn, dfd, x = floats(dfn), floats(dfd), floats(x)
    return betainc(0.5 * dfn, 0.5 * dfd, dfn * x / (dfd + dfn * x))


def fdtrc(dfn: Any, dfd: Any, x: Any) -> Any:
    """Return ``1 - fdtr(dfn, dfd, x)``, accurate for large x."""
    dfn, dfd, x = floats(dfn), floats(dfd), floats(x)
    return betainc(0.5 * dfd, 0.5 * dfn, dfd / (dfd + dfn * x))


def sici(x: Any) -> tuple[Any, Any]:
    """Return the sine integral and the cosine integral of x."""
    return elementwise("sine_integral", x), elementwise("cosine_integral", x)


def fresnel(x: Any) -> tuple[Any, Any]:
    """Return Fresnel's integrals: of ``sin(pi / 2 * t * t)`` and of its cosine, from 0 to x."""
    return elementwise("fresnel_sine", x), elementwise("fresnel_cosine", x)
