"""The pool of threads: every iteration once, whoever calls and whatever tasks do."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from gradc_codegen.machine import jit
from gradc_codegen.threads import pool
from gradc_codegen.threads.cut import LEAST_WORK
from tests.in_threads import in_threads

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there all is done by the caller")

TASK = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p
)
WORK = 1 << 40


def run(
    task: Callable[[int, int, int], int],
    size: int,
    unit: int = 1,
    threads: int = 4,
    bytes_: int = 0,
    work: int = WORK,
    whole: int = 0,
) -> int:
    """Run tasks, functions of the first iteration, that behind the last one, and their scratch."""
    called = TASK(lambda table, first, last, own: task(first, last, own or 0))
    scratch = ctypes.create_string_buffer(bytes_ + 64)
    own = -(-ctypes.addressof(scratch) // 64) * 64
    entry = ctypes.CFUNCTYPE(
        ctypes.c_int32, TASK, ctypes.c_void_p, *[ctypes.c_int64] * 6, ctypes.c_void_p
    )(jit.pool_of_threads().address(pool.OWN))
    return int(entry(called, None, size, unit, whole or unit, work, threads, bytes_, own))


def ranges(
    size: int, unit: int = 1, threads: int = 4, work: int = WORK, whole: int = 0
) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []

    def task(first: int, last: int, own: int) -> int:
        found.append((first, last))
        return 0

    assert run(task, size, unit, threads, work=work, whole=whole) == 0
    return sorted(found)


@pytest.mark.parametrize("threads", [1, 2, 3, 16, 300])
@pytest.mark.parametrize(("size", "unit"), [(1, 1), (100, 32), (4096, 4096), (20001, 4096)])
def test_every_iteration_is_in_one_task(size: int, unit: int, threads: int) -> None:
    found = ranges(size, unit, threads)
    assert [first for first, _ in found] == [0, *(last for _, last in found[:-1])]
    assert found[-1][1] == size
    assert all(first % unit == 0 for first, _ in found)
    assert len(found) <= min(4 * threads, -(-size // unit))


@pytest.mark.parametrize("size", [33, 4096, 8191, 8192, 10_000, 20_001, 99_999, 1_000_000])
@pytest.mark.parametrize("threads", [1, 2, 3, 16])
def test_as_many_whole_chunks_as_threads_are_tasks(size: int, threads: int) -> None:
    found = ranges(size, 32, threads, whole=4096)
    assert [first for first, _ in found] == [0, *(last for _, last in found[:-1])]
    assert found[-1][1] == size
    assert all(first % 32 == 0 for first, _ in found)
    assert len(found) <= 4 * threads
    chunks = [first for first, last in found if first % 4096 == 0 and (last - first) % 4096 == 0]
    assert len(chunks) >= min(size // 4096 // threads, 3) * threads * (threads > 1)


def test_little_work_is_the_callers() -> None:
    assert ranges(1000, work=LEAST_WORK) == [(0, 1000)]
    assert ranges(1000, work=2 * LEAST_WORK - 1) == [(0, 1000)]
    # threads that are awake take less, so that none waits long for the last task
    assert len(ranges(1000, work=3 * LEAST_WORK)) == 3 * 4


def test_the_first_task_that_fails_says_how_it_ends() -> None:
    begun: list[int] = []

    def task(first: int, last: int, own: int) -> int:
        begun.append(first)
        return 10 + first if first >= 5 else 0

    for _ in range(20):
        begun.clear()
        assert run(task, 16) == 15
        assert set(range(6)) <= set(begun)  # as if one came after another


def test_each_task_has_scratch_of_its_own() -> None:
    busy: set[int] = set()
    lock = threading.Lock()
    wrong: list[int] = []

    def task(first: int, last: int, own: int) -> int:
        with lock:
            wrong.extend([own] * (own % 64 != 0 or own in busy))
            busy.add(own)
        ctypes.memset(own, 1, 5000)
        with lock:
            busy.discard(own)
        return 0

    for _ in range(20):
        assert run(task, 16, bytes_=5000) == 0
    assert wrong == []


def test_calls_from_many_threads_and_calls_in_tasks() -> None:
    done: list[int] = []

    def outer(caller: int) -> None:
        def inner(first: int, last: int, own: int) -> int:
            done.append(last - first)
            return 0

        def task(first: int, last: int, own: int) -> int:
            return run(inner, 10, threads=3)

        assert run(task, 8) == 0

    in_threads(outer, range(16))
    assert sum(done) == 16 * 8 * 10


PROGRAM = """
import atexit, os, sys, threading, time
import numpy as np
import gradc

atexit.register(lambda: None if right() else os._exit(3))  # runs when the threads are gone
x = np.random.default_rng(0).normal(size=30001)
f = lambda x: (np.sin(x) * np.exp(x), np.sum(np.exp(x)))
want = gradc.compile(f)(x)
called = gradc.compile(f, threads=4)
right = lambda: all(np.array_equal(a, b) for a, b in zip(called(x), want))
assert right()
"""


def ends_well(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + program], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_children_have_threads_of_their_own_and_a_process_ends_while_tasks_run() -> None:
    ends_well("""
done = threading.Event()
calls = [threading.Thread(target=lambda: [right() for _ in iter(done.is_set, True)])
         for _ in range(3)]
for thread in calls:
    thread.start()
for _ in range(3):
    child = os.fork()
    if child == 0:
        os._exit(0 if right() else 1)
    assert os.waitpid(child, 0)[1] == 0
done.set()
threading.Thread(target=lambda: [right() for _ in range(10**9)], daemon=True).start()
time.sleep(0.05)
""")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupt_reaches_the_caller() -> None:
    # Python drops an interrupt that comes in a finalizer, and LLVM's objects have some: what is
    # compiled, calls by plans with it, is done with before
    ends_well("""
import gc
import signal
for _ in range(20):
    assert right()
gc.collect()
# a process that a shell begins in the background ignores them
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    while True:
        assert right()
except KeyboardInterrupt:
    pass
assert right()
""")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_ten_thousand_calls_of_many_threads_with_forks_in_between() -> None:
    ends_well("""
wrong = []
def calls():
    for _ in range(320):
        if not right():
            wrong.append(1)
every = [threading.Thread(target=calls) for _ in range(32)]
for thread in every:
    thread.start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        os._exit(0 if right() else 1)
    assert os.waitpid(child, 0)[1] == 0
for thread in every:
    thread.join()
assert not wrong
""")
