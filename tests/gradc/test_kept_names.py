"""Names that traces look at in ways of their own: written like Python's, or those of a library."""

from __future__ import annotations

import math
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special

import gradc
from tests.kept_traces import Told, telling

X = np.array([0.5, -1.5, 2.0])

HELPER = """
__version__ = "1"
__all__ = ["a"]


class Model:
    __rate__ = 2.0

    def __init__(self):
        self.__own__ = 3.0


model = Model()
"""

MAIN = """
import kept_helper


def f(x):
    y = x * kept_helper.model.__own__ + kept_helper.model.__rate__ + kept_helper.Model.__rate__
    y = y * len(kept_helper.__all__) + len(kept_helper.__file__)
    if hasattr(kept_helper, "__more__"):
        y = y - 1.0
    return y + 10.0 if kept_helper.__version__ > "1" else y
"""


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Told:
    """Use a cache of the test's own, and tell what it does."""
    return telling(tmp_path, monkeypatch)


def value(helper: str, file: str = "kept_helper.py") -> Any:
    """Return what the function gives when it is loaded anew with a helper."""
    for name, path, text in (("kept_helper", file, helper), ("kept_main", "kept_main.py", MAIN)):
        module = types.ModuleType(name)
        module.__file__ = path
        sys.modules[name] = module
        exec(compile(text, path, "exec"), module.__dict__)
    return gradc.compile(module.f)(X)


def test_names_like_pythons(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [value(HELPER), value(HELPER)]
    assert told.traces == [False, True]
    for old, new in [
        ('__version__ = "1"', '__version__ = "2"'),
        ('["a"]', '["a", "b"]'),
        ("__rate__ = 2.0", "__rate__ = 2.5"),
        ("__own__ = 3.0", "__own__ = 3.5"),
        ("model =", "__more__ = 1\nmodel ="),
    ]:
        found.append(value(HELPER.replace(old, new)))
    found.append(value(HELPER, file="a_longer_name.py"))
    assert not any(told.traces[2:])
    assert len({str(each) for each in found}) == len(found) - 1
    assert not told.unkept


def square(x):
    return np.square(x)


def root(x):
    return x * math.sqrt(2.0)


def norm(x):
    import numpy

    return x * numpy.linalg.norm(np.diag(x))


def sigmoid(x):
    return scipy.special.expit(x)


def circle(x):
    return x * np.pi


def series(x):  # numpy and numpy.polynomial's modules hold each other
    return np.polynomial.chebyshev.chebval(x, X)


@pytest.mark.parametrize(
    ("function", "module", "name", "other"),
    [
        (square, np, "square", np.cos),
        (root, math, "sqrt", lambda x: x * 7.0),
        (norm, np.linalg, "norm", np.linalg.det),
        (sigmoid, scipy.special, "expit", scipy.special.erf),
        (circle, np, "pi", 3.0),
        (series, np.polynomial.chebyshev, "chebval", np.polynomial.legendre.legval),
    ],
)
def test_what_is_put_in_a_library(
    told: Told,
    monkeypatch: pytest.MonkeyPatch,
    function: Callable[[Any], Any],
    module: Any,
    name: str,
    other: Any,
) -> None:
    first = gradc.compile(function)(X)
    monkeypatch.setattr(module, name, other)
    second = gradc.compile(function)(X)
    np.testing.assert_allclose(second, function(X))
    assert str(second) != str(first)
    monkeypatch.undo()
    told.traces.clear()
    assert str(gradc.compile(function)(X)) == str(first)
