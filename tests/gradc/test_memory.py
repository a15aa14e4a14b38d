"""What a compilation leaves behind when the function is gone, and what a living one may keep."""

from __future__ import annotations

import contextlib
import gc
import subprocess
import sys
import textwrap
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc_codegen.machine import jit, llvm_loader

X = np.array([0.5, 1.5, 2.5])

# Bytes that malloc has given away, which no gap between them hides.
PROGRAM = """
import ctypes, gc, itertools, sys
import numpy as np
import gradc

FIELDS = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"


class Information(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in FIELDS.split()]


libc = ctypes.CDLL("libc.so.6")
libc.mallinfo2.restype = Information
serial = itertools.count()
x = np.arange(1.0, 6.0)


def used():
    gc.collect()
    found = libc.mallinfo2()
    return found.uordblks + found.hblkhd


def resident():
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[1]) * 4096


def fresh():
    factor = 1.0 + next(serial) % 64

    def f(x):
        return np.sum(np.tanh(x * factor) + x)

    return f


def value():
    gradc.compile(fresh())(x)


def gradient():
    gradc.grad(fresh())(x)


def loop():
    factor = 1.0 + next(serial) % 64

    def f(x):
        return gradc.scan(lambda total, row: (total * 0.5 + row, total), x[0] * factor, x)[0]

    gradc.grad(f)(x)


def failing():
    try:
        gradc.compile(lambda x: np.spacing(np.unique(x)))(x)
    except gradc.GradcError:
        pass
    else:
        raise AssertionError


kept = gradc.compile(lambda x: np.sum(x * x))


def shapes():
    kept.grad(np.ones((2,) * (1 + next(serial) % 5)))
    kept._families = type(kept._families)(kept.__name__)
    for learner in kept._learners.values():
        learner.forget()


run, warm, count = globals()[sys.argv[1]], int(sys.argv[2]), int(sys.argv[3])
for _ in range(warm):
    run()
before, there = used(), resident()
for _ in range(count):
    run()
print((used() - before) / count / 1024, (resident() - there) / count / 1024)
"""


def grown(kind: str, warm: int, count: int) -> tuple[float, float]:
    """Return by how many KiB a compilation grows what is used, and what is resident."""
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), kind, str(warm), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    used, resident = map(float, done.stdout.split())
    return used, resident


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="asks glibc and /proc")


@on_linux
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["value", "gradient", "loop", "shapes", "failing"])
def test_a_compilation_that_is_gone_leaves_less_than_two_kib(kind: str) -> None:
    # caches of a thousand constants and lines fill first; engines come and go by 32 libraries
    used, _ = grown(kind, 320, 320)
    assert used < 2.0


@on_linux
@pytest.mark.slow
def test_five_thousand_recompilations_grow_less_than_two_kib_each() -> None:
    _, resident = grown("value", 1000, 5000)
    assert resident < 2.0


def test_engines_go_with_the_last_of_their_libraries() -> None:
    text = "define i64 @f() {\n  ret i64 1\n}\n"
    made = jit.compile_module(text)
    engines = [
        weakref.ref(llvm_loader.load(made.code, made.names, {}).engine) for _ in range(4 * 32)
    ]
    gc.collect()
    alive = {id(each()) for each in engines if each() is not None}
    # the first may have been begun before, with libraries that live, and the last is being filled
    assert alive <= {id(engines[0]()), id(engines[-1]())}


@pytest.mark.parametrize(
    "use",
    [
        lambda f: f(X),
        lambda f: f.value_and_grad(X),
        lambda f: f.hessian(X),
        lambda f: f.jvp((X,), (X,)),
        lambda f: f.vjp(X)[1](1.0),
        lambda f: f.linearize(X)[1](X),
    ],
)
def test_machine_code_goes_with_its_function(
    use: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = []
    load = jit.load_object

    def watched(*args: Any) -> jit.LoadedModule:
        made = load(*args)
        loaded.append(weakref.ref(made))
        return made

    def f(x):  # type: ignore[no-untyped-def]
        return gradc.scan(lambda total, row: (total * 0.5 + row, total), x[0], np.tanh(x))[0]

    use(gradc.compile(f))  # formulas, entries and the like stay
    monkeypatch.setattr(jit, "load_object", watched)
    gc.disable()  # which finds circles, some of them only after thousands of compilations
    try:
        use(gradc.compile(f))
        assert loaded
        assert [each() for each in loaded] == [None] * len(loaded)
    finally:
        gc.enable()


@pytest.mark.parametrize("fails", [False, True])
def test_arrays_a_function_reads_go_with_it(fails: bool) -> None:
    def use() -> weakref.ref[np.ndarray]:
        data = np.ones(3)

        def helper(x):  # type: ignore[no-untyped-def]
            return np.sum(x * data)

        def f(x):  # type: ignore[no-untyped-def]
            return np.unique(x * data) if fails else helper(x)

        with contextlib.suppress(gradc.GradcError):
            gradc.compile(f).value_and_grad(2.0)
        return weakref.ref(data)

    use()
    gc.disable()  # which finds circles, at some time
    try:
        gone = use()
        assert gone() is None
    finally:
        gc.enable()


def test_a_function_lists_its_last_compilations() -> None:
    f = gradc.compile(lambda x: np.sum(x))
    f(np.ones(3))
    assert f._signatures.maxlen == 1000
    assert [each.of for each in f.signatures] == ["value"]
