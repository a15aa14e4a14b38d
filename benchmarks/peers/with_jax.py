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
    arguments = [jax.numpy.asarray(array) for array in case.arguments]
    one = row if row.point is None else row.point
    function = as_jax(one.function) if one.jax is None else one.jax(jax)
    if one.wrt is not None:
        function = _derived(function, one.of, one.wrt)
    if row.point is not None:
        function = jax.vmap(function)
    start = processor_seconds()
    compiled = jax.jit(function)

    def call() -> Any:
        return jax.block_until_ready(compiled(*arguments))

    call()
    between = processor_seconds()
    results = jax.tree.leaves(call())
    compiling = between - start - (processor_seconds() - between)
    return Contestant("jax", called(call), results, compiling)


def _derived(function: Function, of: str, wrt: tuple[int, ...]) -> Function:
    """Return what a row asks for, with respect to several arguments or to the only one."""
    jax = _jax()
    transforms = {
        "value": lambda function, wrt: function,
        "value_and_grad": jax.value_and_grad,
        "jacobian": jax.jacfwd,
        "hessian": jax.hessian,
    }
    return transforms[of](function, wrt)  # type: ignore[no-any-return]


def as_jax(function: Function) -> Function:
    """Return a NumPy function with ``jax.numpy`` for what it, and what it calls, names ``np``."""
    names = {**function.__globals__, "np": _jax().numpy}
    for name, value in function.__globals__.items():
        if isinstance(value, FunctionType) and value.__module__ == function.__module__:
            names[name] = FunctionType(value.__code__, names, name, value.__defaults__)
    return FunctionType(function.__code__, names, function.__name__)


@functools.cache
def _jax() -> Any:
    """Return the module, set to f64, with a first function compiled."""
    jax = installed("jax")
    jax.config.update("jax_enable_x64", True)
    jax.jit(lambda x: x + 1)(jax.numpy.ones(3)).block_until_ready()
    return jax
