"""Comparing a function as it is with what it compiles to, for loops and branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gradc
from gradc.arguments import pytree
from gradc.tracing import trace


def assert_same(found: Any, expected: Any) -> None:
    """Assert that two nests are the same, in structure, dtypes and (nearly) in bits."""
    have, structure = pytree.flatten(found)
    want, wanted = pytree.flatten(expected)
    assert structure == wanted
    for one, other in zip(have, want, strict=True):
        a, b = np.asarray(one), np.asarray(other)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=0)


def check(function: Callable[..., Any], *args: Any, by_hand: Any = None) -> Any:
    """Assert that a function gives the same compiled and as it is, and by hand where given."""
    before = [np.array(leaf) for leaf in pytree.flatten(args)[0]]
    plain = function(*args)
    compiled = gradc.compile(function)(*args)
    assert_same(compiled, plain)
    if by_hand is not None:
        assert_same(compiled, by_hand)
    for one, other in zip(pytree.flatten(args)[0], before):
        np.testing.assert_array_equal(one, other)
    return plain


def ops_of(function: Callable[..., Any], *args: Any) -> list[str]:
    """Return the ops of control flow that a function is recorded as."""
    nodes = trace(function, args).function.nodes
    return [node.op.name for node in nodes if node.op.family == "control"]
