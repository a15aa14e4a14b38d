"""Activations, losses and similarities before anybody stabilised them."""

import numpy as np
from scipy.special import erf

from benchmarks.accuracy.case import case, positive, real, within


@case(x=real(-50, 50))
def swish(x):
    """The exponential overflows on the left."""
    return x / (1 + np.exp(-x))


@case(x=real(-10, 10))
def gelu(x):
    """The bracket cancels on the left."""
    return 0.5 * x * (1 + erf(x / np.sqrt(2)))


@case(x=real(-6, 6))
def gelu_with_tanh(x):
    """The bracket cancels on the left; the cube overflows."""
    return 0.5 * x * (1.0 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


@case(x=real(-50, 50))
def sigmoid_with_growing_exponentials(x):
    """Infinity over infinity on the right."""
    return np.exp(x) / (1 + np.exp(x))


@case(x=real(-50, 50))
def log_of_sigmoid(x):
    """Logarithm of zero on the left, of one on the right."""
    return np.log(1 / (1 + np.exp(-x)))


@case(x=real(-50, 50))
def log_of_the_other_class(x):
    """1 - p cancels on the right."""
    p = 1 / (1 + np.exp(-x))
    return np.log(1 - p)


@case(score=real(-50, 50), label=within(-1, 1))
def margin_loss(score, label):
    """The exponential overflows for confident mistakes."""
    return np.log(1 + np.exp(-label * score))


@case(a=real(-30, 30), b=real(-30, 30), c=real(-30, 30))
def softmax_of_three(a, b, c):
    """Exponentials overflow."""
    return np.exp(a) / (np.exp(a) + np.exp(b) + np.exp(c))


@case(a=real(-30, 30), b=real(-30, 30), c=real(-30, 30))
def second_of_a_softmax_array(a, b, c):
    """Exponentials overflow, in an array."""
    e = np.exp(np.stack([a, b, c]))
    return e[1] / np.sum(e, axis=0)


@case(x=real(-30, 30))
def focal_loss(x):
    """1 - p cancels where the loss is small."""
    p = 1 / (1 + np.exp(-x))
    return -((1 - p) ** 2) * np.log(p)


@case(a=real(-30, 30), b=real(-30, 30), close=(("a", "b"),))
def log_cosh_loss(a, b):
    """cosh overflows; the logarithm cancels for small errors."""
    return np.log(np.cosh(a - b))


@case(r=real(-20, 20), d=within(1e-3, 1e3, usual=(0.1, 5)))
def pseudo_huber(r, d):
    """The root cancels for small residuals; the square overflows."""
    return d**2 * (np.sqrt(1 + (r / d) ** 2) - 1)


@case(x=real(-5, 5))
def tanh_shrink(x):
    """Cancels at zero."""
    return x - np.tanh(x)


@case(x=real(-10, 10))
def selu(x):
    """The exponential cancels at zero, and overflows where it is not taken."""
    return np.where(x > 0, 1.0507 * x, 1.0507 * 1.67326 * (np.exp(x) - 1))


@case(a=real(-30, 30), b=real(-30, 30))
def entropy_of_two_logits(a, b):
    """Zero times the logarithm of zero; exponentials overflow."""
    p = np.exp(a) / (np.exp(a) + np.exp(b))
    q = np.exp(b) / (np.exp(a) + np.exp(b))
    return -p * np.log(p) - q * np.log(q)


@case(u=within(0, 1, 0.0, 1.0))
def gumbel_noise(u):
    """Fine, but for the logarithm near one."""
    return -np.log(-np.log(u))


@case(
    m=real(-3, 3),
    n=real(-3, 3),
    s=within(1e-3, 1e3, usual=(0.2, 4)),
    t=within(1e-3, 1e3, usual=(0.2, 4)),
    close=(("m", "n"),),
)
def divergence_of_normals(m, n, s, t):
    """Squares overflow before they are divided."""
    return np.log(t / s) + (s**2 + (m - n) ** 2) / (2 * t**2) - 0.5


@case(pos=real(-1, 1), neg=real(-1, 1), t=within(0.001, 10, usual=(0.05, 1)))
def contrastive_loss(pos, neg, t):
    """Exponentials of similarities over a small temperature overflow."""
    return -np.log(np.exp(pos / t) / (np.exp(pos / t) + np.exp(neg / t)))


@case(p=within(0, 1, 0.0), q=within(0, 1, 0.0))
def guarded_divergence(p, q):
    """The logarithm of zero stands in the branch that is not taken."""
    return np.where(p > 0, p * np.log(p / q), 0.0)


@case(x=real(-3, 3), y=real(-3, 3), scale=within(1e-2, 1e2, usual=(0.3, 3)), close=(("x", "y"),))
def squared_exponential_kernel(x, y, scale):
    """Squares over- and underflow."""
    return np.exp(-((x - y) ** 2) / (2 * scale**2))


@case(a=real(-20, 20), b=real(-20, 20))
def smooth_maximum(a, b):
    """Exponentials overflow in numerator and denominator."""
    return (a * np.exp(a) + b * np.exp(b)) / (np.exp(a) + np.exp(b))


@case(x=real(-30, 30))
def squareplus(x):
    """Cancels on the left; the square overflows."""
    return (x + np.sqrt(x**2 + 4)) / 2


@case(x=real(-50, 50), t=within(0.01, 100, usual=(0.1, 5)))
def tempered_softplus(x, t):
    """The exponential overflows."""
    return t * np.log(np.exp(x / t) + 1)


@case(x=real(-20, 20))
def tanh_from_a_sigmoid(x):
    """Cancels at zero."""
    return 2 / (1 + np.exp(-2 * x)) - 1


@case(a=real(-20, 20), b=real(-20, 20), c=real(-20, 20))
def mean_of_exponentials(a, b, c):
    """Exponentials overflow and underflow before the logarithm."""
    return np.log(np.mean(np.exp(np.stack([a, b, c])), axis=0))


@case(x=real(-50, 50), y=within(0, 1), w=within(0.01, 100, usual=(0.5, 10)))
def weighted_cross_entropy(x, y, w):
    """Logarithms of zero for confident scores."""
    p = 1 / (1 + np.exp(-x))
    return -w * y * np.log(p) - (1 - y) * np.log(1 - p)


@case(x=positive(0, 5))
def squared_relu_of_log(x):
    """log(1 + x) cancels for small x."""
    return np.maximum(np.log(1 + x), 0) ** 2


@case(x=real(-50, 50))
def loss_of_a_positive(x):
    """Cancels for confident scores; the exponential overflows."""
    return np.log(1 + np.exp(x)) - x


@case(x=real(-50, 50))
def log_probability_by_a_difference(x):
    """Cancels on the right, where the exponential overflows."""
    return x - np.log(1 + np.exp(x))


@case(x=real(-50, 50))
def softplus_by_a_sum(x):
    """Cancels on the left, where the exponential overflows."""
    return x + np.log(1 + np.exp(-x))


@case(x=real(-50, 50))
def log1p_of_minus_a_probability(x):
    """The probability rounds to one."""
    return np.log1p(-1 / (1 + np.exp(-x)))


@case(x=real(-50, 50), y=within(0, 1))
def likelihood_of_a_soft_label(x, y):
    """Exponentials overflow; by the label, two logarithms cancel."""
    return np.exp(-(y * np.log(1 + np.exp(-x)) + (1 - y) * np.log(1 + np.exp(x))))


@case(x=real(-30, 30))
def residual_of_a_positive(x):
    """Cancels where the probability is nearly one."""
    return 1 / (1 + np.exp(-x)) - 1


@case(x=real(-30, 30))
def odds_of_a_score(x):
    """1 - p cancels on the right."""
    p = 1 / (1 + np.exp(-x))
    return p / (1 - p)


@case(x=real(-30, 30))
def variance_of_a_label(x):
    """1 - p cancels on the right."""
    p = 1 / (1 + np.exp(-x))
    return p * (1 - p)


@case(x=real(-30, 30))
def probability_from_a_loss(x):
    """The exponential overflows on the right, where it is hidden by the other one."""
    return np.exp(-np.log(1 + np.exp(x)))


@case(x=real(-2, 2))
def margin_of_a_score(x):
    """Cancels at zero."""
    return 2 / (1 + np.exp(-x)) - 1


@case(x=real(-2, 2))
def margin_of_the_other_class(x):
    """Cancels at zero."""
    return 1 - 2 / (1 + np.exp(-x))


@case(x=real(-30, 30))
def skewed_sigmoid(x):
    """The exponential overflows on the left."""
    return (1 + np.exp(-x)) ** -1.5


@case(a=real(-30, 30), b=real(-30, 30))
def share_by_a_reciprocal(a, b):
    """Exponentials overflow, nothing times infinity."""
    scale = 1 / (np.exp(a) + np.exp(b))
    return np.exp(a) * scale


@case(a=real(-30, 30), b=real(-30, 30))
def log_softmax_of_two(a, b):
    """Cancels for the larger one; exponentials overflow."""
    return a - np.log(np.exp(a) + np.exp(b))


@case(a=real(-30, 30), b=real(-30, 30))
def cross_entropy_of_two(a, b):
    """Cancels for confident scores; exponentials overflow."""
    return np.log(np.exp(a) + np.exp(b)) - b


@case(a=real(-30, 30), b=real(-30, 30))
def normaliser_with_a_base_class(a, b):
    """Exponentials overflow; small ones vanish beside one."""
    return np.log(1 + np.exp(a) + np.exp(b))


@case(a=real(-30, 30), b=real(-30, 30))
def normaliser_with_log1p(a, b):
    """Exponentials overflow."""
    return np.log1p(np.exp(a) + np.exp(b))


@case(a=real(-30, 30), b=real(-30, 30), c=real(-30, 30))
def second_of_a_log_softmax(a, b, c):
    """Cancels for the largest one; exponentials overflow."""
    scores = np.stack([a, b, c])
    return (scores - np.log(np.sum(np.exp(scores), axis=0)))[1]


@case(a=real(-30, 30), b=real(-30, 30), c=real(-30, 30))
def log_odds_of_two_classes(a, b, c):
    """A normaliser is subtracted from both, and cancels."""
    scores = np.stack([a, b, c])
    logs = scores - np.log(np.sum(np.exp(scores), axis=0))
    return logs[0] - logs[1]


@case(a=real(-30, 30), b=real(-30, 30), c=real(-30, 30))
def entropy_of_three_logits(a, b, c):
    """Exponentials overflow; the entropy of a confident choice is small."""
    scores = np.stack([a, b, c])
    logs = scores - np.log(np.sum(np.exp(scores), axis=0))
    return -np.sum(np.exp(logs) * logs, axis=0)


@case(a=real(-30, 30), b=real(-30, 30), c=real(-30, 30), y=within(0, 1))
def smoothed_cross_entropy(a, b, c, y):
    """By the label, two normalisers cancel."""
    total = np.log(np.sum(np.exp(np.stack([a, b, c])), axis=0))
    return -y * (a - total) - (1 - y) * (b - total)


@case(a=real(-30, 30), b=real(-30, 30), t=within(0.01, 100, usual=(0.1, 5)))
def tempered_maximum(a, b, t):
    """Exponentials overflow; by the temperature, large terms cancel."""
    return t * np.log(np.exp(a / t) + np.exp(b / t))


@case(x=real(-10, 10))
def slope_of_tanh(x):
    """Cancels on both sides."""
    return 1 - np.tanh(x) ** 2


@case(x=real(-10, 10))
def smooth_step_down(x):
    """Cancels on the right."""
    return 0.5 * (1 - np.tanh(x))


@case(x=real(-10, 10))
def error_of_an_activation(x):
    """Cancels on the right."""
    return np.tanh(x) - 1


@case(x=real(-30, 30))
def tanh_of_half(x):
    """Cancels at zero; infinity over infinity on the right."""
    return (np.exp(x) - 1) / (np.exp(x) + 1)


@case(x=real(-10, 10))
def tanh_from_exponentials(x):
    """Cancels at zero; infinity over infinity on both sides."""
    return (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x))


@case(a=real(-20, 20), b=real(-20, 20), c=real(-20, 20))
def smooth_maximum_of_an_array(a, b, c):
    """Exponentials overflow in numerator and denominator."""
    scores = np.stack([a, b, c])
    weights = np.exp(scores)
    return np.sum(scores * weights, axis=0) / np.sum(weights, axis=0)


@case(a=real(-20, 20), b=real(-20, 20), c=real(-20, 20))
def log_average_likelihood(a, b, c):
    """Small exponents are rounded away before the logarithm of their number is taken off."""
    return np.log(np.sum(np.exp(np.stack([a, b, c])), axis=0)) - np.log(3)


@case(x=real(-10, 10), k=positive(0.1, 10))
def soft_clipping(x, k):
    """The quotient underflows where the result is x."""
    return k * np.tanh(x / k)
