"""A user's file as type checkers see it: what is an error for them has a comment that says so."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import gradc

Vector = npt.NDArray[np.float64]


@gradc.compile
def loss(w: Vector, scale: float = 1.0) -> np.float64:
    """Return the loss."""
    return np.float64(scale * np.sum(w**2))


@gradc.compile(static="mode", fast=False)
def steered(x: Vector, mode: str) -> Vector:
    """Return one of two."""
    return x * 2.0 if mode == "double" else x


class Model:
    """A model."""

    weights: Vector = np.ones(3)

    @gradc.compile
    def energy(self, x: Vector) -> np.float64:
        """Return the energy."""
        return np.float64(np.sum(self.weights * x))


def plain(x: float, y: float) -> float:
    """Return a product."""
    return x * y


w: Vector = np.ones(3)
out = np.empty(3)

assert_type(loss(w), np.float64)
assert_type(loss(w, scale=2.0), np.float64)
assert_type(steered(w, "double"), Vector)
assert_type(Model().energy(w), np.float64)
assert_type(loss.value_and_grad(w), tuple[np.float64, Any])
assert_type(loss.vjp(w)[0], np.float64)
assert_type(loss.jvp((w,), (w,)), tuple[np.float64, np.float64])
assert_type(loss.bind(w)(), np.float64)
assert_type(loss.value_and_grad.bind(w)(), tuple[np.float64, Any])
assert_type(gradc.value_and_grad(plain)(1.0, 2.0), tuple[float, Any])
assert_type(gradc.jvp(plain, (1.0, 2.0), (1.0, 0.0)), tuple[float, float])
gradient: Vector = loss.grad(w)
chosen: Any = loss.grad(w, wrt=("w", "scale"))
hessian: Vector = gradc.hessian(loss)(w)
steered(w, "double", out=out)
mapped: Vector = gradc.vmap(plain)(w, w)

loss("text")  # type: ignore[call-overload]  # error
loss.grad(w, scale="text")  # type: ignore[call-overload]  # error
steered(w)  # type: ignore[call-overload]  # error
gradc.grad(plain)("text", 1.0)  # type: ignore[call-overload]  # error
gradc.compile(plain, fats=True)  # type: ignore[call-overload]  # error
