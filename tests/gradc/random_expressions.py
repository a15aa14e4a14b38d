"""Small expressions by chance, as texts, and how many bits gradc gains or loses on them.

Two versions of each are compared at points of all bit patterns and of daily use: the one with the
stable rules and the one without. The truth is computed in balls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from benchmarks.accuracy.truth import evaluate
from gradc.pipeline import derive
from gradc.requests.options import Options
from gradc.requests.request import Request
from gradc.rules.engine import watch_firings
from gradc.tracing import trace
from gradc_ir.core.types import Array
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.meaning.ulp_distance import bits_between, from_ordinals

Function = Callable[..., Any]

FUNCTIONS = "sqrt exp log sin cos tan arctan tanh log1p expm1 abs"
EXPONENTS = "2 3 0.5 -1.0 1.5"
NUMBERS = "1 2 3 0.5"


def expressions() -> st.SearchStrategy[str]:
    """Return a strategy of texts of two variables, such as ``np.log(1 + np.exp(x))``."""
    leaves = st.sampled_from(["x", "x", "y", *NUMBERS.split()])

    def larger(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.builds(
                "({} {} {})".format, part, st.sampled_from(["+", "-", "*", "/", "+", "-"]), part
            ),
            st.builds("np.{}({})".format, st.sampled_from(FUNCTIONS.split()), part),
            st.builds("({} ** {})".format, part, st.sampled_from(EXPONENTS.split())),
            st.builds("np.hypot({}, {})".format, part, part),
        )

    return st.recursive(leaves, larger, max_leaves=5).filter(_depends_on_x)


def _depends_on_x(text: str) -> bool:
    return "x" in text.replace("exp", "") and "(" in text


def function_of(text: str) -> Function:
    """Return the function of x and y that a text says."""
    made: Function = eval(f"lambda x, y: {text}", {"np": np})
    return made


def points(seed: int, number: int) -> tuple[Array, Array]:
    """Return so many points of each of three kinds: any bits, of daily use, next to whole ones."""
    random = np.random.default_rng(seed)

    def patterns() -> Array:
        bits = random.integers(0, 0x7FF0000000000000, number)
        return from_ordinals(bits) * random.choice([-1.0, 1.0, 1.0], number)

    def usual() -> Array:
        return random.normal(size=number) * np.exp(random.uniform(-3, 3, number))

    def near() -> Array:
        distance = 2.0 ** random.uniform(-60, 0, number) * random.choice([-1.0, 1.0], number)
        return random.choice([0.0, 1.0, -1.0, 2.0], number) + distance

    x = np.concatenate([patterns(), usual(), near()])
    y = np.concatenate([patterns(), usual(), usual()])
    close = x * (1 + 2.0 ** random.uniform(-52, 0, 3 * number))
    y = np.where(random.random(3 * number) < 0.2, close, y)
    kept = np.isfinite(y)
    return x[kept], y[kept]


class Bits(NamedTuple):
    """Mean bits of error without and with the stable rules, and the rules that fired."""

    naive: float
    stable: float
    naive_gradient: float
    stable_gradient: float
    fired: frozenset[str]

    @property
    def loss(self) -> float:
        """How many bits the rules lose, of the value or of the gradient."""
        return max(self.stable - self.naive, self.stable_gradient - self.naive_gradient)

    def __str__(self) -> str:
        return (
            f"value {self.naive:.2f} -> {self.stable:.2f}, "
            f"gradient {self.naive_gradient:.2f} -> {self.stable_gradient:.2f}; "
            f"{', '.join(sorted(self.fired))}"
        )


def bits_of(text: str, seed: int = 0, number: int = 10) -> Bits | None:
    """Return the errors of an expression, None where it has hardly any value."""
    function = function_of(text)
    x, y = points(seed, number)
    rows = [evaluate(function, [float(a), float(b)]) for a, b in zip(x, y)]
    kept = [k for k, (value, _) in enumerate(rows) if math.isfinite(value)]
    if len(kept) < 4:
        return None
    x, y = x[kept], y[kept]
    values = np.array([rows[k][0] for k in kept])
    gradients = np.array([rows[k][1] for k in kept]).T
    gradients = np.where(np.isfinite(gradients), gradients, np.nan)
    fired: set[str] = set()
    found: list[float] = []
    for stable in (False, True):
        with watch_firings(lambda _, firing: fired.add(firing.rule)):
            value, *by_argument = _computed(function, x, y, stable)
        found.append(_mean(bits_between(value, values)))
        pairs = zip(by_argument, gradients)
        found.append(_mean(np.stack([bits_between(one, truth) for one, truth in pairs])))
    return Bits(found[0], found[2], found[1], found[3], frozenset(fired))


def _computed(function: Function, x: Array, y: Array, stable: bool) -> list[Array]:
    """Return values and gradients, by the interpreter."""
    traced = trace(function, (x, y)).function
    options = Options(stable=stable)
    value = interpret(derive(traced, Request("value", options=options)), [x, y])
    gradient = derive(traced, Request("vjp", (0, 1), options=options))
    cotangents = interpret(gradient, [x, y, np.ones_like(x)])
    return [np.broadcast_to(found, x.shape) for found in (*value, *cotangents[1:])]


def _mean(bits: Array) -> float:
    return float(np.nanmean(bits)) if np.isfinite(bits).any() else 0.0
