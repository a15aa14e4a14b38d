"""Scratch that hosts of kernels share: who has a block has it alone, and blocks are used again."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from gradc_codegen.hosts import scratch
from gradc_codegen.machine.jit import LoadedModule, kept_module
from tests.in_threads import in_threads


@pytest.fixture
def module() -> LoadedModule:
    return kept_module(scratch.memory_text())  # with blocks of its own


def take_of(module: LoadedModule) -> Callable[[int], int]:
    made = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(module.address(scratch.TAKE))
    return lambda size: made(size)


def leave_of(module: LoadedModule) -> Callable[[int], None]:
    made = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(module.address(scratch.LEAVE))
    return lambda block: made(block)


def test_a_block_is_taken_again_where_it_is_large_enough(module: LoadedModule) -> None:
    take, leave = take_of(module), leave_of(module)
    small, large = take(1000), take(1 << 23)
    assert small != large
    leave(small)
    leave(large)
    assert take(2000) == large  # the small one stays for others
    assert take(500) == small
    leave(small)
    leave(large)


def test_blocks_in_use_are_apart(module: LoadedModule) -> None:
    take, leave = take_of(module), leave_of(module)
    taken = [take(100_000) for _ in range(9)]
    assert all(b - a >= 100_000 for a, b in zip(sorted(taken), sorted(taken)[1:]))
    for block in taken:
        leave(block)
    huge = take((1 << 26) + 1)  # too much to keep
    leave(huge)
    again = [take(100_000) for _ in range(4)]
    assert set(again) <= set(taken)
    for block in again:
        leave(block)


def test_threads_do_not_share_a_block(module: LoadedModule) -> None:
    take, leave = take_of(module), leave_of(module)
    wrong: list[int] = []

    def use(number: int) -> None:
        for turn in range(200):
            count = 1 + (number * 37 + turn * 101) % 4000
            block = take(8 * count)
            array = np.ctypeslib.as_array((ctypes.c_int64 * count).from_address(block))
            array[:] = number
            if np.any(array != number):
                wrong.append(number)
            leave(block)

    in_threads(use, range(8))
    assert not wrong
