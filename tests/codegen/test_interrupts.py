"""Ctrl-C while functions compile: it is an exception, each time, and nothing is freed twice."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gradc_codegen.target import interrupts
from gradc_codegen.target.interrupts import InterruptsHeld

posix = pytest.mark.skipif(sys.platform == "win32", reason="sends signals")


class Raised(Exception):
    pass


@contextmanager
def handled(*numbers: int) -> Iterator[list[int]]:
    """Have signals raise, and tell which were seen."""
    seen: list[int] = []

    def handler(number: int, _: object) -> None:
        seen.append(number)
        raise Raised(number)

    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield seen
        assert [signal.getsignal(number) for number in numbers] == [handler] * len(numbers)
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@posix
def test_what_comes_meanwhile_is_raised_at_the_end() -> None:
    steps = []

    def held() -> None:
        with InterruptsHeld():
            signal.raise_signal(signal.SIGINT)
            steps.append("first")
            with InterruptsHeld():
                signal.raise_signal(signal.SIGTERM)
                signal.raise_signal(signal.SIGINT)
            steps.append("second")

    with handled(signal.SIGINT, signal.SIGTERM) as seen:
        with pytest.raises(Raised):
            held()
        assert steps == ["first", "second"]
        assert sorted(seen) == [signal.SIGINT, signal.SIGTERM]
        with InterruptsHeld():
            pass
        with pytest.raises(Raised):
            signal.raise_signal(signal.SIGINT)
    assert not interrupts._depth
    assert not interrupts._waiting


@posix
def test_an_error_inside_is_what_an_interrupt_came_after() -> None:
    def held() -> None:
        with InterruptsHeld():
            signal.raise_signal(signal.SIGINT)
            raise KeyError

    with handled(signal.SIGINT):
        with pytest.raises(Raised) as raised:
            held()
        assert isinstance(raised.value.__context__, KeyError)
        with pytest.raises(KeyError), InterruptsHeld():
            raise KeyError


@posix
def test_other_threads_hold_nothing() -> None:
    inside, done = threading.Event(), threading.Event()

    def other() -> None:
        with InterruptsHeld():
            inside.set()
            done.wait()

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait()
    try:
        with handled(signal.SIGINT), pytest.raises(Raised):
            signal.raise_signal(signal.SIGINT)
    finally:
        done.set()
        thread.join()


@posix
def test_signals_that_are_ignored_stay_so() -> None:
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        with InterruptsHeld():
            assert signal.getsignal(signal.SIGUSR1) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGUSR1, before)


# Objects of LLVM are counted as they are freed: each once, and while interrupts are held.
FREED = """
import gc, sys
import numpy as np
from llvmlite.binding.ffi import ObjectRef
from gradc_codegen.target import interrupts
import gradc

bare = []
close = ObjectRef.close

def closed(self):
    if not self._closed and not self._owned and not interrupts._depth:
        bare.append(type(self).__name__)
    close(self)

ObjectRef.close = closed

def f(x):
    return gradc.scan(lambda total, row: (total * 0.5 + row, total), x[0], np.sin(x))[0]

gradc.compile(f).value_and_grad(np.ones(5))
made = gradc.compile(f)
made.export("f", spec="x: f64[n]", out=sys.argv[1])
made.export("g", spec="x: f64[n]", out=sys.argv[1], cpu="generic", target="aarch64-linux")
gc.collect()
print(bare)
"""

# A thread sends interrupts at ever later moments of a first call, the next when the last was seen
# or told as lost. They talk by numbers: an event's lock may stay locked when one comes.
INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np
import gradc

# a process that a shell begins in the background ignores them
signal.signal(signal.SIGINT, signal.default_int_handler)
x = np.arange(5.0)
asked = sent = seen = lost = 0

def send():
    global sent
    for number in range(COUNT):
        while asked == number:
            time.sleep(0.001)
        time.sleep(0.17 * number / COUNT)
        os.kill(os.getpid(), signal.SIGINT)
        sent += 1

def fresh(number):
    return gradc.compile(lambda x: np.sum(np.sin(x) * (number + 1.5)) * np.exp(x[0]))

gradc.grad(fresh(-1))(x)
thread = threading.Thread(target=send)
thread.start()
serial = 0
while seen + lost < COUNT:
    try:
        asked = seen + lost + 1
        calls = 0  # since it was sent
        while calls < 3:
            serial += 1
            calls += sent == asked
            gradc.grad(fresh(serial))(x)
        lost += 1
    except KeyboardInterrupt:
        seen += 1
thread.join()
print(seen, lost, gradc.grad(fresh(0.5))(x)[1] == gradc.grad(fresh(0.5))(x)[1])
"""


# Python drops what is raised while a dictionary of weak references forgets a key, and says so.
DROPPED = re.compile(
    r"Exception ignored in: <function Weak\w+Dictionary.__init__.<locals>.remove at \w+>\n"
    r"Traceback \(most recent call last\):\n(?:  .*\n+)*\n*KeyboardInterrupt: *\n"
)


def run(program: str, *given: str) -> tuple[str, str]:
    """Return what a program prints, and what it complains of."""
    env = {**os.environ, "GRADC_CACHE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", program, *given],
        env=env,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


def test_objects_of_llvm_go_while_interrupts_are_held(tmp_path: os.PathLike[str]) -> None:
    assert run(FREED, os.fspath(tmp_path)) == ("[]", "")


@posix
@pytest.mark.parametrize("count", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_every_interrupt_of_a_first_call_is_seen(count: int) -> None:
    told, complaints = run(INTERRUPTED.replace("COUNT", str(count)))
    dropped = len(DROPPED.findall(complaints))
    assert told == f"{count - dropped} {dropped} True"
    assert not DROPPED.sub("", complaints).strip()
