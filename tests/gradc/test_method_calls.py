"""Methods of instances and their derivatives: made by Python, and by machine code from plans on."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import sys
import weakref
from typing import Any

import numpy as np
import pytest

import gradc
from gradc_codegen.calls import methods
from gradc_codegen.calls.called_object import code_of

X = np.array([0.5, 1.5, -1.0])


class Model:
    def __init__(self, scale: float = 2.0) -> None:
        self.scale = scale

    @gradc.compile
    def loss(self, x: Any, power: float = 2.0) -> Any:
        """Return the loss."""
        return self.scale * np.sum(x**power)


class Other(Model):
    pass


@pytest.fixture
def model() -> Model:
    """Return a model whose calls go by plans."""
    found = Model()
    for _ in range(3):
        found.loss(X)
        found.loss.grad(X)
        found.loss(X, power=2.0)
    return found


def test_methods_are_made_and_called_by_machine_code(model: Model) -> None:
    if not methods._are_known() and code_of(model.loss) == 0:
        pytest.skip("objects do not lie in memory as is known")
    assert code_of(model.loss)
    assert code_of(model.loss.grad) == code_of(model.loss)
    assert Model.loss is inspect.getattr_static(Model, "loss")


def test_calls_of_methods_in_all_forms() -> None:
    models = [Model(2.0), Other(3.0)]
    for one in models * 3:
        value, slope = one.scale * np.sum(X**2), 2 * one.scale * X
        kept, gradient = one.loss, one.loss.grad
        for found in (one.loss(X), kept(X), kept(x=X), Model.loss(one, X), kept(X, power=2.0)):
            np.testing.assert_allclose(found, value)
        for found in (
            one.loss.grad(X), gradient(X), gradient(x=X), one.loss.value_and_grad(X)[1],
            kept.vjp(X)[1](1.0)[0], Model.loss.grad(one, X, wrt="x"),
        ):  # fmt: skip
            np.testing.assert_allclose(found, slope)


def test_what_methods_are_to_python(model: Model) -> None:
    method, gradient = model.loss, model.loss.grad
    assert method.__self__ is gradient.__self__ is model
    assert (method.__name__, gradient.__name__) == ("loss", "grad")
    assert [*inspect.signature(method).parameters] == ["x", "power"]
    assert "wrt" in inspect.signature(gradient).parameters
    assert repr(gradient).startswith("<grad of <<gradc.compile loss")
    assert weakref.ref(method)() is method
    assert copy.deepcopy(method).__self__ is not model
    assert copy.copy(method) is method
    with pytest.raises(gradc.TraceError, match="too many positional arguments"):
        gradient(X, 2.0, 3.0)
    with pytest.raises(AttributeError, match="missing"):
        method.missing  # noqa: B018
    with pytest.raises(gradc.TraceError, match="of a method is not supported"):
        method.jvp  # noqa: B018


def test_pickles_of_methods(model: Model) -> None:
    for found in (model.loss.grad, pickle.loads(pickle.dumps(model.loss.grad))):
        np.testing.assert_allclose(found(X), 4 * X)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(model.loss))(X), model.loss(X))


def test_derivatives_of_methods_in_traces(model: Model) -> None:
    gradient = model.loss.grad

    @gradc.compile
    def both(x: Any) -> Any:
        return np.sum(gradient(x) ** 2) + np.sum(model.loss.grad(x))

    for scale in (2.0, 3.0, 3.0):
        model.scale = scale
        np.testing.assert_allclose(both(X), np.sum(4 * scale**2 * X**2) + np.sum(2 * scale * X))
        np.testing.assert_allclose(both.grad(X), 8 * scale**2 * X + 2 * scale)


def test_methods_keep_no_more_than_they_refer_to(model: Model) -> None:
    def references() -> list[int]:
        gc.collect()
        return [sys.getrefcount(one) for one in (model, X, Model.loss, Model.loss.grad)]

    for _ in range(9):
        model.loss.vjp(X)
    before = references()
    for _ in range(300):
        model.loss.grad(X)
        model.loss.vjp(X)[1](1.0)
        kept = model.loss.grad
        kept(X)
        with pytest.raises(gradc.GradcError):
            kept()
    del kept
    assert max(map(abs, np.subtract(references(), before))) < 20
    there = weakref.ref(other := Model())
    other.cycle = other.loss.grad  # type: ignore[attr-defined]
    del other
    gc.collect()
    assert there() is None
