"""Memory of large results serves the next ones; their arrays are like all others."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gradc
from gradc_codegen.calls import layout, result_memory

pytestmark = pytest.mark.skipif(not layout.is_known(), reason="objects lie otherwise")

X = np.linspace(0, 1, 100_000)


@gradc.compile
def twice(x: Any) -> Any:
    return 2 * x


@gradc.compile
def parts(x: Any) -> Any:
    return x + 1, x > 0.5, np.sum(x)


def where(array: Any) -> int:
    return int(array.ctypes.data)


@pytest.fixture(autouse=True)
def by_plans() -> None:
    for _ in range(3):
        twice(X)
        parts(X)


def handler_of(array: Any) -> str:
    return str(np._core.multiarray.get_handler_name(array))


def test_memory_of_what_is_gone_is_the_next_results() -> None:
    first = twice(X)
    place = where(first)
    second = twice(X)
    assert where(second) != place  # the first one is there
    del first
    third = twice(X)
    assert where(third) == place
    assert np.array_equal(second, 2 * X)
    assert np.array_equal(third, 2 * X)


def test_views_keep_their_memory() -> None:
    tail = twice(X)[-10:]
    twice(X)
    assert np.array_equal(tail, 2 * X[-10:])


def test_arrays_own_their_memory_and_can_be_resized() -> None:
    made = twice(X)
    assert made.flags.owndata
    assert made.flags.writeable
    assert handler_of(made) == "gradc"
    made.resize(200_000)
    assert np.array_equal(made[:100_000], 2 * X)
    assert not made[100_000:].any()
    made.resize(10)
    assert np.array_equal(made, 2 * X[:10])


def test_only_large_results_are_made_so_and_no_other_arrays() -> None:
    numbers, mask, _ = parts(X)
    assert handler_of(numbers) == "gradc"
    assert handler_of(mask) == "default_allocator"
    assert handler_of(np.empty(100_000)) == "default_allocator"
    assert handler_of(numbers + 1) == "default_allocator"


def test_who_sets_a_handler_keeps_it() -> None:
    name = ctypes.create_string_buffer(b"theirs")
    usual = layout.usual_memory()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    theirs = ctypes.create_string_buffer(ctypes.string_at(pointer(usual, b"mem_handler"), 168))
    theirs[0:7] = name.raw  # type: ignore[assignment]
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    capsule = make(ctypes.addressof(theirs), b"mem_handler", None)
    place = int(layout.addresses()[layout.PLACES["PyDataMem_SetHandler"]])
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(place)
    before = set_handler(capsule)
    try:
        made = twice(X)
        assert handler_of(made) == handler_of(np.empty(10)) == "theirs"
        del made
    finally:
        set_handler(before)
    assert handler_of(twice(X)) == "gradc"


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_what_is_kept_goes_where_memory_is_short() -> None:
    program = (
        "import resource, numpy as np, gradc\n"
        "from gradc_codegen.calls import result_memory\n"
        "f = gradc.compile(lambda x: 2 * x)\n"
        "x = np.ones(10_000_000)\n"
        "y = x[:9_900_000]\n"
        "for _ in range(4): f(y)\n"
        "for _ in range(4): f(x)\n"
        "assert result_memory.kept() == 8 * (x.size + y.size)\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 20_000_000, -1))\n"
        "made = f(y), f(y)\n"  # the second one where memory for x was
        "assert result_memory.kept() == 0 and made[1].sum() == 2 * y.size\n"
    )
    environment = os.environ | {"GRADC_MEMORY_MB": "200"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, timeout=100)


@pytest.fixture
def two_megabytes() -> Iterator[None]:
    usual = result_memory.set_most(2_000_000)
    yield
    result_memory.set_most(usual)


@pytest.mark.usefixtures("two_megabytes")
def test_no_more_is_kept_than_may_be() -> None:
    made = [twice(X) for _ in range(5)]
    made.clear()
    assert 800_000 <= result_memory.kept() <= 2_000_000
    for size in range(50_000, 50_020):
        for _ in range(3):
            assert twice(X[:size])[-1] == 2 * X[size - 1]
    assert result_memory.kept() <= 2_000_000


def test_the_limit_is_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = result_memory.most_kept()
    assert 0 < usual <= 256 << 20
    for given, wanted in (("10", 10_000_000), ("0", 0), ("-1", 0), ("many", usual)):
        monkeypatch.setenv("GRADC_MEMORY_MB", given)
        assert result_memory.most_kept() == wanted


@pytest.mark.slow
def test_arrays_may_outlive_the_program() -> None:
    program = (
        "import sys, numpy as np, gradc\n"
        "f = gradc.compile(lambda x: 2 * x)\n"
        "sys.kept = [f(np.ones(100_000)) for _ in range(4)]\n"
        "np.kept = f(np.ones(600_000)), f(np.ones(600_000))\n"
    )
    environment = os.environ | {"GRADC_MEMORY_MB": "3"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, timeout=60)
