"""Processes that share a cache: ``python -m tests.cache_processes kill 200`` forks them.

It loads gradc once and forks, so that hundreds of processes take seconds.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import gradc
from gradc_codegen.cache import files
from gradc_codegen.cache.folder import folder

X = np.array([0.5, -1.5, 2.0])
OPS = (np.sin, np.exp, np.tanh, np.log1p, np.abs)


def program(number: int) -> tuple[Callable[[Any], Any], Any]:
    """Return a function, one of many, and what its value and gradient are at X."""
    op, scale = OPS[number % len(OPS)], 1.0 + number // len(OPS)

    def loss(x):
        return np.sum(op(x * x) * scale)

    return loss, loss(X)


def compile_one(number: int) -> None:
    """Compile a function and check its value and gradient."""
    loss, want = program(number)
    value, gradient = gradc.compile(loss).value_and_grad(X)
    assert abs(value - want) <= 1e-12 * abs(want), (value, want)
    step = 1e-6
    slope = (loss(X + step * np.eye(3)[0]) - loss(X - step * np.eye(3)[0])) / (2 * step)
    assert abs(gradient[0] - slope) <= 1e-4 * (1 + abs(slope)), (gradient[0], slope)


def child(run: Callable[[], None]) -> int:
    """Run something in a process of its own; returns its number."""
    found = os.fork()
    if not found:
        code = 1
        try:
            run()
            code = 0
        finally:
            os._exit(code)
    return found


def forever(seed: int) -> None:
    """Compile until somebody puts an end to it."""
    draw = random.Random(seed)
    while True:
        compile_one(draw.randrange(100_000))


def kill(count: int) -> None:
    """Kill many processes while they compile, four at a time; then all is as it should be."""
    draw = random.Random(7)
    for batch in range(count // 4):
        running = [child(lambda seed=batch * 4 + i: forever(seed)) for i in range(4)]
        for each in running:
            time.sleep(draw.random() * 0.05)
            os.kill(each, signal.SIGKILL)
        for each in running:
            os.waitpid(each, 0)
    check_files()
    share(8)


def share(count: int) -> None:
    """Compile the same functions in many processes at once."""

    def several() -> None:
        for number in range(12):
            compile_one(number)

    running = [child(several) for _ in range(count)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(each, 0)[1]) for each in running]
    assert codes == [0] * count, codes
    check_files()


def damage(count: int) -> None:
    """Damage files in every way, one after the other; what is compiled is right all the same."""
    draw = random.Random(11)
    root = folder(make=True)
    assert root is not None
    for number in range(count):
        compile_one(number % 4)
        every = [os.path.join(root, *names) for names in files.every_file(root)]
        every = [path for path in every if os.path.getsize(path)]  # one may be cut to nothing
        path, other = draw.choice(every), draw.choice(every)
        with open(path, "rb") as file:
            held = bytearray(file.read())
        match draw.randrange(6):
            case 0:
                held[draw.randrange(len(held))] ^= 1 << draw.randrange(8)
            case 1:
                del held[draw.randrange(len(held)) :]
            case 2:
                at = draw.randrange(len(held))
                held[at : at + 64] = draw.randbytes(64)
            case 3:
                held += draw.randbytes(16)
            case 4:
                held[:] = draw.randbytes(len(held))
            case 5:
                with open(other, "rb") as file:
                    held[:] = file.read()
        with open(path, "wb") as file:
            file.write(held)
        compile_one(number % 4)


def check_files() -> None:
    """Check that all files are whole but those that were being written."""
    root = folder()
    assert root is not None
    every = [*files.every_file(root)]
    assert every
    for names in every:
        if not names[-1].endswith(files.WRITTEN):
            assert files.is_whole(root, *names), names


if __name__ == "__main__":
    compile_one(0)
    {"kill": kill, "share": share, "damage": damage}[sys.argv[1]](int(sys.argv[2]))
