"""A long short-term memory by scan, and its backpropagation written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradc


def sigmoid(x: Any) -> Any:
    """Return 1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def loss(parameters: dict[str, Any], x: Any, targets: Any) -> Any:
    """Return the mean squared error of reading ``x``, one row a step, and guessing ``targets``.

    ``parameters`` are the weights ``w`` of the inputs and ``u`` of the state, the biases ``b`` of
    the four gates (input, forget, output, candidate) and the weights ``v`` of the guess.
    """
    size = parameters["v"].shape[0]

    def step(carry: dict[str, Any], row: Any) -> Any:
        x, target = row
        z = parameters["w"] @ x + parameters["u"] @ carry["h"] + parameters["b"]
        i, f, o = sigmoid(z[:size]), sigmoid(z[size : 2 * size]), sigmoid(z[2 * size : 3 * size])
        c = f * carry["c"] + i * np.tanh(z[3 * size :])
        h = o * np.tanh(c)
        return {"h": h, "c": c}, (parameters["v"] @ h - target) ** 2

    start = {"h": np.zeros(size), "c": np.zeros(size)}
    _, errors = gradc.scan(step, start, (x, targets))
    return np.mean(errors)


def loss_and_gradient(parameters: dict[str, Any], x: Any, targets: Any) -> tuple[float, Any]:
    """Return the loss and its gradient by backpropagation through time, written by hand."""
    w, u, b, v = (parameters[name] for name in "wubv")
    size, steps = len(v), len(x)
    h, c = np.zeros((steps + 1, size)), np.zeros((steps + 1, size))
    gates = np.zeros((steps, 4, size))
    for t in range(steps):
        z = w @ x[t] + u @ h[t] + b
        gates[t, :3] = sigmoid(z[: 3 * size]).reshape(3, size)
        gates[t, 3] = np.tanh(z[3 * size :])
        c[t + 1] = gates[t, 1] * c[t] + gates[t, 0] * gates[t, 3]
        h[t + 1] = gates[t, 2] * np.tanh(c[t + 1])
    errors = h[1:] @ v - targets
    dv = 2 / steps * errors @ h[1:]
    dz = np.zeros((steps, 4, size))
    dh, dc = np.zeros(size), np.zeros(size)
    for t in reversed(range(steps)):
        i, f, o, g = gates[t]
        dh = dh + 2 / steps * errors[t] * v
        squashed = np.tanh(c[t + 1])
        dc = dc + dh * o * (1 - squashed**2)
        dz[t] = [
            dc * g * i * (1 - i),
            dc * c[t] * f * (1 - f),
            dh * squashed * o * (1 - o),
            dc * i * (1 - g**2),
        ]
        dh, dc = u.T @ dz[t].ravel(), dc * f
    flat = dz.reshape(steps, -1)
    gradient = {"w": flat.T @ x, "u": flat.T @ h[:-1], "b": flat.sum(0), "v": dv}
    return float(np.mean(errors**2)), gradient


def sample(steps: int, inputs: int, size: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return parameters, inputs and targets."""
    random = np.random.default_rng(seed)
    parameters = {
        "w": random.normal(size=(4 * size, inputs)) / np.sqrt(inputs),
        "u": random.normal(size=(4 * size, size)) / np.sqrt(size),
        "b": 0.5 * random.normal(size=4 * size),
        "v": random.normal(size=size),
    }
    return parameters, random.normal(size=(steps, inputs)), random.normal(size=steps)
