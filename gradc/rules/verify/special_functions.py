"""The special functions over the reals, in SymPy's words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def special_functions() -> dict[str, Callable[..., Any]]:
    """Return the special ops that SymPy has words for, as functions of SymPy expressions."""
    import sympy as s

    def log_gamma(x: Any) -> Any:
        return s.log(s.gamma(x))

    def normal(x: Any) -> Any:
        return s.erfc(-x / s.sqrt(2)) / 2

    def student(df: Any, t: Any) -> Any:
        half = s.Rational(1, 2)
        series = s.hyper([half, (df + 1) / 2], [s.Rational(3, 2)], -(t**2) / df)
        scale = s.gamma((df + 1) / 2) / (s.sqrt(s.pi * df) * s.gamma(df / 2))
        return half + t * scale * series

    return {
        "lgamma": lambda x: s.log(s.Abs(s.gamma(x))),
        **{name: getattr(s, name) for name in ("gamma", "digamma", "zeta", "erfinv")},
        "rgamma": lambda x: 1 / s.gamma(x),
        "log_poch": lambda x, m: log_gamma(x + m) - log_gamma(x),
        "digamma_difference": lambda x, m: s.digamma(x + m) - s.digamma(x),
        "beta": lambda a, b: s.gamma(a) * s.gamma(b) / s.gamma(a + b),
        "betaln": lambda a, b: log_gamma(a) + log_gamma(b) - log_gamma(a + b),
        "binom": lambda n, k: s.gamma(n + 1) / (s.gamma(k + 1) * s.gamma(n - k + 1)),
        "poch": lambda x, m: s.gamma(x + m) / s.gamma(x),
        "gammainc": lambda a, x: s.lowergamma(a, x) / s.gamma(a),
        "gammaincc": lambda a, x: s.uppergamma(a, x) / s.gamma(a),
        "betainc": lambda a, b, x: s.betainc_regularized(a, b, 0, x),
        "stdtr": student,
        "erfcx": lambda x: s.exp(x**2) * s.erfc(x),
        "ndtri": lambda p: s.sqrt(2) * s.erfinv(2 * p - 1),
        "ndtr": normal,
        "log_ndtr": lambda x: s.log(normal(x)),
        "dawsn": lambda x: s.exp(-(x**2)) * s.erfi(x) * s.sqrt(s.pi) / 2,
        "bessel_j": s.besselj,
        "bessel_y": s.bessely,
        "bessel_i": s.besseli,
        "bessel_i_scaled": lambda v, x: s.exp(-s.Abs(x)) * s.besseli(v, x),
        "bessel_k": s.besselk,
        "bessel_k_scaled": lambda v, x: s.exp(x) * s.besselk(v, x),
        "spence": lambda x: s.polylog(2, 1 - x),
        "ellipkm1": lambda x: s.elliptic_k(1 - x),
        "ellipe": s.elliptic_e,
        "expi": s.Ei,
        "exp1": s.E1,
        "sine_integral": s.Si,
        "cosine_integral": s.Ci,
        "fresnel_sine": s.fresnels,
        "fresnel_cosine": s.fresnelc,
    }
