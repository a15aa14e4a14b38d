"""Ordinary functions of pharmacology: what a body does to a drug."""

import numpy as np


def two_compartments(log_rates, dose, weight, age, creatinine, times, measured):
    """Misfit of drug concentrations after a dose by mouth: two compartments, first-order uptake."""
    log_cl, log_vc, log_q, log_vp, log_ka, bio, sigma = log_rates
    size = weight / 70.0
    maturity = age / (age + 0.75)
    renal = (140.0 - age) * weight / (72.0 * creatinine)
    kidneys = renal / 100.0
    cl = np.exp(log_cl) * size**0.75 * maturity * kidneys**0.5
    vc = np.exp(log_vc) * size
    q = np.exp(log_q) * size**0.75
    vp = np.exp(log_vp) * size
    ka = np.exp(log_ka)
    available = 1.0 / (1.0 + np.exp(-bio))
    k10 = cl / vc
    k12 = q / vc
    k21 = q / vp
    total = k10 + k12 + k21
    root = np.sqrt(total**2 - 4.0 * k21 * k10)
    alpha = 0.5 * (total + root)
    beta = 0.5 * (total - root)
    scale = ka * available * dose / vc
    a = scale * (k21 - alpha) / ((ka - alpha) * (beta - alpha))
    b = scale * (k21 - beta) / ((ka - beta) * (alpha - beta))
    c = -(a + b)
    fast = np.exp(-alpha * times)
    slow = np.exp(-beta * times)
    uptake = np.exp(-ka * times)
    conc = a * fast + b * slow + c * uptake
    predicted = np.log(conc + 0.01)
    residual = np.log(measured + 0.01) - predicted
    noise = np.exp(sigma)
    weighted = residual / noise
    data = 0.5 * np.sum(weighted**2)
    spread = len(times) * sigma
    prior = 0.5 * (log_cl**2 + log_vc**2 + log_q**2 + log_vp**2 + log_ka**2)
    return data + spread + prior


def _patient():
    log_rates = np.array([1.3, 3.0, 0.4, 3.4, 0.2, 1.5, -1.0])
    times = np.array([0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 12.0, 24.0])
    measured = np.array([1.2, 2.3, 3.4, 3.3, 2.1, 1.0, 0.6, 0.2])
    person = (np.array(100.0), np.array(82.0), np.array(45.0), np.array(1.1))
    return log_rates, *person, times, measured


CASES = [(two_compartments, _patient, 0)]
