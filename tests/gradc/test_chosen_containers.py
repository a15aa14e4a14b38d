"""Lists, dicts and objects that a branch chose: right, or refused when other names see changes."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import pytest

import gradc


def only_read(x: Any, y: Any) -> Any:
    a = [x, 2 * x]
    b = [3 * x, 4 * x]
    d = a if y > 0 else b
    return d[0] * 10 + a[0] + b[0]


def copies(x: Any, y: Any) -> Any:
    a = [x, 2 * x]
    b = [3 * x, 4 * x]
    d = list(a) if y > 0 else list(b)
    d[0] *= 5
    return d[0] * 10 + a[0] + b[0]


def fresh(x: Any, y: Any) -> Any:
    d = [x, 2 * x] if y > 0 else [3 * x, x]
    d[0] *= 5
    d.append(x)
    return sum(d)


def rebind(x: Any, y: Any) -> Any:
    s = {"x": x, "v": 1.0}
    if y > 0:
        s = {"x": x + 1, "v": 2.0}
    s["x"] += 3
    return s["x"] * s["v"]


def helper(x: Any, y: Any) -> Any:
    def step(s: Any) -> Any:
        return {"x": s["x"] * 2, "v": s["v"] + y}

    s = {"x": x, "v": 1.0}
    for _k in range(5):
        if s["x"] < y:
            s = step(s)
        s["v"] *= 1.5
    return s["x"] * s["v"]


def swap(x: Any, y: Any) -> Any:
    a = [x, 2 * x]
    b = [3 * x, 4 * x]
    if y > 0:
        a, b = b, a
    a[0] *= 7
    b[1] -= 1
    return a[0] * 10 + b[0] + a[1] * 3 + b[1]


def swap_alias(x: Any, y: Any) -> Any:
    a = [x, 2 * x]
    b = [3 * x, 4 * x]
    c = a
    if y > 0:
        a, b = b, a
    a[0] *= 7
    return c[0] * 10 + a[0]


def one_of(x: Any, y: Any) -> Any:
    a = [x, 2 * x]
    b = [3 * x, 4 * x]
    d = a if y > 0 else b
    d[0] *= 5
    return a[0] * 10 + b[0]


def original(x: Any, y: Any) -> Any:
    a = [x, 2 * x]
    b = [3 * x, 4 * x]
    d = a if y > 0 else b
    a[0] *= 5
    return d[0] * 10 + b[0]


def both_names(x: Any, y: Any) -> Any:
    a = [x]
    b = [x]
    if y > 0:
        a = [2 * x]
        b = a
    a[0] += 5
    return b[0] * 10 + a[0]


def an_object(x: Any, y: Any) -> Any:
    a = types.SimpleNamespace(v=x)
    b = types.SimpleNamespace(v=2 * x)
    (a if y > 0 else b).v += 3
    return a.v * 10 + b.v


def in_a_loop(x: Any, y: Any) -> Any:
    a = [x, 2 * x]
    b = [3 * x, 4 * x]
    for k in range(4):
        d = a if y > k else b
        d[0] += 1.0
    return a[0] * 10 + b[0]


def static_in_loop(x: Any, y: Any) -> Any:
    a = [x, 2 * x]
    b = [3 * x, 4 * x]
    for k in range(4):
        d = a if k > 2 else b
        d[0] += y
    return a[0] * 10 + b[0]


def nested(x: Any, y: Any) -> Any:
    a = [x, 2 * x]
    b = [3 * x, 4 * x]
    c = [x, x]
    d = (a if y > 2 else b) if y > 0 else c
    d[0] += 1
    return a[0] * 10 + b[0] + c[0]


def an_argument(x: Any, y: Any) -> Any:
    def bump(s: Any) -> Any:
        s[0] += 1
        return s

    a = [x]
    b = [2 * x]
    bump(a if y > 0 else b)
    return a[0] * 10 + b[0]


def best_of_some(x: Any, y: Any) -> Any:
    best = [x, x]
    for _k in range(6):
        cand = [best[0] + y, best[1] * 0.5]
        if cand[0] ** 2 < 10:
            best = cand
    return best[0] + best[1]


def early_return(x: Any, y: Any) -> Any:
    s = [x, x]
    if y > 0:
        return s[0]
    s[0] += 4
    return s[0] * 2 + s[1]


def branch_changes(x: Any, y: Any) -> Any:
    s = [x, x]
    t = s
    if y > 0:
        s[0] += 3
    t[1] += s[0]
    return s[0] + t[1] * 2


RIGHT = [
    only_read,
    copies,
    fresh,
    rebind,
    helper,
    swap,
    static_in_loop,
    best_of_some,
    early_return,
    branch_changes,
]
REFUSED = [swap_alias, one_of, original, both_names, an_object, in_a_loop, nested, an_argument]


@pytest.mark.parametrize("function", RIGHT)
def test_as_in_python(function: Callable[..., Any]) -> None:
    compiled = gradc.compile(function)
    for y in (3.0, 1.0, -1.0):
        assert compiled(2.0, y) == function(2.0, y)


@pytest.mark.parametrize("function", REFUSED)
def test_refused_with_the_line(function: Callable[..., Any]) -> None:
    with pytest.raises(gradc.TraceError, match="one more name in one case") as raised:
        gradc.compile(function)(2.0, 1.0)
    at = raised.value.at
    assert at is not None
    assert (at.file, at.function) == (__file__, function.__name__)
