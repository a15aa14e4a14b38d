"""Functions of one number from the regression corpus: value and two derivatives, against many
digits.

Each is computed by every order of forward and reverse mode, compiled and interpreted, in double
and in single precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath as mp
import numpy as np
import pytest

import gradc
from gradc_ir.interpreter.interpret import interpret
from tests.comparing import assert_accurate

Function = Callable[..., Any]


def forward(f: Function) -> Function:
    return lambda x: gradc.jvp(f, (x,), (np.ones_like(x)[()],))[1]


reverse = gradc.grad
MODES: dict[str, tuple[int, Callable[[Function], Function]]] = {
    "value": (0, lambda f: f),
    "reverse": (1, reverse),
    "forward": (1, forward),
    "reverse over reverse": (2, lambda f: reverse(reverse(f))),
    "forward over reverse": (2, lambda f: forward(reverse(f))),
    "reverse over forward": (2, lambda f: reverse(forward(f))),
    "forward over forward": (2, lambda f: forward(forward(f))),
}


class Row(NamedTuple):
    """A function, points, and what value, slope and curvature are."""

    f: Function
    points: list[float]
    truth: tuple[Function, Function, Function]


def where_positive(*truth: Function) -> Any:
    return tuple(lambda x, each=each: each(x) if x > 0 else mp.mpf(0) for each in truth)


def logistic(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def slope_of_logistic(x: Any) -> Any:
    return logistic(x) * logistic(-x)


def taken_where_positive(x: Any) -> Any:
    d = np.array([0, 1], dtype=np.asarray(x).dtype if not hasattr(x, "dtype") else x.dtype) * x
    return (d**0.5)[d > 0].sum()


def survival_of_survival(a: Any) -> Any:
    """A Weibull distribution's log of the survival function, from that of the other side."""
    other = np.log(1 - np.exp(-((50.0 / 1.0) ** a)))
    return np.log(1 - np.exp(other))


def power_of_fifty(order: int) -> Function:
    return lambda a: -(mp.mpf(50) ** a) * mp.log(50) ** order


def length(x: Any) -> Any:
    return mp.sqrt(x * x + 1)


ROOT = where_positive(mp.sqrt, lambda x: 1 / (2 * mp.sqrt(x)), lambda x: -1 / (4 * mp.sqrt(x) ** 3))
LENGTH = (length, lambda x: x / length(x), lambda x: 1 / length(x) ** 3)
SIZE = (abs, mp.sign, lambda x: mp.mpf(0))

ROWS = {
    "f01": Row(
        lambda x: np.where(x > 0, np.log(x), 0.0),
        [0.0, -1.0, 2.0, 1e-300],
        where_positive(mp.log, lambda x: 1 / x, lambda x: -1 / x**2),
    ),
    "f02": Row(
        lambda x: np.where(x >= 0, x, np.sqrt(-x)),
        [1.0, 0.0, -4.0],
        (
            lambda x: x if x >= 0 else mp.sqrt(-x),
            lambda x: 1 if x >= 0 else -1 / (2 * mp.sqrt(-x)),
            lambda x: 0 if x >= 0 else -1 / (4 * mp.sqrt(-x) ** 3),
        ),
    ),
    "f05": Row(lambda x: np.where(x > 0, x**0.5, 0.0), [-1.0, -3.0, 0.0, 4.0], ROOT),
    "f06": Row(lambda x: np.where(x > 0, np.sqrt(x), 0.0), [-1.0, 0.0, 1.0, 3.0], ROOT),
    "f08": Row(
        lambda x: np.where(x == 0, 0, x * np.sqrt(x)),
        [0.0, -0.0, 2.0, 1e-5],
        where_positive(
            lambda x: x * mp.sqrt(x), lambda x: 1.5 * mp.sqrt(x), lambda x: 0.75 / mp.sqrt(x)
        ),
    ),
    "f09": Row(taken_where_positive, [1.0, 2.0, -1.0], ROOT),
    "f10": Row(
        lambda x: np.log(1 + np.exp(x)),
        [0.0, 0.3, 40.0, -36.0, -37.0, -40.0, 100.0, -100.0, -700.0, 800.0, 1e4],
        (lambda x: mp.log1p(mp.exp(x)), logistic, slope_of_logistic),
    ),
    "f11": Row(survival_of_survival, [1.0, 0.5, 1.5, 1.25], tuple(map(power_of_fifty, range(3)))),
    "f13-odds": Row(
        lambda x: sigmoid(x) / (1 - sigmoid(x)), [40.0, -40.0, 700.0, -700.0, 0.5], (mp.exp,) * 3
    ),
    "f13-log": Row(
        lambda x: np.log(1 - sigmoid(x)),
        [40.0, -40.0, 700.0, -700.0, 0.5],
        (
            lambda x: -mp.log1p(mp.exp(x)),
            lambda x: -logistic(x),
            lambda x: -slope_of_logistic(x),
        ),
    ),
    "f13-product": Row(
        lambda x: sigmoid(x) * (1 - sigmoid(x)),
        [40.0, -40.0, 700.0, -700.0, 0.5],
        (
            slope_of_logistic,
            lambda x: slope_of_logistic(x) * (1 - 2 * logistic(x)),
            lambda x: slope_of_logistic(x) * (1 - 6 * slope_of_logistic(x)),
        ),
    ),
    "f14-root-of-square": Row(
        lambda x: np.sqrt(x**2), [0.0, -0.0, 1e200, -1e200, 1e-200, -2.0, 1e-30], SIZE
    ),
    "f14-square-over": Row(
        lambda x: x**2 / x,
        [1e200, -1e200, 1e-200, -2.0, 1e30, 1e-30],
        (lambda x: x, lambda x: 1, lambda x: 0),
    ),
    "f14-abs": Row(lambda x: np.abs(x), [0.0, -0.0, 1e200, -3.0], SIZE),
    "f14-hypot": Row(lambda x: np.hypot(x, 1.0), [0.0, 1e200, 1e-200, -3.0], LENGTH),
    "f14-hypot-written": Row(lambda x: np.sqrt(x**2 + 1.0), [0.0, 1e200, 1e-200, -3.0], LENGTH),
    "f14-hypot-at-zero": Row(lambda x: np.hypot(x, 0.0 * x), [0.0, 1e200, 1e-200, -3.0], SIZE),
    "f14-two-exponentials": Row(
        lambda x: np.log(np.exp(x) + np.exp(-3 * x)),
        [0.0, 300.0, -300.0, 1e4, -1e4, 0.1],
        (
            lambda x: -3 * x + mp.log1p(mp.exp(4 * x)),
            lambda x: logistic(4 * x) - 3 * logistic(-4 * x),
            lambda x: 16 * slope_of_logistic(4 * x),
        ),
    ),
}


# Second derivatives in single precision are those of the same graphs.
EACH_MODE = [
    pytest.param(
        mode, dtype, id=f"{mode}-{name}", marks=[pytest.mark.slow] * (name == "f32" and order == 2)
    )
    for mode, (order, _) in MODES.items()
    for name, dtype in (("f64", np.float64), ("f32", np.float32))
]


@pytest.mark.parametrize(("mode", "dtype"), EACH_MODE)
@pytest.mark.parametrize("name", ROWS)
def test_corpus(name: str, mode: str, dtype: Any) -> None:
    row = ROWS[name]
    order, transform = MODES[mode]
    compiled = gradc.compile(transform(row.f))
    with np.errstate(all="ignore"):
        points = [dtype(point) for point in row.points]
    for given, x in zip(row.points, points):
        if not np.isfinite(x) or (x == 0) != (given == 0):
            continue  # no number of this dtype
        with mp.workdps(1000):
            exact = mp.mpf(row.truth[order](mp.mpf(float(x))))
            found = compiled(x)
            assert found.dtype == dtype
            if abs(exact) > float(np.finfo(dtype).max):
                assert found == np.inf * float(mp.sign(exact))
                continue
            assert_accurate(found, exact)
            (interpreted,) = interpret(compiled.ir(x), [x])
            assert_accurate(interpreted, exact)


REFERENCE = np.array([1.0, 2.0])


def rooted(x: Any) -> Any:
    r = np.sqrt((x**2).sum(1))
    return np.sum(np.where(r > 0.5, r, 1))


def angles(a: Any) -> Any:
    t = np.array([0.0, 1.0, 0.0])
    return np.sum(np.where(t > 0.5, 0.0, np.arctan2(a, a)))


def masked_shift(scores: Any) -> Any:
    x = scores + (-1e30 * (1 - np.ones_like(scores)))
    return np.sum((x - x.max()) * np.array([1, 3]).astype(scores.dtype))


# a function of an array, a point, the gradient and, where it is short, the Hessian
ARRAYS = {
    "f03": (
        rooted,
        [[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]],
        [[0.2**0.5, 0.8**0.5], [0.6, 0.8], [0.0, 0.0]],
        None,
    ),
    "f04": (angles, [3.0, 0.0, -5.0], [0.0, 0.0, 0.0], np.zeros((3, 3))),
    "f07": (lambda y: 0.5 * np.linalg.norm(y - REFERENCE) ** 2, [1.0, 2.0], [0.0, 0.0], np.eye(2)),
    "f12": (lambda x: np.log(np.sum(np.exp(x))), [1000.0, 1000.0], [0.5, 0.5], None),
    "f19": (lambda x: np.prod(x), [1.0, 2.0, 4.0], [8.0, 4.0, 2.0], None),
    "f20": (lambda x: x[1] ** 2 - x[0] ** 2, [0.1, 0.1], [-0.2, 0.2], np.diag([-2.0, 2.0])),
    "f22": (masked_shift, [0.7, 0.5], [-3.0, 3.0], np.zeros((2, 2))),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["f64", "f32"])
@pytest.mark.parametrize("name", ARRAYS)
def test_corpus_of_arrays(name: str, dtype: Any) -> None:
    f, point, gradient, hessian = ARRAYS[name]
    x = np.array(point, dtype)
    close = 1e-15 if dtype is np.float64 else 1e-6
    modes = ("forward", "reverse")
    for mode in modes:
        found = gradc.jacobian(f, mode=mode)(x)
        np.testing.assert_allclose(found, gradient, rtol=close, atol=close)
    seconds = [
        gradc.jacobian(gradc.jacobian(f, mode=inner), mode=outer)(x)
        for inner in modes
        for outer in modes
    ]
    wanted = seconds[0] if hessian is None else hessian
    assert np.all(np.isfinite(wanted))
    for second in seconds:
        np.testing.assert_allclose(second, wanted, rtol=10 * close, atol=close)


def product_of_eight(x: Any) -> Any:
    product = x[0]
    for i in range(1, 8):
        product = product * x[i]
    return product


def test_f19_takes_eighteen_multiplications() -> None:
    graph = gradc.compile(product_of_eight).ir("x: f64[8]", of="grad")
    assert [node.op.name for node in graph.nodes].count("mul") <= 18
