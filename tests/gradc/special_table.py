"""The table behind the tests of special functions: by name the same in mpmath, and points."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import mpmath
from mpmath import mpf


class Row(NamedTuple):
    """A function of one variable, the others fixed: ours by name, in mpmath, and where to look."""

    name: str
    exact: Callable[[Any], Any]
    points: Sequence[float]
    before: tuple[float, ...] = ()  # operands in front of the variable
    ulps: float = 8  # of the value
    loss: float = 1e-13  # relative, of the first derivative
    again: float = 1e-11  # relative, of the second

    def __str__(self) -> str:
        return f"{self.name}{self.before or ''}"


def normal(x: Any) -> Any:
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def log_normal(x: Any) -> Any:
    return mpmath.log(normal(x)) if x < 0 else mpmath.log1p(-normal(-x))


def ndtri(p: Any) -> Any:
    start = mpf(-math.sqrt(-2 * math.log(p))) if p < 1e-3 else mpf(4 * (float(p) - 0.5))
    return mpmath.findroot(lambda x: mpmath.log(normal(x) / p), start, tol=1e-40)


def erfinv(y: Any) -> Any:
    return mpmath.erfinv(y)


def spence(x: Any) -> Any:
    return mpmath.re(mpmath.polylog(2, 1 - x))


def dawsn(x: Any) -> Any:
    return mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x)


def erfcx(x: Any) -> Any:
    return mpmath.exp(x * x) * mpmath.erfc(x)


def student(df: float) -> Callable[[Any], Any]:
    def distribution(t: Any) -> Any:
        tail = mpmath.betainc(df / 2, 0.5, 0, df / (df + t * t), regularized=True) / 2
        return tail if t < 0 else 1 - tail

    return distribution


def log1p_quotient(x: Any) -> Any:
    return mpmath.log(1 + x) / x if x else mpf(1)


def exprel(x: Any) -> Any:
    return mpmath.expm1(x) / x if x else mpf(1)


def ei(x: Any) -> Any:
    return mpmath.re(mpmath.ei(x))


POSITIVE = (1e-6, 0.05, 0.4, 1.0, 2.5, 6.3, 11.0, 80.0)
REALS = (-6.3, -1.0, -0.3, -1e-6, 1e-6, 0.2, 1.5, 4.0)
UNIT = (1e-8, 0.1, 0.3, 0.5, 0.7, 0.95)
POLES = (-3.3, -0.5, 1e-3, 0.1, 1.0, 2.0, 5.5, 30.0, 150.0)

ROWS = [
    Row("erf", mpmath.erf, REALS),
    Row("erfc", mpmath.erfc, (*REALS, 20.0), again=1e-11),
    Row("erfcx", erfcx, (-3.0, -1.0, 0.0, 0.5, 3.0, 7.9, 8.1, 30.0, 1e5), loss=1e-13),
    Row("erfinv", erfinv, (-0.99, -0.3, 1e-9, 0.5, 0.9999)),
    Row("erfcinv", lambda y: erfinv(1 - y), (1e-3, 0.5, 0.9, 1.3, 1.99)),
    Row("ndtr", normal, (-30.0, *REALS), ulps=700, again=1e-11),
    Row("ndtri", ndtri, (1e-300, 1e-30, 1e-9, 0.2, 0.4, 0.9), loss=1e-12),
    Row(
        "log_ndtr",
        log_normal,
        (-1e6, -40.0, -11.4, -5.0, -1.0, 0.0, 1.0, 5.0, 30.0),
        ulps=300,
        loss=2e-13,
    ),
    Row("dawsn", dawsn, (-9.0, -0.1, 0.0, 0.5, 2.0, 7.9, 8.1, 100.0)),
    Row("gamma", mpmath.gamma, POLES, loss=1e-12),
    Row("gammaln", lambda x: mpmath.log(abs(mpmath.gamma(x))), (*POLES, 1e10), loss=1e-12),
    Row("rgamma", mpmath.rgamma, (-3.3, -3.0, -0.5, 0.0, 0.1, 1.0, 5.0, 30.0)),
    Row("digamma", mpmath.digamma, (-30.7, *POLES, 1e9), ulps=30),
    Row("polygamma", lambda x: mpmath.polygamma(1, x), POSITIVE, (1,)),
    Row("polygamma", lambda x: mpmath.polygamma(4, x), POSITIVE, (4,)),
    Row(
        "multigammaln",
        lambda a: mpmath.log(mpmath.pi) / 2 + mpmath.loggamma(a) + mpmath.loggamma(a - 0.5),
        (0.6, 1.5, 3.0, 20.0),
        ulps=16,
    ),
    Row("zeta", lambda q: mpmath.zeta(2.5, q), POSITIVE, (2.5,)),
    Row("beta", lambda b: mpmath.beta(2.5, b), POSITIVE, (2.5,), ulps=40, loss=1e-12),
    Row("betaln", lambda b: mpmath.log(mpmath.beta(2.5, b)), POSITIVE, (2.5,), ulps=40, loss=1e-12),
    Row("binom", lambda k: mpmath.binomial(7.5, k), (0.3, 2.0, 5.0, 7.2), (7.5,), ulps=40),
    Row("poch", lambda m: mpmath.rf(2.5, m), (0.3, 2.0, 5.0, 7.2), (2.5,), ulps=40),
    Row(
        "gammainc",
        lambda x: mpmath.gammainc(2.5, 0, x, regularized=True),
        POSITIVE,
        (2.5,),
        ulps=16,
    ),
    Row(
        "gammaincc", lambda x: mpmath.gammainc(2.5, x, regularized=True), POSITIVE, (2.5,), ulps=60
    ),
    Row(
        "betainc",
        lambda x: mpmath.betainc(2.5, 0.7, 0, x, regularized=True),
        UNIT,
        (2.5, 0.7),
        ulps=16,
    ),
    Row("stdtr", student(3.0), REALS, (3.0,), ulps=16),
    *[
        Row(
            "jv",
            lambda x, v=v: mpmath.besselj(v, x),
            (0.05, 0.4, 1.0, 2.5, 6.3, 11.0),
            (v,),
            ulps=16,
        )
        for v in (0, 1, 2)
    ],
    Row("jv", lambda x: mpmath.besselj(2.5, x), (0.05, 0.4, 1.0, 2.5, 6.3, 11.0), (2.5,), ulps=200),
    *[
        Row("yv", lambda x, v=v: mpmath.bessely(v, x), (0.05, 1.0, 6.3), (v,), ulps=32)
        for v in (0, 1, 2.5)
    ],
    *[Row("iv", lambda x, v=v: mpmath.besseli(v, x), POSITIVE, (v,), ulps=80) for v in (0, 1, 2.5)],
    *[
        Row(
            "ive",
            lambda x, v=v: mpmath.exp(-x) * mpmath.besseli(v, x),
            POSITIVE,
            (v,),
            ulps=80,
            loss=1e-12,
            again=1e-9,
        )
        for v in (0, 1, 2.5)
    ],
    *[
        Row("kv", lambda x, v=v: mpmath.besselk(v, x), (0.05, 2.5), (v,), ulps=80)
        for v in (0, 1, 2.5)
    ],
    *[
        Row(
            "kve",
            lambda x, v=v: mpmath.exp(x) * mpmath.besselk(v, x),
            (0.4, 9.0),
            (v,),
            ulps=80,
            loss=1e-12,
            again=1e-9,
        )
        for v in (0, 1, 2.5)
    ],
    Row("spence", spence, (0.01, 0.3, 0.89, 0.91, 0.999, 1.0, 1.05, 2.0, 50.0), ulps=16),
    Row("ellipk", mpmath.ellipk, (-5.0, -0.3, -0.24, 0.0, 1e-9, 0.24, 0.26, 0.9, 0.999), ulps=16),
    Row("ellipkm1", lambda p: mpmath.ellipk(1 - p), (1e-12, 1e-5, 0.5, 1.0, 2.0), ulps=16),
    Row("ellipe", mpmath.ellipe, (-5.0, -0.3, -0.24, 0.0, 1e-9, 0.24, 0.26, 0.9, 0.999), ulps=16),
    Row("expi", ei, (0.1, 1.1, 9.0, 40.0), ulps=16),
    Row("exp1", mpmath.e1, POSITIVE, ulps=16),
    Row("exprel", exprel, (-30.0, -1.0, -0.99, -1e-9, 0.0, 0.3, 0.99, 1.01, 20.0)),
    Row("log1p_quotient", log1p_quotient, (-0.5, -0.11, -0.09, 0.0, 1e-9, 0.09, 0.11, 20.0)),
    Row("cosm1", lambda x: mpmath.cos(x) - 1, REALS),
    Row("exp10", lambda x: mpf(10) ** x, REALS),
    Row("sindg", lambda x: mpmath.sin(x * mpmath.pi / 180), (-100.0, 1e-6, 30.0, 91.0, 359.0)),
    Row("cosdg", lambda x: mpmath.cos(x * mpmath.pi / 180), (-100.0, 1e-6, 30.0, 91.0, 359.0)),
    Row("logit", lambda p: mpmath.log(p / (1 - p)), (1e-8, 0.1, 0.3, 0.501, 0.7, 0.95)),
    Row(
        "huber",
        lambda r: mpmath.fabs(r) * 1.5 - mpf(1.125) if mpmath.fabs(r) > 1.5 else r * r / 2,
        (-4.0, -0.3, 1e-6, 1.2, 9.0),
        (1.5,),
    ),
    Row(
        "pseudo_huber",
        lambda r: 2.25 * (mpmath.sqrt(1 + r * r / 2.25) - 1),
        (-4.0, -0.3, 1e-6, 1.2, 100.0),
        (1.5,),
    ),
    Row(
        "boxcox",
        lambda k: (mpf(2.5) ** k - 1) / k if k else mpmath.log(2.5),
        (-2.0, -1e-9, 0.0, 1e-9, 0.5, 3.0),
        (2.5,),
    ),
    Row(
        "inv_boxcox",
        lambda k: (1 + mpf(0.7) * k) ** (1 / k) if k else mpmath.exp(mpf(0.7)),
        (-1.0, -1e-9, 0.0, 1e-9, 0.5, 3.0),
        (0.7,),
    ),
]
