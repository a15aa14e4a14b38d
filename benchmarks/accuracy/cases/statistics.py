"""Densities, tails, likelihoods and divergences, as formulas have them."""

import numpy as np
from scipy import special as sp

from benchmarks.accuracy.case import case, count, positive, real, within


@case(x=real(-50, 50), m=within(-100, 100, usual=(-5, 5)), s=within(1e-3, 1e3, usual=(0.1, 3)))
def logistic_log_density(x, m, s):
    """The exponential overflows on one side."""
    z = (x - m) / s
    return -z - np.log(s) - 2 * np.log(1 + np.exp(-z))


@case(x=real(-5, 40))
def gumbel_survival(x):
    """Cancels on the right, where it is exp(-x)."""
    return 1 - np.exp(-np.exp(-x))


@case(x=positive(0, 5), k=within(0.1, 10, usual=(0.5, 4)), scale=within(1e-3, 1e3, usual=(0.5, 3)))
def weibull_distribution(x, k, scale):
    """Cancels for small x; a power at zero."""
    return 1.0 - np.exp(-((x / scale) ** k))


@case(x=real(-10, 10), nu=within(0.1, 1e8, usual=(1, 30)))
def student_log_density(x, nu):
    """The square overflows; log gammas cancel for many degrees of freedom."""
    normalizer = sp.gammaln((nu + 1) / 2) - sp.gammaln(nu / 2) - 0.5 * np.log(np.pi * nu)
    return normalizer - (nu + 1) / 2 * np.log(1 + x**2 / nu)


@case(k=count(0, 50, 1e6), r=within(1e-3, 1e6, usual=(0.5, 20)), p=within(0, 1))
def negative_binomial_log_mass(k, r, p):
    """Log gammas cancel for large r; the logarithm of 1 - p for small p."""
    coefficient = sp.gammaln(k + r) - sp.gammaln(k + 1) - sp.gammaln(r)
    return coefficient + r * np.log(p) + k * np.log(1 - p)


@case(k=count(0, 20, 1000), n=count(20, 60, 1000), p=within(0, 1), given=lambda k, n, p: k <= n)
def binomial_log_likelihood(k, n, p):
    """No successes or no failures at p = 0 and 1; 1 - p rounds."""
    return k * np.log(p) + (n - k) * np.log(1 - p)


@case(p=within(0, 1, 0.0, 1.0))
def bernoulli_entropy(p):
    """1 - p rounds to one for small p."""
    return -(p * np.log(p) + (1 - p) * np.log(1 - p))


@case(p=within(0, 1, 0.0, 1.0), q=within(0, 1, 0.0, 1.0))
def bernoulli_cross_entropy(p, q):
    """The logarithm of 1 - q for small q."""
    return -p * np.log(q) - (1.0 - p) * np.log(1.0 - q)


@case(x=real(-8, 8))
def normal_upper_tail(x):
    """Cancels on the right."""
    return 0.5 * (1 - sp.erf(x / np.sqrt(2.0)))


@case(x=real(-8, 30))
def normal_hazard(x):
    """Nothing over nothing from x = 9 on."""
    return np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) / (1 - sp.ndtr(x))


@case(x=real(-30, 30))
def cauchy_distribution(x):
    """Cancels on the left."""
    return 0.5 + np.arctan(x) / np.pi


@case(x=real(-20, 20))
def laplace_distribution(x):
    """The branch that is not taken overflows."""
    return np.where(x < 0, 0.5 * np.exp(x), 1 - 0.5 * np.exp(-x))


@case(x=positive(0, 30), a=within(1e-3, 1e3, usual=(0.5, 5)), scale=within(1e-3, 1e3))
def lomax_distribution(x, a, scale):
    """Cancels for small x."""
    return 1 - (1 + x / scale) ** (-a)


@case(k=count(1, 20, 150), rate=positive(0, 20), given=lambda k, rate: k >= 1)
def zero_truncated_poisson(k, rate):
    """The probability of not zero cancels for small rates."""
    return k * np.log(rate) - rate - sp.gammaln(k + 1.0) - np.log(1 - np.exp(-rate))


@case(x=real(-10, 10), y=within(0, 1))
def probit_log_likelihood(x, y):
    """Logarithms of zero on both sides."""
    p = sp.ndtr(x)
    return y * np.log(p) + (1 - y) * np.log(1 - p)


@case(x=within(1e-6, 1e6, usual=(0.1, 5)), m=within(1e-3, 1e3), shape=within(1e-3, 1e3))
def inverse_gaussian_density(x, m, shape):
    """Cubes and squares of the argument."""
    exponent = -shape * (x - m) ** 2 / (2 * m**2 * x)
    return np.sqrt(shape / (2 * np.pi * x**3)) * np.exp(exponent)


@case(p=within(0, 1, 0.0, 1.0), q=within(0, 1, 0.0, 1.0))
def log_odds_ratio(p, q):
    """1 - p rounds for small p."""
    return np.log(p / (1 - p)) - np.log(q / (1 - q))


@case(r=within(-1, 1, 0.0, -1.0, 1.0))
def fisher_transform(r):
    """The quotient rounds to one for small correlations."""
    return 0.5 * np.log((1 + r) / (1 - r))


@case(x=within(1e-6, 1e6, 1.0, usual=(0.1, 10)), power=within(-5, 5, 0.0))
def box_cox(x, power):
    """Nothing over nothing at power 0; cancels at x = 1."""
    return (x**power - 1) / power


@case(p=within(0, 1, 0.0), rate=positive(0, 30))
def zero_inflated_zero(p, rate):
    """Near 1 for small rates, the logarithm cancels."""
    return np.log(p + (1 - p) * np.exp(-rate))


@case(a=within(1e-6, 1e8, usual=(0.5, 30)), b=within(1e-6, 1e8, usual=(0.5, 30)))
def log_beta_function(a, b):
    """Large log gammas cancel."""
    return sp.gammaln(a) + sp.gammaln(b) - sp.gammaln(a + b)


@case(x=real(-5, 5), m=real(-5, 5), s=within(1e-100, 1e100, usual=(0.1, 3)), close=(("x", "m"),))
def normal_log_likelihood(x, m, s):
    """Squares over- and underflow before they are divided."""
    return -0.5 * (x - m) ** 2 / s**2 - np.log(s * np.sqrt(2 * np.pi))


@case(x=real(-5, 5), df=within(1, 1e3, usual=(1, 30)))
def student_kernel(x, df):
    """The square overflows under a negative power."""
    return (1 + x * x / df) ** (-0.5 * (df + 1))


@case(p=within(0, 1, 0.0, 1.0), q=within(0.01, 10, 1.0, usual=(0.5, 3)))
def tsallis_entropy(p, q):
    """Nothing over nothing at q = 1; powers of zero."""
    return (1 - p**q - (1 - p) ** q) / (q - 1)


@case(p=within(0, 1, 0.0, 1.0), order=within(0.01, 10, 1.0, usual=(0.3, 3)))
def renyi_entropy(p, order):
    """Nothing over nothing at order 1."""
    return 1 / (1 - order) * np.log(p**order + (1 - p) ** order)


@case(x=real(-8, 8))
def distribution_less_one(x):
    """Cancels on the right."""
    return sp.ndtr(x) - 1


@case(x=real(-6, 6))
def error_function_less_one(x):
    """Cancels on the right."""
    return sp.erf(x) - 1


@case(x=real(-6, 6))
def distribution_as_a_sum(x):
    """Cancels on the left."""
    return 0.5 + 0.5 * sp.erf(x / np.sqrt(2))


@case(x=real(-6, 6))
def upper_tail_as_a_difference(x):
    """Cancels on the right."""
    return 0.5 - 0.5 * sp.erf(x / np.sqrt(2))


@case(x=real(-6, 6))
def distribution_from_the_other_tail(x):
    """Cancels on the left."""
    return 1 - 0.5 * sp.erfc(x / np.sqrt(2))


@case(x=real(-6, 6))
def error_function_from_its_complement(x):
    """Cancels at zero."""
    return 1 - sp.erfc(x)


@case(x=real(-6, 6))
def complement_less_one(x):
    """Cancels at zero."""
    return sp.erfc(x) - 1


@case(x=real(-6, 6))
def log1p_of_the_error_function(x):
    """The error function rounds to minus one on the left."""
    return np.log1p(sp.erf(x))


@case(x=real(-6, 6))
def log1p_of_minus_the_error_function(x):
    """The error function rounds to one on the right."""
    return np.log1p(-sp.erf(x))


@case(x=real(-8, 8))
def log1p_of_minus_the_distribution(x):
    """The distribution function rounds to one on the right."""
    return np.log1p(-sp.ndtr(x))


@case(x=real(-8, 8))
def log_distribution_from_a_tail(x):
    """The tail underflows on the left."""
    return np.log(0.5 * sp.erfc(-x / np.sqrt(2)))


@case(x=real(-8, 8))
def log_of_the_complement_of_erf(x):
    """The tail underflows on the right."""
    return np.log(sp.erfc(x))


@case(x=real(-8, 8), w=within(1e-6, 10, usual=(0.1, 3)))
def interval_probability(x, w):
    """Cancels in the upper tail, and for narrow intervals."""
    return sp.ndtr(x + w) - sp.ndtr(x)


@case(x=within(-50, 8, usual=(-40, 8)), w=within(1e-6, 10, usual=(0.1, 3)))
def log_interval_probability(x, w):
    """Both underflow on the left; they cancel on the right, and for narrow intervals."""
    return np.log(sp.ndtr(x + w) - sp.ndtr(x))


@case(x=within(-3000, 7, -745.0, 0.0, usual=(-20, 5)))
def complementary_log_log(x):
    """The inner exponential underflows on the left, where the result is x."""
    return np.log(1 - np.exp(-np.exp(x)))


@case(x=within(-1e308, 0, 0.0, usual=(-20, 0)))
def log_survival_from_a_log_distribution(x):
    """The exponential rounds to one near zero."""
    return np.log1p(-np.exp(x))


@case(x=within(-1e308, 0, 0.0, usual=(-20, 0)))
def log_survival_and_back(x):
    """One of the two logarithms has no digits, on either side."""
    survival = np.log(1 - np.exp(x))
    return np.log(1 - np.exp(survival))


@case(a=real(-30, 30), b=real(-30, 30), given=lambda a, b: b < a, close=(("a", "b"),))
def log_difference_of_probabilities(a, b):
    """Exponentials overflow, and cancel."""
    return np.log(np.exp(a) - np.exp(b))


@case(x=real(-50, 50))
def log_of_a_signal_and_a_background(x):
    """The exponential overflows."""
    return np.log(1e-6 + np.exp(x))


@case(a=positive(0.1, 10), b=positive(0.1, 10), x=real(-30, 30), y=real(-30, 30))
def log_density_of_two_components(a, b, x, y):
    """Exponentials over- and underflow."""
    return np.log(a * np.exp(x) + b * np.exp(y))


@case(x=real(-30, 30), y=real(-30, 30), z=real(-30, 30), w=within(1e-3, 1e3, usual=(0.1, 10)))
def log_density_of_an_array_of_components(x, y, z, w):
    """Exponentials over- and underflow, in an array."""
    weights = np.stack([w, 2 * w, np.sqrt(w)])
    return np.log(np.sum(weights * np.exp(np.stack([x, y, z])), axis=0))


@case(x=positive(0.1, 10), k=within(0.1, 300, usual=(0.5, 20)))
def log_of_a_gamma_density(x, k):
    """Powers, exponentials and gamma functions over- and underflow under the logarithm."""
    return np.log(x ** (k - 1) * np.exp(-x) / sp.gamma(k))


@case(x=real(-5, 5), t=real(-5, 5))
def normal_log_density_with_log_variance(x, t):
    """The exponential over- and underflows."""
    s = np.sqrt(np.exp(t))
    return -0.5 * x**2 / s**2 - np.log(s)


@case(x=real(-5, 5))
def cauchy_loss(x):
    """Small squares vanish beside one; large ones overflow."""
    return np.log(1 + x**2)


@case(p=within(0, 1, 0.0, 1.0))
def surprisal(p):
    """The reciprocal overflows, and rounds near one."""
    return np.log(1 / p)


@case(v=positive(0.1, 10, 1.0))
def log_of_a_deviation(v):
    """The root rounds near one."""
    return np.log(np.sqrt(v))


@case(x=real(-3, 10), k=within(-1, 1, 0.0), given=lambda x, k: 1 + k * x > 0)
def extreme_value_distribution(x, k):
    """A power that is an exponential for small shapes."""
    return np.exp(-((1 + k * x) ** (-1 / k)))


@case(y=real(-3, 3), power=within(1e-8, 2, usual=(0.1, 2)), given=lambda y, power: power * y > -1)
def inverse_box_cox(y, power):
    """A power that is an exponential for small exponents."""
    return (power * y + 1) ** (1 / power)


@case(x=real(-10, 10), s=positive(0.1, 10))
def log_mass_of_a_discretised_logistic(x, s):
    """Two close functions of arguments over one scale cancel in the tails."""
    upper, lower = (x + 0.5) / s, (x - 0.5) / s
    return np.log(1 / (1 + np.exp(-upper)) - 1 / (1 + np.exp(-lower)))
