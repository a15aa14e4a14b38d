"""The special functions in ball arithmetic: Arb's, and what it lacks; SciPy's at their borders."""

from __future__ import annotations

from typing import Any

import scipy.special
from flint import arb

# Beyond, asymptotic series are exact to a hundred digits.
_FAR = 1e15


def log_gamma(x: Any) -> Any:
    """Return log |gamma(x)|, of negative numbers by reflection."""
    if x > 0:
        return x.lgamma()
    return (arb.pi() / abs(x.sin_pi())).log() - (1 - x).lgamma()


def trigamma(x: Any) -> Any:
    """Return the derivative of digamma, of negative numbers by reflection."""
    if x > _FAR:
        return 1 / x + 1 / (2 * x**2) + 1 / (6 * x**3) - 1 / (30 * x**5)
    if x > 0:
        return arb(2).zeta(x)
    return (arb.pi() / x.sin_pi()) ** 2 - trigamma(1 - x)


def erfcx(x: Any) -> Any:
    """Return exp(x²) erfc(x)."""
    if x > _FAR:
        return (1 - 1 / (2 * x**2) + 3 / (4 * x**4)) / (x * arb.pi().sqrt())
    return (x * x).exp() * x.erfc()


def ndtr(x: Any) -> Any:
    """Return the distribution function of the standard normal."""
    return (-x / arb(2).sqrt()).erfc() / 2


def log_ndtr(x: Any) -> Any:
    """Return the logarithm of the distribution function of the standard normal."""
    if x < -1e4:
        series = 1 - 1 / x**2 + 3 / x**4 - 15 / x**6 + 105 / x**8
        return series.log() - x * x / 2 - (-x).log() - (2 * arb.pi()).log() / 2
    return (-ndtr(-x)).log1p() if x > 0 else ndtr(x).log()


def scaled_bessel_zero(x: Any) -> Any:
    """Return exp(-|x|) I0(x)."""
    return abs(x).bessel_i(0, scaled=True)


def scaled_bessel_one(x: Any) -> Any:
    """Return exp(-|x|) I1(x)."""
    size = abs(x).bessel_i(1, scaled=True)
    return size if x > 0 else -size


def at_border(name: str, x: float) -> float:
    """Return what SciPy says of an argument where the function has no finite value to round."""
    if name == "trigamma":
        return float(scipy.special.zeta(2.0, x))
    return float(getattr(scipy.special, name)(x))


NAMES = ["gammaln", "psi", "trigamma", "erfcx", "erfinv", "ndtr", "log_ndtr", "i0e", "i1e"]
