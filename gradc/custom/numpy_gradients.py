"""Gradients of one's own for functions of NumPy: everywhere, or within a ``with`` block."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from gradc import scopes
from gradc.custom.custom_gradient import CustomGradient
from gradc.tracing.core import stand_ins
from gradc_ir.errors import TraceError

AnyFunction = Callable[..., Any]


def register_gradient(function: AnyFunction, rule: AnyFunction | None = None) -> Any:
    """Give a NumPy function a gradient of its own, from now on, wherever it is written.

    ``rule(upstream, *inputs)`` takes the cotangent of the result and the inputs, as they are
    written in the call, to one gradient for each input; with a parameter ``output`` it is given
    the result too. Without ``rule``, returns a decorator for it. Also for a function with a
    gradient of its own, an external one or a custom op. Functions that have been compiled are
    compiled again when they are next called. Raises TraceError for any other function.
    """
    if rule is None:
        return functools.partial(register_gradient, function)
    key = _overridable(function)
    stand_ins.registered[key] = _by_rule(key, rule)
    scopes.use(stand_ins.overrides_key)
    return rule


@contextmanager
def overrides(rules: Mapping[AnyFunction, AnyFunction | None]) -> Iterator[None]:
    """Give NumPy functions gradients of their own within a ``with`` block.

    ``rules`` maps a NumPy function to a rule as of :func:`register_gradient`, to a function made by
    :func:`gradc.custom_gradient` that replaces it, value and all, or to None, which restores
    NumPy's own. In the rule the function is NumPy's. The block may stand inside a function that is
    traced, or around calls: what is compiled within it is kept apart from what is compiled
    outside. Threads, and asynchronous tasks, have blocks of their own. Raises TraceError for a
    function that is not NumPy's.
    """
    if not isinstance(rules, Mapping):
        raise TraceError(
            f"gradc.overrides takes a dict, not a {type(rules).__name__}",
            help="write gradc.overrides({np.sqrt: rule})",
        )
    made: dict[Any, stand_ins.StandIn | None] = dict(stand_ins.scoped.get())
    for function, rule in rules.items():
        key = _overridable(function)
        rule = getattr(rule, "__gradc_original__", rule)
        if rule is not None and not callable(rule):
            raise TraceError(
                f"gradc.overrides: the rule for {_name(key)} is no function",
                found=f"{rule!r:.60}",
                help="give a function rule(upstream, *inputs), or None",
            )
        made[key] = _known(key, rule)
    token = stand_ins.scoped.set(made)
    scopes.use(stand_ins.overrides_key, stand_ins.scoped)
    try:
        yield
    finally:
        stand_ins.scoped.reset(token)


def _overridable(function: Any) -> Any:
    """Return the function that rules are kept for; raises TraceError when it can have none."""
    function = getattr(function, "__gradc_original__", function)  # as traced code sees it
    module = getattr(function, "__module__", None) or ""
    is_numpy = callable(function) and module.partition(".")[0] == "numpy"
    if is_numpy or isinstance(function, np.ufunc | CustomGradient):
        return function
    raise TraceError(
        f"{_name(function)} is not a function of NumPy",
        help="give a function of your own its gradient with @gradc.custom_gradient",
    )


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", function))


def _known(function: Any, rule: AnyFunction | None) -> CustomGradient | None:
    if rule is None or isinstance(rule, CustomGradient):
        return rule
    return _by_rule(function, rule)


# The same rule for the same function is the same override, so that a block that is entered again
# finds what was compiled under it. Rules made anew push out the oldest.
@functools.lru_cache(maxsize=128)
def _by_rule(function: Any, rule: AnyFunction) -> CustomGradient:
    made = CustomGradient(function, _name(function), defaults=isinstance(function, CustomGradient))
    made.def_vjp(rule)
    return made
