"""A derivative inside a trace is made once, however often what surrounds it is traced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradc
from gradc.api import nested_trace
from gradc.pipeline import nested


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the requests of derivatives that are made, in their order."""
    found: list[Any] = []

    def counted(function: Any, request: Any, is_last: bool) -> Any:
        found.append(request)
        return nested(function, request, is_last)

    monkeypatch.setattr(nested_trace, "nested", counted)
    return found


def test_in_a_loop_that_is_traced_several_times(made: list[Any]) -> None:
    @gradc.compile
    def descend(x: Any) -> Any:
        slope = gradc.grad(lambda x: np.sum(x**4))
        taken = 0
        while np.sum(slope(x) ** 2) > 1e-3:
            x = x - 0.1 * slope(x)
            taken = taken + 1
        return x, taken

    x, taken = descend(np.array([0.5, -0.25]))
    want = np.array([0.5, -0.25])
    for _ in range(int(taken)):
        want = want - 0.1 * 4 * want**3
    np.testing.assert_allclose(x, want)
    assert len(made) == 1


def test_another_function_another_argument_and_another_kind_are_made(made: list[Any]) -> None:
    @gradc.compile
    def several(x: Any, y: Any) -> Any:
        first = gradc.grad(lambda x, y: x * np.sin(y))
        return (
            first(x, y),
            first(y, x),
            gradc.grad(lambda x, y: x * np.sin(y), wrt=1)(x, y),
            gradc.grad(lambda x, y: x * np.cos(y))(x, y),
            gradc.value_and_grad(lambda x, y: x * np.cos(y))(x, y)[1],
        )

    found = several(0.5, 0.75)
    s, c = np.sin, np.cos
    np.testing.assert_allclose(found, [s(0.75), s(0.5), 0.5 * c(0.75), c(0.75), c(0.75)])
    assert [request.of for request in made] == ["grad", "grad", "grad", "value_and_grad"]
