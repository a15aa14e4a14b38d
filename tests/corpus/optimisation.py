"""Ordinary functions of optimisation: test problems, penalties, inner solvers."""

import numpy as np


def rosenbrock(x, a=1.0, b=100.0):
    """The banana valley in any dimension."""
    return np.sum(b * (x[1:] - x[:-1] ** 2) ** 2 + (a - x[:-1]) ** 2)


def rastrigin(x, A=10):
    """A bowl with egg-box ripples."""
    return A * len(x) + sum(xi**2 - A * np.cos(2 * np.pi * xi) for xi in x)


def ackley(x, a=20.0, b=0.2, c=2 * np.pi):
    """Ackley's function of any dimension."""
    d = x.size
    root = np.sqrt((x**2).sum() / d)
    return -a * np.exp(-b * root) - np.exp(np.cos(c * x).sum() / d) + a + np.e


def himmelblau_and_friends(x, which="himmelblau"):
    """One of several two-dimensional test functions, by name."""
    functions = {
        "himmelblau": lambda u, v: (u**2 + v - 11) ** 2 + (u + v**2 - 7) ** 2,
        "booth": lambda u, v: (u + 2 * v - 7) ** 2 + (2 * u + v - 5) ** 2,
        "beale": lambda u, v: (
            (1.5 - u + u * v) ** 2 + (2.25 - u + u * v**2) ** 2 + (2.625 - u + u * v**3) ** 2
        ),
    }
    if which not in functions:
        raise KeyError(which)
    return functions[which](*x)


def augmented_lagrangian(x, multipliers, rho=10.0):
    """Objective with equality and inequality constraints by multipliers and penalties."""
    objective = np.exp(x[0]) * (4 * x[0] ** 2 + 2 * x[1] ** 2 + 4 * x[0] * x[1] + 2 * x[1] + 1)
    equality = np.array([x[0] ** 2 + x[1] - 1])
    inequality = np.array([-x[0] * x[1] - 10, x[0] + x[1] - 1.5])
    lam, mu = multipliers[:1], multipliers[1:]
    value = objective + lam @ equality + rho / 2 * np.sum(equality**2)
    shifted = np.maximum(0, mu + rho * inequality)
    value += np.sum(shifted**2 - mu**2) / (2 * rho)
    return value


def log_barrier(x, c, A, b, t=5.0):
    """Centering objective of a linear programme."""
    slack = b - A @ x
    if slack.shape != b.shape:
        raise ValueError("the right-hand side has the wrong shape")
    return t * c @ x - np.log(slack).sum()


def softmax_policy_return(theta, rewards, transition, horizon=5, discount=0.9):
    """Expected discounted return of a softmax policy on a small decision process."""
    n_states, n_actions = rewards.shape
    logits = theta.reshape(n_states, n_actions)
    policy = np.exp(logits - logits.max(axis=1, keepdims=True))
    policy /= policy.sum(axis=1, keepdims=True)
    dist = np.zeros(n_states)
    dist[0] = 1.0
    total = 0.0
    for t in range(horizon):
        joint = dist[:, None] * policy
        total += discount**t * np.sum(joint * rewards)
        dist = np.einsum("sa,sat->t", joint, transition)
    return total


def sinkhorn_cost(cost, a, b, reg=0.5, iterations=30):
    """Entropic optimal transport cost by alternating scaling."""
    K = np.exp(-cost / reg)
    u = np.ones_like(a)
    for _ in range(iterations):
        v = b / (K.T @ u)
        u = a / (K @ v)
    plan = u[:, None] * K * v[None, :]
    return (plan * cost).sum()


def ista(A, y, lam=0.2, steps=12):
    """Lasso solution by a fixed number of shrinkage steps."""
    x = np.zeros(A.shape[1])
    step = 0.02
    for _ in range(steps):
        z = x - step * A.T @ (A @ x - y)
        x = np.sign(z) * np.maximum(np.abs(z) - lam * step, 0.0)
    return x


def project_simplex(v):
    """Euclidean projection onto the probability simplex."""
    u = np.sort(v)[::-1]
    css = np.cumsum(u)
    k = np.arange(1, len(v) + 1)
    positive = u - (css - 1) / k > 0
    rho = np.count_nonzero(positive)
    theta = (css[rho - 1] - 1) / rho
    return np.maximum(v - theta, 0)


def equality_constrained_qp(P, q, A, b):
    """Optimal value of a quadratic programme by its KKT system."""
    n, m = P.shape[0], A.shape[0]
    S = 0.5 * (P + P.T) + n * np.eye(n)
    kkt = np.block([[S, A.T], [A, np.zeros((m, m))]])
    rhs = np.concatenate([-q, b])
    solution = np.linalg.solve(kkt, rhs)
    x = solution[:n]
    return 0.5 * x @ S @ x + q @ x


def gradient_descent_momentum(x0, H, steps=15, lr=0.05, momentum=0.8):
    """Where momentum descent on a quadratic arrives."""
    x, velocity = np.array(x0), np.zeros(len(x0))
    history = np.zeros(steps)
    for k in range(steps):
        g = H @ x + 0.1 * x**3
        velocity = momentum * velocity - lr * g
        x = x + velocity
        history[k] = 0.5 * x @ H @ x
    return history[-1] + history.min()


def newton_logistic(X, y, ridge=1.0, iterations=4):
    """Coefficients after some Newton steps of logistic regression."""
    beta = np.zeros(X.shape[1])
    for _ in range(iterations):
        p = 1 / (1 + np.exp(-X @ beta))
        gradient = X.T @ (p - y) + ridge * beta
        hessian = (X * (p * (1 - p))[:, None]).T @ X + ridge * np.eye(X.shape[1])
        beta = beta - np.linalg.solve(hessian, gradient)
    return beta


def trust_region_step(g, B, radius=0.5):
    """Dogleg step of a trust region."""
    newton = -np.linalg.solve(B, g)
    gg = g @ g
    cauchy = -gg / (g @ B @ g) * g
    inside = np.linalg.norm(newton) <= radius
    short = np.linalg.norm(cauchy) >= radius
    d = newton - cauchy
    aa, bb = d @ d, 2 * cauchy @ d
    cc = cauchy @ cauchy - radius**2
    disc = np.maximum(bb**2 - 4 * aa * cc, 0.0)
    tau = (-bb + np.sqrt(disc)) / (2 * aa)
    dogleg = cauchy + tau * d
    along = -radius * g / np.sqrt(gg)
    return np.select([inside, short], [newton, along], default=dogleg)


def smooth_max_schedule(times, weights, sharpness=(1.0, 4.0, 16.0)):
    """Makespan of jobs by increasingly sharp log-sum-exp averages."""
    values = []
    for s in sharpness:
        load = weights @ times
        peak = load.max()
        values.append(peak + np.log(np.sum(np.exp(s * (load - peak)))) / s)
    return np.mean(values)


def _rng():
    return np.random.default_rng(23)


def _programme():
    rng = _rng()
    return np.array([0.1, 0.2, -0.1]), rng.normal(size=3), rng.normal(size=(6, 3)), np.ones(6) * 2


def _decision_process():
    rng = _rng()
    return rng.normal(size=6), rng.normal(size=(3, 2)), rng.dirichlet(np.ones(3), size=(3, 2))


def _quadratic():
    rng = _rng()
    return rng.normal(size=(4, 4)), rng.normal(size=4), rng.normal(size=(2, 4)), rng.normal(size=2)


def _spd(n):
    M = _rng().normal(size=(n, n))
    return M @ M.T / n + np.eye(n)


CASES = [
    (rosenbrock, lambda: (_rng().normal(size=6),), 0),
    (rastrigin, lambda: (_rng().normal(size=5),), 0),
    (ackley, lambda: (_rng().normal(size=4),), 0),
    (himmelblau_and_friends, lambda: (np.array([1.2, -0.7]), "beale"), 0),
    (augmented_lagrangian, lambda: (np.array([0.9, 0.8]), np.array([0.5, 0.1, 0.2])), 0),
    (log_barrier, _programme, 0),
    (softmax_policy_return, _decision_process, 0),
    (sinkhorn_cost, lambda: (_rng().random((4, 5)), np.full(4, 0.25), np.full(5, 0.2)), 0),
    (ista, lambda: (_rng().normal(size=(8, 5)), _rng().normal(size=8)), 1),
    (project_simplex, lambda: (_rng().normal(size=6),), 0),
    (equality_constrained_qp, _quadratic, 0),
    (gradient_descent_momentum, lambda: (_rng().normal(size=4), _spd(4)), 1),
    (newton_logistic, lambda: (_rng().normal(size=(12, 3)), np.arange(12) % 2 * 1.0), 0),
    (trust_region_step, lambda: (np.array([0.8, -0.5, 0.6]), _spd(3)), 0),
    (smooth_max_schedule, lambda: (_rng().random(6), _rng().random((3, 6))), 1),
]
