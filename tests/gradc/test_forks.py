"""A fork while other threads compile: the child can trace, compile and call, and never hangs."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading

import pytest

from gradc_ir.forks import Depth, hold_across_forks, lock_across_forks

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

# Children that hang are counted and killed; what they compile is another function each time.
PROGRAM = """
import itertools, os, signal, sys, threading, time
import numpy as np
import gradc

COUNT = int(sys.argv[1])
serial = itertools.count()
x = np.arange(1.0, 6.0)


def fresh():
    factor = 1.0 + next(serial)

    def f(x):
        return np.sum(np.tanh(x / factor))

    return f, factor


def compile_and_call():
    f, factor = fresh()
    slope = gradc.grad(f)(x)
    assert np.allclose(slope, (1 - np.tanh(x / factor) ** 2) / factor), slope


f, _ = fresh()
called = gradc.compile(f)
expected = called(x)
kept = gradc.Variable(np.ones(3), "kept")
done = threading.Event()


def until_done(work):
    def run():
        while not done.is_set():
            work()

    return threading.Thread(target=run, daemon=True)


def dump():
    gradc.compile(fresh()[0], spec="x: f64[n]").dump(stage="llvm")


def set_variable():
    kept.value = kept.value + 1


threads = [
    *(until_done(work) for work in (compile_and_call, compile_and_call, dump)),
    *(until_done(work) for work in (lambda: called(x), set_variable)),
]
for thread in threads:
    thread.start()
hung = failed = 0
for _ in range(COUNT):
    child = os.fork()
    if child == 0:
        try:
            compile_and_call()
            assert called(x) == expected
            kept.value = np.zeros(3)
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
    end = time.monotonic() + 30
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            failed += status != 0
            break
        if time.monotonic() > end:
            hung += 1
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            break
        time.sleep(0.001)
    if hung > 2:
        break
done.set()
for thread in threads:
    thread.join()
compile_and_call()
print(hung, failed)
"""


def hung_and_failed(count: int) -> str:
    """Return how many children of a program that compiles in threads hung, and how many failed."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(count)],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_children_compile_and_call() -> None:
    assert hung_and_failed(5) == "0 0"


@pytest.mark.slow
def test_no_child_of_many_hangs() -> None:
    assert hung_and_failed(int(os.environ.get("GRADC_EXAMPLES", "80"))) == "0 0"


@pytest.mark.slow
def test_a_pool_of_forks_computes_while_a_thread_compiles() -> None:
    program = textwrap.dedent("""
        import itertools, multiprocessing, threading
        import numpy as np
        import gradc

        done = threading.Event()

        def compile_on():
            for factor in itertools.count(1.0):
                if done.is_set():
                    return
                gradc.grad(lambda x: np.sum(np.sin(x * factor)))(np.ones(4))

        def slope(factor):
            return gradc.grad(lambda x: np.sum(x * x * factor))(np.ones(2)).tolist()

        thread = threading.Thread(target=compile_on)
        thread.start()
        try:
            for _ in range(10):
                with multiprocessing.get_context("fork").Pool(2) as pool:
                    found = pool.map_async(slope, [1.0, 2.0, 3.0]).get(timeout=60)
                    assert found == [[2.0, 2.0], [4.0, 4.0], [6.0, 6.0]], found
        finally:
            done.set()
        thread.join()
        print("fine")
    """)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout == "fine\n", done.stderr


def test_a_fork_waits_for_a_lock_and_the_child_has_it_free() -> None:
    lock, taken, free = lock_across_forks(), threading.Event(), threading.Event()
    order: list[str] = []

    def hold() -> None:
        with lock:
            taken.set()
            free.wait(0.2)
            order.append("released")

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if lock.acquire(blocking=False) else 1)
    order.append("forked")
    assert os.waitpid(child, 0)[1] == 0
    thread.join()
    assert order == ["released", "forked"]
    assert lock.acquire(blocking=False)
    lock.release()


def test_a_thread_forks_while_it_holds_a_lock_itself() -> None:
    lock = lock_across_forks()
    with lock:
        child = os.fork()
        if child == 0:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0


def test_locks_are_taken_in_the_order_of_their_depths() -> None:
    first, second = threading.RLock(), threading.RLock()
    hold_across_forks(second, Depth.DATA)
    hold_across_forks(first, Depth.WORK)
    done = threading.Event()

    def both(one: threading.RLock, other: threading.RLock) -> None:
        while not done.is_set():
            with one, other:
                pass

    threads = [
        threading.Thread(target=both, args=locks) for locks in ((first, second), (first, second))
    ]
    for thread in threads:
        thread.start()
    for _ in range(20):
        child = os.fork()
        if child == 0:
            os._exit(0 if first.acquire(blocking=False) and second.acquire(False) else 1)
        assert os.waitpid(child, 0)[1] == 0
    done.set()
    for thread in threads:
        thread.join()


REGISTERED = """
import os

registered = []
register = os.register_at_fork


def noted(**hooks):
    registered.append(hooks.get("before"))
    return register(**hooks)


os.register_at_fork = noted
import {module}
import logging

told = [hook.__module__ for hook in registered if hook is not None]
assert told[0] == "logging" and len(told) > 1, told
"""


@pytest.mark.parametrize("module", ["gradc", "gradc_ir.forks"])
def test_the_lock_of_logging_is_taken_last(module: str) -> None:
    """Who compiles holds others and takes it, to tell what it does."""
    program = REGISTERED.format(module=module)
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
