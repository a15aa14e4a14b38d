"""New elementwise primitives, from a SymPy expression or from a function of numbers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from gradc.autodiff.open_calls import OpenCalls
from gradc.custom.custom_gradient import CustomGradient
from gradc.custom.sympy_functions import numpy_function, symbols_of
from gradc.tracing import trace
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import TraceError

# What an elementwise function is made of beside elementwise ops.
_SPREADING = frozenset({"param", "constant", "broadcast", "reshape"})


def custom_op(
    body: Any, *, arguments: Sequence[str] | None = None, name: str | None = None
) -> CustomGradient:
    """Return a new elementwise primitive, which broadcasts as NumPy's do.

    Where it is called it becomes its body, so its derivatives of any order, the rules that simplify
    and stabilise it and its code follow. It can be given other derivatives with ``def_vjp``,
    ``def_jvp`` and ``def_partials``, by :func:`gradc.register_gradient` or in
    :func:`gradc.overrides`.

    Parameters
    ----------
    body: a SymPy expression, or a function of numbers written with NumPy (also as a decorator).
    arguments: of an expression, the names of its symbols in the order of the arguments; by default
        that of the alphabet.
    name: what it is called in errors and graphs, by default as the function is.

    Raises RuleError when an expression has a symbol that is no argument, TraceError for what is
    neither, or a function that does more than one element at a time.
    """
    if hasattr(body, "free_symbols"):
        names = tuple(arguments) if arguments is not None else symbols_of(body)
        function = numpy_function(body, names, name or "custom_op")
        function.__name__ = name or "custom_op"
    elif callable(body) and arguments is None:
        function = body
    else:
        raise TraceError(
            f"gradc.custom_op takes a SymPy expression or a function, not a {type(body).__name__}"
        )
    made = CustomGradient(function, name, needs_rules=False)
    _check_elementwise(function, made.name)
    return made


def _check_elementwise(function: Callable[..., Any], name: str) -> None:
    """Raise TraceError unless each element of the result depends on one of each argument."""
    needed = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty
    ]
    vector = Type(DType.F64, (symbol("n"),))
    traced: Function = OpenCalls()(trace(function, [vector] * len(needed), name=name).function)
    if len(traced.results) != 1 or (needed and traced.results[0].type.shape != vector.shape):
        raise TraceError(
            f"gradc.custom_op: {name} has to return one value for each element",
            found=f"it returns ({', '.join(map(str, traced.result_types))}) for arrays {vector}",
        )
    for node in traced.nodes:
        if not node.op.is_elementwise and node.op.name not in _SPREADING:
            raise TraceError(
                f"gradc.custom_op: {name} is not elementwise",
                at=next(iter(traced.locations.get(node, ())), None),
                found=f"{node.op.name} reads more than one element",
                help="call it as a plain function, or give it rules with gradc.custom_gradient",
            )
