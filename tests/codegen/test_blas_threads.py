"""BLAS on one thread: during calls of kernels alone, and as it was for everybody else."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from gradc_codegen.libraries import blas_threads
from gradc_codegen.machine import jit
from gradc_ir.errors import GradcError
from tests.in_threads import in_threads

_FOUND = blas_threads.control()
needs_openblas = pytest.mark.skipif(_FOUND is None, reason="SciPy's BLAS has no such threads")


def get() -> int:
    assert _FOUND is not None
    return int(ctypes.CFUNCTYPE(ctypes.c_int)(_FOUND.getter)())


def put(threads: int) -> None:
    assert _FOUND is not None
    ctypes.CFUNCTYPE(None, ctypes.c_int)(_FOUND.setter)(threads)


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = get()
    put(2)
    yield
    put(before)


def ends_of_calls() -> tuple[Callable[[], None], Callable[[], None]]:
    held = jit._held_threads()
    assert held is not None
    hold, release = map(held.address, (blas_threads.HOLD, blas_threads.RELEASE))
    return ctypes.CFUNCTYPE(None)(hold), ctypes.CFUNCTYPE(None)(release)


@needs_openblas
def test_one_thread_until_the_last_call_ends(two_threads: None) -> None:
    hold, release = ends_of_calls()
    hold()
    assert get() == 1
    hold()
    release()
    assert get() == 1
    release()
    assert get() == 2


@needs_openblas
def test_what_another_sets_meanwhile_stays(two_threads: None) -> None:
    hold, release = ends_of_calls()
    hold()
    put(2)
    release()
    assert get() == 2
    put(1)
    hold()
    release()
    assert get() == 1


@needs_openblas
def test_calls_of_many_threads(two_threads: None) -> None:
    hold, release = ends_of_calls()

    def call(_: int) -> None:
        for _ in range(2000):
            hold()
            assert get() == 1
            release()

    in_threads(call, range(4))
    assert get() == 2


def test_another_number_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADC_BLAS_THREADS", "0")
    assert blas_threads.control() is None
    monkeypatch.setenv("GRADC_BLAS_THREADS", "all")
    with pytest.raises(GradcError, match="GRADC_BLAS_THREADS is 'all', which is no number"):
        blas_threads.control()


PROGRAM = """
import os, time
import numpy as np
import gradc
from tests.codegen.test_blas_threads import ends_of_calls, get, put

put(2)
f = gradc.compile(lambda a, b: a @ b)
a = np.ones((1000, 1000))
f(a, a)
whole, own = time.process_time(), time.thread_time()
for _ in range(10):
    f(a, a)
whole, own = time.process_time() - whole, time.thread_time() - own
assert own > 0.8 * whole, (own, whole)
assert get() == 2

# a call that is under way in another thread does not go on in a child
hold, release = ends_of_calls()
hold()
child = os.fork()
if not child:
    hold()
    inside = get()
    release()
    os._exit(0 if (inside, get()) == (1, 2) else 1)
assert os.waitpid(child, 0)[1] == 0
release()
"""


@pytest.mark.slow
@needs_openblas
@pytest.mark.skipif(os.cpu_count() == 1 or not hasattr(os, "fork"), reason="needs two cores")
def test_a_large_product_takes_one_core() -> None:
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    env = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**env, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
