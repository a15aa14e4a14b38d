"""Roots and minima: loops that go on until something is small enough."""

import math

import numpy as np

from tests.written_loops.program import Program


def newton_root(a, x0=1.0, tol=1e-12):
    """The cube root, by Newton."""

    def f(x):
        return x**3 - a

    def df(x):
        return 3 * x**2

    x = x0
    while abs(f(x)) > tol:
        x = x - f(x) / df(x)
    return x


def bisection(c, lo, hi, tol=1e-12):
    """Halve the interval, polish at the end."""

    def f(x):
        return math.exp(-x) - c * x

    a, b = lo, hi
    fa = f(a)
    while b - a > tol:
        mid = (a + b) / 2
        fm = f(mid)
        if fa * fm <= 0:
            b = mid
        else:
            a, fa = mid, fm
    x = (a + b) / 2
    # two steps of Newton's, so that the answer is smooth in c
    for _ in range(2):
        x = x - f(x) / (-math.exp(-x) - c)
    return x


def secant(a, x0=1.0, x1=2.0, tol=1e-13, maxiter=50):
    """The secant method, as in every course."""

    def f(x):
        return np.cos(x) - a * x

    q0, q1 = f(x0), f(x1)
    p0, p1 = x0, x1
    for itr in range(maxiter):
        if abs(q1 - q0) < 1e-300:
            break
        p = p1 - q1 * (p1 - p0) / (q1 - q0)
        if abs(p - p1) < tol:
            return p
        p0, q0 = p1, q1
        p1 = p
        q1 = f(p1)
    return p1


def golden_section(shift, a=0.0, b=3.0, tol=1e-7):
    """The smallest value on an interval."""

    def f(x):
        return (x - shift) ** 2 + 0.3 * np.sin(shift * x)

    invphi = (math.sqrt(5) - 1) / 2
    c = b - (b - a) * invphi
    d = a + (b - a) * invphi
    while abs(b - a) > tol:
        if f(c) < f(d):
            b = d
        else:
            a = c
        c = b - (b - a) * invphi
        d = a + (b - a) * invphi
    return f((a + b) / 2)


def illinois(k, left, right, n=60, eps=1e-14):
    """Regula falsi that does not get stuck at one end."""

    def f(x):
        return x * math.tanh(x) - k

    fl, fr = f(left), f(right)
    side = 0
    x = left
    for _ in range(n):
        x = (fl * right - fr * left) / (fl - fr)
        if abs(right - left) < eps * abs(right + left):
            break
        fx = f(x)
        if fx * fr > 0:
            right, fr = x, fx
            if side == -1:
                fl = fl / 2
            side = -1
        elif fl * fx > 0:
            left, fl = x, fx
            if side == +1:
                fr = fr / 2
            side = +1
        else:
            break
    return x


def kepler_equation(mean_anomaly, eccentricity):
    """The eccentric anomaly, by Newton with a limit."""
    E = mean_anomaly if eccentricity < 0.8 else math.pi
    for _ in range(100):
        delta = (E - eccentricity * np.sin(E) - mean_anomaly) / (1 - eccentricity * np.cos(E))
        E -= delta
        if abs(delta) < 1e-14:
            break
    return 2 * np.arctan2(
        np.sqrt(1 + eccentricity) * np.sin(E / 2), np.sqrt(1 - eccentricity) * np.cos(E / 2)
    )


def momentum_descent(A, b, rate=0.05, momentum=0.8, max_iter=500, tol=1e-9):
    """Steepest descent with momentum until the gradient is small."""
    x = np.zeros(len(b))
    v = np.zeros(len(b))
    for i in range(max_iter):
        g = A.T @ (A @ x - b)
        if np.linalg.norm(g) < tol:
            break
        v = momentum * v - rate * g
        x = x + v
    return np.sum(x**2)


def backtracking(target, start, c1=1e-4, rho=0.5, iterations=30):
    """Descent whose steps are halved until they go down far enough."""

    def f(x):
        return (x[0] - target[0]) ** 2 + 4 * (x[1] - target[1]) ** 2 + 0.1 * x[0] ** 2 * x[1] ** 2

    def grad(x):
        return np.array(
            [
                2 * (x[0] - target[0]) + 0.2 * x[0] * x[1] ** 2,
                8 * (x[1] - target[1]) + 0.2 * x[0] ** 2 * x[1],
            ]
        )

    x = start
    for _ in range(iterations):
        g = grad(x)
        slope = np.dot(g, g)
        step = 0.5
        while f(x - step * g) > f(x) - c1 * step * slope:
            step *= rho
            if step < 1e-10:
                break
        x = x - step * g
    return f(x) + x[0]


def conjugate_gradients(A, b, tol=1e-10):
    """Wikipedia's example code."""
    x = np.zeros(len(b))
    r = b - A @ x
    p = r
    rsold = r @ r
    for i in range(len(b)):
        Ap = A @ p
        alpha = rsold / (p @ Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        rsnew = r @ r
        if np.sqrt(rsnew) < tol:
            break
        p = r + (rsnew / rsold) * p
        rsold = rsnew
    return np.sum(x * np.arange(1, len(b) + 1))


def annealing(centre, moves, uniforms, t0=1.0, cooling=0.9):
    """Annealing for given draws; what is returned is the best energy."""

    def energy(x):
        return (x - centre) ** 2 + 0.5 * np.cos(4 * x)

    x = 0.0
    e = energy(x)
    best_x, best_e = x, e
    T = t0
    for k in range(len(moves)):
        xn = x + moves[k]
        en = energy(xn)
        if en < e or uniforms[k] < np.exp(-(en - e) / T):
            x, e = xn, en
            if e < best_e:
                best_x, best_e = x, e
        T *= cooling
    return best_e + 0.1 * best_x * centre


def levenberg_marquardt(xs, ys, start, n_iter=15):
    """A curve through points; steps that do not help are taken back."""
    p = start
    lam = 1e-2
    residual = ys - p[0] * np.exp(-p[1] * xs)
    cost = np.sum(residual**2)
    for _ in range(n_iter):
        J = np.stack([np.exp(-p[1] * xs), -p[0] * xs * np.exp(-p[1] * xs)], axis=1)
        H = J.T @ J
        g = J.T @ residual
        step = np.linalg.solve(H + lam * np.diag(np.diag(H)), g)
        trial = p + step
        new_residual = ys - trial[0] * np.exp(-trial[1] * xs)
        new_cost = np.sum(new_residual**2)
        if new_cost < cost:
            p, residual, cost = trial, new_residual, new_cost
            lam /= 3
        else:
            lam *= 2
    return p[0] + 2 * p[1]


_random = np.random.default_rng(4)
_M = _random.normal(size=(5, 5))
_xs = np.linspace(0, 2, 12)

PROGRAMS = [
    Program(newton_root, (5.0,), (0,)),
    Program(bisection, (1.7, 0.0, 2.0), (0,)),
    Program(secant, (1.3,), (0,)),
    Program(golden_section, (1.2,), (0,), second=False),
    Program(illinois, (1.5, 0.5, 3.0), (0,)),
    Program(kepler_equation, (1.1, 0.4), (0, 1)),
    Program(momentum_descent, (np.eye(3) + 0.1 * _M[:3, :3], np.array([1.0, -0.5, 0.3])), (0, 1)),
    Program(backtracking, (np.array([1.0, -0.5]), np.array([0.2, 0.9])), (0, 1)),
    Program(conjugate_gradients, (_M @ _M.T + 5 * np.eye(5), np.arange(1.0, 6)), (1,)),
    Program(annealing, (0.7, 0.6 * _random.normal(size=25), _random.uniform(size=25)), (0,)),
    Program(
        levenberg_marquardt,
        (_xs, 2.3 * np.exp(-1.4 * _xs) + 0.05 * _random.normal(size=12), np.array([1.0, 1.0]), 6),
        (1,),
    ),
]
