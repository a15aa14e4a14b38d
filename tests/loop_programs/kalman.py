"""A Kalman filter by scan, and the joint normal distribution that it factorises."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradc

# a position and its speed; only the position is observed
MOTION = np.array([[1.0, 1.0], [0.0, 1.0]])
OBSERVED = np.array([1.0, 0.0])
NOISE = np.array([[1 / 3, 1 / 2], [1 / 2, 1.0]])
PRIOR = np.diag([4.0, 1.0])


def log_likelihood(parameters: Any, y: Any) -> Any:
    """Return log p(y) for the variances of the motion's and the observations' noise.

    An observation that is nan is missing: its step only predicts.
    """
    q, r = parameters[0], parameters[1]

    def step(carry: Any, seen: Any) -> Any:
        mean, covariance, total = carry

        def update(mean: Any, covariance: Any) -> Any:
            innovation = seen - OBSERVED @ mean
            variance = OBSERVED @ covariance @ OBSERVED + r
            gain = covariance @ OBSERVED / variance
            density = -0.5 * (np.log(2 * np.pi * variance) + innovation**2 / variance)
            return (
                mean + gain * innovation,
                covariance - gain[:, None] * gain[None, :] * variance,
                density,
            )

        def skip(mean: Any, covariance: Any) -> Any:
            return mean, covariance, 0.0

        mean, covariance, density = gradc.cond(np.isnan(seen), skip, update, mean, covariance)
        predicted = MOTION @ covariance @ MOTION.T + q * NOISE
        return (MOTION @ mean, predicted, total + density), mean

    (_, _, total), _ = gradc.scan(step, (np.zeros(2), PRIOR, 0.0), y)
    return total


def moments(y: Any) -> tuple[Any, Any, Any]:
    """Return the covariance of the observed y without noise, by unit motion noise, and by r."""
    steps = len(y)
    powers = [np.linalg.matrix_power(MOTION, k) for k in range(steps)]
    prior, motion = np.zeros((steps, steps)), np.zeros((steps, steps))
    for i in range(steps):
        for j in range(steps):
            prior[i, j] = OBSERVED @ powers[i] @ PRIOR @ powers[j].T @ OBSERVED
            for k in range(1, min(i, j) + 1):
                motion[i, j] += OBSERVED @ powers[i - k] @ NOISE @ powers[j - k].T @ OBSERVED
    seen = np.flatnonzero(~np.isnan(y))
    pick = np.ix_(seen, seen)
    return prior[pick], motion[pick], np.eye(len(seen))


def log_likelihood_by_hand(parameters: Any, y: Any) -> tuple[float, Any, Any]:
    """Return log p(y), gradient and Hessian of the joint normal distribution."""
    prior, *directions = moments(y)
    y = y[~np.isnan(y)]
    covariance = prior + sum(p * d for p, d in zip(parameters, directions))
    inverse = np.linalg.inv(covariance)
    a = inverse @ y
    value = -0.5 * (y @ a + np.linalg.slogdet(2 * np.pi * covariance)[1])
    gradient = np.array([0.5 * (a @ d @ a - np.trace(inverse @ d)) for d in directions])
    hessian = np.array(
        [
            [
                0.5 * np.trace(inverse @ d @ inverse @ e) - a @ d @ inverse @ e @ a
                for e in directions
            ]
            for d in directions
        ]
    )
    return float(value), gradient, hessian
