"""A package as users install it: models with numbers, arrays and objects at the top of a module."""

from __future__ import annotations

import dataclasses
import functools

import bases
import numpy as np

from curves import parts
from curves.parts import shifted

SCALE = np.array([1.0, 2.0, 3.0])
TABLE = np.array([1.0, 1.0, 1.0])
GAIN = 2.0
PARAMETERS = {"mass": 2.0, "weights": np.array([1.0, 2.0, 3.0]), "nested": {"rate": 0.5}}


def arrays(x):
    return np.sum(SCALE * x)


def rebound(x):
    return np.sum(TABLE * x)


def numbers(x):
    return GAIN * np.sum(x * x)


def dicts(x):
    rate = PARAMETERS["nested"]["rate"]
    return PARAMETERS["mass"] * np.sum(PARAMETERS["weights"] * np.exp(-rate * x))


class Model:
    rate = 0.25

    def __init__(self, w):
        self.w = w
        self.bias = 1.0

    @property
    def total(self):
        return np.sum(self.w) + self.bias

    def predict(self, x):
        return np.sum(np.tanh(self.w * x)) * self.rate + self.total

    def __call__(self, x):
        return self.predict(x) + self.bias


MODEL = Model(np.array([0.5, 1.0, 1.5]))


def of_self(x):
    return MODEL.predict(x) + MODEL(x)


def draws(x):
    return np.sum(x * np.random.normal(size=3))


def assigned(x):
    y = np.zeros(3)
    y[0] = x[0] * x[1]
    y[1:] += x[1:]
    return np.sum(y * y)


def other_module(x):
    return np.sum(shifted(x) + parts.shifted(2 * x) * parts.FACTOR)


def second_package(x):
    return np.sum(bases.powers(x)) * bases.DEGREE


def stacked(x):
    return np.sum(np.array([x, x * x]) * np.array([[1.0], [2.0]]))


@dataclasses.dataclass
class Spring:
    stiffness: float
    rest: np.ndarray

    def energy(self, x):
        return 0.5 * self.stiffness * np.sum((x - self.rest) ** 2)


SPRING = Spring(3.0, np.array([0.1, 0.2, 0.3]))
CHAIN = [SPRING, Spring(1.0, np.zeros(3))]


def objects_in_lists(x):
    return sum(spring.energy(x) for spring in CHAIN)


def doubled(function):
    @functools.wraps(function)
    def run(x):
        return GAIN * function(x)

    return run


def _scaled(power, x):
    return SCALE**power * x


@functools.lru_cache
def _order(n):
    return 1.0 + np.arange(n)


def _terms(x):
    for power in (1, 2):
        yield np.sum(_scaled(power, x))


cubed = functools.partial(_scaled, 3)


@doubled
def wrapped(x):
    return np.sum(cubed(x)) + sum(_terms(x)) + np.sum(_order(3) * x)
