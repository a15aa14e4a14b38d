"""Special functions, elementwise: what SciPy computes in double precision; f32 is that, rounded."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from gradc_ir.core.op import POSITIVE, REALS, Domain, Op, greater_than
from gradc_ir.core.types import Array
from gradc_ir.ops.elementwise import elementwise

_UNIT = Domain(0.0, 1.0)


def _special(
    name: str,
    scipy_name: str | None = None,
    *,
    summary: str,
    operands: int = 1,
    domain: Domain | tuple[Domain, ...] = REALS,
    commutative: bool = False,
    first_orders: tuple[str, str] | None = None,
    result: int | None = None,
) -> Op:
    """Declare an op that SciPy has a function for, of the same name if none is given.

    ``first_orders``: the functions that stand for it where the first operand is 0, and 1.
    ``result``: which one it is of a function that has several.
    """
    function = scipy_name or name

    def reference(*arrays: Array) -> Any:
        # not on top: loading SciPy takes longer than most programs
        scipy_special = importlib.import_module("scipy.special")

        wide = [array.astype(np.float64) for array in arrays]
        # as the compiled function: it does not ask what seterr was told
        with scipy_special.errstate(all="ignore"):
            general = getattr(scipy_special, function)(*wide)
            if first_orders is None:
                return general if result is None else general[result]
            order, x = wide
            zeroth, first = (getattr(scipy_special, each)(x) for each in first_orders)
        return np.where(order == 0, zeroth, np.where(order == 1, first, general))

    return elementwise(
        name,
        family="special",
        operands=operands,
        reference=reference,
        scalar=f"math.{function}" if result is None else f"math.{function}.{result}",
        summary=summary,
        domain=domain,
        commutative=commutative,
    )


# -- the gamma function ----------------------------------------------------------------------------

# fmt: off
_special(
    "lgamma", "gammaln", domain=POSITIVE,
    summary="log(abs(gamma(x))), infinite at 0 and at negative integers.",
)
_special("gamma", domain=POSITIVE, summary="The gamma function, (x - 1)! for positive integers.")
_special("rgamma", summary="1 / gamma(x), 0 at 0 and at negative integers.")
_special("digamma", "psi", domain=POSITIVE, summary="The derivative of log(gamma(x)).")
_special(
    "zeta", operands=2, domain=(greater_than(1), POSITIVE),
    summary="Hurwitz's zeta function of s and q: the sum of (q + k) ** -s over k from 0 on.",
)
_special(
    "beta", operands=2, domain=POSITIVE, commutative=True,
    summary="gamma(a) gamma(b) / gamma(a + b).",
)
_special("betaln", operands=2, domain=POSITIVE, commutative=True, summary="log(abs(beta(a, b))).")
_special("binom", operands=2, domain=POSITIVE, summary="The binomial coefficient of real n and k.")
_special("poch", operands=2, domain=POSITIVE, summary="gamma(x + m) / gamma(x).")
_special(
    "gammainc", operands=2, domain=POSITIVE,
    summary="The lower incomplete gamma function of a and x, between 0 and 1.",
)
_special(
    "gammaincc", operands=2, domain=POSITIVE, summary="1 - gammainc(a, x), accurate for large x.",
)
_special(
    "gammaincinv", operands=2, domain=(POSITIVE, _UNIT),
    summary="The x at which gammainc(a, x) is p.",
)
_special(
    "gammainccinv", operands=2, domain=(POSITIVE, _UNIT),
    summary="The x at which gammaincc(a, x) is p.",
)
_special(
    "betainc", operands=3, domain=(POSITIVE, POSITIVE, _UNIT),
    summary="The incomplete beta function of a, b and x, between 0 and 1.",
)
_special(
    "betaincinv", operands=3, domain=(POSITIVE, POSITIVE, _UNIT),
    summary="The x at which betainc(a, b, x) is p.",
)
_special(
    "stdtr", operands=2, domain=(POSITIVE, REALS),
    summary="The distribution function of Student's t, of the degrees of freedom and t.",
)
_special(
    "stdtrit", operands=2, domain=(greater_than(1), _UNIT),
    summary="The t at which stdtr of some degrees of freedom is p.",
)

# -- the error function ----------------------------------------------------------------------------

_special("erfcx", summary="exp(x * x) * erfc(x), accurate for large x.")
_special("erfinv", domain=Domain(-1.0, 1.0), summary="The number whose error function is x.")
_special("ndtri", domain=_UNIT, summary="The quantile of the standard normal distribution.")
_special("ndtr", summary="The standard normal's distribution function.")
_special(
    "log_ndtr",
    summary="The logarithm of the standard normal's distribution function.",
)
_special("dawsn", summary="Dawson's integral: exp(-x * x) erfi(x) sqrt(pi) / 2.")

# -- Bessel functions, of an order and x -----------------------------------------------------------

_special(
    "bessel_j", "jv", operands=2, domain=POSITIVE, first_orders=("j0", "j1"),
    summary="The Bessel function of the first kind, J.",
)
_special(
    "bessel_y", "yv", operands=2, domain=POSITIVE, first_orders=("y0", "y1"),
    summary="The Bessel function of the second kind, Y.",
)
_special(
    "bessel_i", "iv", operands=2, domain=POSITIVE, first_orders=("i0", "i1"),
    summary="The modified Bessel function of the first kind, I.",
)
_special(
    "bessel_i_scaled", "ive", operands=2, domain=POSITIVE, first_orders=("i0e", "i1e"),
    summary="exp(-abs(x)) times the modified Bessel function of the first kind.",
)
_special(
    "bessel_k", "kv", operands=2, domain=POSITIVE, first_orders=("k0", "k1"),
    summary="The modified Bessel function of the second kind, K.",
)
_special(
    "bessel_k_scaled", "kve", operands=2, domain=POSITIVE, first_orders=("k0e", "k1e"),
    summary="exp(x) times the modified Bessel function of the second kind.",
)

# -- integrals -------------------------------------------------------------------------------------

_special(
    "spence", domain=POSITIVE,
    summary="Spence's function, the dilogarithm of 1 - x: the integral of log(t) / (1 - t) from 1.",
)
_special(
    "ellipkm1", domain=POSITIVE,
    summary="The complete elliptic integral of the first kind of m = 1 - x.",
)
_special(
    "ellipe", domain=Domain(high=1.0),
    summary="The complete elliptic integral of the second kind of m.",
)
_special("expi", domain=POSITIVE, summary="The exponential integral Ei.")
_special("exp1", domain=POSITIVE, summary="The exponential integral E1.")
_special("sine_integral", "sici", result=0, summary="The integral of sin(t) / t from 0 to x.")
_special(
    "cosine_integral", "sici", result=1, domain=POSITIVE,
    summary="The cosine integral, whose derivative is cos(x) / x and which vanishes at infinity.",
)
_special(
    "fresnel_sine", "fresnel", result=0, summary="The integral of sin(pi / 2 * t * t) from 0 to x.",
)
_special(
    "fresnel_cosine", "fresnel", result=1,
    summary="The integral of cos(pi / 2 * t * t) from 0 to x.",
)
# fmt: on
