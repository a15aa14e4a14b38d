"""Ordinary functions of physics: energies, time steppers, spectra."""

import numpy as np
from scipy import constants


def lennard_jones(positions, epsilon=1.0, sigma=1.0, cutoff=3.0):
    """Energy of a cluster with a truncated and shifted pair potential."""
    n = len(positions)
    i, j = np.triu_indices(n, k=1)
    r = np.linalg.norm(positions[i] - positions[j], axis=1)

    def pair(distance):
        s6 = (sigma / distance) ** 6
        return 4 * epsilon * (s6**2 - s6)

    energy = pair(r) - pair(cutoff)
    energy[r > cutoff] = 0.0
    return energy.sum()


def spring_network(x, edges, rest, stiffness, fixed=(0,)):
    """Elastic energy of springs under gravity with some nodes held."""
    pos = x.reshape(-1, 2).copy()
    for node in fixed:
        pos[node] = [0.0, 0.0]
    d = pos[edges[:, 0]] - pos[edges[:, 1]]
    length = np.sqrt(np.sum(d**2, axis=-1))
    elastic = 0.5 * np.sum(stiffness * (length - rest) ** 2)
    return elastic + 9.81 * 0.1 * pos[:, 1].sum()


def double_pendulum(state, steps=10, dt=0.01, m1=1.0, m2=0.7, l1=1.0, l2=0.8, g=9.81):
    """State of a double pendulum after some Runge-Kutta steps."""

    def rhs(y):
        th1, th2, w1, w2 = y
        delta = th1 - th2
        den = 2 * m1 + m2 - m2 * np.cos(2 * delta)
        a1 = (
            -g * (2 * m1 + m2) * np.sin(th1)
            - m2 * g * np.sin(th1 - 2 * th2)
            - 2 * np.sin(delta) * m2 * (w2**2 * l2 + w1**2 * l1 * np.cos(delta))
        ) / (l1 * den)
        a2 = (
            2
            * np.sin(delta)
            * ((w1**2 * l1 + g * np.cos(th1)) * (m1 + m2) + w2**2 * l2 * m2 * np.cos(delta))
        ) / (l2 * den)
        return np.array([w1, w2, a1, a2])

    y = state
    for _ in range(steps):
        k1 = rhs(y)
        k2 = rhs(y + 0.5 * dt * k1)
        k3 = rhs(y + 0.5 * dt * k2)
        k4 = rhs(y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def heat_equation(u0, kappa, steps=15, dx=0.1, dt=0.002):
    """Explicit heat conduction in a rod with fixed ends, in place."""
    u = u0.copy()
    for _ in range(steps):
        u[1:-1] += kappa * dt / dx**2 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def heat_equation_plate(u0, conductivity, steps=5):
    """Explicit diffusion on a plate with a varying conductivity and insulated sides."""
    u = u0.copy()
    for _ in range(steps):
        padded = np.pad(u, 1, mode="edge")
        lap = padded[2:, 1:-1] + padded[:-2, 1:-1] + padded[1:-1, 2:] + padded[1:-1, :-2] - 4 * u
        u = u + 0.1 * conductivity * lap
        u[0, :] = 1.0
    return np.mean(u[-1])


def mean_field_ising(coupling, field, iterations=30):
    """Magnetisation per site by iterating the mean-field equations."""
    n = coupling.shape[0]
    J = (coupling + coupling.T) / 2
    np.fill_diagonal(J, 0.0)
    m = 0.1 * np.ones(n)
    for _ in range(iterations):
        m = 0.5 * m + 0.5 * np.tanh(J @ m + field)
    return m.mean()


def nbody_leapfrog(positions, velocities, masses, steps=8, dt=0.01, softening=0.1):
    """Positions and velocities of gravitating bodies by kick-drift-kick."""

    def acceleration(x):
        d = x[np.newaxis, :, :] - x[:, np.newaxis, :]
        inv3 = (np.sum(d**2, axis=2) + softening**2) ** -1.5
        return np.sum(d * (inv3 * masses)[:, :, np.newaxis], axis=1)

    x, v = positions.copy(), velocities.copy()
    a = acceleration(x)
    for _ in range(steps):
        v += 0.5 * dt * a
        x += dt * v
        a = acceleration(x)
        v += 0.5 * dt * a
    return x, v


def van_der_pol(params, t, observed):
    """Misfit of an oscillator integrated by Heun's method over given times."""
    mu, x0 = params
    y = np.zeros((len(t), 2))
    y[0] = (x0, 0.0)

    def f(s):
        x, v = s
        return np.array([v, mu * (1 - x**2) * v - x])

    for i in range(len(t) - 1):
        h = t[i + 1] - t[i]
        predictor = y[i] + h * f(y[i])
        y[i + 1] = y[i] + h / 2 * (f(y[i]) + f(predictor))
    return ((y[:, 0] - observed) ** 2).sum()


def burgers_upwind(u0, steps=10, dx=0.1, dt=0.02, viscosity=0.01):
    """Viscous Burgers equation on a circle with upwind differences."""
    u = np.asarray(u0)
    for _ in range(steps):
        backward = (u - np.roll(u, 1)) / dx
        forward = (np.roll(u, -1) - u) / dx
        advect = np.where(u > 0, u * backward, u * forward)
        diffuse = viscosity * (np.roll(u, -1) - 2 * u + np.roll(u, 1)) / dx**2
        u = u + dt * (diffuse - advect)
    return 0.5 * np.sum(u**2) * dx


def schroedinger_levels(potential, dx=0.2, n_levels=3):
    """Lowest energies of a particle on a grid."""
    n = len(potential)
    kinetic = np.full(n, 1.0 / dx**2)
    off = np.full(n - 1, -0.5 / dx**2)
    H = np.diag(kinetic + potential) + np.diag(off, 1) + np.diag(off, -1)
    return np.linalg.eigvalsh(H)[:n_levels]


def thin_lens_system(surfaces, ray):
    """Height and angle of a ray after lenses and gaps, by transfer matrices."""
    M = np.eye(2)
    for focal, gap in surfaces:
        lens = np.array([[1.0, 0.0], [-1.0 / focal, 1.0]])
        space = np.array([[1.0, gap], [0.0, 1.0]])
        M = space @ lens @ M
    return M @ ray


def planck_radiance(temperature, wavelengths):
    """Band radiance of a black body, integrated over wavelengths in micrometres."""
    lam = wavelengths * 1e-6
    c1 = 2 * constants.h * constants.c**2
    c2 = constants.h * constants.c / constants.k
    spectral = c1 / lam**5 / np.expm1(c2 / (lam * temperature))
    return np.trapezoid(spectral, lam)


def debye_heat_capacity(temperature, debye_temperature=428.0, points=60):
    """Molar heat capacity of a solid by the trapezoidal rule."""
    upper = debye_temperature / temperature
    x = np.linspace(1e-6, 1.0, points) * upper
    integrand = x**4 * np.exp(x) / (np.exp(x) - 1) ** 2
    integral = np.sum((integrand[1:] + integrand[:-1]) / 2 * np.diff(x))
    return 9 * 8.314462618 * integral / upper**3


def schwarzschild_geodesic(initial, mass=1.0, steps=20, dphi=0.02):
    """Bend a light ray around a mass: integrate u'' = 3Mu^2 - u by semi-implicit Euler."""
    u, du = initial[0], initial[1]
    trajectory = []
    for _ in range(steps):
        du = du + dphi * (3 * mass * u**2 - u)
        u = u + dphi * du
        trajectory.append(1.0 / u)
    return np.array(trajectory)


def shallow_water(h0, steps=6, dx=1.0, dt=0.1, g=9.81):
    """Total energy of a periodic shallow-water channel after Lax-Friedrichs steps."""
    h, hu = h0.copy(), np.zeros_like(h0)

    def flux(h, hu):
        return np.stack([hu, hu**2 / h + 0.5 * g * h**2])

    q = np.stack([h, hu])
    for _ in range(steps):
        f = flux(*q)
        left, right = np.roll(q, 1, axis=1), np.roll(q, -1, axis=1)
        f_left, f_right = np.roll(f, 1, axis=1), np.roll(f, -1, axis=1)
        q = 0.5 * (left + right) - dt / (2 * dx) * (f_right - f_left)
    h, hu = q
    return dx * np.sum(0.5 * hu**2 / h + 0.5 * g * h**2)


def kepler_position(mean_anomaly, eccentricity=0.3, a=1.0, newton_steps=8):
    """Position on an elliptic orbit at some mean anomalies."""
    E = mean_anomaly + eccentricity * np.sin(mean_anomaly)
    for _ in range(newton_steps):
        E = E - (E - eccentricity * np.sin(E) - mean_anomaly) / (1 - eccentricity * np.cos(E))
    x = a * (np.cos(E) - eccentricity)
    y = a * np.sqrt(1 - eccentricity**2) * np.sin(E)
    return np.stack((x, y), axis=-1)


def coulomb_energy(charges, positions):
    """Electrostatic energy by a double loop over the pairs."""
    energy = 0.0
    for i in range(len(charges)):
        for j in range(i):
            distance = np.sqrt(((positions[i] - positions[j]) ** 2).sum())
            energy += charges[i] * charges[j] / distance
    return energy


def _rng():
    return np.random.default_rng(17)


def _cluster():
    grid = np.array([[0, 0, 0], [1.2, 0, 0], [0, 1.2, 0], [0, 0, 1.2], [2.4, 2.4, 2.4]])
    return (grid + 0.1 * _rng().normal(size=grid.shape),)


def _springs():
    edges = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]])
    x = np.array([0.1, 0.0, 1.0, 0.1, 1.1, 1.0, 0.0, 0.9])
    return x, edges, np.ones(5), np.array([10.0, 20.0, 15.0, 5.0, 8.0])


def _bodies():
    rng = _rng()
    return rng.normal(size=(4, 3)), 0.1 * rng.normal(size=(4, 3)), rng.random(4) + 0.5


CASES = [
    (lennard_jones, _cluster, 0),
    (spring_network, _springs, 0),
    (double_pendulum, lambda: (np.array([1.0, 0.5, 0.0, 0.2]),), 0),
    (heat_equation, lambda: (np.sin(np.linspace(0, 3, 12)), np.array(0.8)), 0),
    (heat_equation_plate, lambda: (_rng().random((5, 6)), _rng().random((5, 6))), 1),
    (mean_field_ising, lambda: (_rng().normal(size=(5, 5)), _rng().normal(size=5)), 0),
    (nbody_leapfrog, _bodies, 0),
    (
        van_der_pol,
        lambda: (np.array([0.8, 1.5]), np.linspace(0, 1, 15), _rng().normal(size=15)),
        0,
    ),
    (burgers_upwind, lambda: (np.sin(np.arange(16) * np.pi / 8 + 0.1),), 0),
    (schroedinger_levels, lambda: (0.5 * np.linspace(-2, 2, 9) ** 2,), 0),
    (
        thin_lens_system,
        lambda: (np.array([[2.0, 0.5], [-1.5, 0.3], [3.0, 1.0]]), np.array([0.1, 0.02])),
        0,
    ),
    (planck_radiance, lambda: (np.array(5800.0), np.linspace(0.4, 0.7, 20)), 0),
    (debye_heat_capacity, lambda: (np.array(300.0),), 0),
    (schwarzschild_geodesic, lambda: (np.array([0.1, 0.05]),), 0),
    (shallow_water, lambda: (1.0 + 0.1 * _rng().random(10),), 0),
    (kepler_position, lambda: (np.array([0.3, 1.2, 2.8, 4.0]),), 0),
    (coulomb_energy, lambda: (np.array([1.0, -1.0, 2.0, 0.5]), _rng().normal(size=(4, 3))), 1),
]
