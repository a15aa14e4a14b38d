"""A drug in two compartments, taken by mouth: a measurement's likelihood, in 33 statements."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows.row import Array
from benchmarks.rows.small.points import Point, complex_steps


def likelihood(theta: Any, eta: Any, patient: Any) -> Any:
    """Return minus the logarithm of the likelihood of a measurement and of what is a patient's own.

    ``theta`` are the logarithms of clearance, volumes, absorption, flow, and of the error; ``eta``
    how a patient differs; ``patient`` weight, age, creatinine clearance, dose, time, measurement.
    """
    weight = patient[0]
    age = patient[1]
    renal = patient[2]
    dose = patient[3]
    time = patient[4]
    seen = patient[5]
    size = weight / 70.0
    grown = size**0.75
    cleared = (renal / 100.0) ** 0.4
    aged = np.exp(-0.003 * (age - 40.0))
    clearance = np.exp(theta[0] + eta[0]) * grown * cleared * aged
    central = np.exp(theta[1] + eta[1]) * size
    peripheral = np.exp(theta[2]) * size
    flow = np.exp(theta[3]) * grown
    absorption = np.exp(theta[4] + eta[2])
    k10 = clearance / central
    k12 = flow / central
    k21 = flow / peripheral
    total = k10 + k12 + k21
    root = np.sqrt(total * total - 4.0 * k10 * k21)
    fast = 0.5 * (total + root)
    slow = k10 * k21 / fast
    scale = dose * absorption / central
    a = scale * (k21 - fast) / ((absorption - fast) * (slow - fast))
    b = scale * (k21 - slow) / ((absorption - slow) * (fast - slow))
    c = scale * (k21 - absorption) / ((fast - absorption) * (slow - absorption))
    level = a * np.exp(-fast * time) + b * np.exp(-slow * time) + c * np.exp(-absorption * time)
    spread = np.sqrt(np.exp(2.0 * theta[5]) + (np.exp(theta[6]) * level) ** 2)
    error = (seen - level) / spread
    own = eta[0] ** 2 / 0.09 + eta[1] ** 2 / 0.04 + eta[2] ** 2 / 0.25
    fitted = 0.5 * error * error + np.log(spread)
    prior = 0.5 * own
    return fitted + prior


def _by_hand(theta: Array, eta: Array, patient: Array) -> tuple[Any, ...]:
    value = likelihood(theta, eta, patient)
    return (value, *complex_steps(likelihood, (0, 1), theta, eta, patient))


def _in_casadi(casadi: Any) -> tuple[list[Any], list[Any]]:
    theta, eta = casadi.SX.sym("theta", 7), casadi.SX.sym("eta", 3)
    patient = casadi.SX.sym("patient", 6)
    parts = ([x[i] for i in range(x.numel())] for x in (theta, eta, patient))
    return [theta, eta, patient], [likelihood(*parts)]


def data(random: np.random.Generator) -> tuple[Array, ...]:
    """Return parameters, how a patient differs, and the patient."""
    theta = np.log([5.0, 30.0, 40.0, 8.0, 1.2, 0.05, 0.2]) + 0.1 * random.normal(size=7)
    patient = [70, 50, 90, 320, random.uniform(1, 12), 4]
    return theta, 0.2 * random.normal(size=3), np.array(patient) * random.uniform(0.8, 1.2, 6)


POINTS = (
    Point(
        "pharmacokinetics", likelihood, "value_and_grad", data, _by_hand, 250.0, _in_casadi, (0, 1)
    ),
)
