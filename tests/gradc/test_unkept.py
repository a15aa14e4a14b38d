"""What is not kept, since it hangs on more than a program says, and what is for all that."""

from __future__ import annotations

import ctypes
import datetime
import functools
import os
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import roots_legendre

import gradc
from tests.kept_traces import Told, telling, twice

X = np.array([0.5, -1.5, 2.0])


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Told:
    """Use a cache of the test's own, and tell what it does."""
    return telling(tmp_path, monkeypatch)


# -- what is not kept ------------------------------------------------------------------------------


def reads_time(x):
    return x * time.time()


def reads_environment(x):
    return x * float(os.environ.get("NOT_THERE", "2"))


def reads_a_date(x):
    return x * datetime.date.today().year


def reads_a_file(x):
    with open(__file__) as file:
        return x * len(file.readline())


def loads(x):
    return x + np.loadtxt(["1.0"])


def imports(x):
    import platform

    return x * len(platform.node())


def prints(x):
    print("traced")
    return x


def prints_numbers(x):
    gradc.debug_print("x = {}", x)
    return x


def hashes(x):
    return x * (hash("a") % 2)


def looks_into(x):
    return x * len(prints.__globals__)


def now(x):
    return x * np.datetime64("now").astype(np.int64)


def changes(x):
    made.append(1)
    return x * len(made)


made: list[int] = []


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (reads_time, "it uses time, which reads or writes outside of the program"),
        (reads_environment, "it uses os, which reads or writes outside of the program"),
        (reads_a_date, "it uses datetime, which reads or writes outside of the program"),
        (reads_a_file, "it uses open()"),
        (loads, "it runs np.loadtxt while tracing"),
        (imports, "it uses platform, which reads or writes outside of the program"),
        (prints, "it prints while it is traced"),
        (prints_numbers, "it prints numbers at every call"),
        (hashes, "it uses hash()"),
        (looks_into, "looks_into reads __globals__"),
        (now, "it makes an np.datetime64, which may be the time"),
        (changes, "it changes made, which is outside of it"),
    ],
)
def test_what_hangs_on_more_is_not_kept(told: Told, function: Any, why: str) -> None:
    for _ in range(2):
        gradc.compile(function)(2.0)
    assert told.traces == [False, False]
    assert told.unkept == [why, why]


def test_pure_helpers_of_libraries_are_kept(told: Told) -> None:
    nodes, weights = roots_legendre(5)

    def f(x):
        more = functools.reduce(lambda a, b: a * b, [2.0, 3.0])
        return np.sum(weights * np.exp(nodes * x)) * more * roots_legendre(3)[0][2]

    twice(lambda: gradc.compile(f), told, lambda f: f.value_and_grad(0.5))


def test_functions_of_c_are_kept(told: Told) -> None:
    cosine = ctypes.CDLL(None).cos
    c = gradc.external(cosine, "x: f64 -> f64")
    c.def_partials(lambda x: -np.sin(x))
    twice(lambda: gradc.compile(lambda x: c(x) * 2), told, lambda f: f.value_and_grad(0.5))


def test_functions_of_c_are_asked_when_the_program_runs() -> None:
    cosine = gradc.external(ctypes.CDLL(None).cos, "x: f64 -> f64")
    f = gradc.compile(lambda x: x * cosine(2.0))
    assert "external" in f.dump("x: f64")
    assert f(3.0) == 3.0 * np.cos(2.0)


def test_log_tells_why(told: Told, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("GRADC_LOG", "cache")
    gradc.compile(prints)(2.0)
    gradc.compile(lambda x: x + 1.0)(2.0)
    said = capsys.readouterr().err
    assert "gradc: prints is not kept: it prints while it is traced\n" in said
    assert re.search(r"gradc: <lambda>: kept \d+ bytes of its trace\n", said)
