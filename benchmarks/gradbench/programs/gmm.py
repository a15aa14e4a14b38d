"""A mixture of Gaussians with a Wishart prior."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp, multigammaln

import gradc
from benchmarks.gradbench.programs.program import Function


@gradc.compile
def objective(alpha: Any, mu: Any, q: Any, l: Any, x: Any, gamma: Any, m: Any) -> Any:  # noqa: E741
    """Return the logarithm of the posterior of k Gaussians in d dimensions, given n points.

    ``alpha`` f64[k] are the weights' logarithms, ``mu`` f64[k,d] the centres, ``q`` f64[k,d] the
    logarithms of the diagonals and ``l`` f64[k,d*(d-1)/2] the columns below them, of triangles
    whose squares are the precisions.
    """
    (k, d), n = mu.shape, len(x)
    diagonal = np.exp(q)
    columns, rows = np.triu_indices(d, 1)
    triangle = np.zeros((k, d, d))
    triangle[:, rows, columns] = l
    apart = x[:, None, :] - mu
    turned = diagonal * apart + np.einsum("kij,nkj->nki", triangle, apart)
    inner = alpha + np.sum(q, axis=1) - np.sum(turned**2, axis=2) / 2
    likelihood = np.sum(logsumexp(inner, axis=1)) - n * logsumexp(alpha)
    constant = -n * d * np.log(2 * np.pi) / 2

    freedom = d + m + 1
    norm = freedom * d * np.log(gamma / np.sqrt(2)) - multigammaln(freedom / 2, d)
    squares = np.sum(diagonal**2) + np.sum(l**2)
    prior = k * norm - gamma**2 / 2 * squares + m * np.sum(q)
    return constant + likelihood + prior


def jacobian(*given: Any) -> Any:
    """Return the gradients by all parameters."""
    return objective.grad(*given, wrt=("alpha", "mu", "q", "l"))


def arguments(given: Any) -> tuple[Any, ...]:
    """Return parameters, points and what the prior knows."""
    arrays = (np.array(given[name]) for name in ("alpha", "mu", "q", "l", "x"))
    return *arrays, float(given["gamma"]), int(given["m"])


def answer(slopes: Any) -> Any:
    """Return the gradients by name."""
    return {name: slope.tolist() for name, slope in zip(("alpha", "mu", "q", "l"), slopes)}


FUNCTIONS = {
    "objective": Function(objective, arguments, float),
    "jacobian": Function(jacobian, arguments, answer),
}
