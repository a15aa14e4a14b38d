"""Ordinary functions of finance: options, bonds, portfolios, volatility."""

from dataclasses import dataclass

import numpy as np
from scipy.special import erf, ndtr


def norm_cdf(x):
    """Standard normal distribution function."""
    return 0.5 * (1 + erf(x / np.sqrt(2)))


def black_scholes(S, K, T, r, sigma, kind="call"):
    """European option values."""
    d1 = (np.log(S / K) + (r + 0.5 * sigma**2) * T) / (sigma * np.sqrt(T))
    d2 = d1 - sigma * np.sqrt(T)
    call = S * norm_cdf(d1) - K * np.exp(-r * T) * norm_cdf(d2)
    if kind == "call":
        return call
    elif kind == "put":
        return call - S + K * np.exp(-r * T)
    raise ValueError(kind)


def option_book(S, strikes, maturities, r=0.02, sigma=0.25):
    """Value of a book of puts on one underlying."""
    values = black_scholes(S, strikes, maturities, r, sigma, kind="put")
    return np.dot(values, np.linspace(1, 2, len(strikes)))


def binomial_american_put(params, steps=12):
    """American put on a recombining tree, values overwritten backwards."""
    S, K, T, r, sigma = params
    dt = T / steps
    u = np.exp(sigma * np.sqrt(dt))
    d = 1 / u
    p = (np.exp(r * dt) - d) / (u - d)
    disc = np.exp(-r * dt)
    j = np.arange(steps + 1)
    values = np.maximum(K - S * u ** (steps - 2 * j), 0.0)
    for n in range(steps - 1, -1, -1):
        values[: n + 1] = disc * (p * values[: n + 1] + (1 - p) * values[1 : n + 2])
        exercise = K - S * u ** (n - 2 * j[: n + 1])
        values[: n + 1] = np.maximum(values[: n + 1], exercise)
    return values[0]


@dataclass
class HestonParameters:
    """The five parameters of the model."""

    kappa: float
    theta: float
    xi: float
    rho: float
    v0: float


def heston_call(params, z1, z2, S0=100.0, K=105.0, r=0.01, T=1.0):
    """Call value by Euler paths with full truncation, given the normal draws."""
    steps, paths = z1.shape
    dt = T / steps
    p = HestonParameters(*params)
    zv = p.rho * z1 + np.sqrt(1 - p.rho**2) * z2
    log_s = np.full(paths, np.log(S0))
    v = np.full(paths, p.v0)
    for i in range(steps):
        v_plus = np.maximum(v, 0)
        log_s += (r - 0.5 * v_plus) * dt + np.sqrt(v_plus * dt) * z1[i]
        v += p.kappa * (p.theta - v_plus) * dt + p.xi * np.sqrt(v_plus * dt) * zv[i]
    payoff = np.maximum(np.exp(log_s) - K, 0.0)
    return np.exp(-r * T) * payoff.mean()


def bond_price(yields, coupons, times, face=100.0):
    """Prices of bonds from a zero curve, interpolating between the knots."""
    knots = np.array([0.5, 1.0, 2.0, 5.0, 10.0])
    prices = []
    for coupon, maturity in coupons:
        t = times[times <= maturity]
        z = np.interp(t, knots, yields)
        discount = np.exp(-z * t)
        prices.append(face * (coupon * 0.5 * discount.sum() + discount[-1]))
    return np.array(prices)


def bond_yield(price, coupon=0.05, years=5, face=100.0, iterations=12):
    """Yield to maturity by Newton's method from the coupon rate."""
    t = np.arange(1, years + 1)
    flows = np.full(years, coupon * face)
    flows[-1] += face
    y = coupon
    for _ in range(iterations):
        discount = (1 + y) ** -t
        value = (flows * discount).sum()
        slope = -(t * flows * discount).sum() / (1 + y)
        y = y - (value - price) / slope
    return y


def npv(rate, cashflows):
    """Net present value, an unrolled Horner scheme from the far end."""
    total = 0.0
    for c in cashflows[::-1]:
        total = total / (1 + rate) + c
    return total


def nelson_siegel_fit(params, maturities, observed, weights=None):
    """Weighted squared error of a Nelson-Siegel curve."""
    b0, b1, b2, tau = params
    x = maturities / tau
    loading = -np.expm1(-x) / x
    curve = b0 + b1 * loading + b2 * (loading - np.exp(-x))
    error = curve - observed
    if weights is not None:
        error = error * np.sqrt(weights)
    return error @ error


def portfolio_utility(w, returns, aversion=3.0):
    """Mean-variance utility of a long-only portfolio."""
    weights = np.abs(w) / np.abs(w).sum()
    mu = returns.mean(axis=0)
    cov = np.cov(returns, rowvar=False)
    variance = weights @ cov @ weights
    return mu @ weights - 0.5 * aversion * variance


def risk_parity_gap(w, returns):
    """Spread of the contributions to risk."""
    cov = np.cov(returns.T)
    marginal = cov @ w
    sigma = np.sqrt(w @ marginal)
    contribution = w * marginal / sigma
    return np.sum((contribution[:, None] - contribution[None, :]) ** 2)


def conditional_value_at_risk(w, scenarios, level=0.9):
    """Mean loss beyond the quantile of sampled losses."""
    losses = -scenarios @ w
    ordered = np.sort(losses)
    tail = int(np.ceil(level * len(ordered)))
    return ordered[tail:].mean()


def garch_loglik(params, returns):
    """Gaussian log-likelihood of GARCH(1,1)."""
    omega, alpha, beta = params
    n = len(returns)
    sigma2 = np.zeros(n)
    sigma2[0] = np.var(returns)
    for t in range(1, n):
        sigma2[t] = omega + alpha * returns[t - 1] ** 2 + beta * sigma2[t - 1]
    return -0.5 * np.sum(np.log(2 * np.pi) + np.log(sigma2) + returns**2 / sigma2)


def implied_volatility(price, S=100.0, K=110.0, T=0.5, r=0.01, iterations=10):
    """Volatility that explains a call's price, by Newton's method on vega."""
    sigma = 0.3
    for _ in range(iterations):
        d1 = (np.log(S / K) + (r + sigma**2 / 2) * T) / (sigma * np.sqrt(T))
        d2 = d1 - sigma * np.sqrt(T)
        model = S * ndtr(d1) - K * np.exp(-r * T) * ndtr(d2)
        vega = S * np.sqrt(T) * np.exp(-0.5 * d1**2) / np.sqrt(2 * np.pi)
        sigma = sigma - (model - price) / vega
    return sigma


def max_drawdown(log_returns):
    """Largest fall from a running peak."""
    wealth = np.exp(np.cumsum(log_returns))
    peak = np.maximum.accumulate(wealth)
    return np.max(1 - wealth / peak)


def realised_kernels(returns, lags=3):
    """Newey-West long-run variance and the annualised Sharpe ratio."""
    r = returns - returns.mean()
    n = r.shape[0]
    variance = (r**2).sum() / n
    for lag in range(1, lags + 1):
        weight = 1 - lag / (lags + 1)
        variance += 2 * weight * (r[lag:] * r[:-lag]).sum() / n
    sharpe = np.sqrt(252) * returns.mean() / np.sqrt(variance)
    return variance, sharpe


def _rng():
    return np.random.default_rng(31)


def _bonds():
    yields = np.array([0.01, 0.012, 0.015, 0.02, 0.025])
    return yields, ((0.03, 2.0), (0.05, 4.0), (0.01, 8.0)), np.arange(1, 21) * 0.5


def _curve():
    maturities = np.array([0.25, 0.5, 1, 2, 5, 10, 30])
    observed = np.array([0.01, 0.011, 0.013, 0.016, 0.02, 0.023, 0.025])
    return np.array([0.03, -0.02, 0.01, 1.5]), maturities, observed, np.arange(1.0, 8)


CASES = [
    (
        option_book,
        lambda: (np.array(100.0), np.array([90.0, 100.0, 110.0]), np.array([0.5, 1.0, 2.0])),
        0,
    ),
    (binomial_american_put, lambda: (np.array([100.0, 103.0, 1.0, 0.05, 0.3]),), 0),
    (
        heston_call,
        lambda: (np.array([1.5, 0.04, 0.3, -0.6, 0.05]), *_rng().normal(size=(2, 6, 20))),
        0,
    ),
    (bond_price, _bonds, 0),
    (bond_yield, lambda: (np.array(97.0),), 0),
    (npv, lambda: (np.array(0.07), np.array([-100.0, 30.0, 40.0, 50.0, 20.0])), 0),
    (nelson_siegel_fit, _curve, 0),
    (portfolio_utility, lambda: (np.array([0.2, 0.5, 0.3]), _rng().normal(size=(30, 3))), 0),
    (risk_parity_gap, lambda: (np.array([0.2, 0.5, 0.3]), _rng().normal(size=(30, 3))), 0),
    (
        conditional_value_at_risk,
        lambda: (np.array([0.4, 0.6]), _rng().normal(size=(25, 2))),
        0,
    ),
    (garch_loglik, lambda: (np.array([0.1, 0.1, 0.7]), _rng().normal(size=25)), 0),
    (implied_volatility, lambda: (np.array(4.2),), 0),
    (max_drawdown, lambda: (0.1 * _rng().normal(size=14),), 0),
    (realised_kernels, lambda: (0.01 + 0.1 * _rng().normal(size=20),), 0),
]
