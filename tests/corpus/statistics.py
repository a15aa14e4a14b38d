"""Ordinary functions of statistics: likelihoods, regressions, robust summaries."""

import numpy as np
from scipy.special import expit, gammaln, logsumexp


def gaussian_mixture_loglik(params, x, k=3):
    """Log-likelihood of a one-dimensional mixture with softmax weights."""
    logits = params[:k]
    means = params[k : 2 * k]
    log_sd = params[2 * k : 3 * k]
    log_weights = logits - logsumexp(logits)
    z = (x[:, None] - means[None, :]) / np.exp(log_sd)
    log_density = -0.5 * z**2 - log_sd - 0.5 * np.log(2 * np.pi)
    return np.sum(logsumexp(log_weights + log_density, axis=1))


def ridge_coefficients(X, y, alpha=0.1):
    """Solve the penalised normal equations, leaving the intercept alone."""
    n, p = X.shape
    Xc = np.hstack([np.ones((n, 1)), X])
    penalty = alpha * np.eye(p + 1)
    penalty[0, 0] = 0.0
    beta = np.linalg.solve(Xc.T @ Xc + penalty, Xc.T @ y)
    return beta


def huber_loss(beta, X, y, delta=1.345):
    """Huber's robust regression objective with a residual scale of one."""
    resid = y - X @ beta
    absolute = np.abs(resid)
    small = absolute <= delta
    loss = np.empty_like(resid)
    loss[small] = 0.5 * resid[small] ** 2
    loss[~small] = delta * (absolute[~small] - 0.5 * delta)
    return loss.mean()


def ar2_loglik(theta, series):
    """Conditional Gaussian likelihood of an AR(2) process with a mean."""
    mu, phi1, phi2, log_sigma = theta
    sigma2 = np.exp(2 * log_sigma)
    ll = 0.0
    for t in range(2, len(series)):
        pred = mu + phi1 * (series[t - 1] - mu) + phi2 * (series[t - 2] - mu)
        ll -= 0.5 * np.log(2 * np.pi * sigma2) + (series[t] - pred) ** 2 / (2 * sigma2)
    return ll


def median_absolute_deviation(x, scale=1.4826):
    """Robust standardisation of the largest observation."""
    med = np.median(x)
    mad = scale * np.median(np.abs(x - med))
    return (x.max() - med) / mad


def trimmed_mean(x, proportion=0.1):
    """Mean after cutting the same number of observations from both ends."""
    n = x.size
    cut = int(proportion * n)
    if cut == 0:
        return x.mean()
    ordered = np.sort(x)
    return ordered[cut : n - cut].mean()


def winsorized_variance(x, proportion=0.2):
    """Variance after replacing the tails with the nearest retained value."""
    y = np.sort(x.copy())
    g = int(np.floor(proportion * len(y)))
    y[:g] = y[g]
    y[len(y) - g :] = y[len(y) - g - 1]
    return np.var(y, ddof=1)


def kernel_density(points, data, bandwidth=None):
    """Evaluate a Gaussian kernel density estimate; Silverman's rule is the default."""
    n = data.shape[0]
    if bandwidth is None:
        bandwidth = 1.06 * data.std(ddof=1) * n ** (-1 / 5)
    u = (points[:, np.newaxis] - data) / bandwidth
    kernel = np.exp(-0.5 * u * u) / np.sqrt(2 * np.pi)
    return kernel.sum(axis=1) / (n * bandwidth)


def gp_log_marginal(theta, X, y, jitter=1e-8):
    """Log marginal likelihood of a Gaussian process with a squared exponential kernel."""
    amplitude, length, noise = np.exp(theta)
    sq = np.sum(X**2, axis=1)
    d2 = sq[:, None] + sq[None, :] - 2 * X @ X.T
    K = amplitude**2 * np.exp(-0.5 * d2 / length**2)
    K += (noise**2 + jitter) * np.eye(len(X))
    L = np.linalg.cholesky(K)
    alpha = np.linalg.solve(L.T, np.linalg.solve(L, y))
    logdet = 2 * np.sum(np.log(np.diag(L)))
    return -0.5 * y @ alpha - 0.5 * logdet - 0.5 * len(X) * np.log(2 * np.pi)


def cox_partial_loglik(beta, X, time, event):
    """Breslow's partial likelihood of the proportional hazards model, without ties."""
    order = np.argsort(-time)
    eta = X[order] @ beta
    died = event[order]
    risk = np.cumsum(np.exp(eta))
    return np.sum(died * (eta - np.log(risk)))


def ordinal_logit(params, X, y, levels=4):
    """Negative log-likelihood of the proportional odds model, thresholds by increments."""
    p = X.shape[1]
    beta, raw = params[:p], params[p:]
    thresholds = np.concatenate([raw[:1], raw[0] + np.cumsum(np.exp(raw[1:]))])
    eta = X @ beta
    cdf = expit(thresholds[None, :] - eta[:, None])
    padded = np.hstack([np.zeros((len(y), 1)), cdf, np.ones((len(y), 1))])
    prob = np.diff(padded, axis=1)
    assert prob.shape[1] == levels
    return -np.log(prob[np.arange(len(y)), y]).sum()


def negative_binomial_loglik(params, X, counts):
    """Log-likelihood of a count regression with a log link and dispersion alpha."""
    beta, alpha = params[:-1], np.exp(params[-1])
    mu = np.exp(X.dot(beta))
    r = 1.0 / alpha
    ll = gammaln(counts + r) - gammaln(r) - gammaln(counts + 1)
    ll += r * np.log(r / (r + mu)) + counts * np.log(mu / (r + mu))
    return ll.sum()


def weibull_censored(params, t, observed):
    """Weibull log-likelihood where some of the times are censored on the right."""
    shape, scale = np.exp(params)
    z = t / scale
    log_hazard = np.log(shape / scale) + (shape - 1) * np.log(z)
    log_survival = -(z**shape)
    contributions = np.where(observed, log_hazard + log_survival, log_survival)
    return np.sum(contributions)


def dirichlet_multinomial(log_alpha, counts):
    """Compound log-likelihood of rows of counts under one Dirichlet prior."""
    alpha = np.exp(log_alpha)
    total = alpha.sum()
    n = counts.sum(axis=1)
    out = 0.0
    for row, n_row in zip(counts, n):
        out += gammaln(total) - gammaln(n_row + total)
        out += np.sum(gammaln(row + alpha) - gammaln(alpha))
    return out


def hmm_forward(params, obs, n_states=2):
    """Log-likelihood of a Gaussian hidden Markov model by the forward recursion."""
    log_init = params["init"] - logsumexp(params["init"])
    log_trans = params["trans"] - logsumexp(params["trans"], axis=1, keepdims=True)
    mean, log_sd = params["mean"], params["log_sd"]

    def log_emission(value):
        return -0.5 * ((value - mean) / np.exp(log_sd)) ** 2 - log_sd - 0.9189385332046727

    log_alpha = log_init + log_emission(obs[0])
    for value in obs[1:]:
        step = [logsumexp(log_alpha + log_trans[:, j]) for j in range(n_states)]
        log_alpha = np.array(step) + log_emission(value)
    return logsumexp(log_alpha)


def weighted_correlation(x, y, w):
    """Pearson's correlation with observation weights."""

    def wmean(a):
        return np.average(a, weights=w)

    xm, ym = x - wmean(x), y - wmean(y)
    return wmean(xm * ym) / np.sqrt(wmean(xm**2) * wmean(ym**2))


def multivariate_t_logpdf(x, mu, scale_tril, df=5.0):
    """Log density of rows under a multivariate t with a given lower factor."""
    d = x.shape[-1]
    scale = scale_tril @ scale_tril.T
    dev = x - mu
    maha = np.einsum("ij,jk,ik->i", dev, np.linalg.inv(scale), dev)
    _, logdet = np.linalg.slogdet(scale)
    const = gammaln(0.5 * (df + d)) - gammaln(0.5 * df) - 0.5 * d * np.log(df * np.pi)
    return np.mean(const - 0.5 * logdet - 0.5 * (df + d) * np.log1p(maha / df))


def local_linear_smoother(x0, x, y, h):
    """Local linear regression estimates at the points x0."""
    fitted = np.zeros(len(x0))
    for i, point in enumerate(x0):
        w = np.exp(-0.5 * ((x - point) / h) ** 2)
        B = np.column_stack((np.ones_like(x), x - point))
        A = (B * w[:, None]).T @ B
        b = (B * w[:, None]).T @ y
        fitted[i] = np.linalg.solve(A, b)[0]
    return fitted


def zero_inflated_poisson(params, counts):
    """Negative mean log-likelihood of zero-inflated counts."""
    logit_pi, log_rate = params
    pi = 1.0 / (1.0 + np.exp(-logit_pi))
    rate = np.exp(log_rate)
    loglik = np.log(1 - pi) - rate + counts * log_rate - gammaln(counts + 1.0)
    is_zero = counts == 0
    loglik[is_zero] = np.log(pi + (1 - pi) * np.exp(-rate))
    return -loglik.mean()


def _rng():
    return np.random.default_rng(11)


def _mixture():
    rng = _rng()
    return np.r_[0.1, -0.2, 0.3, -1.0, 0.2, 1.5, -0.1, 0.2, 0.0], rng.normal(size=40)


def _regression(n=20, p=3):
    rng = _rng()
    X = rng.normal(size=(n, p))
    return X, X @ np.arange(1.0, p + 1) + rng.standard_t(2, size=n)


def _huber():
    X, y = _regression()
    return np.array([0.8, 2.1, 2.9]), X, y


def _survival():
    rng = _rng()
    X = rng.normal(size=(15, 2))
    return np.array([0.3, -0.5]), X, rng.exponential(size=15), rng.integers(0, 2, size=15)


def _ordinal():
    rng = _rng()
    params = np.array([0.5, -0.3, -1.0, 0.1, 0.2])
    return params, rng.normal(size=(25, 2)), rng.integers(0, 4, size=25)


def _counts():
    rng = _rng()
    X = np.column_stack([np.ones(18), rng.normal(size=18)])
    return np.array([0.7, 0.2, -0.4]), X, rng.poisson(2.0, size=18).astype(float)


def _weibull():
    rng = _rng()
    return np.array([0.2, 0.4]), rng.weibull(1.5, size=20) + 0.05, rng.random(20) < 0.7


def _hmm():
    params = {
        "init": np.array([0.1, -0.1]),
        "trans": np.array([[1.0, -0.5], [0.2, 0.9]]),
        "mean": np.array([-1.0, 1.2]),
        "log_sd": np.array([0.0, 0.1]),
    }
    return params, _rng().normal(size=12)


def _student():
    rng = _rng()
    L = np.tril(rng.normal(size=(3, 3)) * 0.2) + np.eye(3)
    return rng.normal(size=(8, 3)), rng.normal(size=3), L


def _gp():
    rng = _rng()
    return np.array([0.1, -0.2, -1.0]), rng.normal(size=(8, 2)), rng.normal(size=8)


def _smoother():
    rng = _rng()
    x = np.sort(rng.random(20))
    return np.linspace(0.2, 0.8, 4), x, np.sin(4 * x), np.array(0.2)


CASES = [
    (gaussian_mixture_loglik, _mixture, 0),
    (ridge_coefficients, _regression, 0),
    (huber_loss, _huber, 0),
    (ar2_loglik, lambda: (np.array([0.1, 0.5, -0.2, 0.0]), _rng().normal(size=30)), 0),
    (median_absolute_deviation, lambda: (_rng().normal(size=15),), 0),
    (trimmed_mean, lambda: (_rng().normal(size=20),), 0),
    (winsorized_variance, lambda: (_rng().normal(size=16),), 0),
    (kernel_density, lambda: (np.linspace(-1, 1, 5), _rng().normal(size=20)), 1),
    (gp_log_marginal, _gp, 0),
    (cox_partial_loglik, _survival, 0),
    (ordinal_logit, _ordinal, 0),
    (negative_binomial_loglik, _counts, 0),
    (weibull_censored, _weibull, 0),
    (
        dirichlet_multinomial,
        lambda: (np.array([0.1, 0.5, -0.3]), _rng().integers(0, 9, size=(5, 3)).astype(float)),
        0,
    ),
    (hmm_forward, _hmm, 0),
    (weighted_correlation, lambda: (*_rng().normal(size=(2, 12)), _rng().random(12) + 0.1), 0),
    (multivariate_t_logpdf, _student, 2),
    (local_linear_smoother, _smoother, 3),
    (zero_inflated_poisson, lambda: (np.array([-0.5, 0.6]), np.arange(12) % 5 * 1.0), 0),
]
