"""Steppers of ordinary and partial differential equations, as textbooks and lecture notes have them."""

import math

import numpy as np

from tests.written_loops.program import Program


def euler_decay(k, y0, dt=0.01, steps=100):
    """Explicit Euler, with what it visits in a list."""
    t = 0.0
    y = y0
    ts = [t]
    ys = [y]
    for _ in range(steps):
        y = y + dt * (-k * y + np.sin(t))
        t += dt
        ts.append(t)
        ys.append(y)
    return np.trapezoid(np.array(ys), np.array(ts))


def lotka_volterra(params, y0, h=0.05, n=60):
    """The classic fourth order method on predators and prey."""
    a, b, c, d = params

    def f(y):
        return np.array([a * y[0] - b * y[0] * y[1], -c * y[1] + d * y[0] * y[1]])

    y = np.zeros((n + 1, 2))
    y[0] = y0
    for i in range(n):
        k1 = f(y[i])
        k2 = f(y[i] + h / 2 * k1)
        k3 = f(y[i] + h / 2 * k2)
        k4 = f(y[i] + h * k3)
        y[i + 1] = y[i] + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return np.mean(y[:, 0]) + y[-1, 1]


def kepler_leapfrog(r0, v0, gm=1.0, dt=0.02, steps=80):
    """Kick, drift, kick."""
    r = np.array(r0)
    v = np.array(v0)
    a = -gm * r / np.linalg.norm(r) ** 3
    energy = 0.0
    for step in range(steps):
        v += 0.5 * dt * a
        r += dt * v
        a = -gm * r / np.linalg.norm(r) ** 3
        v += 0.5 * dt * a
        energy += 0.5 * np.dot(v, v) - gm / np.linalg.norm(r)
    return energy / steps + r[0] * r[1]


def double_pendulum(angles, lengths, m1=1.0, m2=0.8, g=9.81, dt=0.005, n=60):
    """Two rods, by the classic fourth order method."""
    L1, L2 = lengths

    def derivs(state):
        th1, w1, th2, w2 = state
        delta = th2 - th1
        den1 = (m1 + m2) * L1 - m2 * L1 * np.cos(delta) ** 2
        dw1 = (
            m2 * L1 * w1 * w1 * np.sin(delta) * np.cos(delta)
            + m2 * g * np.sin(th2) * np.cos(delta)
            + m2 * L2 * w2 * w2 * np.sin(delta)
            - (m1 + m2) * g * np.sin(th1)
        ) / den1
        den2 = (L2 / L1) * den1
        dw2 = (
            -m2 * L2 * w2 * w2 * np.sin(delta) * np.cos(delta)
            + (m1 + m2) * g * np.sin(th1) * np.cos(delta)
            - (m1 + m2) * L1 * w1 * w1 * np.sin(delta)
            - (m1 + m2) * g * np.sin(th2)
        ) / den2
        return np.array([w1, dw1, w2, dw2])

    state = np.array([angles[0], 0.0, angles[1], 0.0])
    for _ in range(n):
        k1 = derivs(state)
        k2 = derivs(state + 0.5 * dt * k1)
        k3 = derivs(state + 0.5 * dt * k2)
        k4 = derivs(state + dt * k3)
        state = state + dt * (k1 + 2 * k2 + 2 * k3 + k4) / 6
    x2 = L1 * math.sin(state[0]) + L2 * math.sin(state[2])
    y2 = -L1 * math.cos(state[0]) - L2 * math.cos(state[2])
    return x2 + 2 * y2


def n_body(pos, vel, mass, dt=0.01, steps=30, softening=0.1):
    """Every body pulls at every other one, force by force."""
    n = len(mass)
    pos = pos.copy()
    vel = vel.copy()
    for _ in range(steps):
        acc = np.zeros_like(pos)
        for i in range(n):
            for j in range(n):
                if i != j:
                    d = pos[j] - pos[i]
                    r2 = d[0] ** 2 + d[1] ** 2 + d[2] ** 2 + softening**2
                    acc[i] += mass[j] * d / (r2 * np.sqrt(r2))
        vel += dt * acc
        pos += dt * vel
    return np.sum(pos**2) + np.sum(vel[:, 0])


def adaptive_runge_kutta(rate, y0, t_end=2.0, tol=1e-4):
    """Steps of Bogacki and Shampine, taken again where their error is too large."""

    def f(t, y):
        return -rate * y + np.cos(3 * t)

    t, y, h = 0.0, y0, 0.1
    rejected = 0
    while t < t_end:
        if t + h > t_end:
            h = t_end - t
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h * k1 / 2)
        k3 = f(t + 3 * h / 4, y + 3 * h * k2 / 4)
        y_new = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
        k4 = f(t + h, y_new)
        err = abs(h * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - k4 / 8))
        if err > tol:
            rejected += 1
            h = h / 2
            continue
        t = t + h
        y = y_new
        if err < tol / 16:
            h = h * 2
    return y


def bouncing_ball(v0, restitution, g=9.81, dt=0.01, max_steps=400):
    """How far the ball has gone when it touches the ground for the third time."""
    x, y = 0.0, 1.0
    vx, vy = 2.0, v0
    bounces = 0
    for _ in range(max_steps):
        vy_new = vy - g * dt
        y_new = y + vy_new * dt
        if y_new < 0:
            frac = y / (y - y_new)
            x = x + frac * dt * vx
            y_new = 0.0
            vy_new = -restitution * vy_new
            vx = 0.9 * restitution * vx
            bounces += 1
            if bounces == 3:
                break
        else:
            x = x + vx * dt
        y, vy = y_new, vy_new
    return x + 0.1 * vy_new


def van_der_pol_implicit(mu, y0, h=0.05, n=40):
    """Backward Euler, whose equation Newton's method solves in each step."""
    x, v = y0
    for _ in range(n):
        xn, vn = x, v
        for _ in range(20):
            g1 = xn - x - h * vn
            g2 = vn - v - h * (mu * (1 - xn**2) * vn - xn)
            if abs(g1) + abs(g2) < 1e-13:
                break
            a, b = 1.0, -h
            c = -h * (-2 * mu * xn * vn - 1)
            d = 1 - h * mu * (1 - xn**2)
            det = a * d - b * c
            xn = xn - (d * g1 - b * g2) / det
            vn = vn - (-c * g1 + a * g2) / det
        x, v = xn, vn
    return x * x + v


def adams_bashforth(lam, y0, h=0.02, n=50):
    """Two steps back; the first one is Euler's."""
    y = y0
    f_prev = None
    for i in range(n):
        f = lam * y * (1 - y)
        if f_prev is None:
            y = y + h * f
        else:
            y = y + h * (1.5 * f - 0.5 * f_prev)
        f_prev = f
    return y


def spring_chain(k, x0, damping=0.1, dt=0.05, steps=40):
    """Masses on springs, with the whole trajectory kept."""
    x = np.array(x0)
    v = np.zeros(len(x0))
    trajectory = []
    for t in range(steps):
        force = np.zeros(len(x0))
        force[:-1] += k * (x[1:] - x[:-1])
        force[1:] -= k * (x[1:] - x[:-1])
        force[0] -= k * x[0]
        v = (1 - damping * dt) * v + dt * force
        x = x + dt * v
        trajectory.append(x)
    trajectory = np.array(trajectory)
    return np.sum(trajectory[:, -1] ** 2) + trajectory[-1, 0]


def epidemic(beta, gamma, days=40, dt=0.5):
    """Susceptible, infected, recovered: the state is a dict."""
    state = {"S": 0.99, "I": 0.01, "R": 0.0}
    peak = 0.0
    for _ in range(int(days / dt)):
        new_infections = beta * state["S"] * state["I"] * dt
        recoveries = gamma * state["I"] * dt
        state["S"] -= new_infections
        state["I"] += new_infections - recoveries
        state["R"] += recoveries
        if state["I"] > peak:
            peak = state["I"]
    return peak + state["R"]


class Lorenz:
    """The attractor, as an object that makes steps."""

    def __init__(self, sigma, rho, beta, state):
        self.sigma = sigma
        self.rho = rho
        self.beta = beta
        self.state = state
        self.time = 0.0

    def slope(self, s):
        x, y, z = s
        return np.array([self.sigma * (y - x), x * (self.rho - z) - y, x * y - self.beta * z])

    def step(self, dt):
        k1 = self.slope(self.state)
        k2 = self.slope(self.state + dt * k1)
        self.state = self.state + dt * (k1 + k2) / 2
        self.time += dt


def lorenz_object(params, start, n=50):
    """Run the object and look where it is."""
    system = Lorenz(params[0], params[1], params[2], start)
    total = 0.0
    for _ in range(n):
        system.step(0.01)
        total += system.state[2]
    return total / n + system.state[0] * system.time


def heat_equation(alpha, initial, nt=30, dx=0.1, dt=0.002):
    """Explicit differences, cell by cell."""
    nx = len(initial)
    u = initial.copy()
    for n in range(nt):
        un = u.copy()
        for i in range(1, nx - 1):
            u[i] = un[i] + alpha * dt / dx**2 * (un[i + 1] - 2 * un[i] + un[i - 1])
    return np.sum(u**2)


def lax_wendroff(speed, u0, steps=25, dx=0.05, dt=0.02):
    """Advection around a ring."""
    u = u0
    c = speed * dt / dx
    for _ in range(steps):
        left, right = np.roll(u, 1), np.roll(u, -1)
        u = u - c / 2 * (right - left) + c**2 / 2 * (right - 2 * u + left)
    return np.sum(u**3)


_ring = np.exp(-(np.linspace(-2, 2, 20) ** 2))
_bodies = np.random.default_rng(1)

PROGRAMS = [
    Program(euler_decay, (1.3, 2.0), (0, 1)),
    Program(lotka_volterra, (np.array([1.1, 0.4, 0.4, 0.1]), np.array([2.0, 1.5])), (0, 1)),
    Program(kepler_leapfrog, (np.array([1.0, 0.1]), np.array([-0.1, 1.1])), (0, 1)),
    Program(double_pendulum, (np.array([1.2, -0.7]), np.array([1.0, 0.9])), (0, 1)),
    Program(
        n_body,
        (
            _bodies.normal(size=(4, 3)),
            0.3 * _bodies.normal(size=(4, 3)),
            np.array([1.0, 0.5, 0.7, 0.2]),
        ),
        (0, 1, 2),
    ),
    Program(adaptive_runge_kutta, (4.0, 1.5), (0, 1)),
    Program(bouncing_ball, (3.0, 0.8), (0, 1)),
    Program(van_der_pol_implicit, (1.5, np.array([1.0, 0.5])), (0, 1)),
    Program(adams_bashforth, (2.0, 0.2), (0, 1)),
    Program(spring_chain, (3.0, np.array([0.1, 0.4, -0.2, 0.3])), (0, 1)),
    Program(epidemic, (0.6, 0.2), (0, 1)),
    Program(lorenz_object, (np.array([10.0, 28.0, 8 / 3]), np.array([1.0, 1.0, 20.0])), (0, 1)),
    Program(heat_equation, (0.8, np.sin(np.linspace(0, 3, 12))), (0, 1)),
    Program(lax_wendroff, (0.7, _ring), (0, 1)),
]
