"""Four functions that programs in other languages call: what they compute, and what is exported.

``python examples/models.py FOLDER`` writes ``models.o`` and ``models.h`` there, with a program that
compares every function with Python.
"""

from __future__ import annotations

import sys

import numpy as np

import gradc


def rosen(x):
    """Return Rosenbrock's function of any number of variables."""
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def logistic(w, x, y):
    """Return the negative log likelihood of labels of -1 and 1."""
    return np.sum(np.log(1 + np.exp(-y * (x @ w))))


def gmm(weights, means, deviations, x):
    """Return the negative log likelihood of points in a mixture of Gaussians."""
    shares = weights - np.log(np.sum(np.exp(weights)))
    distances = (x[:, None, :] - means) / deviations
    logs = shares - 0.5 * np.sum(distances**2, axis=-1) - np.sum(np.log(deviations), axis=-1)
    return -np.sum(np.log(np.sum(np.exp(logs), axis=-1)))


def arm(q, u):
    """Return where an arm of three links of lengths u ends."""
    angles = np.cumsum(q)
    return np.array([np.sum(u * np.cos(angles)), np.sum(u * np.sin(angles))])


FUNCTIONS = [rosen, logistic, gmm, arm]
SPECS = {
    "rosen": "x: f64[n]",
    "logistic": "w: f64[4], x: f64[n,4], y: f64[n]",
    "gmm": "weights: f64[3], means: f64[3,2], deviations: f64[3,2], x: f64[n,2]",
    "arm": "q: f64[3], u: f64[3]",
}
KINDS = {
    "rosen": ["value", "vg", "grad", "jvp", "vjp", "hvp", "hess", "vg_batch"],
    "logistic": ["value", "vg", "hvp", "hess", "vg_batch"],
    "gmm": ["value", "vg", "hvp"],
    "arm": ["value", "jac", "jvp", "vjp", "jac_batch"],
}
WRT = {"gmm": ("weights", "means", "deviations"), "arm": ("q", "u")}


def export(folder, **options):
    """Write all kernels; returns the paths."""
    return gradc.export(
        "models", FUNCTIONS, spec=SPECS, outputs=KINDS, wrt=WRT, out=folder, package=True, **options
    )


if __name__ == "__main__":
    print(*export(sys.argv[1] if len(sys.argv) > 1 else "."), sep="\n")
