"""Filters, hidden states and samplers: time series step by step."""

import numpy as np

from tests.written_loops.program import Program


def kalman_constant(z, Q, R):
    """A voltage that hardly changes, seen through noise: the example of SciPy's cookbook."""
    n_iter = len(z)
    sz = (n_iter,)
    xhat = np.zeros(sz)
    P = np.zeros(sz)
    xhatminus = np.zeros(sz)
    Pminus = np.zeros(sz)
    K = np.zeros(sz)

    xhat[0] = 0.0
    P[0] = 1.0

    for k in range(1, n_iter):
        # time update
        xhatminus[k] = xhat[k - 1]
        Pminus[k] = P[k - 1] + Q

        # measurement update
        K[k] = Pminus[k] / (Pminus[k] + R)
        xhat[k] = xhatminus[k] + K[k] * (z[k] - xhatminus[k])
        P[k] = (1 - K[k]) * Pminus[k]
    return np.sum((xhat - 0.4) ** 2) + P[-1]


def kalman_likelihood(theta, ys, dt=0.1):
    """Position and velocity from positions; log-likelihood of what was seen."""
    q, r = np.exp(theta[0]), np.exp(theta[1])
    F = np.array([[1.0, dt], [0.0, 1.0]])
    H = np.array([[1.0, 0.0]])
    Q = q * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
    x = np.zeros(2)
    P = np.eye(2)
    loglik = 0.0
    for y in ys:
        x = F @ x
        P = F @ P @ F.T + Q
        S = (H @ P @ H.T)[0, 0] + r
        innovation = y - (H @ x)[0]
        K = (P @ H.T / S)[:, 0]
        x = x + K * innovation
        P = (np.eye(2) - np.outer(K, H[0])) @ P
        loglik += -0.5 * (np.log(2 * np.pi * S) + innovation**2 / S)
    return loglik


def particle_filter(drift, ys, noise, starts):
    """Particles that are moved, weighted and drawn again by their weights."""
    particles = starts
    n = len(starts)
    loglik = 0.0
    for t in range(len(ys)):
        particles = particles + drift * np.sin(particles) + noise[t]
        weights = np.exp(-0.5 * (ys[t] - particles) ** 2)
        loglik += np.log(np.mean(weights))
        weights = weights / np.sum(weights)
        positions = (np.arange(n) + 0.5) / n
        cumulative = np.cumsum(weights)
        cumulative[-1] = 1.0
        i, j = 0, 0
        indexes = np.zeros(n, dtype=int)
        while i < n:
            if positions[i] < cumulative[j]:
                indexes[i] = j
                i += 1
            else:
                j += 1
        particles = particles[indexes]
    return loglik


def hmm_forward(A, B, pi, observations):
    """Log-likelihood by the scaled forward pass."""
    alpha = pi * B[:, observations[0]]
    scale = np.sum(alpha)
    alpha = alpha / scale
    logp = np.log(scale)
    for o in observations[1:]:
        alpha = (alpha @ A) * B[:, o]
        scale = np.sum(alpha)
        alpha = alpha / scale
        logp += np.log(scale)
    return logp


def viterbi(logA, logB, logpi, obs):
    """The logarithm of the likeliest path's probability."""
    n_states = len(logpi)
    T = len(obs)
    delta = np.zeros((T, n_states))
    for s in range(n_states):
        delta[0, s] = logpi[s] + logB[s, obs[0]]
    for t in range(1, T):
        for s in range(n_states):
            best = -np.inf
            for r in range(n_states):
                cand = delta[t - 1, r] + logA[r, s]
                if cand > best:
                    best = cand
            delta[t, s] = best + logB[s, obs[t]]
    best_last = delta[T - 1, 0]
    for s in range(1, n_states):
        if delta[T - 1, s] > best_last:
            best_last = delta[T - 1, s]
    return best_last


def holt_smoothing(params, series):
    """Level and trend; the error of forecasts one step ahead."""
    alpha, beta = params
    level, trend = series[0], series[1] - series[0]
    sse = 0.0
    for y in series[2:]:
        forecast = level + trend
        sse += (y - forecast) ** 2
        new_level = alpha * y + (1 - alpha) * forecast
        trend = beta * (new_level - level) + (1 - beta) * trend
        level = new_level
    return sse


def garch_likelihood(params, returns):
    """Negative log-likelihood of GARCH(1, 1)."""
    omega, alpha, beta = params
    T = len(returns)
    sigma2 = np.empty(T)
    for t in range(T):
        if t == 0:
            sigma2[t] = np.var(returns)
        else:
            sigma2[t] = omega + alpha * returns[t - 1] ** 2 + beta * sigma2[t - 1]
    return 0.5 * np.sum(np.log(2 * np.pi * sigma2) + returns**2 / sigma2)


def cusum_detection(x, drift, threshold=3.0):
    """The sums when a change is noticed, up or down, or at the end."""
    gp, gn = 0.0, 0.0
    found = -1
    for i in range(1, len(x)):
        s = x[i] - x[i - 1]
        gp = max(0.0, gp + s - drift)
        gn = max(0.0, gn - s - drift)
        if gp > threshold or gn > threshold:
            found = i
            break
    return gp + 2 * gn + 0.001 * found


def welford(data):
    """Variance and third moment in one pass."""
    count = 0
    mean = 0.0
    M2 = 0.0
    M3 = 0.0
    for value in data:
        n1 = count
        count += 1
        delta = value - mean
        delta_n = delta / count
        term = delta * delta_n * n1
        mean += delta_n
        M3 += term * delta_n * (count - 2) - 3 * delta_n * M2
        M2 += term
    variance = M2 / (count - 1)
    skewness = np.sqrt(count) * M3 / M2**1.5
    return variance + skewness


def metropolis(scale, steps, uniforms):
    """A random walk that is accepted or not, for given draws; its mean square."""

    def log_density(x):
        return -0.5 * x * x / scale**2

    x = 0.5
    logp = log_density(x)
    total = 0.0
    accepted = 0
    for step, u in zip(steps, uniforms):
        proposal = x + step * scale
        logp_new = log_density(proposal)
        if np.log(u) < logp_new - logp:
            x = proposal
            logp = logp_new
            accepted += 1
        total += x**2
    return total / len(steps)


def mixture_em(data, start, max_iter=200, tol=1e-10):
    """Two bells by expectation and maximisation, until nothing changes."""
    mu1, mu2 = start
    pi = 0.5
    old = -np.inf
    for it in range(max_iter):
        p1 = pi * np.exp(-0.5 * (data - mu1) ** 2)
        p2 = (1 - pi) * np.exp(-0.5 * (data - mu2) ** 2)
        ll = np.sum(np.log(p1 + p2))
        if ll - old < tol:
            break
        old = ll
        resp = p1 / (p1 + p2)
        pi = np.mean(resp)
        mu1 = np.sum(resp * data) / np.sum(resp)
        mu2 = np.sum((1 - resp) * data) / np.sum(1 - resp)
    return mu1 + 2 * mu2 + 3 * pi


_random = np.random.default_rng(2)
_A = np.array([[0.7, 0.2, 0.1], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5]])
_B = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
_pi = np.array([0.5, 0.3, 0.2])
_obs = np.array([0, 1, 2, 2, 1, 0, 0, 2, 1, 1])
_returns = 0.01 * _random.normal(size=40)

PROGRAMS = [
    Program(kalman_constant, (0.4 + 0.1 * _random.normal(size=30), 1e-3, 0.01), (0, 1, 2)),
    Program(
        kalman_likelihood,
        (np.array([-0.5, -2.0]), np.cumsum(_random.normal(size=25)) * 0.1),
        (0, 1),
    ),
    Program(
        particle_filter,
        (
            0.3,
            _random.normal(size=6),
            0.5 * _random.normal(size=(6, 20)),
            _random.normal(size=20),
        ),
        (0, 1),
    ),
    Program(hmm_forward, (_A, _B, _pi, _obs), (0, 1, 2)),
    Program(viterbi, (np.log(_A), np.log(_B), np.log(_pi), _obs), (0, 1, 2)),
    Program(holt_smoothing, (np.array([0.4, 0.2]), np.cumsum(_random.normal(size=20))), (0, 1)),
    Program(garch_likelihood, (np.array([1e-5, 0.1, 0.8]), _returns), (0,)),
    Program(
        cusum_detection,
        (np.concatenate([0.3 * _random.normal(size=15), np.arange(10.0)]), 0.05),
        (0, 1),
    ),
    Program(welford, (_random.gamma(2.0, size=25),), (0,)),
    Program(metropolis, (1.2, _random.normal(size=30), _random.uniform(size=30)), (0,)),
    Program(
        mixture_em,
        (
            np.concatenate([_random.normal(-1.5, 1, 20), _random.normal(2.0, 1, 20)]),
            np.array([-1.0, 1.0]),
        ),
        (0,),
    ),
]
