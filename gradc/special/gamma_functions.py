"""The gamma and beta functions, their logarithms, derivatives and incomplete integrals."""

from __future__ import annotations

import math
from typing import Any

from gradc.special.recording import elementwise, floats, numpy, quietly, where
from gradc.tracing.building.by_name import refuse


def gamma(x: Any) -> Any:
    """Return the gamma function, ``(x - 1)!`` for positive integers; float dtype kept."""
    return elementwise("gamma", x)


def gammaln(x: Any) -> Any:
    """Return ``log(abs(gamma(x)))``, whose derivative is digamma; float dtype kept."""
    return elementwise("lgamma", x)


def gammasgn(x: Any) -> Any:
    """Return the sign of gamma(x), nan at negative integers; its derivative is 0."""
    x = floats(x)
    below = numpy("floor", x)
    odd = below - 2.0 * numpy("floor", 0.5 * below)
    at_zero = numpy("copysign", numpy("ones_like", x), x)
    left = where(below == x, math.nan, 1.0 - 2.0 * odd)
    return where(x > 0, 1.0, where(x == 0, at_zero, left))


def rgamma(x: Any) -> Any:
    """Return ``1 / gamma(x)``, 0 at 0 and at negative integers; float dtype kept."""
    return elementwise("rgamma", x)


def digamma(x: Any) -> Any:
    """Return the derivative of ``log(gamma(x))``; float dtype kept."""
    return elementwise("digamma", x)


def polygamma(n: Any, x: Any) -> Any:
    """Return the n-th derivative of digamma.

    For n > 0 it is ``(-1) ** (n + 1) * n! * zeta(n + 1, x)``, DLMF 25.11.12.

    Parameters
    ----------
    n: integers, not negative; there is no derivative with respect to them.
    x: numbers, broadcast against n.
    """
    if isinstance(n, int):
        if n == 0:
            return digamma(x)
        return (-1.0) ** (n + 1) * math.gamma(n + 1.0) * zeta(float(n + 1), x)
    n = floats(n)
    sign = 2.0 * (n - 2.0 * numpy("floor", n / 2.0)) - 1.0
    return where(n == 0.0, digamma(x), sign * gamma(n + 1.0) * zeta(n + 1.0, x))


def zeta(s: Any, q: Any) -> Any:
    """Return Hurwitz's zeta function, the sum of ``(q + k) ** -s`` over k = 0, 1, 2 …

    Its derivative with respect to q is ``-s * zeta(s + 1, q)``; that with respect to s is refused.
    """
    return elementwise("zeta", s, q)


def multigammaln(a: Any, d: int) -> Any:
    """Return the logarithm of the gamma function of d dimensions.

    ``d * (d - 1) / 4 * log(pi)`` and the sum of ``gammaln(a - j / 2)`` for j below d.
    """
    a = floats(a)
    total = 0.25 * d * (d - 1) * math.log(math.pi)
    for j in range(d):
        total = total + gammaln(a - 0.5 * j)
    return total


def beta(a: Any, b: Any) -> Any:
    """Return ``gamma(a) * gamma(b) / gamma(a + b)``; shapes broadcast."""
    return elementwise("beta", a, b)


def betaln(a: Any, b: Any) -> Any:
    """Return ``log(abs(beta(a, b)))``; shapes broadcast."""
    return elementwise("betaln", a, b)


def binom(n: Any, k: Any) -> Any:
    """Return the binomial coefficient of real n and k; shapes broadcast."""
    return elementwise("binom", n, k)


@quietly
def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """Return in how many ways k of N things are chosen; 0 for k > N or a negative one."""
    _refuse_exact("comb", exact)
    n, k = floats(N), floats(k)
    if repetition:
        n = n + k - 1.0
    return where(_can_take(n, k), binom(n, k), 0.0)


@quietly
def perm(N: Any, k: Any, exact: bool = False) -> Any:
    """Return in how many ways k of N things are put in a row; 0 for k > N or a negative one."""
    _refuse_exact("perm", exact)
    n, k = floats(N), floats(k)
    return where(_can_take(n, k), poch(n - k + 1.0, k), 0.0)


def _can_take(n: Any, k: Any) -> Any:
    return ((k <= n) & (n >= 0)) & (k >= 0)


@quietly
def factorial(n: Any, exact: bool = False) -> Any:
    """Return ``gamma(n + 1)``, 0 for negative n."""
    _refuse_exact("factorial", exact)
    n = floats(n)
    return where(n < 0, 0.0, gamma(n + 1.0))


def _refuse_exact(name: str, exact: bool) -> None:
    if exact:
        raise refuse(f"{name} with exact=True", "leave exact out, or compute it outside")


def poch(x: Any, m: Any) -> Any:
    """Return ``gamma(x + m) / gamma(x)``; shapes broadcast."""
    return elementwise("poch", x, m)


def gammainc(a: Any, x: Any) -> Any:
    """Return the lower incomplete gamma function over gamma(a).

    Its derivative with respect to x is ``x ** (a - 1) * exp(-x) / gamma(a)``; that with respect to
    a is refused.
    """
    return elementwise("gammainc", a, x)


def gammaincc(a: Any, x: Any) -> Any:
    """Return ``1 - gammainc(a, x)``, accurate for large x."""
    return elementwise("gammaincc", a, x)


def gammaincinv(a: Any, p: Any) -> Any:
    """Return the x with ``gammainc(a, x) = p``; no derivative with respect to a."""
    return elementwise("gammaincinv", a, p)


def gammainccinv(a: Any, p: Any) -> Any:
    """Return the x with ``gammaincc(a, x) = p``; no derivative with respect to a."""
    return elementwise("gammainccinv", a, p)


def betainc(a: Any, b: Any, x: Any) -> Any:
    """Return the incomplete beta function over beta(a, b).

    Its derivative with respect to x is ``x ** (a - 1) * (1 - x) ** (b - 1) / beta(a, b)``; those
    with respect to a and b are refused.
    """
    return elementwise("betainc", a, b, x)


def betaincc(a: Any, b: Any, x: Any) -> Any:
    """Return ``1 - betainc(a, b, x)`` as ``betainc(b, a, 1 - x)``."""
    return betainc(b, a, 1.0 - floats(x))


def betaincinv(a: Any, b: Any, p: Any) -> Any:
    """Return the x with ``betainc(a, b, x) = p``; no derivatives with respect to a and b."""
    return elementwise("betaincinv", a, b, p)
