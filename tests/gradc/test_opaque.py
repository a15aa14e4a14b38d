"""Opaque packages, and code of packages that is not seen: asked again, or refused."""

from __future__ import annotations

import contextlib
import importlib
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.tracing.record import trace as tracing
from gradc_ir.errors import TraceError
from tests.gradc.what_lies_outside import Meta, X, check_followed, error_of


class Odd(metaclass=Meta):
    """A class that the lens cannot derive from."""

    def __init__(self, w: Any) -> None:
        self.w = w
        self.k = 2.0


SOURCE = """
import numpy as np

SCALE = np.array([1.0, 2.0, 3.0])
GAIN = 2.0
_draws = np.random.default_rng(0)

def scale():
    return SCALE * GAIN

def gain():
    return GAIN

def pair():
    return {"scale": SCALE, "gain": GAIN}

def apply(x):
    return GAIN * x

def draw():
    return _draws.normal(size=3)

def fill(values):
    values.append(GAIN)

def call(function, x):
    return function(x)

class Model:
    def __init__(self, k):
        self.k = k
        self.w = SCALE * k
        self.parts = [SCALE, k]

    def predict(self, x):
        return self.w * x

    def weights(self):
        return self.w + self.k

MODEL = Model(2.0)
"""


@pytest.fixture(name="package")
def _package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    folder = tmp_path / "site-packages" / "tables"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(SOURCE)
    (folder / "part.py").write_text("from tables import GAIN\n\ndef twice(x):\n    return 2 * x\n")
    monkeypatch.syspath_prepend(str(folder.parent))
    yield importlib.import_module("tables")
    for name in [name for name in sys.modules if name.partition(".")[0] == "tables"]:
        del sys.modules[name]


# -- opaque packages -------------------------------------------------------------------------------


def test_what_an_opaque_function_returns_is_asked_for_again(package: Any) -> None:
    changes = [lambda: package.SCALE.fill(4.0), lambda: setattr(package, "GAIN", 7.0)]
    with gradc.opaque(package):
        check_followed(lambda x: package.scale() * x, *changes)
        check_followed(lambda x: package.gain() * x, lambda: setattr(package, "GAIN", 3.0))
        check_followed(
            lambda x: package.pair()["scale"] * package.pair()["gain"] * x,
            lambda: package.SCALE.fill(0.5),
            lambda: setattr(package, "GAIN", 1.0),
        )


def test_names_of_an_opaque_package_are_captured(package: Any) -> None:
    with gradc.opaque("tables"):
        check_followed(
            lambda x: package.SCALE * x * package.GAIN,
            lambda: package.SCALE.fill(4.0),
            lambda: setattr(package, "GAIN", 7.0),
        )


def test_objects_of_an_opaque_package(package: Any) -> None:
    model = package.MODEL
    changes = [
        lambda: model.w.fill(4.0),
        lambda: setattr(model, "k", 7.0),
        lambda: setattr(model, "w", np.array([1.0, 0.0, 2.0])),
        lambda: model.parts.__setitem__(1, 5.0),
    ]
    with gradc.opaque("tables"):
        check_followed(lambda x: model.w * x * model.k + model.parts[0] * model.parts[1], *changes)
        check_followed(lambda x: package.MODEL.weights() * x, *changes)
        check_followed(lambda x: package.Model(3.0).w * x, lambda: package.SCALE.fill(9.0))
        assert gradc.compile(lambda x: x * isinstance(model, package.Model))(X)[0] == 0.5


def test_a_draw_of_an_opaque_package_is_another_one_each_time(package: Any) -> None:
    with gradc.opaque("tables"):
        compiled = gradc.compile(lambda x: package.draw() + x)
        found = {tuple(compiled(X)) for _ in range(4)}
    assert len(found) == 4


def test_an_opaque_function_takes_no_traced_values(package: Any) -> None:
    for function in (lambda x: package.apply(x), lambda x: package.MODEL.predict(x)):
        with gradc.opaque("tables"):
            text = error_of(function)
        assert "takes a traced value, and tables is opaque\n" in text
        assert "call" in text.splitlines()[-1]
        assert "leave tables out of gradc.opaque" in text
        np.testing.assert_array_equal(gradc.compile(function)(X), function(X))  # undone


def test_what_an_opaque_function_does_to_its_argument_is_refused(package: Any) -> None:
    def f(x):
        values: list[float] = []
        package.fill(values)
        return x * values[0]

    with gradc.opaque("tables"):
        assert "changes an argument, which gradc does not see" in error_of(f)
    check_followed(f, lambda: setattr(package, "GAIN", 3.0))


def test_opaque_is_undone_and_nests(package: Any) -> None:
    compiled = gradc.compile(lambda x: package.apply(x))
    compiled(X)
    first, second = gradc.opaque("tables"), gradc.opaque(package)
    with pytest.raises(TraceError):
        compiled(X)
    first.undo()
    first.undo()
    with pytest.raises(TraceError):
        compiled(X)
    second.undo()
    np.testing.assert_array_equal(compiled(X), 2 * X)
    assert repr(first) == "gradc.opaque('tables')"


def test_a_module_of_a_package_alone(package: Any) -> None:
    part = importlib.import_module("tables.part")
    with gradc.opaque("tables.part"):
        assert "tables.part is opaque" in error_of(lambda x: part.twice(x))
        check_followed(lambda x: package.apply(x), lambda: setattr(package, "GAIN", 3.0))


def test_what_opaque_does_not_take() -> None:
    for wrong, text in (
        ((), "gradc.opaque() names no package\n"),
        ((np.sin,), "gradc.opaque takes modules and their names, not a ufunc\n"),
        (("no_such_package",), "gradc.opaque: there is no package 'no_such_package'\n"),
        (("json.nothing.there",), "gradc.opaque: there is no package 'json.nothing.there'\n"),
    ):
        with pytest.raises(TraceError) as caught:
            gradc.opaque(*wrong)
        assert str(caught.value).startswith(text)


# -- other code of packages ------------------------------------------------------------------------


def test_a_package_that_assigns_to_its_own_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache of the package's own: the function runs as Python, and is asked again."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "cached_tables.py").write_text(
        "import numpy as np\n\n_cache = None\nSIZE = 2.0\n\n\n"
        "def table(x=1.0):\n    global _cache\n    if _cache is None:\n"
        "        _cache = np.arange(3) * SIZE\n    return _cache * x\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    cached = importlib.import_module("cached_tables")
    check_followed(lambda x: cached.table() * x, lambda: setattr(cached, "_cache", np.ones(3)))
    assert "the function assigns to _cache, a name outside of it" in error_of(
        lambda x: cached.table(x)
    )


def test_what_is_asked_again_and_did_not_change_is_not_traced_again(
    package: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = Odd(np.ones(3))
    odd.part = Odd(np.ones(3))  # type: ignore[attr-defined]
    traces = []

    def counted(*args: Any, **options: Any) -> Any:
        traces.append(args)
        return record(*args, **options)

    def f(x):
        return x * odd.part.k * odd.w + package.gain() * package.Model(2.0).weights()

    record = tracing.trace
    monkeypatch.setattr(tracing, "trace", counted)
    with gradc.opaque("tables"):
        compiled = gradc.compile(f)
        for _ in range(3):
            compiled(X)
        assert len(traces) == 1
        odd.part.k = 7.0  # type: ignore[attr-defined]
        np.testing.assert_array_equal(compiled(X), f(X))
        assert len(traces) == 2


def test_what_is_called_unseen_reads_nothing_from_outside(package: Any) -> None:
    def reads(self, x):
        return x * package.GAIN

    kind = Meta("Made", (), {"reads": reads})
    assert "computes with a traced value where gradc does not see it" in error_of(
        lambda x: kind().reads(x)
    )


def test_helpers_of_contextlib_are_seen(package: Any) -> None:
    @contextlib.contextmanager
    def scaled(x):
        y = np.zeros(3)
        y[:] = x * package.GAIN
        yield y

    def f(x):
        with scaled(x) as y:
            return y

    check_followed(f, lambda: setattr(package, "GAIN", 5.0))


def test_a_namespace_package_and_a_module_without_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site-packages" / "spaced"
    folder.mkdir(parents=True)
    (folder / "inner.py").write_text("GAIN = 2.0\n")
    monkeypatch.syspath_prepend(str(folder.parent))
    inner = importlib.import_module("spaced.inner")
    spaced = importlib.import_module("spaced")
    check_followed(lambda x: spaced.inner.GAIN * x, lambda: setattr(inner, "GAIN", 3.0))
    made = types.ModuleType("made_here")
    made.gain = 2.0  # type: ignore[attr-defined]
    check_followed(lambda x: made.gain * x, lambda: setattr(made, "gain", 3.0))
