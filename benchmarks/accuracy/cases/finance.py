"""Interest, bonds, options, utility."""

import numpy as np
from scipy.special import erf, ndtr

from benchmarks.accuracy.case import case, positive, real, within


def normal_distribution(x):
    """Return the distribution function of the standard normal, as option formulas have it."""
    return 0.5 * (1.0 + erf(x / np.sqrt(2.0)))


@case(r=within(-1, 1, 0.0, usual=(-0.05, 0.1)), t=within(0, 100, usual=(0.1, 30)))
def annuity_in_continuous_time(r, t):
    """Nothing over nothing at rate 0."""
    return (1 - np.exp(-r * t)) / r


@case(r=within(-0.5, 1, 0.0, usual=(0, 0.1)), n=within(1, 1000, usual=(1, 40)))
def present_value_of_an_annuity(r, n):
    """Nothing over nothing at rate 0."""
    return (1 - (1 + r) ** -n) / r


@case(r=within(-0.5, 1, 0.0, usual=(0, 0.1)), n=within(1, 1000, usual=(1, 40)))
def present_value_by_discount_factors(r, n):
    """Nothing over nothing at rate 0."""
    return (1 - 1 / (1 + r) ** n) / r


@case(r=within(1e-18, 1, usual=(0.001, 0.02)), n=within(1, 1000, usual=(12, 360)))
def monthly_payment(r, n):
    """The denominator cancels for small rates."""
    growth = (1 + r) ** n
    return 1000 * r * growth / (growth - 1)


@case(
    s=within(1e-3, 1e6, usual=(50, 150)),
    k=within(1e-3, 1e6, usual=(50, 150)),
    v=within(0.01, 3, usual=(0.1, 0.6)),
    t=within(0.001, 30, usual=(0.1, 2)),
    close=(("s", "k"),),
)
def black_scholes_call(s, k, v, t):
    """Two products cancel far out of the money, where the distribution function has no digits."""
    d1 = (np.log(s / k) + v**2 / 2 * t) / (v * np.sqrt(t))
    d2 = d1 - v * np.sqrt(t)
    return s * normal_distribution(d1) - k * normal_distribution(d2)


@case(d=real(-8, 8))
def distribution_in_option_formulas(d):
    """Cancels on the left."""
    return normal_distribution(d)


@case(
    s=within(1e-3, 1e6, usual=(50, 150)),
    k=within(1e-3, 1e6, usual=(50, 150)),
    v=within(0.01, 3, usual=(0.1, 0.6)),
    t=within(0.001, 30, usual=(0.1, 2)),
)
def vega(s, k, v, t):
    """The density underflows far from the money."""
    d1 = (np.log(s) - np.log(k) + 0.5 * v**2 * t) / (v * np.sqrt(t))
    return s * np.exp(-0.5 * d1**2) / np.sqrt(2 * np.pi) * np.sqrt(t)


@case(p=positive(0.5, 200), q=positive(0.5, 200), close=(("p", "q"),))
def log_return(p, q):
    """The quotient overflows, and rounds to one."""
    return np.log(q / p)


@case(p=positive(0.5, 200), q=positive(0.5, 200), close=(("p", "q"),))
def simple_return(p, q):
    """Cancels for small returns."""
    return q / p - 1


@case(r=within(-0.5, 1, 0.0, usual=(0, 0.2)), m=within(1, 1e6, usual=(1, 365)))
def effective_rate(r, m):
    """Cancels for small rates and many periods."""
    return (1 + r / m) ** m - 1


@case(a=within(1e-9, 10, usual=(0.01, 1)), t=within(0, 100, 0.0, usual=(0, 30)))
def vasicek_slope(a, t):
    """Nothing over nothing without mean reversion."""
    return (1.0 - np.exp(-a * t)) / a


@case(t=positive(0, 30), tau=within(0.01, 100, usual=(0.5, 5)))
def nelson_siegel_curvature(t, tau):
    """Cancels at the short end."""
    x = t / tau
    return (1 - np.exp(-x)) / x - np.exp(-x)


@case(c=within(1e-3, 1e3, 1.0, usual=(0.2, 5)), g=within(0, 20, 1.0, usual=(0.5, 4)))
def power_utility(c, g):
    """Nothing over nothing where the risk aversion is 1."""
    return (c ** (1 - g) - 1) / (1 - g)


@case(x=positive(0.1, 10), y=positive(0.1, 10), r=within(-20, 1, usual=(-3, 0.9)))
def constant_elasticity_production(x, y, r):
    """Powers overflow on the way to a mean."""
    return (0.3 * x**r + 0.7 * y**r) ** (1 / r)


@case(a=real(-5, 5), b=real(-5, 5), g=within(0.001, 100, usual=(0.1, 5)))
def certainty_equivalent(a, b, g):
    """Exponentials overflow before the logarithm."""
    return -np.log(0.5 * np.exp(-g * a) + 0.5 * np.exp(-g * b)) / g


@case(f=within(0, 1, 0.0, 1.0), p=within(0, 1, usual=(0.4, 0.9)), b=within(0.1, 10))
def kelly_growth(f, p, b):
    """Logarithms cancel for small stakes."""
    return p * np.log(1 + b * f) + (1 - p) * np.log(1 - f)


@case(h=within(1e-9, 10, usual=(0.001, 0.2)), t=within(0, 50, 0.0), w=within(0, 10, 0.0))
def default_in_a_period(h, t, w):
    """Cancels for small hazards and short periods."""
    return np.exp(-h * t) - np.exp(-h * (t + w))


@case(d=real(-10, 10), s=within(1e-3, 1e3, usual=(0.2, 5)))
def bachelier_call(d, s):
    """Two terms cancel far out of the money."""
    z = d / s
    return d * ndtr(z) + s * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)


@case(v=within(1e-9, 3, usual=(0.05, 0.8)), t=within(0, 30, 0.0, usual=(0.1, 5)))
def variance_of_a_lognormal_price(v, t):
    """Cancels for small variances."""
    return np.exp(v**2 * t) * (np.exp(v**2 * t) - 1)


@case(
    p=positive(1, 200), q=positive(1, 200), n=within(0.5, 100, usual=(1, 30)), close=(("p", "q"),)
)
def annual_growth_rate(p, q, n):
    """Cancels for slow growth; the quotient overflows."""
    return (q / p) ** (1 / n) - 1


@case(z=within(-100, 100, 0.0, usual=(-3, 3)), rho=within(-0.999, 0.999, usual=(-0.9, 0.9)))
def stochastic_volatility_smile(z, rho):
    """Numerator and root cancel on one side; the logarithm at zero."""
    return np.log((np.sqrt(1 - 2 * rho * z + z * z) + z - rho) / (1 - rho))


@case(r=within(-0.5, 0.5, 0.0, usual=(-0.02, 0.1)), n=within(1, 1000, usual=(1, 40)))
def growth_over_years(r, n):
    """1 + r rounds, and the power multiplies its error."""
    return (1 + r) ** n


@case(x=real(-2, 2))
def discounted_gain(x):
    """Infinity over infinity; cancels at zero."""
    return (np.exp(x) - 1) / np.exp(x)


@case(x=real(-1, 1))
def log_return_of_a_simple_one(x):
    """The exponential overflows; the difference cancels at zero."""
    simple = np.exp(x) - 1
    return np.log(1 + simple)


@case(x=real(-2, 2))
def two_payments_from_an_annuity(x):
    """Nothing over nothing at zero; infinity over infinity."""
    return (np.exp(2 * x) - 1) / (np.exp(x) - 1)


@case(r=within(1e-6, 1, usual=(0.01, 0.2)), n=within(1, 50), m=within(1, 50))
def ratio_of_annuities(r, n, m):
    """Nothing over nothing for small rates."""
    return (1 - np.exp(-r * n)) / (1 - np.exp(-r * m))


@case(x=real(-1, 1))
def logarithm_of_a_mean_growth(x):
    """Nothing over nothing at zero; the exponential overflows."""
    return np.log((np.exp(x) - 1) / x)


@case(n=within(1, 50), m=within(1, 50), r=within(1e-6, 1, usual=(0.01, 0.2)))
def annuity_over_two(n, m, r):
    """Nothing over nothing for small rates; in the gradient, quotients of each factor cancel."""
    return r * (np.exp((n + m) * r) - 1) / ((np.exp(n * r) - 1) * (np.exp(m * r) - 1))
