"""What a refused function says: why, and what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.optimize

import gradc
from gradc.tracing import trace
from gradc.tracing.advice.refusals import REASONS, cure
from gradc_ir.errors import TraceError

X = np.arange(1.0, 5.0)


def error_of(function: Callable[..., Any]) -> str:
    with pytest.raises(TraceError) as caught:
        trace(function, (X,))
    return str(caught.value)


# A function of a vector, a part of the reason, a part of the cure.
REFUSED: list[tuple[Callable[..., Any], str, str]] = [
    (np.unique, "depend on values", "np.bincount(i, minlength=n)"),
    (lambda x: np.linalg.eigvals(np.outer(x, x)), "may be complex", "np.linalg.eigvalsh(a)"),
    (lambda x: np.fft.fft(x), "complex numbers", "a matrix of cosines"),
    (lambda x: np.fft.irfft(x), "complex numbers", "a matrix of cosines"),
    (lambda x: np.ma.masked_where(x > 0, x), "masked arrays", "np.where(mask, 0, x)"),
    (lambda x: np.polynomial.Polynomial(x)(2.0), "polynomials", "np.polyval("),
    (lambda x: x.byteswap(), "x.byteswap is not", "outside"),
    (
        lambda x: scipy.interpolate.make_interp_spline(x, x)(2.0),
        "make_interp_spline is not",
        "np.interp(x, xp",
    ),
    (
        lambda x: scipy.optimize.fmin_cg(lambda z: np.sum((z - x) ** 2), X),
        "scipy.optimize.fmin_cg is not",
        "minimize(f.value_and_grad, x0, jac=True)",
    ),
    (
        lambda x: scipy.integrate.quad(lambda t: t * x[0], 0.0, 1.0)[0],
        "scipy.integrate.quad is not",
        "np.sum(weights * f(nodes))",
    ),
    (
        lambda x: scipy.integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), x).y,
        "how often depends on them",
        "write the steps of the method as a loop",
    ),
]


@pytest.mark.parametrize("position", range(len(REFUSED)))
def test_why_and_what_to_write(position: int) -> None:
    function, why, help = REFUSED[position]
    text = error_of(function)
    reason, _, shown = text.rpartition("\n  help: ")
    assert why in reason
    assert help in shown


def test_a_library_may_call_functions_of_known_numbers() -> None:
    traced = trace(lambda x: x * scipy.integrate.quad(lambda t: t * t, 0.0, 3.0)[0], (X,))
    assert len(traced.function.params) == 1


@pytest.mark.parametrize("name", ["median", "linalg.svd", "gcd", "packbits", "fft.fft2"])
def test_no_hint_at_another_function_that_sounds_alike(name: str) -> None:
    assert "nearest" not in cure(f"np.{name}").help
    assert "did you mean" not in cure(f"np.{name}").help


def test_no_cure_repeats_its_reason() -> None:
    for name, why in REASONS.items():
        assert why != cure(f"np.{name}").help


@pytest.mark.parametrize(
    ("name", "why", "help"),
    [
        ("rosen_der", "a derivative", "gradc.grad"),
        ("rosen_hess_prod", "a derivative", "gradc.hvp"),
        ("nnls", "a problem of its own", "outside"),
        ("linear_sum_assignment", "a problem of its own", "outside"),
    ],
)
def test_functions_of_scipy_optimize_that_call_no_function(name: str, why: str, help: str) -> None:
    text = error_of(lambda x: getattr(scipy.optimize, name)(x))
    assert why in text.rpartition("\n  help: ")[0]
    assert help in text.rpartition("\n  help: ")[2]
    assert "calls a function" not in text


def test_rosen_is_a_formula() -> None:
    points = np.random.default_rng(0).normal(size=(4, 3))
    for x in (X, points, np.arange(4), points.astype(np.float32)):
        found, want = gradc.compile(scipy.optimize.rosen)(x), scipy.optimize.rosen(x)
        np.testing.assert_allclose(found, want, rtol=1e-6 if x.dtype == np.float32 else 1e-15)
        assert np.asarray(found).dtype == np.asarray(want).dtype
    gradient = gradc.grad(lambda x: scipy.optimize.rosen(x))(X)
    np.testing.assert_allclose(gradient, scipy.optimize.rosen_der(X), rtol=1e-14)
