"""Ordinary functions of biology: epidemics, kinetics, neurons, phylogenies."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import expm


def sir_misfit(params, cases, population=1000.0, days=12, substeps=2):
    """Poisson misfit of daily cases under a susceptible-infected-recovered model."""
    beta, gamma, i0 = np.exp(params)
    S, I, R = population - i0, i0, 0.0  # noqa: E741
    dt = 1.0 / substeps
    nll = 0.0
    for day in range(days):
        new = 0.0
        for _ in range(substeps):
            infections = beta * S * I / population * dt
            recoveries = gamma * I * dt
            S, I, R = S - infections, I + infections - recoveries, R + recoveries  # noqa: E741
            new += infections
        nll += new - cases[day] * np.log(new)
    return nll


class Rates(NamedTuple):
    """Rates of an epidemic with exposed people."""

    beta: float
    sigma: float
    gamma: float


def seir_peak(log_rates, contact, population, steps=20):
    """Share infected in each age group at the end, groups mixing by a contact matrix."""
    rates = Rates(*np.exp(log_rates))
    state = np.zeros((4, len(population)))
    state[0] = population - 1
    state[2] = 1
    for _ in range(steps):
        S, E, I, R = state  # noqa: E741, RUF059
        force = rates.beta * contact @ (I / population)
        change = np.zeros_like(state)
        change[0] = -force * S
        change[1] = force * S - rates.sigma * E
        change[2] = rates.sigma * E - rates.gamma * I
        change[3] = rates.gamma * I
        state = state + 0.25 * change
    return state[2] / population


def michaelis_menten_fit(theta, substrate, rate):
    """Relative squared error of enzyme kinetics with competitive inhibition."""
    vmax, km, ki = theta
    inhibitor = np.linspace(0, 1, len(substrate))
    predicted = vmax * substrate / (km * (1 + inhibitor / ki) + substrate)
    return np.sum(((predicted - rate) / rate) ** 2)


def hodgkin_huxley(current, conductances, dt=0.01):
    """Membrane voltage after driving a neuron with a current trace."""
    g_na, g_k, g_l = conductances["na"], conductances["k"], conductances["l"]
    V, m, h, n = -65.0, 0.05, 0.6, 0.32
    trace = np.empty(len(current))
    for i, I_ext in enumerate(current):
        a_m = 0.1 * (V + 40.1) / (1 - np.exp(-(V + 40.1) / 10))
        b_m = 4.0 * np.exp(-(V + 65) / 18)
        a_h = 0.07 * np.exp(-(V + 65) / 20)
        b_h = 1.0 / (1 + np.exp(-(V + 35) / 10))
        a_n = 0.01 * (V + 55.1) / (1 - np.exp(-(V + 55.1) / 10))
        b_n = 0.125 * np.exp(-(V + 65) / 80)
        m += dt * (a_m * (1 - m) - b_m * m)
        h += dt * (a_h * (1 - h) - b_h * h)
        n += dt * (a_n * (1 - n) - b_n * n)
        I_ion = g_na * m**3 * h * (V - 50) + g_k * n**4 * (V + 77) + g_l * (V + 54.4)
        V = V + dt * (I_ext - I_ion)
        trace[i] = V
    return trace


def hky_rate_matrix(kappa, freqs):
    """Rate matrix of the HKY85 substitution model, one change a unit of time."""
    Q = np.tile(freqs, (4, 1))
    transitions = [(0, 2), (2, 0), (1, 3), (3, 1)]
    for i, j in transitions:
        Q[i, j] *= kappa
    np.fill_diagonal(Q, 0.0)
    Q -= np.diag(Q.sum(axis=1))
    return Q / -np.sum(freqs * np.diag(Q))


def phylogeny_loglik(params, leaves):
    """Felsenstein's pruning on a tree of three leaves."""
    kappa = np.exp(params[0])
    freqs = np.exp(params[1:5]) / np.exp(params[1:5]).sum()
    branch = np.exp(params[5:])
    Q = hky_rate_matrix(kappa, freqs)
    onehot = np.eye(4)[leaves]
    likelihood = np.ones_like(onehot[0])
    for leaf, length in zip(onehot, branch):
        P = expm(Q * length)
        likelihood = likelihood * (leaf @ P.T)
    return np.sum(np.log(likelihood @ freqs))


def jukes_cantor_chain(rate, sites, generations=6):
    """Log-likelihood of observed changes after a power of a mutation matrix."""
    P = np.full((4, 4), rate / 3)
    P[np.arange(4), np.arange(4)] = 1 - rate
    Pn = np.linalg.matrix_power(P, generations)
    start, end = sites
    return np.log(Pn[start, end]).sum()


def lotka_volterra(theta, prey, predator, steps_per_obs=3):
    """Log-scale misfit of predators and prey."""
    alpha, beta, gamma, delta = theta
    x, y = prey[0], predator[0]
    fitted = [[x, y]]
    for _ in range(1, len(prey)):
        for _ in range(steps_per_obs):
            h = 1.0 / steps_per_obs / 4
            dx = alpha * x - beta * x * y
            dy = delta * x * y - gamma * y
            xm, ym = x + h * dx / 2, y + h * dy / 2
            x = x + h * (alpha * xm - beta * xm * ym)
            y = y + h * (delta * xm * ym - gamma * ym)
        fitted.append([x, y])
    data = np.array([prey, predator]).T
    return np.mean((np.log(np.array(fitted)) - np.log(data)) ** 2)


def leslie_growth(survival, fecundity, iterations=25):
    """Long-run growth rate of an age-structured population by power iteration."""
    n = len(fecundity)
    L = np.zeros((n, n))
    L[0] = fecundity
    for age in range(n - 1):
        L[age + 1, age] = survival[age]
    v = np.ones(n)
    growth = 1.0
    for _ in range(iterations):
        v = L @ v
        growth = v.sum()
        v = v / growth
    return growth


def hill_repressilator(theta, steps=15, dt=0.1):
    """Protein levels of a ring of three genes that repress each other."""
    alpha, n, alpha0, beta = theta
    mrna = np.array([1.0, 0.0, 0.5])
    protein = np.array([0.2, 0.1, 0.3])
    for _ in range(steps):
        repressor = protein[[2, 0, 1]]
        dm = -mrna + alpha / (1 + repressor**n) + alpha0
        dp = -beta * (protein - mrna)
        mrna, protein = mrna + dt * dm, protein + dt * dp
    return protein


def dose_response(params, doses, responses, n_per_dose=20):
    """Binomial deviance of a four-parameter logistic curve."""
    bottom, top, log_ec50, slope = params
    p = bottom + (top - bottom) / (1 + np.exp(-slope * (np.log(doses) - log_ec50)))
    p = p.clip(1e-6, 1 - 1e-6)
    k, n = responses, n_per_dose
    return -2 * (k * np.log(p) + (n - k) * np.log1p(-p)).sum()


def smith_waterman_soft(scores, gap=-0.5, temperature=1.0):
    """Smoothed local alignment score by dynamic programming."""
    m, n = scores.shape
    H = np.zeros((m + 1, n + 1))
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            options = np.array(
                [0.0, H[i - 1, j - 1] + scores[i - 1, j - 1], H[i - 1, j] + gap, H[i, j - 1] + gap]
            )
            H[i, j] = temperature * np.log(np.sum(np.exp(options / temperature)))
    return H.max()


def gillespie_mean_field(theta, stoichiometry, x0, steps=15, dt=0.05):
    """Mean concentrations of a reaction network with mass-action kinetics."""
    x = x0.astype(float)
    reactants = np.maximum(-stoichiometry, 0)
    for _ in range(steps):
        propensity = theta * np.prod(x[None, :] ** reactants, axis=1)
        x = x + dt * propensity @ stoichiometry
    return x


def _rng():
    return np.random.default_rng(41)


def _seir():
    contact = np.array([[1.0, 0.4], [0.4, 0.7]])
    return np.log([0.8, 0.5, 0.3]), contact, np.array([500.0, 800.0])


def _neuron():
    return 10 * np.ones(20), {"na": np.array(120.0), "k": np.array(36.0), "l": np.array(0.3)}


def _tree():
    params = np.array([0.7, 0.1, -0.1, 0.2, 0.0, -1.0, -1.5, -0.5])
    return params, _rng().integers(0, 4, size=(3, 10))


def _animals():
    prey = np.array([10.0, 12.0, 14.0, 13.0, 10.0])
    predator = np.array([5.0, 5.5, 6.5, 8.0, 8.5])
    return np.array([0.6, 0.05, 0.4, 0.03]), prey, predator


def _doses():
    return (
        np.array([0.05, 0.95, 0.2, 1.3]),
        np.array([0.1, 0.5, 1.0, 2.0, 10.0]),
        np.array([1.0, 4.0, 9.0, 14.0, 19.0]),
    )


def _network():
    stoichiometry = np.array([[-1, 1, 0], [0, -1, 1], [1, -2, 0]])
    return np.array([0.5, 0.3, 0.2]), stoichiometry, np.array([2, 1, 1])


CASES = [
    (sir_misfit, lambda: (np.log([0.6, 0.2, 5.0]), np.arange(1.0, 13.0)), 0),
    (seir_peak, _seir, 0),
    (
        michaelis_menten_fit,
        lambda: (np.array([2.0, 0.5, 1.5]), np.linspace(0.1, 3, 8), np.linspace(0.3, 1.5, 8)),
        0,
    ),
    (hodgkin_huxley, _neuron, 1),
    (phylogeny_loglik, _tree, 0),
    (
        jukes_cantor_chain,
        lambda: (np.array(0.02), np.array([[0, 1, 2, 3, 0], [0, 1, 3, 3, 2]])),
        0,
    ),
    (lotka_volterra, _animals, 0),
    (leslie_growth, lambda: (np.array([0.7, 0.5, 0.3]), np.array([0.0, 1.1, 0.9, 0.2])), 0),
    (hill_repressilator, lambda: (np.array([8.0, 2.0, 0.1, 1.5]),), 0),
    (dose_response, _doses, 0),
    (smith_waterman_soft, lambda: (_rng().normal(size=(4, 5)),), 0),
    (gillespie_mean_field, _network, 0),
]
