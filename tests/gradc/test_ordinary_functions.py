"""Ordinary NumPy functions, as people have them: value, gradient and forward mode of each."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree
import pytest

import gradc
from gradc.arguments.flags import Static
from gradc.pipeline import differentiate, stabilise
from gradc.requests.request import Request
from gradc.tracing import trace
from gradc_ir.interpreter.interpret import interpret

Array = np.ndarray[Any, Any]
TOPICS = (
    "statistics",
    "geometry",
    "signal",
    "physics",
    "optimisation",
    "finance",
    "biology",
    "machine_learning",
    "engineering",
    "imaging",
    "pharmacology",
)


# They take seconds; what is in them is in others.
LONG = {
    "source_panel_pressure",
    "phylogeny_loglik",
    "double_pendulum",
    "equality_constrained_qp",
    "beam_deflection",
    "pipe_network_heads",
    "heat_exchanger",
    "binomial_american_put",
    "goertzel_power",
    "perona_malik",
    "gillespie_mean_field",
}


def cases() -> list[Any]:
    """Return every registered case of the corpus, named by its topic and function."""
    found = []
    for topic in TOPICS:
        for case in importlib.import_module(f"tests.corpus.{topic}").CASES:
            name = case[0].__name__
            marks = [pytest.mark.slow] * (name in LONG)
            found.append(pytest.param(*case, id=f"{topic}-{name}", marks=marks))
    return found


def leaves(nest: Any) -> list[Array]:
    return [np.asarray(leaf, dtype=np.float64) for leaf in optree.tree_leaves(nest)]


def dot(left: Any, right: Any) -> float:
    return float(sum(np.sum(a * b) for a, b in zip(leaves(left), leaves(right), strict=True)))


def random_like(nest: Any, seed: int) -> Any:
    """Return the nest with numbers of order one for its leaves."""
    rng = np.random.default_rng(seed)
    return optree.tree_map(lambda leaf: rng.normal(size=np.shape(leaf)), nest)


def differences(function: Callable[[Any], float], at: Any) -> list[Array]:
    """Return central differences of a nest, extrapolated once, which cancels h²."""
    points, structure = optree.tree_flatten(at)
    points = [np.asarray(point, dtype=np.float64) for point in points]

    def moved(number: int, place: tuple[int, ...], distance: float) -> float:
        shifted = [point.copy() for point in points]
        shifted[number][place] += distance
        return function(optree.tree_unflatten(structure, shifted))

    def slope(number: int, place: tuple[int, ...]) -> float:
        size = abs(points[number][place])
        h = 1e-3 * (size if size > 100 else min(max(size, 1e-2), 1.0))
        wide, narrow = (
            (moved(number, place, d) - moved(number, place, -d)) / (2 * d) for d in (h, h / 2)
        )
        return (4 * narrow - wide) / 3

    return [
        np.reshape([slope(i, place) for place in np.ndindex(point.shape)], point.shape)
        for i, point in enumerate(points)
    ]


def value_and_gradient(
    function: Callable[..., Any], args: Sequence[Any], wrt: int, weights: Any
) -> Any:
    """Return the value and the gradient of its weighted sum, from one native kernel."""
    if isinstance(weights, float):
        texts = [i for i, arg in enumerate(args) if isinstance(arg, str)]
        return gradc.compile(function, static=texts).value_and_grad(*args, wrt=wrt)

    def weighed(*args):
        value = function(*args)
        parts = zip(value, weights) if isinstance(value, tuple) else [(value, weights)]
        return sum(np.sum(part * weight) for part, weight in parts), value

    kernel = gradc.compile(weighed)
    (_, value), gradient = kernel.value_and_grad(*args, wrt=wrt, has_aux=True)
    return value, gradient


def pushed_forward(
    function: Callable[..., Any], args: Sequence[Any], wrt: int, direction: Any
) -> tuple[list[Array], list[Array]]:
    """Return value and tangent from the graph of forward mode, run by the interpreter."""
    traced = trace(function, [Static(arg) if isinstance(arg, str) else arg for arg in args])
    nests = [optree.tree_leaves(arg) for arg in args if not isinstance(arg, str)]
    start = sum(map(len, nests[:wrt]))
    request = Request("jvp", tuple(range(start, start + len(nests[wrt]))))
    forward = differentiate(stabilise(traced.function, request.options), request)
    captured = [capture.read() for capture in traced.captures]
    results = interpret(forward, [*optree.tree_leaves(nests), *captured, *leaves(direction)])
    count = len(traced.function.results)
    return list(results[:count]), list(results[count:])


@pytest.mark.parametrize(("function", "arguments", "wrt"), cases())
def test_ordinary_function(
    function: Callable[..., Any], arguments: Callable[[], tuple[Any, ...]], wrt: int
) -> None:
    expected = function(*arguments())
    args = arguments()
    scalar = not isinstance(expected, tuple) and np.ndim(expected) == 0
    weights = 1.0 if scalar else random_like(expected, seed=1)
    value, gradient = value_and_gradient(function, args, wrt, weights)
    for found, wanted in zip(leaves(value), leaves(expected), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-13)

    def weighted(part: Any) -> float:
        fresh = list(arguments())
        fresh[wrt] = part
        return dot(function(*fresh), weights)

    numeric = differences(weighted, args[wrt])
    scale = max(np.max(np.abs(part)) for part in numeric)
    for found, wanted in zip(leaves(gradient), numeric, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6 * scale)

    direction = random_like(args[wrt], seed=2)
    again, pushed = pushed_forward(function, args, wrt, direction)
    for found, wanted in zip(again, leaves(expected), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-13)
    terms = dot(optree.tree_map(np.abs, gradient), optree.tree_map(np.abs, direction))
    assert abs(dot(pushed, weights) - dot(gradient, direction)) <= 1e-9 * terms

    for left, untouched in zip(optree.tree_leaves(args), optree.tree_leaves(arguments())):
        np.testing.assert_array_equal(left, untouched)
