"""The LSTM of ADBench, whose weights are diagonal, over a text."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradc
from benchmarks.gradbench.programs.program import Function


def sigmoid(x: Any) -> Any:
    """Return 1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


@gradc.compile
def objective(main: Any, extra: Any, state: Any, sequence: Any) -> Any:
    """Return the mean loss of predicting each row of the sequence from those before it.

    ``main`` has two rows a layer, weights and offsets of four gates, ``extra`` the weights of the
    input and the output and the output's offset, ``state`` two rows a layer, hidden and cell.
    """
    width = sequence.shape[1]
    layers = len(main) // 2
    hidden = [state[2 * i] for i in range(layers)]
    cell = [state[2 * i + 1] for i in range(layers)]
    total = 0.0
    for t in range(len(sequence) - 1):
        x, wanted = sequence[t] * extra[0], sequence[t + 1]
        for i in range(layers):
            inputs = np.concatenate([x, hidden[i], x, hidden[i]])
            forget, take, give, change = np.split(inputs * main[2 * i] + main[2 * i + 1], 4)
            cell[i] = cell[i] * sigmoid(forget) + sigmoid(take) * np.tanh(change)
            x = hidden[i] = sigmoid(give) * np.tanh(cell[i])
        guess = x * extra[1] + extra[2]
        total += np.sum(wanted * (guess - np.log(np.sum(np.exp(guess)) + 2)))
    return -total / ((len(sequence) - 1) * width)


def jacobian(*given: Any) -> Any:
    """Return the gradient by both arrays of parameters, row by row."""
    slopes = objective.grad(*given, wrt=("main", "extra"))
    return np.concatenate([slope.ravel() for slope in slopes])


def arguments(given: Any) -> tuple[Any, ...]:
    """Return parameters, states and the sequence."""
    return tuple(
        np.array(given[name]) for name in ("main_params", "extra_params", "state", "sequence")
    )


FUNCTIONS = {
    "objective": Function(objective, arguments, float),
    "jacobian": Function(jacobian, arguments, lambda slopes: slopes.tolist()),
}
