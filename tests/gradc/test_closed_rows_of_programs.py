"""Rows in closed form of random programs that move elements: they are those found one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.autodiff.terms.leaves import leaves
from gradc.autodiff.terms.term import Unsupported
from gradc.pipeline import apart, with_jacobian
from gradc.requests.options import Options
from gradc.requests.request import Request
from gradc.runtime import derivative_pattern

LONGEST = 3000


class Draws:
    """Numbers that are the same in each trace: a generator of Python's would be recorded."""

    def __init__(self, seed: int) -> None:
        self._state = seed * 7919 + 12345

    def below(self, count: int) -> int:
        """Return one of the numbers below a count."""
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self._state >> 33) % count

    def of(self, some: Any) -> Any:
        """Return one of some."""
        return some[self.below(len(some))]


def _padded(x: Any, draw: Draws) -> Any:
    beside = draw.below(2)
    whole = np.zeros((x.shape[0] + 2, x.shape[1] + 2 * beside))
    whole[1:-1, beside : beside + x.shape[1]] = x
    return whole


def _in_a_loop(x: Any, draw: Draws) -> Any:
    out, first = np.zeros_like(x), draw.below(3) - 1
    for i in range(1, x.shape[0] - 2):
        out[i + first] = x[i] * x[i + 1]
    return out


def _reshaped(x: Any, draw: Draws) -> Any:
    columns = [size for size in (2, 3, 4, 6, 8) if x.size % size == 0]
    return x.reshape(-1, draw.of(columns)) if columns else x


STEPS: list[tuple[int, Callable[[Any, Draws], Any]]] = [  # with the least rank each is for
    (1, lambda x, draw: x[draw.below(3) :: draw.of([1, 1, 2, 3])]),
    (1, lambda x, draw: x[::-1] if draw.below(2) else x[..., ::-1]),
    (1, _reshaped),
    (1, _reshaped),
    (1, lambda x, draw: x.ravel()),
    (1, lambda x, draw: np.concatenate([x, np.sin(x)], axis=draw.below(x.ndim))),
    (1, lambda x, draw: np.stack([x, x * 2.0], axis=draw.below(x.ndim + 1))),
    (1, lambda x, draw: x[1:] * x[:-1]),
    (1, lambda x, draw: np.roll(x, draw.below(5) - 2, axis=draw.below(x.ndim))),
    (1, lambda x, draw: np.where(np.arange(x.shape[-1]) < draw.below(x.shape[-1]), x, x * x)),
    (1, lambda x, draw: _in_a_loop(x, draw) if x.ndim == 1 and x.size > 4 else x),
    (1, lambda x, draw: x * x.ravel()[draw.below(x.size)]),
    (2, lambda x, draw: x.T),
    (2, lambda x, draw: _padded(x, draw) if x.ndim == 2 else x),
    (2, lambda x, draw: x.sum(axis=draw.below(x.ndim))),
    (2, lambda x, draw: x @ np.arange(1.0, 1 + 2 * x.shape[-1]).reshape(-1, 2)),
    (2, lambda x, draw: x[:, draw.below(x.shape[1])]),
]


def _program(seed: int) -> tuple[Callable[[Any], Any], int]:
    size = Draws(seed).of([24, 36, 48, 60, 120, 240])

    def run(x: Any) -> Any:
        draw, values = Draws(seed + 1), [x]
        for _ in range(2 + draw.below(6)):
            value = draw.of(values[-4:])
            rank, step = draw.of(STEPS)
            if value.ndim >= rank:
                made = step(value, draw)
                if 0 < made.size <= LONGEST:
                    values.append(made)
        some = (values[-1], draw.of(values))
        return np.concatenate([one.ravel() for one in some])

    return run, size


def _check(seed: int) -> int:
    """Compare both ways for a program, a third of them for a Hessian; whether there was a form."""
    run, size = _program(seed)
    of = "jacobian" if seed % 3 else "hessian"
    function = run if seed % 3 else (lambda x: (run(x) ** 2).sum())
    traced, _ = gradc.compile(function)._request([f"x: f64[{size}]"], "jacobian", None)
    graph, request = traced.function, Request(of, (0,), options=Options())
    try:
        made = leaves(apart(with_jacobian(graph, request)), 0)
    except Unsupported:
        return 0
    closed = derivative_pattern._closed(made, graph, request, [None], 0)
    if closed is None:
        return 0
    found = derivative_pattern.pattern_of(graph, of, 0, Options(), [None], {})
    pattern = closed.pattern()
    assert np.array_equal(pattern.indptr, found.indptr), seed
    assert np.array_equal(pattern.indices, found.indices), seed
    one_by_one = derivative_pattern._by_terms(found, made, [None], {})
    if one_by_one is None:
        return 1
    ours, theirs = closed.placement(), one_by_one.placement
    if of == "hessian":
        rows = np.repeat(np.arange(size), np.diff(found.indptr))
        used, theirs = theirs.of(np.nonzero(rows >= found.indices)[0]).packed(one_by_one.starts)
        assert closed.lower().used == used, seed
        ours = closed.lower().placement(used)
    for one, other in zip(ours.arrays, theirs.arrays, strict=True):
        assert np.array_equal(one, other), seed
    return 1


def test_programs_have_the_rows_found_one_by_one() -> None:
    assert sum(map(_check, range(5))) > 3


def test_what_is_read_where_nothing_was_put_has_no_terms() -> None:
    assert _check(243) == 0  # of many terms elsewhere


@pytest.mark.slow
def test_many_programs_have_the_rows_found_one_by_one() -> None:
    assert sum(map(_check, range(5, 200))) > 160
