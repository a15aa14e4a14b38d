"""Random calls that go by plans, compared with the interpreter; the same without plans; memory."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradc
from tests.quick_calls import same

ROOT = Path(__file__).parents[2]


def mixed(a: Any, x: Any, p: Any, mode: Any = "plain", *, k: Any = 2) -> Any:
    found = a * x + p["w"] * k - p["b"][0]
    return {"sum": np.sum(found), "all": found * found if mode == "plain" else -found}


def scalar(a: Any, x: Any, p: Any, mode: Any = "plain", *, k: Any = 2) -> Any:
    return np.sum(mixed(a, x, p, mode, k=k)["all"]) * 1.0


def random_call(draw: random.Random) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call: numbers and arrays in all forms, nests, flags, keywords."""
    size = draw.choice((2, 3))
    floats = [float, np.float64, np.array, lambda v: np.float64(v)]

    def number() -> Any:
        return draw.choice(floats)(draw.choice((0.5, -1.25, 3.0)))

    def array() -> Any:
        whole = np.arange(2.0 * size) * draw.choice((0.5, -1.0))
        return draw.choice(
            (whole[:size], whole[::2], whole[::-1][:size], whole[:size].copy(), whole[size:])
        )

    k = draw.choice((2, np.int64(2), np.array(2), 3, -1))
    p = draw.choice(({"w": number(), "b": [number()]}, {"b": [number()], "w": array()}))
    args: list[Any] = [number(), array(), p]
    kwargs: dict[str, Any] = {"k": k} if draw.random() < 0.7 else {}
    if draw.random() < 0.6:
        args.append(draw.choice(("plain", "other", True)))
    elif draw.random() < 0.5:
        kwargs["mode"] = draw.choice(("plain", "".join(["ot", "her"])))
    if draw.random() < 0.2:
        kwargs["p"], kwargs["x"] = args[2], args[1]
        if len(args) > 3:
            kwargs["mode"] = args[3]
        del args[1:]
    return tuple(args), kwargs


def compare(count: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(seed)
    native = gradc.compile(mixed), gradc.compile(scalar)
    interpreted = gradc.compile(mixed), gradc.compile(scalar)
    for _ in range(count):
        args, kwargs = random_call(draw)
        # the interpreter's kernels are made under the variable, gradc's without
        monkeypatch.setenv("GRADC_DISABLE_JIT", "1")
        wanted = interpreted[0](*args, **kwargs), interpreted[1].value_and_grad(*args, **kwargs)
        monkeypatch.delenv("GRADC_DISABLE_JIT")
        same(native[0](*args, **kwargs), wanted[0])
        same(native[1].value_and_grad(*args, **kwargs), wanted[1])


def test_random_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(150, 0, monkeypatch)


@pytest.mark.slow
def test_many_random_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(20_000, 1, monkeypatch)


def test_calls_without_plans_are_the_same() -> None:
    """As on an interpreter of which it is not known how objects lie in memory."""
    code = """
        import gradc_codegen.calls.layout as layout

        layout.is_known = lambda: False
        import numpy as np
        import gradc
        from gradc_codegen.calls import called_object

        assert called_object.base() is object
        x = np.array([0.3, -0.7, 1.1])
        f = gradc.compile(lambda x: x[0] * x[1] + np.sin(x[2]))
        out = np.empty(3)
        for _ in range(3):
            value, gradient = f.value_and_grad(x)
            assert f(x) == value and f.bind(x)() == value
            assert f.grad(x, out=out) is out and np.array_equal(out, gradient)
            assert np.array_equal(f.vjp(x)[1](1.0)[0], gradient)
            assert f.linearize(x)[1](x) == f.jvp((x,), (x,))[1]
            assert np.array_equal(gradc.grad(f)(x), gradient)
            assert f.hvp(x, x).shape == (3,)
        class Model:
            @gradc.compile
            def loss(self, x):
                return np.sum(x)
        assert Model().loss(x) == np.sum(x) and Model().loss.grad(x)[0] == 1.0
        print("the same")
    """
    path = os.pathsep.join([str(ROOT), str(ROOT / "ir"), str(ROOT / "codegen")])
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert done.stdout == "the same\n", done.stderr


@pytest.mark.slow
def test_memory_stays_flat() -> None:
    """Ten million calls of all kinds."""
    x, out = np.array([0.3, -0.7, 1.1]), np.empty(3)
    f = gradc.compile(lambda x, k=1.0: k * x[0] * x[1] + x[2] ** 2)
    bound, vg = f.grad.bind(x, out=out), f.value_and_grad
    pull = f.vjp(x)[1]

    def calls(count: int) -> int:
        for _ in range(count):
            f(x)
            vg(x)
            bound()
            f(x, k=2.0)
            pull(1.0)
            f.grad(x, out=x[:3])
            x[:] = 0.5
            f.jvp((x,), (x,))
            f.hvp(x, x)
            f.vjp(x)
            f.linearize(x)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = calls(20_000)
    assert calls(1_000_000) - before < 2_000  # KiB
