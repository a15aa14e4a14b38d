"""Ordinary functions of engineering: structures, control, flow, estimation."""

from dataclasses import dataclass, field

import numpy as np


def truss_compliance(areas, nodes, members, load, youngs=1.0):
    """Compliance of a planar truss, assembled member by member."""
    n_dof = 2 * len(nodes)
    K = np.zeros((n_dof, n_dof))
    for area, (a, b) in zip(areas, members):
        dx, dy = nodes[b] - nodes[a]
        length = np.hypot(dx, dy)
        c, s = dx / length, dy / length
        T = np.array([[-c, -s, c, s]])
        dofs = [2 * a, 2 * a + 1, 2 * b, 2 * b + 1]
        K[np.ix_(dofs, dofs)] += youngs * area / length * T.T @ T
    free = np.arange(4, n_dof)
    u = np.linalg.solve(K[np.ix_(free, free)], load[free])
    return load[free] @ u


def beam_deflection(stiffness, length=1.0, load=1.0):
    """Tip deflection of a cantilever of Hermite elements with varying stiffness."""
    n = len(stiffness)
    h = length / n
    K = np.zeros((2 * n + 2, 2 * n + 2))
    base = np.array(
        [
            [12, 6 * h, -12, 6 * h],
            [6 * h, 4 * h**2, -6 * h, 2 * h**2],
            [-12, -6 * h, 12, -6 * h],
            [6 * h, 2 * h**2, -6 * h, 4 * h**2],
        ]
    )
    for e, EI in enumerate(stiffness):
        K[2 * e : 2 * e + 4, 2 * e : 2 * e + 4] += EI / h**3 * base
    f = np.zeros(2 * n + 2)
    f[-2] = load
    u = np.zeros_like(f)
    u[2:] = np.linalg.solve(K[2:, 2:], f[2:])
    return u[-2]


def pipe_network_heads(resistance, incidence, demand, iterations=6):
    """Heads at the junctions of a network with quadratic losses, by successive solves."""
    flow = np.ones(incidence.shape[0])
    head = np.zeros(incidence.shape[1])
    for _ in range(iterations):
        conductance = 1.0 / (resistance * np.sqrt(flow**2 + 1e-2))
        laplacian = incidence.T @ np.diag(conductance) @ incidence
        head = np.linalg.solve(laplacian + 0.1 * np.eye(len(head)), demand)
        flow = 0.5 * flow + 0.5 * conductance * (incidence @ head)
    return head


def lqr_cost(K, A, B, Q, R, x0, steps=10):
    """Cost of a linear feedback over a horizon."""
    x = x0
    cost = 0.0
    for _ in range(steps):
        u = -K @ x
        cost += x @ Q @ x + u @ R @ u
        x = A @ x + B @ u
    return cost + x.T @ Q @ x


def riccati_gain(A, B, Q, R, steps=8):
    """Finite-horizon regulator gain by the backward Riccati recursion."""
    P = Q.copy()
    gains = []
    for _ in range(steps):
        S = R + B.T @ P @ B
        gain = np.linalg.solve(S, B.T @ P @ A)
        P = Q + A.T @ P @ (A - B @ gain)
        gains.append(gain)
    return gains[-1]


def kalman_loglik(params, observations):
    """Log-likelihood of a noisy constant-velocity track by the Kalman filter."""
    q, r = np.exp(params)
    dt = 0.5
    F = np.array([[1, dt], [0, 1]])
    H = np.array([[1.0, 0.0]])
    Q = q * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
    R = r * np.eye(1)
    m, P = np.zeros(2), 10 * np.eye(2)
    loglik = 0.0
    for y in observations:
        m = F @ m
        P = F @ P @ F.T + Q
        innovation = np.atleast_1d(y) - H @ m
        S = H @ P @ H.T + R
        K = np.linalg.solve(S, H @ P).T
        m = m + K @ innovation
        P = (np.eye(2) - K @ H) @ P
        loglik += -0.5 * (
            np.log(2 * np.pi * np.linalg.det(S)) + innovation @ np.linalg.solve(S, innovation)
        )
    return loglik


def butterworth_misfit(params, frequencies, gain_db, order=4):
    """Error in decibels of a band-pass made of two Butterworth responses."""
    low, high = params
    lowpass = 1 / np.sqrt(1 + (frequencies / high) ** (2 * order))
    highpass = 1 / np.sqrt(1 + (low / frequencies) ** (2 * order))
    response = 20 * np.log10(lowpass * highpass)
    return np.sqrt(np.mean((response - gain_db) ** 2))


def heat_exchanger(flow_rates, U=0.3, area=5.0, cells=10):
    """Outlet temperatures of a parallel-flow exchanger divided into cells."""
    cp = 4.18
    hot, cold = flow_rates
    T_hot = np.zeros(cells + 1)
    T_cold = np.zeros(cells + 1)
    T_hot[0], T_cold[0] = 90.0, 15.0
    dA = area / cells
    for i in range(cells):
        q = U * dA * (T_hot[i] - T_cold[i])
        T_hot[i + 1] = T_hot[i] - q / (hot * cp)
        T_cold[i + 1] = T_cold[i] + q / (cold * cp)
    dt1, dt2 = T_hot[0] - T_cold[0], T_hot[-1] - T_cold[-1]
    lmtd = (dt1 - dt2) / np.log(dt1 / dt2)
    return T_hot[-1], T_cold[-1], lmtd


def source_panel_pressure(coordinates, alpha=0.05):
    """Pressure coefficients round a closed body by constant-strength source panels."""
    x, y = coordinates[:, 0], coordinates[:, 1]
    xm, ym = 0.5 * (x[1:] + x[:-1]), 0.5 * (y[1:] + y[:-1])
    dx, dy = np.diff(x), np.diff(y)
    s = np.sqrt(dx**2 + dy**2)
    tx, ty = dx / s, dy / s
    n = len(s)
    normal_influence = np.zeros((n, n))
    tangent_influence = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i == j:
                normal_influence[i, j] = 0.5
                continue
            rx, ry = xm[i] - xm[j], ym[i] - ym[j]
            r2 = rx**2 + ry**2
            u, v = rx / r2 * s[j] / (2 * np.pi), ry / r2 * s[j] / (2 * np.pi)
            normal_influence[i, j] = u * ty[i] - v * tx[i]
            tangent_influence[i, j] = u * tx[i] + v * ty[i]
    free = np.array([np.cos(alpha), np.sin(alpha)])
    strength = np.linalg.solve(normal_influence, -(free[0] * ty - free[1] * tx))
    speed = free[0] * tx + free[1] * ty + tangent_influence @ strength
    return 1 - speed**2


@dataclass
class Vehicle:
    """Parameters of a quarter-car suspension."""

    sprung: float = 300.0
    unsprung: float = 40.0
    tyre: float = 1.8e5
    road: np.ndarray = field(default_factory=lambda: 0.02 * np.sin(np.arange(20.0)))


def suspension_comfort(design, vehicle=None, dt=0.002):
    """Root mean square body acceleration over a bumpy road."""
    vehicle = vehicle or Vehicle()
    stiffness, damping = design
    z = np.zeros(4)
    accelerations = []
    for bump in vehicle.road:
        zs, zu, vs, vu = z
        force = stiffness * (zu - zs) + damping * (vu - vs)
        a_s = force / vehicle.sprung
        a_u = (vehicle.tyre * (bump - zu) - force) / vehicle.unsprung
        z = z + dt * np.array([vs, vu, a_s, a_u])
        accelerations.append(a_s)
    return np.sqrt(np.mean(np.array(accelerations) ** 2))


def colebrook_pressure_drop(diameters, flow=0.01, roughness=1e-4, viscosity=1e-6, fixed_point=8):
    """Pressure lost in pipes in series, friction factor by iterating Colebrook's equation."""
    velocity = flow / (np.pi * diameters**2 / 4)
    reynolds = velocity * diameters / viscosity
    f = 0.02 * np.ones_like(diameters)
    for _ in range(fixed_point):
        inner = roughness / diameters / 3.7 + 2.51 / (reynolds * np.sqrt(f))
        f = (-2 * np.log10(inner)) ** -2.0
    drop = f / diameters * 1000 * velocity**2 / 2
    return np.sum(drop)


def pid_step_response(gains, dt=0.1, steps=40, limit=2.0):
    """Integral time absolute error of a controlled second-order plant with saturation."""
    kp, ki, kd = gains
    position, velocity, integral, previous = 0.0, 0.0, 0.0, 1.0
    itae = 0.0
    for k in range(steps):
        error = 1.0 - position
        integral += error * dt
        derivative = (error - previous) / dt
        u = np.clip(kp * error + ki * integral + kd * derivative, -limit, limit)
        velocity += dt * (u - 0.5 * velocity - position)
        position += dt * velocity
        previous = error
        itae += k * dt * abs(error) * dt
    return itae


def von_mises(stress):
    """Largest equivalent stress over a stack of symmetric tensors."""
    sym = 0.5 * (stress + np.swapaxes(stress, -1, -2))
    hydro = np.trace(sym, axis1=-2, axis2=-1) / 3
    dev = sym - hydro[..., None, None] * np.eye(3)
    equivalent = np.sqrt(1.5 * np.sum(dev**2, axis=(-2, -1)))
    principal = np.linalg.eigvalsh(sym)
    return np.max(equivalent), principal[:, -1] - principal[:, 0]


def modal_frequencies(stiffness, masses):
    """Natural frequencies of a chain of masses and springs fixed at one end."""
    n = len(masses)
    K = np.zeros((n, n))
    for i in range(n):
        K[i, i] += stiffness[i]
        if i + 1 < n:
            K[i, i] += stiffness[i + 1]
            K[i, i + 1] -= stiffness[i + 1]
            K[i + 1, i] -= stiffness[i + 1]
    m_half = 1 / np.sqrt(masses)
    A = m_half[:, None] * K * m_half
    return np.sqrt(np.linalg.eigvalsh(A))


def battery_voltage(params, current, dt=1.0):
    """Terminal voltage of an equivalent circuit with one resistor-capacitor pair."""
    r0, r1, c1 = params
    soc = 0.9 - np.cumsum(current) * dt / 3600
    ocv = np.polyval([0.5, -0.3, 0.8, 3.2], soc)
    v1 = np.zeros(len(current))
    decay = np.exp(-dt / (r1 * c1))
    for k in range(1, len(current)):
        v1[k] = decay * v1[k - 1] + r1 * (1 - decay) * current[k - 1]
    return ocv - r0 * current - v1


def _rng():
    return np.random.default_rng(61)


def _truss():
    nodes = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    members = [(0, 2), (1, 3), (0, 3), (1, 2), (2, 3)]
    load = np.zeros(8)
    load[5] = -1.0
    return np.array([1.0, 1.2, 0.7, 0.8, 1.1]), nodes, members, load


def _pipes():
    incidence = np.array([[1, -1, 0], [0, 1, -1], [1, 0, -1], [0, 0, 1]], dtype=float)
    return np.array([1.0, 2.0, 1.5, 0.7]), incidence, np.array([0.5, -0.2, 0.3])


def _plant():
    A = np.array([[1.0, 0.1], [-0.1, 0.95]])
    B = np.array([[0.0], [0.1]])
    return A, B, np.diag([1.0, 0.1]), np.array([[0.05]])


def _airfoil(n=9):
    angle = np.linspace(0, -2 * np.pi, n)
    return np.column_stack([0.5 + 0.5 * np.cos(angle), 0.2 * np.sin(angle)])


CASES = [
    (truss_compliance, _truss, 0),
    (beam_deflection, lambda: (np.array([1.0, 0.8, 0.6, 0.5]),), 0),
    (pipe_network_heads, _pipes, 0),
    (lqr_cost, lambda: (np.array([[1.0, 0.5]]), *_plant(), np.array([1.0, -0.5])), 0),
    (riccati_gain, _plant, 0),
    (kalman_loglik, lambda: (np.array([-1.0, -0.5]), np.cumsum(_rng().normal(size=8))), 0),
    (
        butterworth_misfit,
        lambda: (np.array([0.3, 3.0]), np.geomspace(0.1, 10, 15), -3 * np.ones(15)),
        0,
    ),
    (heat_exchanger, lambda: (np.array([0.8, 1.1]),), 0),
    (source_panel_pressure, lambda: (_airfoil(),), 0),
    (suspension_comfort, lambda: (np.array([2e4, 1.5e3]),), 0),
    (colebrook_pressure_drop, lambda: (np.array([0.1, 0.08, 0.12]),), 0),
    (pid_step_response, lambda: (np.array([1.2, 0.4, 0.3]),), 0),
    (von_mises, lambda: (_rng().normal(size=(4, 3, 3)),), 0),
    (modal_frequencies, lambda: (np.array([3.0, 2.0, 1.0]), np.array([1.0, 1.5, 0.7])), 0),
    (battery_voltage, lambda: (np.array([0.01, 0.02, 2000.0]), _rng().normal(size=20) * 3), 0),
]
