"""Sixty expressions that were written before the rules, by someone who had not seen any."""

import numpy as np
from scipy import special as sp

from benchmarks.accuracy.case import case, count, positive, real, within

ROOT_TWO_PI = np.sqrt(2 * np.pi)


@case(x=within(-1, 1, 0.0, 1.0, -1.0))
def arcsine_quotient(x):
    """Nothing over nothing at zero, in the branch that is not taken."""
    return np.where(x == 0, 1.0, np.arcsin(x) / x)


@case(x=real(-3, 3))
def sinh_remainder(x):
    """Cancels to third order at zero."""
    return (np.sinh(x) - x) / x**3


@case(phi=positive(0, 10))
def effectiveness_of_a_catalyst(phi):
    """Two poles cancel at zero."""
    return 3 / phi**2 * (phi / np.tanh(phi) - 1)


@case(x=positive(0, 20))
def polymer_form_factor(x):
    """Cancels to second order at zero."""
    return 2 * (np.exp(-x) + x - 1) / x**2


@case(x=positive(0.1, 10, 1.0))
def logarithm_over_distance_from_one(x):
    """Nothing over nothing at one."""
    return np.log(x) / (x - 1)


@case(x=within(-3.1, 3.1, 0.0))
def cotangent_without_its_pole(x):
    """Two poles cancel at zero."""
    return 1 / np.tan(x) - 1 / x


@case(a=within(0.01, 20, usual=(0.1, 5)), b=within(0.01, 20), close=(("a", "b"),))
def decay_chain(a, b):
    """Nothing over nothing for equal rates."""
    return a / (b - a) * (np.exp(-a) - np.exp(-b))


@case(k=within(1e-9, 1e3, usual=(0.05, 3)), t=positive(0, 10))
def mean_of_a_decay(k, t):
    """Nothing over nothing at the start."""
    kt = k * t
    return (1 - np.exp(-kt)) / kt


@case(x=real(-10, 10), beta=within(0.01, 100, usual=(0.5, 10)))
def sharpened_softplus(x, beta):
    """The exponential overflows on the right and rounds away on the left."""
    return 1 / beta * np.log(1.0 + np.exp(beta * x))


@case(a=real(-30, 30), b=real(-30, 30))
def multinomial_logit(a, b):
    """Exponentials overflow; the logarithm cancels for unlikely alternatives."""
    return b - np.log(np.exp(a) + np.exp(b) + 1)


@case(a=real(-30, 30), b=real(-30, 30), c=real(-30, 30), d=real(-30, 30))
def evidence_of_four(a, b, c, d):
    """Exponentials over- and underflow, in an array with weights."""
    z = np.stack([a, b, c, d])
    return np.log(np.sum(0.25 * np.exp(z), axis=0))


@case(eta=real(-10, 5))
def log_of_complementary_log_log(eta):
    """An exponential of an exponential; cancels on the left."""
    return np.log(1 - np.exp(-np.exp(eta)))


@case(x=positive(0, 20))
def inverse_softplus(x):
    """The exponential overflows; its difference with one cancels."""
    return np.log(np.exp(x) - 1)


@case(x=positive(0, 20))
def log_tanh_of_half(x):
    """Cancels at both ends."""
    return np.log((1 - np.exp(-x)) / (1 + np.exp(-x)))


@case(a=real(-10, 10), b=real(-10, 10), w=within(0, 1, 0.0, 1.0))
def blended_log_likelihoods(a, b, w):
    """Both exponentials underflow together."""
    return -np.log((1 - w) * np.exp(-a) + w * np.exp(-b))


@case(x=real(-30, 30))
def sigmoid_cross_entropy_of_the_positive(x):
    """Infinity over infinity inside the logarithm."""
    return -np.log(np.exp(x) / (np.exp(x) + 1))


@case(x=real(-5, 8))
def bit_error_rate(x):
    """Cancels on the right."""
    return (1 - sp.erf(x)) / 2


@case(x=real(-8, 12))
def log_of_a_normal_tail(x):
    """The tail has no digits on the right."""
    return np.log(1 - 0.5 * (1 + sp.erf(x / np.sqrt(2))))


@case(best=real(-3, 3), mean=real(-3, 3), s=within(1e-3, 1e3, usual=(0.2, 3)))
def expected_improvement(best, mean, s):
    """Two terms cancel where improvement is unlikely."""
    z = (mean - best) / s
    return (mean - best) * sp.ndtr(z) + s * np.exp(-0.5 * z**2) / ROOT_TWO_PI


@case(a=real(-8, 20))
def mean_of_a_truncated_normal(a):
    """Nothing over nothing on the right."""
    return (np.exp(-a * a / 2) / ROOT_TWO_PI) / (0.5 * sp.erfc(a / np.sqrt(2.0)))


@case(y=real(-3, 3), m=real(-3, 3))
def censored_log_likelihood(y, m):
    """The logarithm of a tail; the branch that is not taken is infinite."""
    return np.where(y > 0, -((y - m) ** 2) / 2, np.log(sp.ndtr(-m)))


@case(x=real(-10, 10), rate=within(0.01, 100, usual=(0.2, 5)))
def exponentially_modified_normal(x, rate):
    """Infinity times nothing on the left."""
    return rate / 2 * np.exp(rate / 2 * (rate - 2 * x)) * sp.erfc((rate - x) / np.sqrt(2))


@case(x=real(-100, 100))
def distance_to_the_asymptote(x):
    """Cancels on the right; the square overflows."""
    return np.sqrt(x * x + 1) - x


@case(x=within(-1, 1, 0.0, 1.0, -1.0))
def difference_of_shifted_roots(x):
    """Cancels at zero."""
    return np.sqrt(1 + x) - np.sqrt(1 - x)


@case(x=positive(0, 100))
def difference_of_inverse_roots(x):
    """Cancels on the right."""
    return 1 / np.sqrt(x) - 1 / np.sqrt(x + 1)


@case(
    c=real(-10, 10), a=real(-10, 10), given=lambda c, a: np.abs(c) > np.abs(a), close=(("c", "a"),)
)
def other_leg(c, a):
    """Squares overflow, and cancel for a short leg."""
    return np.sqrt(c**2 - a**2)


@case(e=positive(1, 10), m=positive(0, 5), given=lambda e, m: e >= m, close=(("e", "m"),))
def momentum_over_energy(e, m):
    """Cancels for slow particles."""
    return np.sqrt(1 - (m / e) ** 2)


@case(r1=positive(1, 1000), r2=positive(1, 1000))
def parallel_resistors(r1, r2):
    """Reciprocals of reciprocals over- and underflow."""
    return 1 / (1 / r1 + 1 / r2)


@case(x=positive(0, 10), k=positive(0.1, 10), n=within(0.1, 20, usual=(0.5, 4)))
def hill_response(x, k, n):
    """Infinity over infinity at high doses."""
    return x**n / (k**n + x**n)


@case(x=real(-10, 10))
def square_saturation(x):
    """Infinity over infinity."""
    return x**2 / (x**2 + 1)


@case(a=positive(0.1, 10), b=positive(0.1, 10))
def geometric_mean(a, b):
    """The product over- and underflows."""
    return np.sqrt(a * b)


@case(a=real(-5, 5), b=real(-5, 5), c=real(-5, 5))
def unit_vector_of_an_array(a, b, c):
    """Squares over- and underflow."""
    v = np.stack([a, b, c])
    return (v / np.linalg.norm(v, axis=0))[2]


@case(r=within(-0.5, 1, 0.0, usual=(0, 0.2)), m=within(1, 1e6, usual=(2, 365)))
def nominal_rate(r, m):
    """Cancels for small rates and many periods."""
    return m * ((1 + r) ** (1 / m) - 1)


@case(r=within(1e-18, 1, usual=(0.001, 0.02)), n=within(1, 480, usual=(12, 360)))
def savings_plan(r, n):
    """Nothing over nothing at small rates."""
    return (1 + r) * ((1 + r) ** n - 1) / r


@case(r=within(0, 1, 0.0, usual=(0, 0.1)), n=within(0, 1e5, 0.0, usual=(0, 40)))
def years_of_growth_in_logs(r, n):
    """1 + r rounds."""
    return n * np.log(1.0 + r)


@case(s=within(0, 1e3, 0.0, usual=(0, 0.2)), y=within(0, 100, 0.0, usual=(0, 10)))
def loss_by_a_spread(s, y):
    """Cancels for small spreads; nothing is lost at once."""
    return 1.0 - np.exp(-(y * s) / (1 - 0.4))


@case(x=real(-5, 5), y=real(-5, 5), p=within(1, 30, usual=(1, 6)))
def minkowski_norm(x, y, p):
    """Powers over- and underflow; a logarithm of zero in the gradient."""
    return (np.abs(x) ** p + np.abs(y) ** p) ** (1 / p)


@case(t=within(0, 1e6, 0.0, usual=(0, 10)), k=within(1, 20, 1.0, usual=(1, 5)))
def gamma_kernel(t, k):
    """A power of zero, whose derivative has a logarithm of zero."""
    return t ** (k - 1) * np.exp(-t)


@case(x=within(0, 1, 0.0, 1.0), a=within(1, 100, 1.0, usual=(1, 6)), b=within(1, 100, usual=(1, 6)))
def beta_kernel(x, a, b):
    """Powers of zero at both ends; 1 - x rounds to one."""
    return x ** (a - 1) * (1 - x) ** (b - 1)


@case(p=within(0, 1, 0.0, 1.0))
def guarded_entropy(p):
    """Logarithms of zero stand in the branches that are not taken."""
    one = np.where(p > 0, p * np.log(p), 0.0)
    other = np.where(p < 1, (1 - p) * np.log(1 - p), 0.0)
    return -one - other


@case(b=within(-1e100, 1e100, 0.0, usual=(-5, 5)), c=within(-1e100, 1e100, 0.0, usual=(-5, 5)))
def guarded_discriminant(b, c):
    """The root of a negative number stands in the branch that is not taken."""
    d = b * b - c
    return np.where(d > 0, np.sqrt(d), 0.0)


@case(gap=real(-1, 1), k=within(1e-3, 1e3, usual=(0.5, 20)))
def contact_force(gap, k):
    """A power of a negative number stands in the branch that is not taken."""
    return np.where(gap < 0, k * (-gap) ** 1.5, 0.0)


@case(x=real(-10, 10), a=within(0.1, 10, usual=(0.5, 2)))
def celu(x, a):
    """The exponential cancels at zero, and overflows where it is not taken."""
    return np.where(x >= 0, x, a * (np.exp(x / a) - 1))


@case(a=real(-5, 5), b=real(-5, 5))
def guarded_quotient(a, b):
    """A division by zero, or its derivative, in the branch that is not taken."""
    return np.where(b != 0, a / b, 0.0)


@case(
    a=within(1e-50, 1e50, usual=(0.1, 5)),
    b=within(1e-50, 1e50, usual=(0.1, 5)),
    k=within(1e-50, 1e50, usual=(0.001, 2)),
)
def bound_complex(a, b, k):
    """The difference with the root cancels for weak and for small partners."""
    s = a + b + k
    return (s - np.sqrt(s**2 - 4 * a * b)) / 2


@case(v=within(0, 1e100, usual=(5, 50)), h=within(1e-100, 1e100, usual=(0.1, 1)),
      given=lambda v, h: v * v > 19.62 * h)  # fmt: skip
def time_to_a_height(v, h):
    """Cancels for low heights and fast throws."""
    return (v - np.sqrt(v**2 - 2 * 9.81 * h)) / 9.81


@case(a=real(-5, 5), b=real(-5, 5), c=real(-5, 5))
def polar_angle(a, b, c):
    """The inverse cosine has no digits near the poles; squares overflow."""
    r = np.sqrt(a**2 + b**2 + c**2)
    return np.arccos(c / r)


@case(
    x=within(-1e6, 1e6, 0.0, usual=(-3, 3)),
    y=within(1e-6, 1e6, usual=(0.1, 3)),
    v=within(1e-6, 1e6, usual=(0.1, 3)),
    close=(("y", "v"),),
)
def distance_in_the_half_plane(x, y, v):
    """The inverse hyperbolic cosine has no digits for near points."""
    return np.arccosh(1 + (x**2 + (v - y) ** 2) / (2 * y * v))


@case(w=positive(0.05, 3))
def planck_in_wavelengths(w):
    """The fifth power underflows where the exponential overflows."""
    return 1 / (w**5 * (np.exp(1 / w) - 1))


@case(x=real(-30, 30))
def slope_of_the_fermi_function(x):
    """Infinity over infinity."""
    return np.exp(x) / (np.exp(x) + 1.0) ** 2


@case(e=positive(0, 10), t=within(1e-3, 1e3, usual=(0.1, 5)))
def entropy_of_an_oscillator(e, t):
    """Cancels in the heat; infinity over infinity in the cold."""
    x = e / t
    return x / (np.exp(x) - 1) - np.log(1 - np.exp(-x))


@case(
    s=within(1e-3, 1e6, usual=(50, 150)),
    k=within(1e-3, 1e6, usual=(50, 150)),
    v=within(0.01, 3, usual=(0.1, 0.6)),
    t=within(0.001, 30, usual=(0.1, 2)),
    close=(("s", "k"),),
)
def delta_of_a_put(s, k, v, t):
    """Cancels far out of the money."""
    d = (np.log(s / k) + (0.03 + v * v / 2) * t) / (v * np.sqrt(t))
    return sp.ndtr(d) - 1


@case(y=count(0, 20, 1e6), eta=real(-5, 5))
def poisson_with_log_link(y, eta):
    """Fine, but for an exponential that is larger than all else."""
    return y * eta - np.exp(eta) - sp.gammaln(y + 1)


@case(a=real(-10, 10), width=within(1e-6, 100, usual=(0.1, 5)))
def ordinal_log_likelihood(a, width):
    """The difference of two sigmoids cancels on both sides."""
    upper = 1 / (1 + np.exp(-(a + width)))
    lower = 1 / (1 + np.exp(-a))
    return np.log(upper - lower)


@case(x=real(-30, 30), y=within(0, 1))
def brier_score(x, y):
    """The exponential overflows on the left."""
    return (1 / (1 + np.exp(-x)) - y) ** 2


@case(x=positive(0, 30), rate=within(1e-6, 1e6, usual=(0.1, 5)))
def exponential_log_density_through_density(x, rate):
    """The density underflows."""
    return np.log(rate * np.exp(-rate * x))


@case(a=real(-10, 10), b=real(-30, 30))
def gated_unit(a, b):
    """Infinity over infinity for an open gate."""
    return a * np.exp(b) / (1 + np.exp(b))


@case(x=real(-30, 30))
def leaky_softplus(x):
    """The exponential overflows."""
    return 0.1 * x + 0.9 * np.log(1 + np.exp(x))


@case(n=within(1e-3, 1e6, usual=(0.5, 50)), a=within(1e-3, 1e6, usual=(0.1, 5)))
def log_rising_factorial(n, a):
    """Large log gammas cancel."""
    return sp.gammaln(n + a) - sp.gammaln(n)


@case(n=count(1, 60, 1e3), k=count(0, 30, 1e3), given=lambda n, k: k <= n)
def binomial_coefficient_by_logs(n, k):
    """Large log gammas cancel, and the exponential shows it."""
    return np.exp(sp.gammaln(n + 1) - sp.gammaln(k + 1) - sp.gammaln(n - k + 1))
