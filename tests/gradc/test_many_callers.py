"""A hundred thousand calls of many threads, with forks, interrupts and an exit among them."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
    import os, signal, sys, threading, time
    import numpy as np
    import gradc

    # a process that a shell begins in the background ignores them
    signal.signal(signal.SIGINT, signal.default_int_handler)
    CALLERS, CALLS = 32, 100_000
    x = np.random.default_rng(0).normal(size=60_001)

    def loss(x):
        return np.sum(np.exp(np.sin(x)) * np.tanh(x)), np.max(x)

    expected = np.asarray(gradc.compile(loss)(x)).tobytes()
    f = gradc.compile(loss, threads=4)
    assert "as tasks" in f.explain(x)
    f(x)
    wrong, made, forks, interrupts = [], [0] * CALLERS, 0, 0

    def caller(number):
        while made[number] < CALLS // CALLERS:
            if np.asarray(f(x)).tobytes() != expected:
                wrong.append(number)
            made[number] += 1

    callers = [threading.Thread(target=caller, args=(i,), daemon=True) for i in range(CALLERS)]
    for each in callers:
        each.start()
    next_fork = next_interrupt = 0
    while any(each.is_alive() for each in callers):
        try:
            if sum(made) >= next_fork:
                next_fork += CALLS // 20
                child = os.fork()
                if child == 0:
                    os._exit(np.asarray(f(x)).tobytes() != expected)
                assert os.waitpid(child, 0)[1] == 0
                forks += 1
            if sum(made) >= next_interrupt:
                next_interrupt += CALLS // 20
                os.kill(os.getpid(), signal.SIGINT)
            for _ in range(20):
                assert np.asarray(f(x)).tobytes() == expected
        except KeyboardInterrupt:
            interrupts += 1
    print(sum(made), wrong, forks >= 10, interrupts >= 10)
    # the interpreter ends while some still call
    for each in range(CALLERS):
        made[each] = -(10**9)
        threading.Thread(target=caller, args=(each,), daemon=True).start()
    time.sleep(0.1)
"""


@pytest.mark.slow
def test_nothing_hangs_and_no_bit_changes() -> None:
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(PROGRAM)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=ROOT)
    assert (done.returncode, done.stdout) == (0, "100000 [] True True\n"), done.stderr
