"""The lock of LLVM, and what it takes to use LLVM's objects."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from gradc_codegen.target.interrupts import InterruptsHeld
from gradc_ir.forks import Depth, lock_across_forks

P = ParamSpec("P")
R = TypeVar("R")

# Every use of LLVM holds this lock: contexts are fresh for each module, but llvmlite's registries
# and the one engine are shared.
LOCK = lock_across_forks(Depth.LLVM)


def uses_llvm(function: Callable[P, R]) -> Callable[P, R]:
    """Have a function hold the lock and interrupts until the objects of LLVM that it made are gone.

    llvmlite frees each where Python forgets it, and an interrupt that comes then is dropped, or has
    it freed again.
    """

    @functools.wraps(function)
    def held(*args: P.args, **kwargs: P.kwargs) -> R:
        with LOCK, InterruptsHeld():
            return function(*args, **kwargs)

    return held
