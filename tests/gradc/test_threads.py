"""Threads as a user chooses them: for a function, for all, and what is told of it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest

import gradc
from gradc.requests import threads
from gradc_ir.errors import TraceError

random = np.random.default_rng(0)
ROWS = 200001
X, Y = random.normal(size=(ROWS, 3)), random.normal(size=ROWS)
W = random.normal(size=3)


def loss(w, x, y):
    return np.mean((np.tanh(x @ w) - y) ** 2)


@pytest.fixture
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("GRADC_THREADS", raising=False)
    before = threads.in_force()
    yield
    gradc.set_threads(before)


def loops_of(text: str) -> str:
    return text.partition("loops, where")[2]


def test_threads_change_no_bit_and_are_chosen_for_one_function_or_for_all(as_before) -> None:
    one = gradc.compile(loss)
    two = gradc.compile(loss, threads=2)
    want = one.value_and_grad(W, X, Y)
    for _ in range(3):
        found = two.value_and_grad(W, X, Y)
        assert found[0] == want[0]
        assert np.array_equal(found[1], want[1])
    assert "threads" not in one.explain(W, X, Y)
    assert gradc.set_threads(3) == 1
    assert one.value_and_grad(W, X, Y)[0] == want[0]
    assert "where a call has 3 threads" in one.explain(W, X, Y)
    assert "where a call has 2 threads" in two.explain(W, X, Y)
    assert gradc.set_threads(1) == 3
    assert len(one.signatures) == 2  # it was compiled once more for several


def test_the_environment_says_how_many_a_process_begins_with(
    as_before, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "_set", None)
    monkeypatch.setenv("GRADC_THREADS", "5")
    assert threads.in_force() == 5
    monkeypatch.setenv("GRADC_THREADS", "many")
    with pytest.raises(TraceError) as raised:
        threads.in_force()
    assert str(raised.value) == (
        "GRADC_THREADS is 'many', which is no number of threads\n"
        "  help: give a number from 1, the caller alone, to 256"
    )
    monkeypatch.delenv("GRADC_THREADS")


@pytest.mark.parametrize("count", [0, -1, 257, 2.0, True, "2"])
def test_what_is_no_number_of_threads(count) -> None:
    for give in (gradc.set_threads, lambda count: gradc.compile(loss, threads=count)):
        with pytest.raises(TraceError, match="no number of threads"):
            give(count)


def test_explain_tells_which_loops_are_tasks_and_why_others_are_not() -> None:
    @gradc.compile(threads=4, blas=False)
    def sums(x):
        y = np.exp(x)
        return np.sum(y), np.cumsum(y), np.sum(y[:10])

    file = os.path.basename(__file__)
    line = sums.__wrapped__.__code__.co_firstlineno + 2
    assert loops_of(sums.explain(Y)) == (
        " a call has 4 threads:\n"
        f"  loop over {ROWS}, {file}:{line}: as tasks, in whole chunks of 4096\n"
        f"  cumsum, {file}:{line + 1}: on the caller: an op on whole arrays\n"
        f"  loop over 10, {file}:{line + 1}: on the caller: 10 iterations are fewer than two "
        "tasks of 32"
    )


def test_an_error_in_a_task_shows_the_users_line() -> None:
    @gradc.compile(threads=4)
    def looked_up(x, at):
        return np.exp(x[at]) * 2 + np.sin(x[at])

    at = random.integers(0, ROWS, ROWS)
    assert np.array_equal(looked_up(Y, at), gradc.compile(looked_up.__wrapped__)(Y, at))
    at[[9000, 17000]] = ROWS + 7, ROWS + 9
    with pytest.raises(gradc.IndexError, match=str(ROWS + 7)):
        looked_up(Y, at)
