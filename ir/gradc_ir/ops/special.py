"""Special functions, elementwise: what SciPy computes in double precision; f32 is that, rounded."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from gradc_ir.core.op import POSITIVE, REALS, Domain, Op, greater_than
from gradc_ir.meaning.reduction import Array
from gradc_ir.ops.elementwise import elementwise

_UNIT = Domain(0.0, 1.0)


def _special(
    name: str,
    scipy_name: str,
    *,
    summary: str,
    operands: int = 1,
    domain: Domain | tuple[Domain, ...] = REALS,
    commutative: bool = False,
    first_orders: tuple[str, str] | None = None,
    result: int | None = None,
) -> Op:
    """Declare an op that SciPy has a function for.

    ``first_orders``: the functions that stand for it where the first operand is 0, and 1.
    ``result``: which one it is of a function that has several.
    """

    def reference(*arrays: Array) -> Any:
        # not on top: loading SciPy takes longer than most programs
        scipy_special = importlib.import_module("scipy.special")

        def compute(function: str, *operands: Array) -> Any:
            return getattr(scipy_special, function)(*operands)

        wide = [array.astype(np.float64) for array in arrays]
        # as the compiled function: it does not ask what seterr was told
        with scipy_special.errstate(all="ignore"):
            general = compute(scipy_name, *wide)
            if first_orders is None:
                return general if result is None else general[result]
            order, x = wide
            zeroth, first = (compute(each, x) for each in first_orders)
        return np.where(order == 0, zeroth, np.where(order == 1, first, general))

    return elementwise(
        name,
        family="special",
        operands=operands,
        reference=reference,
        scalar=f"math.{scipy_name}" if result is None else f"math.{scipy_name}.{result}",
        summary=summary,
        domain=domain,
        commutative=commutative,
    )


# -- the gamma function ----------------------------------------------------------------------------

# fmt: off
lgamma = _special(
    "lgamma", "gammaln", domain=POSITIVE,
    summary="log(abs(gamma(x))), infinite at 0 and at negative integers.",
)
gamma = _special(
    "gamma", "gamma", domain=POSITIVE,
    summary="The gamma function, (x - 1)! for positive integers.",
)
rgamma = _special("rgamma", "rgamma", summary="1 / gamma(x), 0 at 0 and at negative integers.")
digamma = _special(
    "digamma", "psi", domain=POSITIVE, summary="The derivative of log(gamma(x)).",
)
zeta = _special(
    "zeta", "zeta", operands=2, domain=(greater_than(1), POSITIVE),
    summary="Hurwitz's zeta function of s and q: the sum of (q + k) ** -s over k from 0 on.",
)
beta = _special(
    "beta", "beta", operands=2, domain=POSITIVE, commutative=True,
    summary="gamma(a) gamma(b) / gamma(a + b).",
)
betaln = _special(
    "betaln", "betaln", operands=2, domain=POSITIVE, commutative=True,
    summary="log(abs(beta(a, b))).",
)
binom = _special(
    "binom", "binom", operands=2, domain=POSITIVE,
    summary="The binomial coefficient of real n and k.",
)
poch = _special(
    "poch", "poch", operands=2, domain=POSITIVE, summary="gamma(x + m) / gamma(x).",
)
gammainc = _special(
    "gammainc", "gammainc", operands=2, domain=POSITIVE,
    summary="The lower incomplete gamma function of a and x, between 0 and 1.",
)
gammaincc = _special(
    "gammaincc", "gammaincc", operands=2, domain=POSITIVE,
    summary="1 - gammainc(a, x), accurate for large x.",
)
gammaincinv = _special(
    "gammaincinv", "gammaincinv", operands=2, domain=(POSITIVE, _UNIT),
    summary="The x at which gammainc(a, x) is p.",
)
gammainccinv = _special(
    "gammainccinv", "gammainccinv", operands=2, domain=(POSITIVE, _UNIT),
    summary="The x at which gammaincc(a, x) is p.",
)
betainc = _special(
    "betainc", "betainc", operands=3, domain=(POSITIVE, POSITIVE, _UNIT),
    summary="The incomplete beta function of a, b and x, between 0 and 1.",
)
betaincinv = _special(
    "betaincinv", "betaincinv", operands=3, domain=(POSITIVE, POSITIVE, _UNIT),
    summary="The x at which betainc(a, b, x) is p.",
)
stdtr = _special(
    "stdtr", "stdtr", operands=2, domain=(POSITIVE, REALS),
    summary="The distribution function of Student's t, of the degrees of freedom and t.",
)
stdtrit = _special(
    "stdtrit", "stdtrit", operands=2, domain=(greater_than(1), _UNIT),
    summary="The t at which stdtr of some degrees of freedom is p.",
)

# -- the error function ----------------------------------------------------------------------------

erfcx = _special("erfcx", "erfcx", summary="exp(x * x) * erfc(x), accurate for large x.")
erfinv = _special(
    "erfinv", "erfinv", domain=Domain(-1.0, 1.0), summary="The number whose error function is x.",
)
ndtri = _special(
    "ndtri", "ndtri", domain=_UNIT, summary="The quantile of the standard normal distribution.",
)
ndtr = _special("ndtr", "ndtr", summary="The standard normal's distribution function.")
log_ndtr = _special(
    "log_ndtr", "log_ndtr",
    summary="The logarithm of the standard normal's distribution function.",
)
dawsn = _special("dawsn", "dawsn", summary="Dawson's integral: exp(-x * x) erfi(x) sqrt(pi) / 2.")

# -- Bessel functions, of an order and x -----------------------------------------------------------

bessel_j = _special(
    "bessel_j", "jv", operands=2, domain=POSITIVE, first_orders=("j0", "j1"),
    summary="The Bessel function of the first kind, J.",
)
bessel_y = _special(
    "bessel_y", "yv", operands=2, domain=POSITIVE, first_orders=("y0", "y1"),
    summary="The Bessel function of the second kind, Y.",
)
bessel_i = _special(
    "bessel_i", "iv", operands=2, domain=POSITIVE, first_orders=("i0", "i1"),
    summary="The modified Bessel function of the first kind, I.",
)
bessel_i_scaled = _special(
    "bessel_i_scaled", "ive", operands=2, domain=POSITIVE, first_orders=("i0e", "i1e"),
    summary="exp(-abs(x)) times the modified Bessel function of the first kind.",
)
bessel_k = _special(
    "bessel_k", "kv", operands=2, domain=POSITIVE, first_orders=("k0", "k1"),
    summary="The modified Bessel function of the second kind, K.",
)
bessel_k_scaled = _special(
    "bessel_k_scaled", "kve", operands=2, domain=POSITIVE, first_orders=("k0e", "k1e"),
    summary="exp(x) times the modified Bessel function of the second kind.",
)

# -- integrals -------------------------------------------------------------------------------------

spence = _special(
    "spence", "spence", domain=POSITIVE,
    summary="Spence's function, the dilogarithm of 1 - x: the integral of log(t) / (1 - t) from 1.",
)
ellipkm1 = _special(
    "ellipkm1", "ellipkm1", domain=POSITIVE,
    summary="The complete elliptic integral of the first kind of m = 1 - x.",
)
ellipe = _special(
    "ellipe", "ellipe", domain=Domain(high=1.0),
    summary="The complete elliptic integral of the second kind of m.",
)
expi = _special("expi", "expi", domain=POSITIVE, summary="The exponential integral Ei.")
exp1 = _special("exp1", "exp1", domain=POSITIVE, summary="The exponential integral E1.")
sine_integral = _special(
    "sine_integral", "sici", result=0, summary="The integral of sin(t) / t from 0 to x.",
)
cosine_integral = _special(
    "cosine_integral", "sici", result=1, domain=POSITIVE,
    summary="The cosine integral, whose derivative is cos(x) / x and which vanishes at infinity.",
)
fresnel_sine = _special(
    "fresnel_sine", "fresnel", result=0,
    summary="The integral of sin(pi / 2 * t * t) from 0 to x.",
)
fresnel_cosine = _special(
    "fresnel_cosine", "fresnel", result=1,
    summary="The integral of cos(pi / 2 * t * t) from 0 to x.",
)
# fmt: on
