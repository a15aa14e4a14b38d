"""Known and symbolic sizes give the same bits: values, gradients and second derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.tracing import trace
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import Type, dtype_of
from gradc_ir.interpreter.interpret import interpret
from tests.comparing import assert_same_bits

# A size for each name; elements are in three windows and more, which small sizes would not have.
SIZES = {"n": 9, "m": 6, "k": 5}
Program = tuple[str, Callable[..., Any]]


def stencil(u: Any) -> Any:
    right, down, well = u[:, 1:] - u[:, :-1], u[1:] - u[:-1], (1 - u) * (1 + u)
    return 0.5 * (np.sum(right * right) + np.sum(down * down)) + 0.25 * np.sum(well * well)


def five_points(u: Any) -> Any:
    inner = u[1:-1, 1:-1]
    around = u[1:-1, 2:] + u[1:-1, :-2] + u[2:, 1:-1] + u[:-2, 1:-1]
    return np.sum(np.exp(around - 4 * inner) * inner)


def upwind(u: Any) -> Any:
    for _ in range(3):
        u = u - 0.1 * u * (u - np.concatenate([u[-1:], u[:-1]]))
    return np.sum(u * u)


def diffusion(u: Any) -> Any:
    for _ in range(2):
        change = np.zeros_like(u)
        change[1:-1] = u[2:] - 2 * u[1:-1] + u[:-2]
        u = u + 0.1 * change
    return np.sum(u**2)


def assigned(x: Any) -> Any:
    y = np.zeros_like(x)
    y[1:] = x[:-1] * x[1:]
    y[0] = x[-1]
    y[:, 1:] += x[:, :-1]
    return np.sum(y * y * x)


def recorded_loop(x: Any) -> Any:
    state = 0.0
    for i in range(len(x)):
        state = 0.9 * state + x[i] * state * state + x[i]
    return state


def rolled_steps(x: Any, w: Any) -> Any:
    state = np.zeros(x.shape[1])
    for i in gradc.rolled(range(len(x))):  # so few steps would be unrolled if their number is known
        state = np.tanh(state * w[0] + x[i] * w)
    return np.sum(state)


def softmax(x: Any) -> Any:
    shares = np.exp(x - np.max(x, axis=1, keepdims=True))
    shares = shares / np.sum(shares, axis=1, keepdims=True)
    return np.sum(shares * np.log(shares))


def attention(q: Any, w: Any, v: Any) -> Any:
    scores = q @ w @ q.T / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return np.sum((weights / weights.sum(1, keepdims=True)) @ v)


def correlation(x: Any, y: Any) -> Any:
    a, b = x - x.mean(), y - y.mean()
    return np.sum(a * b) / np.sqrt(np.sum(a * a) * np.sum(b * b))


def joined(x: Any, y: Any) -> Any:
    whole = np.concatenate([x, y * 2, x[::-1]])
    return np.sum(np.sin(whole) * whole)


PROGRAMS: dict[str, Program] = {
    "differences": ("n", lambda x: np.sum((x[1:] - x[:-1]) ** 2)),
    "curvature": ("n", lambda x: np.sum((x[2:] - 2 * x[1:-1] + x[:-2]) ** 2 * x[1:-1])),
    "a stencil": ("n m", stencil),
    "five points": ("n n", five_points),
    "four neighbours": (
        "n",
        lambda x: np.sum(np.tanh(x[:-3] + 2 * x[1:-2] + 3 * x[2:-1] + x[3:]) * x[:-3]),
    ),
    "products of neighbours": (
        "n",
        lambda x: np.sum(x[2:] * x[1:-1] * x[:-2] + x[2:] * x[:-2] * x[1:-1] * 2),
    ),
    "upwind steps": ("n", upwind),
    "steps of diffusion": ("n", diffusion),
    "assigned parts": ("n m", assigned),
    "ends": (
        "n",
        lambda x: x[0] * x[-1] * np.sum(x) + x[1] * x[-2] + np.sum(x[1:] * x[:-1]) * x[-1],
    ),
    "a row and a column": ("n m", lambda x: np.sum(x[0]) * np.sum(x[:, 1]) * np.sum(x) * x[0, 1]),
    "rolls": (
        "n",
        lambda x: np.sum(np.roll(x, 1) * x * np.roll(x, -1) + np.roll(x, 2) * np.roll(x, -3)),
    ),
    "rolls along axes": (
        "n m",
        lambda x: np.sum((sum(np.roll(x, s, a) for s in (1, -1) for a in (0, 1)) - 4 * x) ** 3),
    ),
    "padded": ("n", lambda x: np.sum(np.pad(x, 2)[1:-1] * np.pad(x, 1))),
    "convolved": ("n", lambda x: np.sum(np.convolve(x, np.array([0.25, 0.5, 0.3])) ** 2)),
    "joined": ("n, m", joined),
    "stacked": ("n, n, n", lambda x, y, z: np.sum(np.prod(np.stack([x, y, z]), axis=0) * x)),
    "running sums": ("n", lambda x: np.sum(np.cumsum(x) * x[::-1]) * np.cumsum(x[1:])[-1]),
    "running products": ("n", lambda x: np.sum(np.cumprod(1 + 0.1 * x)[1:] * x[:-1])),
    "moving averages": (
        "n",
        lambda x: np.sum(((np.cumsum(x)[3:] - np.cumsum(x)[:-3]) / 3 - x[3:]) ** 2),
    ),
    "products of parts": ("n m, m", lambda a, v: np.sum(np.tanh(a[1:] @ v) * (a[:-1] @ v))),
    "a quadratic form": ("n n, n", lambda a, x: x @ a @ x + x[1:] @ a[1:, :-1] @ x[:-1]),
    "contracted parts": ("n m", lambda x: np.sum(np.einsum("ij,ik->jk", x[:-1], x[1:]) ** 2)),
    "a layer": ("n m, m k, k", lambda x, w, b: np.mean(np.tanh(x @ w + b) ** 2)),
    "a logistic loss": (
        "n m, m, n",
        lambda x, w, y: np.mean(np.logaddexp(0, x @ w) - y * (x @ w)),
    ),
    "attention": ("n m, m m, n m", attention),
    "a softmax": ("n m", softmax),
    "a variance": ("n", lambda x: np.var(x) * np.mean(x) + np.std(x)),
    "standardised columns": (
        "n m",
        lambda x: np.sum(((x - np.mean(x, 0)) / (np.std(x, 0) + 1e-3)) ** 3),
    ),
    "a correlation": ("n, n", correlation),
    "a spread over its square": (
        "n m",
        lambda x: np.sum(np.std(x, axis=1) / (np.std(x, axis=1) * np.std(x, axis=1))),
    ),
    "a mean over a spread": ("n", lambda x: np.mean(x) / (np.std(x) * np.std(x)) * np.sum(x) / 3),
    "three means": (
        "n",
        lambda x: np.mean(np.sin(x)) * np.mean(np.cos(x)) * np.mean(np.tanh(x)) + np.mean(x) * 3,
    ),
    "places as numbers": ("n", lambda x: np.sum(np.arange(len(x)) * x[::-1] * x / len(x))),
    "distances": (
        "n m, n m",
        lambda x, y: np.sum(np.sqrt(np.sum((x[:, None] - y[None]) ** 2, -1) + 1.0)),
    ),
    "flipped": ("n m", lambda x: np.sum(x[::-1] * x[:, ::-1] * x + x[::-1, ::-1] * x)),
    "flattened": ("n m", lambda x: np.sum(x.ravel()[1:] * x.ravel()[:-1]) + np.sum(x.ravel() ** 3)),
    "chosen": (
        "n",
        lambda x: np.sum(np.where(x[1:] > x[:-1], x[1:], x[:-1]) * np.maximum(x[1:], x[:-1])),
    ),
    "triangles": ("n n", lambda a: np.trace(a @ a) + np.sum(np.diag(a) * a[0] + np.triu(a) * a.T)),
    "a loop": ("n", recorded_loop),
    "a loop of few steps": ("k m, m", rolled_steps),
}


def weights_steps(x: Any) -> Any:
    w = x
    for _ in range(3):
        p = 1 / (1 + np.exp(-w))
        w = w - 0.1 * (w * p) / np.sum(p)
    return np.sum(w * w)


# Axes of one element have their own sum for one, of which other rules must not know.
OF_ONES: dict[str, Program] = {
    "steps of weights": ("n", weights_steps),
    "a logarithm of a sum": ("n", lambda x: np.log(np.sum(np.exp(x)))),
    "logarithms of sums": ("m n", lambda x: np.sum(np.log(np.sum(np.exp(x), axis=1)))),
    "shares": (
        "m n",
        lambda x: np.sum(np.exp(x) / np.sum(np.exp(x), axis=1, keepdims=True) * x),
    ),
    "norms": ("m n", lambda x: np.sum(np.sqrt(np.sum(x * x, axis=1)))),
    "directions": ("m n", lambda x: np.sum((x / np.sqrt(np.sum(x * x, 1, keepdims=True))) ** 3)),
    "deviations": ("m n", lambda x: np.sum((x - np.mean(x, axis=1, keepdims=True)) ** 2 * x)),
    "distances": (
        "m n, m n",
        lambda x, y: np.sum(np.sqrt(np.sum((x[:, None] - y[None]) ** 2, -1) + 1)),
    ),
    "a sum of squares": ("n", lambda x: np.sqrt(np.sum(x**2))),
    "an entropy": (
        "n",
        lambda x: -np.sum(x * x / np.sum(x * x) * np.log(x * x / np.sum(x * x))),
    ),
    "a mean of exponentials": ("k", lambda x: np.log(np.mean(np.exp(x)))),
    "a quotient of means": ("m", lambda x: np.mean(np.exp(x)) / np.mean(x)),
}
# Of these at an infinity, too.
HAVE_ENDS = ("a logarithm of a sum", "logarithms of sums", "norms", "a sum of squares")
ONES = {"n": 1, "m": 7, "k": 3}


def both(
    program: Program, of: str, sizes: dict[str, int] = SIZES
) -> tuple[list[Function], list[Any]]:
    """Return what a request makes of a program with its sizes known and symbolic, and arguments."""
    shapes = [shape.split() for shape in program[0].split(",")]
    random = np.random.default_rng(3)
    found = []
    for size in (sizes.__getitem__, symbol):
        types = [Type(dtype_of(np.dtype(float)), tuple(map(size, shape))) for shape in shapes]
        request = Request(of, tuple(range(len(types))))
        found.append(derive(trace(program[1], tuple(types)).function, request))
    return found, [random.normal(size=type_.shape) for type_ in found[0].param_types]


@pytest.mark.parametrize("name", PROGRAMS)
def test_value_and_gradient(name: str) -> None:
    (known, symbolic), arguments = both(PROGRAMS[name], "value_and_grad")
    assert known.size_symbols == () != symbolic.size_symbols
    for one, other in zip(interpret(known, arguments), interpret(symbolic, arguments), strict=True):
        assert_same_bits(one, other)


@pytest.mark.parametrize("name", OF_ONES)
def test_axes_of_one_element(name: str) -> None:
    (known, symbolic), arguments = both(OF_ONES[name], "value_and_grad", ONES)
    ends = [np.where(np.arange(x.size).reshape(x.shape) % 2, x, np.inf) for x in arguments]
    for given in (arguments, *([ends] if name in HAVE_ENDS else [])):
        with np.errstate(all="ignore"):
            found = interpret(known, given), interpret(symbolic, given)
        for one, other in zip(*found, strict=True):
            assert_same_bits(one, other)


@pytest.mark.parametrize("of", ["hvp", "jacobian"])
@pytest.mark.parametrize("name", ["a stencil", "rolls", "assigned parts", "ends", "three means"])
def test_further_derivatives(name: str, of: str) -> None:
    (known, symbolic), arguments = both(PROGRAMS[name], of)
    for one, other in zip(interpret(known, arguments), interpret(symbolic, arguments), strict=True):
        assert_same_bits(one, other)


def compiled_both(name: str) -> None:
    shapes, function = PROGRAMS[name]
    known, symbolic = gradc.compile(function, blas=False), gradc.compile(function, blas=False)
    places = range(len(shapes.split(",")))
    wrt = tuple(places) if len(places) > 1 else 0

    def arguments(more: int) -> list[Any]:
        random = np.random.default_rng(7)
        sizes = {size: number + more for size, number in SIZES.items()}
        return [
            random.normal(size=[sizes[size] for size in shape.split()])
            for shape in shapes.split(",")
        ]

    for more in (5, 11):
        symbolic.value_and_grad(*arguments(more), wrt=wrt)
    given = arguments(0)
    one, other = (f.value_and_grad(*given, wrt=wrt) for f in (known, symbolic))
    assert_same_bits(one[0], other[0])
    for left, right in zip(*(x[1] if len(places) > 1 else (x[1],) for x in (one, other))):
        assert_same_bits(left, right)


def test_compiled() -> None:
    compiled_both("rolls")


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_compiled(name: str) -> None:
    compiled_both(name)


@pytest.mark.parametrize("shift", [0, 1, -1, 2, -2, 5, -7])
def test_a_roll_of_an_axis_of_any_size(shift: int) -> None:
    traced = trace(lambda x: np.roll(x, shift), (Type(dtype_of(np.dtype(float)), (symbol("n"),)),))
    assert not any(node.op.name == "gather" for node in traced.function.nodes)
    for n in range(9):
        x = np.arange(float(n))
        assert_same_bits(interpret(traced.function, [x])[0], np.roll(x, shift))
