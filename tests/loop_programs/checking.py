"""How the programs are checked: eager, interpreted and compiled, in both modes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

import gradc
from tests.comparing import assert_close


@contextmanager
def interpreter() -> Iterator[None]:
    """Run what is compiled meanwhile by the interpreter."""
    with mock.patch.dict(os.environ, GRADC_DISABLE_JIT="1"):
        yield


def assert_value_and_gradient(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    value: Any,
    gradient: Any,
    *,
    wrt: int | tuple[int, ...] = 0,
    relative: float = 1e-9,
    eager: bool = True,
    interpreted: bool = True,
) -> None:
    """Compare a scalar function's value and gradient, by both modes, with references.

    ``relative`` is of the largest magnitude in each reference. Both modes agree to 1e-12, and so
    do the interpreter and the kernel, whose libraries round functions differently.
    """
    compiled = gradc.compile(f)
    if eager:
        near(f(*args), value, relative)
    found, reverse = compiled.value_and_grad(*args, wrt=wrt)
    near(found, value, relative)
    near(compiled(*args), value, relative)
    forward = compiled.jacobian(*args, wrt=wrt, mode="forward")
    several = isinstance(wrt, tuple)
    for r, d, g in zip(*((x if several else (x,)) for x in (reverse, forward, gradient))):
        near(r, g, relative)
        near(d, r, 1e-12)
    if interpreted:
        with interpreter():
            again = gradc.compile(f).value_and_grad(*args, wrt=wrt)
        near(again[0], found, 1e-12)
        for r, g in zip(reverse if several else (reverse,), again[1] if several else (again[1],)):
            near(g, r, 1e-12)


def near(found: Any, want: Any, relative: float) -> None:
    """Compare relative to the largest magnitude of what is wanted."""
    want = np.asarray(want)
    scale = float(np.max(np.abs(want), initial=0.0))
    assert_close(found, want, scale * np.ones(want.shape), relative)


def difference(f: Callable[[Any], Any], x: Any, direction: Any, step: float = 1e-4) -> Any:
    """Return the derivative of ``f`` along a direction by central differences of order 4."""
    x = np.asarray(x)
    one = f(x + step * direction) - f(x - step * direction)
    two = f(x + 2 * step * direction) - f(x - 2 * step * direction)
    return (8 * one - two) / (12 * step)
