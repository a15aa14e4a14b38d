"""What the special functions' polynomials approximate: rows of :mod:`tools.coefficients`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import mpmath
from mpmath import mpf

from tools.minimax import Approximation


def _scaled_upper_tail(q: Any) -> Any:
    x = 3 * (1 + q) / (1 - q)
    return (x + mpf(7) / 8) * mpmath.exp(x * x) * mpmath.erfc(x)


def _inverse_erf(w: Any) -> Any:
    """Return erfinv(x) / x where w is -log(1 - x²)."""
    x = mpmath.sqrt(-mpmath.expm1(-w))
    return mpmath.erfinv(x) / x


def _far_digamma(z: Any) -> Any:
    x = 1 / mpmath.sqrt(z)
    return (mpmath.log(x) - 1 / (2 * x) - mpmath.digamma(x)) / z


def _far_log_gamma(z: Any) -> Any:
    x = 1 / mpmath.sqrt(z)
    stirling = (x - mpf(1) / 2) * mpmath.log(x) - x + mpmath.log(2 * mpmath.pi) / 2
    return (mpmath.loggamma(x) - stirling) * x


def _log_gamma(q: Any) -> Any:
    x = 2 * (1 + q) / (1 - q)
    return mpmath.loggamma(x) / ((x - 1) * (x - 2))


@functools.cache
def _digamma_root() -> Any:
    with mpmath.workprec(300):
        return mpmath.findroot(mpmath.digamma, mpf("1.4616"))


def _digamma(q: Any) -> Any:
    x = 2 * (1 + q) / (1 - q)
    return mpmath.digamma(x) / (x - _digamma_root())


def _trigamma(q: Any) -> Any:
    x = mpf(3) / 2 * (1 + q) / (1 - q)
    return (x + mpf(3) / 2) * mpmath.psi(1, x + 1)


def _bessel_zero(q: Any) -> Any:
    x = 10 * (1 + q) / (1 - q)
    scaled = mpmath.besseli(0, x) * mpmath.exp(-x)
    return (x + mpf(61) / 64) * scaled / mpmath.sqrt(x + 10)


def _bessel_zero_at_zero() -> Any:
    return mpf(61) / 64 / mpmath.sqrt(10)


def _bessel_one(q: Any) -> Any:
    x = 10 * (1 + q) / (1 - q)
    scaled = mpmath.besseli(1, x) * mpmath.exp(-x)
    return (x + mpf(61) / 32) ** 2 * scaled / (x * mpmath.sqrt(x + 10))


APPROXIMATIONS = {
    "ERFCX": Approximation(
        "(x + 7/8) exp(x²) erfc(x), a polynomial in q = (x - 3) / (x + 3), x >= 0; relative error",
        _scaled_upper_tail,
        lambda q: 1 / _scaled_upper_tail(q),
        lambda _: (mpf(-1), mpf(1)),
        {"F64": 26, "F32": 13},
        is_split=True,
    ),
    "ERFINV": Approximation(
        "(erfinv(x) / x - √π / 2) / w with w = -log(1 - x²), a polynomial in w - 5/2, 0 <= w <= 5; "
        "error relative to erfinv(x)",
        lambda t: (_inverse_erf(t + 2.5) - mpmath.sqrt(mpmath.pi) / 2) / (t + 2.5),
        lambda t: (t + 2.5) / _inverse_erf(t + 2.5),
        lambda _: (mpf(-2.5), mpf(2.5)),
        {"F64": 21, "F32": 10},
    ),
    "ERFINV_FAR": Approximation(
        "erfinv(x) / x, a polynomial in q = (s - 4) / (s + 4) with s = √w, 2.2 <= s <= 6.1 (F32: "
        "4); relative error",
        lambda q: _inverse_erf((4 * (1 + q) / (1 - q)) ** 2),
        lambda q: 1 / _inverse_erf((4 * (1 + q) / (1 - q)) ** 2),
        lambda format_: (mpf(-9) / 31, {"F64": mpf(21) / 101, "F32": mpf(1) / 400}[format_]),
        {"F64": 30, "F32": 11},
        is_split=True,
    ),
    "LOG_GAMMA": Approximation(
        "log(gamma(x)) / ((x - 1) (x - 2)), a polynomial in q = (x - 2) / (x + 2), 1 <= x <= 3; "
        "relative error",
        _log_gamma,
        lambda q: 1 / _log_gamma(q),
        lambda _: (mpf(-1) / 3, mpf(1) / 5),
        {"F64": 20, "F32": 10},
        is_split=True,
    ),
    "LOG_GAMMA_FAR": Approximation(
        "(log(gamma(x)) - (x - 1/2) log(x) + x - log(2 π) / 2) x, a polynomial in 1 / x², x >= 3; "
        "error relative to log(gamma(x))",
        _far_log_gamma,
        lambda z: mpmath.sqrt(z) / mpmath.loggamma(1 / mpmath.sqrt(z)),
        lambda _: (mpf(0), mpf(1) / 9),
        {"F64": 11, "F32": 4},
    ),
    "LOG_SINE": Approximation(
        "log(sin(π r) / (π r)) / r², a polynomial in r², |r| <= 1/2; relative error",
        lambda z: mpmath.log(mpmath.sinc(mpmath.pi * mpmath.sqrt(z))) / z,
        lambda z: z / mpmath.log(mpmath.sinc(mpmath.pi * mpmath.sqrt(z))),
        lambda _: (mpf(0), mpf(1) / 4),
        {"F64": 16},
    ),
    "DIGAMMA": Approximation(
        "digamma(x) over the distance of x from its root, a polynomial in q = (x - 2) / (x + 2), "
        "1 <= x <= 3; relative error",
        _digamma,
        lambda q: 1 / _digamma(q),
        lambda _: (mpf(-1) / 3, mpf(1) / 5),
        {"F64": 21, "F32": 11},
        is_split=True,
    ),
    "DIGAMMA_FAR": Approximation(
        "(log(x) - 1 / (2 x) - digamma(x)) x², a polynomial in 1 / x², x >= 3; error relative to "
        "digamma(x)",
        _far_digamma,
        lambda z: z / mpmath.digamma(1 / mpmath.sqrt(z)),
        lambda _: (mpf(0), mpf(1) / 9),
        {"F64": 12, "F32": 4},
    ),
    "COTANGENT": Approximation(
        "(1 / r - π cot(π r)) / r³ - π² / (3 r²), a polynomial in r², |r| <= 1/2; relative error",
        lambda z: (
            (
                (1 / mpmath.sqrt(z) - mpmath.pi * mpmath.cot(mpmath.pi * mpmath.sqrt(z)))
                / mpmath.sqrt(z)
                - mpmath.pi**2 / 3
            )
            / z
        ),
        lambda z: 1,
        lambda _: (mpf(0), mpf(1) / 4),
        {"F64": 15},
    ),
    "COSECANT": Approximation(
        "(π / sin(π r))² - 1 / r², a polynomial in r², |r| <= 1/2; relative error",
        lambda z: (mpmath.pi / mpmath.sin(mpmath.pi * mpmath.sqrt(z))) ** 2 - 1 / z,
        lambda z: 1 / ((mpmath.pi / mpmath.sin(mpmath.pi * mpmath.sqrt(z))) ** 2 - 1 / z),
        lambda _: (mpf(0), mpf(1) / 4),
        {"F64": 16},
    ),
    "TRIGAMMA": Approximation(
        "(x + 3/2) trigamma(x + 1), a polynomial in q = (x - 3/2) / (x + 3/2), x >= 0; relative "
        "error",
        _trigamma,
        lambda q: 1 / _trigamma(q),
        lambda _: (mpf(-1), mpf(1)),
        {"F64": 23, "F32": 12},
        is_split=True,
    ),
    "BESSEL_ZERO": Approximation(
        "(x + 61/64) exp(-x) I0(x) / √(x + 10) less its value at 0, over q + 1, a polynomial in "
        "q = (x - 10) / (x + 10), x >= 0; error relative to the first",
        lambda q: (_bessel_zero(q) - _bessel_zero_at_zero()) / (q + 1),
        lambda q: (q + 1) / _bessel_zero(q),
        lambda _: (mpf(-1), mpf(1)),
        {"F64": 43, "F32": 20},
    ),
    "BESSEL_ONE": Approximation(
        "(x + 61/32)² exp(-x) I1(x) / (x √(x + 10)), a polynomial in q as above; relative error",
        _bessel_one,
        lambda q: 1 / _bessel_one(q),
        lambda _: (mpf(-1), mpf(1)),
        {"F64": 43, "F32": 21},
        is_split=True,
    ),
}

CONSTANTS: dict[str, tuple[str, Callable[[], Any]]] = {
    "DIGAMMA_ROOT": ("the positive root of digamma", _digamma_root),
    "HALF_ROOT_PI": ("√π / 2", lambda: mpmath.sqrt(mpmath.pi) / 2),
    "ROOT_2": ("√2", lambda: mpmath.sqrt(2)),
    "THREE_ROOTS_2": ("3 √2", lambda: 3 * mpmath.sqrt(2)),
    "HALF_LOG_2_PI": ("(log(2 π) - 1) / 2", lambda: (mpmath.log(2 * mpmath.pi) - 1) / 2),
    "BESSEL_ZERO_AT_ZERO": ("61/64 / √10", _bessel_zero_at_zero),
    "THIRD_PI_SQUARE": ("π² / 3", lambda: mpmath.pi**2 / 3),
}
"""Numbers as sums of two floats: name -> what it is, and its value."""
