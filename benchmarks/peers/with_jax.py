"""JAX: compiled, with its own arrays, each call waited for."""

from __future__ import annotations

import functools
from types import FunctionType
from typing import Any

from benchmarks.peers.missing import installed
from benchmarks.rows.row import Case, Function
from benchmarks.turns import Contestant, called, processor_seconds


def jax(case: Case) -> Contestant | None:
    """Return JAX as a contestant; compiling is what a first call takes more than a second one."""
    jax = _jax()
    row = case.row
    function = as_jax(row.function) if row.jax is None else row.jax(jax)
    arguments = [jax.numpy.asarray(array) for array in case.arguments]
    start = processor_seconds()
    compiled = jax.jit(function if row.wrt is None else jax.value_and_grad(function, row.wrt))

    def call() -> Any:
        return jax.block_until_ready(compiled(*arguments))

    call()
    between = processor_seconds()
    results = jax.tree.leaves(call())
    compiling = between - start - (processor_seconds() - between)
    return Contestant("jax", called(call), results, compiling)


def as_jax(function: Function) -> Function:
    """Return a NumPy function with ``jax.numpy`` for what it calls ``np``."""
    names = {**function.__globals__, "np": _jax().numpy}
    return FunctionType(function.__code__, names, function.__name__)


@functools.cache
def _jax() -> Any:
    """Return the module, set to f64, with a first function compiled."""
    jax = installed("jax")
    jax.config.update("jax_enable_x64", True)
    jax.jit(lambda x: x + 1)(jax.numpy.ones(3)).block_until_ready()
    return jax
