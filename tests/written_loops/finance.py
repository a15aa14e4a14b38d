"""Prices on trees and paths, yields, loans."""

import numpy as np

from tests.written_loops.program import Program


def american_put_tree(S, K, r, sigma, T=1.0, N=30):
    """Cox, Ross and Rubinstein, node by node."""
    dt = T / N
    u = np.exp(sigma * np.sqrt(dt))
    d = 1 / u
    p = (np.exp(r * dt) - d) / (u - d)
    disc = np.exp(-r * dt)
    C = np.zeros(N + 1)
    for j in range(0, N + 1):
        C[j] = max(0.0, K - S * u**j * d ** (N - j))
    for i in range(N - 1, -1, -1):
        for j in range(0, i + 1):
            price = S * u**j * d ** (i - j)
            C[j] = disc * (p * C[j + 1] + (1 - p) * C[j])
            C[j] = max(C[j], K - price)
    return C[0]


def heston_call(params, Z1, Z2, S0=100.0, K=100.0, r=0.02, T=1.0):
    """A call on paths whose variance moves too."""
    kappa, theta, xi, rho, v0 = params
    steps, paths = Z1.shape
    dt = T / steps
    S = np.full(paths, S0)
    v = np.full(paths, v0)
    for t in range(steps):
        vp = np.maximum(v, 0)
        W1 = Z1[t]
        W2 = rho * W1 + np.sqrt(1 - rho**2) * Z2[t]
        S = S * np.exp((r - 0.5 * vp) * dt + np.sqrt(vp * dt) * W1)
        v = v + kappa * (theta - vp) * dt + xi * np.sqrt(vp * dt) * W2
    return np.exp(-r * T) * np.mean(np.maximum(S - K, 0))


def longstaff_schwartz(S0, sigma, Z, K=1.1, r=0.06, dt=1.0):
    """An American put by regression on simulated paths."""
    n_steps, n_paths = Z.shape
    paths = [np.full(n_paths, 1.0) * S0]
    for t in range(n_steps):
        paths.append(paths[-1] * np.exp((r - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * Z[t]))
    S = np.stack(paths)
    payoff = np.maximum(K - S[-1], 0)
    for t in range(n_steps - 1, 0, -1):
        payoff = payoff * np.exp(-r * dt)
        w = np.where(S[t] < K, 1.0, 0.0)
        X = np.stack([np.ones(n_paths), S[t], S[t] ** 2], axis=1)
        beta = np.linalg.solve(X.T @ (w[:, None] * X), X.T @ (w * payoff))
        continuation = X @ beta
        exercise = K - S[t]
        payoff = np.where((w > 0) & (exercise > continuation), exercise, payoff)
    return np.exp(-r * dt) * np.mean(payoff)


def bootstrap_discounts(swap_rates):
    """Discount factors from par swap rates, each from those before; a price made of them."""
    discounts = []
    for rate in swap_rates:
        annuity = sum(discounts)
        discounts.append((1 - rate * annuity) / (1 + rate))
    discounts = np.array(discounts)
    zero_rates = -np.log(discounts) / np.arange(1, len(discounts) + 1)
    return np.sum(zero_rates**2) + 0.05 * np.sum(discounts)


def cox_ingersoll_ross(a, b, sigma, shocks, r0=0.03, dt=0.1):
    """The price of a bond on paths of a rate that is reflected at zero."""
    n_steps = shocks.shape[1]
    total = 0.0
    for path in shocks:
        r = r0
        integral = 0.0
        for k in range(n_steps):
            integral += r * dt
            r = r + a * (b - r) * dt + sigma * np.sqrt(r * dt) * path[k]
            if r < 0:
                r = -r
        total += np.exp(-integral)
    return total / len(shocks)


def bond_yield(price, coupon, years=10, face=100.0):
    """The yield to maturity, by Newton; returns when the price is met."""
    y = 0.05
    for _ in range(100):
        value = 0.0
        slope = 0.0
        for t in range(1, years + 1):
            cash = coupon
            if t == years:
                cash += face
            value += cash / (1 + y) ** t
            slope -= t * cash / (1 + y) ** (t + 1)
        error = value - price
        if abs(error) < 1e-11:
            return y
        y = y - error / slope
    raise ValueError("the yield was not found")


def loan_interest(principal, rate, payment):
    """The interest paid until a loan is paid back."""
    balance = principal
    paid = 0.0
    months = 0
    while balance > 0:
        interest = balance * rate / 12
        paid += interest
        balance = balance + interest - payment
        months += 1
        if months > 600:
            raise RuntimeError("the loan is never paid back")
    return paid + balance


def american_put_on_a_list(spot, strike, rate, volatility, steps=30):
    """An American put by backward induction, on a list of the values of a tree."""
    dt = 1.0 / steps
    up = np.exp(volatility * np.sqrt(dt))
    p = (np.exp(rate * dt) - 1 / up) / (up - 1 / up)
    values = [max(strike - spot * up ** (2 * j - steps), 0.0) for j in range(steps + 1)]
    for i in range(steps - 1, -1, -1):
        for j in range(i + 1):
            held = np.exp(-rate * dt) * (p * values[j + 1] + (1 - p) * values[j])
            values[j] = max(held, strike - spot * up ** (2 * j - i))
    return values[0]


_random = np.random.default_rng(6)

PROGRAMS = [
    Program(american_put_tree, (100.0, 105.0, 0.05, 0.25), (0, 1, 2, 3)),
    Program(american_put_on_a_list, (100.3, 105.0, 0.05, 0.25), (0, 1, 2, 3)),
    Program(
        heston_call,
        (
            np.array([1.5, 0.04, 0.3, -0.6, 0.05]),
            _random.normal(size=(20, 50)),
            _random.normal(size=(20, 50)),
        ),
        (0,),
    ),
    Program(longstaff_schwartz, (1.0, 0.2, _random.normal(size=(5, 60))), (0, 1)),
    Program(bootstrap_discounts, (np.linspace(0.02, 0.035, 10),), (0,)),
    Program(cox_ingersoll_ross, (0.5, 0.04, 0.1, _random.normal(size=(6, 15))), (0, 1, 2)),
    Program(bond_yield, (95.0, 4.0), (0, 1)),
    Program(loan_interest, (1000.0, 0.06, 87.5), (0, 1, 2)),
]
