"""JAX: compiled, with its own arrays, each call waited for."""

from __future__ import annotations

import functools
from types import FunctionType
from typing import Any

from benchmarks.peers.missing import installed
from benchmarks.rows.row import Case, Function
from benchmarks.turns import Contestant, called, processor_seconds


def jax(case: Case) -> Contestant | None:
    """Return JAX as a contestant; what it compiles is measured without the first call."""
    jax = _jax()
    row = case.row
    function = as_jax(row.function) if row.jax is None else row.jax(jax)
    arguments = [jax.numpy.asarray(array) for array in case.arguments]
    start = processor_seconds()
    derived = function if row.wrt is None else jax.value_and_grad(function, row.wrt)
    compiled = jax.jit(derived).lower(*arguments).compile()
    compiling = processor_seconds() - start
    # calling the jitted function is cheaper than calling what it compiled to
    jitted = jax.jit(derived)

    def call() -> Any:
        return jax.block_until_ready(jitted(*arguments))

    del compiled
    return Contestant("jax", called(call), jax.tree.leaves(call()), compiling)


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
