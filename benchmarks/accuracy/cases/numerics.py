"""The kernels of textbooks on rounding, and of integrators and solvers."""

import numpy as np
from scipy import special

from benchmarks.accuracy.case import case, positive, real, within


@case(x=positive(0, 100))
def difference_of_roots(x):
    """Cancels for large x."""
    return np.sqrt(x + 1) - np.sqrt(x)


@case(x=positive(0, 100))
def difference_of_reciprocals(x):
    """Cancels for large x."""
    return 1 / x - 1 / (x + 1)


@case(x=within(-3.14, 3.14, 0.0))
def half_angle_tangent(x):
    """Nothing over nothing at zero."""
    return (1 - np.cos(x)) / np.sin(x)


@case(
    a=within(1e-50, 1e50, usual=(0.1, 5)),
    b=within(-1e50, 1e50, usual=(-20, 20)),
    c=within(-1e50, 1e50, usual=(-5, 5)),
    given=lambda a, b, c: b * b >= 4 * a * c,
)
def quadratic_root(a, b, c):
    """Cancels for positive b; the discriminant cancels for close roots."""
    return (-b + np.sqrt(b**2 - 4 * a * c)) / (2 * a)


@case(x=real(-10, 10))
def hyperbolic_sine(x):
    """Cancels at zero."""
    return (np.exp(x) - np.exp(-x)) / 2


@case(x=within(-1, 1e300, 0.0, -1.0, usual=(-0.9, 5)))
def logarithm_of_one_more(x):
    """1 + x rounds."""
    return np.log(1 + x)


@case(x=real(-5, 5))
def one_less_than_an_exponential(x):
    """Cancels at zero."""
    return np.exp(x) - 1.0


@case(z=real(-5, 5))
def second_phi_function(z):
    """Cancels to second order at zero."""
    return (np.exp(z) - 1 - z) / z**2


@case(x=within(-10, 10, usual=(-3, 3)), h=within(-1, 1, 0.0))
def increment_of_a_sine(x, h):
    """Cancels for small steps."""
    return np.sin(x + h) - np.sin(x)


@case(x=within(-1.5, 1.5, 0.0))
def tangent_minus_sine(x):
    """Cancels to third order at zero."""
    return np.tan(x) - np.sin(x)


@case(x=positive(0, 100))
def difference_of_cube_roots(x):
    """Cancels for large x."""
    return np.cbrt(x + 1) - np.cbrt(x)


@case(x=real(-10, 10), y=real(-10, 10), close=(("x", "y"),))
def difference_of_squares(x, y):
    """Cancels for close x and y; squares overflow."""
    return x**2 - y**2


@case(x=positive(0, 100))
def increment_of_a_logarithm(x):
    """Cancels for large x."""
    return np.log(x + 1) - np.log(x)


@case(x=real(-100, 100))
def increment_of_an_arctangent(x):
    """Cancels for large x."""
    return np.arctan(x + 1) - np.arctan(x)


@case(x=real(-10, 10))
def root_of_one_and_a_square_less_one(x):
    """Cancels at zero; the square overflows."""
    return np.sqrt(1 + x**2) - 1


@case(x=positive(0.1, 10), y=positive(0.1, 10))
def logarithm_of_a_product(x, y):
    """The product over- and underflows."""
    return np.log(x * y)


@case(a=real(-5, 5), b=real(-5, 5))
def real_part_of_a_reciprocal(a, b):
    """Squares over- and underflow."""
    return a / (a**2 + b**2)


@case(x=real(-20, 20))
def exponential_over_one_less(x):
    """Infinity over infinity; the denominator cancels at zero."""
    return np.exp(x) / (np.exp(x) - 1)


@case(x=real(-20, 20))
def bernoulli_function(x):
    """Nothing over nothing at zero; the flux of drift and diffusion."""
    return x / (np.exp(x) - 1)


@case(x=within(-3, 3, 0.0))
def guarded_power(x):
    """The branch that is not taken is not a number."""
    return np.where(x > 0, x**1.5, 0.0)


@case(x=within(0, 1, 0.0, 1.0), n=within(1, 1000, usual=(1, 30)))
def geometric_series(x, n):
    """Nothing over nothing at one."""
    return (1 - x**n) / (1 - x)


@case(x=within(-2, 2, 0.0, 1.0, -1.0))
def bump(x):
    """The exponent is infinite at the border, its derivative in the branch that is not taken."""
    return np.where(np.abs(x) < 1, np.exp(-1 / (1 - x**2)), 0.0)


@case(a=positive(0.1, 10), b=positive(0.1, 10), close=(("a", "b"),))
def logarithmic_mean(a, b):
    """Nothing over nothing for equal numbers."""
    return (a - b) / (np.log(a) - np.log(b))


@case(a=positive(0.1, 10), b=positive(0.1, 10), close=(("a", "b"),))
def relative_difference(a, b):
    """The sum overflows; its square in the gradient."""
    return (a - b) / (a + b)


@case(x=real(-10, 10))
def inverse_hyperbolic_sine(x):
    """Cancels on the left; the square overflows."""
    return np.log(x + np.sqrt(x**2 + 1))


@case(x=within(0, 1e300, 1.0, usual=(1, 20)), given=lambda x: x >= 1)
def inverse_hyperbolic_cosine(x):
    """The logarithm has no digits near one; the square overflows."""
    return np.log(x + np.sqrt(x**2 - 1))


@case(x=within(1e-3, 170, usual=(0.5, 30)))
def ratio_of_gammas(x):
    """Gamma overflows where the ratio is about the root of x."""
    return special.gamma(x + 0.5) / special.gamma(x)


@case(x=real(-6, 6))
def scaled_complementary_error_function(x):
    """Infinity times nothing on the right."""
    return np.exp(x * x) * special.erfc(x)


@case(x=real(-3, 3))
def imaginary_plasma_term(x):
    """Cancels to third order at zero."""
    return x * np.cosh(x) - np.sinh(x)


@case(x=positive(0, 3))
def x_to_the_x(x):
    """A logarithm of zero in the gradient; the exponent is large."""
    return x**x


@case(x=within(-1.5, 1.5, 0.0), h=within(-1, 1, 0.0, usual=(-0.01, 0.01)))
def increment_of_a_tangent(x, h):
    """Cancels for small steps."""
    return np.tan(x + h) - np.tan(x)


@case(x=real(-30, 30), h=within(-1, 1, 0.0, usual=(-0.01, 0.01)))
def increment_of_an_angle(x, h):
    """Cancels for small steps, and for large x."""
    return np.arctan(x + h) - np.arctan(x)


@case(x=within(-0.999, 1e300, 0.0, usual=(-0.5, 1)))
def corrected_logarithm_of_one_more(x):
    """Kahan's way: right in the value, not in the gradient of its quotient."""
    u = 1 + x
    return np.where(u == 1, x, np.log(u) * x / (u - 1))


@case(x=real(-5, 5))
def root_of_a_sixth_power(x):
    """The power over- and underflows."""
    return np.sqrt(x**6)


@case(x=real(-30, 30))
def reciprocal_of_an_exponential(x):
    """The square of the exponential overflows in the gradient."""
    return 1 / np.exp(x)


@case(x=real(-30, 30), a=real(-3, 3))
def scaled_down_and_back(x, a):
    """The exponential over- and underflows on the way."""
    return a / np.exp(x) * np.exp(x)


@case(a=positive(0.1, 10), b=positive(0.1, 10), close=(("a", "b"),))
def arithmetic_less_geometric_mean(a, b):
    """Cancels for equal numbers, where it is a square."""
    return (a + b) / 2 - np.sqrt(a * b)


@case(x=real(-10, 10), k=real(-3, 3))
def tangent_over_a_factor(x, k):
    """Nothing over nothing for small factors, by which the derivative cancels."""
    return np.tanh(k * x) / k
