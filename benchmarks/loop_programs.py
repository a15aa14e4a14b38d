"""Programs with loops as a person writes them, by hand for numba, and with scans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

RANDOM = np.random.default_rng(4)


@dataclass
class Row:
    """A program.

    Parameters
    ----------
    written: with Python's loops, of the arguments; the gradient is by the first.
    by_hand: the same for numba, where it is not what is written.
    scanned: the same with a scan; it takes NumPy's or JAX's functions, and the scan, first.
    arguments: of all three.
    """

    written: Callable[..., Any]
    by_hand: Callable[..., Any]
    scanned: Callable[..., Any]
    arguments: tuple[Any, ...]


# -- a few numbers from step to step ---------------------------------------------------------------


def lorenz(p):
    """Return where Lorenz's system is after a thousand steps of Euler's method."""
    x, y, z = p[0], p[1], p[2]
    for _ in range(1000):
        dx, dy, dz = 10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z
        x, y, z = x + 1e-3 * dx, y + 1e-3 * dy, z + 1e-3 * dz
    return x + y + z


def lorenz_scanned(xp, scan, p):
    """Return the same."""

    def step(state, _):
        x, y, z = state
        dx, dy, dz = 10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z
        return (x + 1e-3 * dx, y + 1e-3 * dy, z + 1e-3 * dz), None

    (x, y, z), _ = scan(step, (p[0], p[1], p[2]), None, length=1000)
    return x + y + z


def kepler(p):
    """Return the energy of a planet's last place of two thousand leapfrog steps."""
    x, y, u, v = p[0], p[1], p[2], p[3]
    for _ in range(2000):
        r = (x * x + y * y) ** 1.5
        u, v = u - 0.005 * x / r, v - 0.005 * y / r
        x, y = x + 0.005 * u, y + 0.005 * v
    return 0.5 * (u * u + v * v) - 1.0 / np.sqrt(x * x + y * y)


def kepler_scanned(xp, scan, p):
    """Return the same."""

    def step(state, _):
        x, y, u, v = state
        r = (x * x + y * y) ** 1.5
        u, v = u - 0.005 * x / r, v - 0.005 * y / r
        return (x + 0.005 * u, y + 0.005 * v, u, v), None

    (x, y, u, v), _ = scan(step, (p[0], p[1], p[2], p[3]), None, length=2000)
    return 0.5 * (u * u + v * v) - 1.0 / xp.sqrt(x * x + y * y)


def kalman(p, seen):
    """Return the log-likelihood of a local level, by a filter."""
    q, r = np.exp(p[0]), np.exp(p[1])
    m, v, total = 0.0, 10.0, 0.0
    for y in seen:
        ahead = v + q
        s = ahead + r
        gain = ahead / s
        e = y - m
        m, v = m + gain * e, (1.0 - gain) * ahead
        total += np.log(s) + e * e / s
    return -0.5 * total


def kalman_scanned(xp, scan, p, seen):
    """Return the same."""
    q, r = xp.exp(p[0]), xp.exp(p[1])

    def step(state, y):
        m, v, total = state
        ahead = v + q
        s = ahead + r
        gain = ahead / s
        e = y - m
        return (m + gain * e, (1.0 - gain) * ahead, total + xp.log(s) + e * e / s), None

    (_, _, total), _ = scan(step, (0.0, 10.0, 0.0), seen)
    return -0.5 * total


def garch(p, returns):
    """Return half the deviance of a GARCH(1, 1)."""
    v, total = p[3], 0.0
    for x in returns:
        v = p[0] + p[1] * x * x + p[2] * v
        total += np.log(v) + x * x / v
    return 0.5 * total


def garch_scanned(xp, scan, p, returns):
    """Return the same."""

    def step(state, x):
        v, total = state
        v = p[0] + p[1] * x * x + p[2] * v
        return (v, total + xp.log(v) + x * x / v), None

    (_, total), _ = scan(step, (p[3], 0.0), returns)
    return 0.5 * total


def polynomial(x, coefficients):
    """Return a polynomial's value at a number, by Horner's rule."""
    y = 0.0
    for c in coefficients:
        y = y * x + c
    return y


def polynomial_scanned(xp, scan, x, coefficients):
    """Return the same."""
    return scan(lambda y, c: (y * x + c, None), 0.0, coefficients)[0]


# -- arrays from step to step ----------------------------------------------------------------------


def forward(logits, seen):
    """Return the log-likelihood of a hidden Markov model of eight states."""
    weights = np.exp(logits)
    alpha = np.full(8, 1.0 / 8.0)
    total = 0.0
    for row in seen:
        alpha = (alpha @ weights) * row
        scale = np.sum(alpha)
        alpha = alpha / scale
        total += np.log(scale)
    return total


def forward_by_hand(logits, seen):
    """Return the same, with loops over states."""
    weights = np.exp(logits)
    alpha, new = np.full(8, 1.0 / 8.0), np.empty(8)
    total = 0.0
    for t in range(seen.shape[0]):
        scale = 0.0
        for j in range(8):
            one = 0.0
            for i in range(8):
                one += alpha[i] * weights[i, j]
            new[j] = one * seen[t, j]
            scale += new[j]
        for j in range(8):
            alpha[j] = new[j] / scale
        total += np.log(scale)
    return total


def forward_scanned(xp, scan, logits, seen):
    """Return the same."""
    weights = xp.exp(logits)

    def step(state, row):
        alpha, total = state
        alpha = (alpha @ weights) * row
        scale = xp.sum(alpha)
        return (alpha / scale, total + xp.log(scale)), None

    (_, total), _ = scan(step, (xp.full(8, 1.0 / 8.0), 0.0), seen)
    return total


def heat(u):
    """Return what is left of a temperature on a rod after five hundred steps."""
    for _ in range(500):
        u = u.copy()
        u[1:-1] += 0.2 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return np.sum(u * u)


def heat_by_hand(u):
    """Return the same, with loops over cells."""
    u, new = u.copy(), u.copy()
    n = len(u)
    for _ in range(500):
        for i in range(1, n - 1):
            new[i] = u[i] + 0.2 * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        u, new = new, u
        new[0], new[n - 1] = u[0], u[n - 1]
    total = 0.0
    for i in range(n):
        total += u[i] * u[i]
    return total


def heat_scanned(xp, scan, u):
    """Return the same."""

    def step(u, _):
        inner = u[1:-1] + 0.2 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        return xp.concatenate([u[:1], inner, u[-1:]]), None

    u, _ = scan(step, u, None, length=500)
    return xp.sum(u * u)


def bodies(x):
    """Return the energy of motion of eight bodies after a hundred steps."""
    v = np.zeros((8, 3))
    for _ in range(100):
        d = x[None, :, :] - x[:, None, :]
        r = (np.sum(d * d, axis=2) + 0.01) ** -1.5
        v = v + 0.001 * np.sum(d * r[:, :, None], axis=1)
        x = x + 0.001 * v
    return 0.5 * np.sum(v * v)


def bodies_by_hand(x):
    """Return the same, with loops over bodies."""
    x, v = x.copy(), np.zeros((8, 3))
    for _ in range(100):
        for i in range(8):
            a = b = c = 0.0
            for j in range(8):
                d, e, f = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
                r = (d * d + e * e + f * f + 0.01) ** -1.5
                a, b, c = a + d * r, b + e * r, c + f * r
            v[i, 0] += 0.001 * a
            v[i, 1] += 0.001 * b
            v[i, 2] += 0.001 * c
        for i in range(8):
            for k in range(3):
                x[i, k] += 0.001 * v[i, k]
    total = 0.0
    for i in range(8):
        for k in range(3):
            total += v[i, k] * v[i, k]
    return 0.5 * total


def bodies_scanned(xp, scan, x):
    """Return the same."""

    def step(state, _):
        x, v = state
        d = x[None, :, :] - x[:, None, :]
        r = (xp.sum(d * d, axis=2) + 0.01) ** -1.5
        v = v + 0.001 * xp.sum(d * r[:, :, None], axis=1)
        return (x + 0.001 * v, v), None

    (_, v), _ = scan(step, (x, xp.zeros((8, 3))), None, length=100)
    return 0.5 * xp.sum(v * v)


def heston(p, first, second):
    """Return the price of a call on paths whose variance moves, too."""
    dt = 1.0 / first.shape[0]
    price, v = np.full(first.shape[1], 100.0), np.full(first.shape[1], p[4])
    for t in range(first.shape[0]):
        low = np.maximum(v, 0)
        noise = p[3] * first[t] + np.sqrt(1 - p[3] ** 2) * second[t]
        price = price * np.exp((0.02 - 0.5 * low) * dt + np.sqrt(low * dt) * first[t])
        v = v + p[0] * (p[1] - low) * dt + p[2] * np.sqrt(low * dt) * noise
    return np.exp(-0.02) * np.mean(np.maximum(price - 100.0, 0))


def heston_by_hand(p, first, second):
    """Return the same, path by path in each step."""
    steps, count = first.shape
    dt = 1.0 / steps
    price, v = np.full(count, 100.0), np.full(count, p[4])
    other = np.sqrt(1 - p[3] ** 2)
    for t in range(steps):
        for i in range(count):
            low = max(v[i], 0.0)
            root = np.sqrt(low * dt)
            noise = p[3] * first[t, i] + other * second[t, i]
            price[i] *= np.exp((0.02 - 0.5 * low) * dt + root * first[t, i])
            v[i] += p[0] * (p[1] - low) * dt + p[2] * root * noise
    total = 0.0
    for i in range(count):
        total += max(price[i] - 100.0, 0.0)
    return np.exp(-0.02) * total / count


def heston_scanned(xp, scan, p, first, second):
    """Return the same."""
    dt = 1.0 / first.shape[0]
    ones = xp.ones(first.shape[1])

    def step(state, rows):
        price, v = state
        one, two = rows
        low = xp.maximum(v, 0)
        noise = p[3] * one + xp.sqrt(1 - p[3] ** 2) * two
        price = price * xp.exp((0.02 - 0.5 * low) * dt + xp.sqrt(low * dt) * one)
        return (price, v + p[0] * (p[1] - low) * dt + p[2] * xp.sqrt(low * dt) * noise), None

    (price, _), _ = scan(step, (100.0 * ones, p[4] * ones), (first, second))
    return xp.exp(-0.02) * xp.mean(xp.maximum(price - 100.0, 0))


ROWS = {
    "lorenz": Row(lorenz, lorenz, lorenz_scanned, (np.array([1.0, 0.5, 20.0]),)),
    "kepler": Row(kepler, kepler, kepler_scanned, (np.array([1.0, 0.0, 0.1, 1.1]),)),
    "kalman": Row(
        kalman, kalman, kalman_scanned, (np.array([0.1, -0.3]), RANDOM.normal(size=1000))
    ),
    "garch": Row(
        garch, garch, garch_scanned, (np.array([0.1, 0.1, 0.8, 1.0]), RANDOM.normal(size=2000))
    ),
    "polynomial": Row(polynomial, polynomial, polynomial_scanned, (0.9, RANDOM.normal(size=1000))),
    "forward": Row(
        forward,
        forward_by_hand,
        forward_scanned,
        (RANDOM.normal(size=(8, 8)), RANDOM.uniform(0.1, 1, (500, 8))),
    ),
    "heat": Row(heat, heat_by_hand, heat_scanned, (RANDOM.normal(size=1000),)),
    "bodies": Row(bodies, bodies_by_hand, bodies_scanned, (RANDOM.normal(size=(8, 3)),)),
    "heston": Row(
        heston,
        heston_by_hand,
        heston_scanned,
        (np.array([1.5, 0.04, 0.3, -0.6, 0.05]), *RANDOM.normal(size=(2, 50, 10_000))),
    ),
}
