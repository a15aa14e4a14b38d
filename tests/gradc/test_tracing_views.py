"""Random programs of views and assignments: NumPy's result, or a refusal, never another number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradc.tracing import trace
from gradc_ir.errors import TraceError
from gradc_ir.interpreter.interpret import interpret

PROGRAMS = 300


class Program:
    """A straight-line program made from a seed; runs on NumPy's arrays and on traced ones."""

    def __init__(self, seed: int) -> None:
        self.numbers = np.random.default_rng(seed).integers(0, 1000, 200).tolist()

    def __call__(self, x: Any, i: Any) -> Any:
        rng = Draws(self.numbers)
        pool = [x, make_array(rng), x[1:]]
        for _ in range(rng.integers(3, 12)):
            array = pool[rng.integers(len(pool))]
            step = rng.integers(10)
            if step < 5:
                made = make_view(rng, array, i)
                if np.ndim(made) and np.size(made):
                    pool.append(made)
            elif step < 9:
                assign(rng, array, pool[rng.integers(len(pool))], x, i)
            else:
                pool.append(np.exp(array * 0.01))
        return [np.sum(array * np.arange(1.0, 1 + np.shape(array)[-1])) for array in pool]


class Draws:
    """Gives the same numbers each time the program runs."""

    def __init__(self, numbers: list[int]) -> None:
        self.numbers = iter(numbers)

    def integers(self, low: int, high: int | None = None) -> int:
        start, stop = (0, low) if high is None else (low, high)
        return start + next(self.numbers) % (stop - start)


def make_array(rng: Any) -> Any:
    made = np.zeros((3, 4))
    made[1] = rng.integers(5)
    return made


def make_view(rng: Any, array: Any, i: Any) -> Any:
    rank = np.ndim(array)
    choice = rng.integers(9)
    if choice == 0:
        return array[1:]
    if choice == 1:
        return array[..., ::-2]
    if choice == 2:
        return array.T
    if choice == 3:
        return array.reshape(-1)
    if choice == 4 and rank > 1:
        return array[i[0]]
    if choice == 5:
        return array[None]
    if choice == 6:
        return array[0] if rank > 1 else array[:2]
    if choice == 7:
        return array[[0, -1]]
    return array.swapaxes(0, -1)


def assign(rng: Any, array: Any, other: Any, x: Any, i: Any) -> None:
    choice = rng.integers(8)
    value = x[0, 0] * rng.integers(1, 4) if rng.integers(2) else float(rng.integers(9))
    if choice == 0:
        array[0] = value
    elif choice == 1:
        array += value
    elif choice == 2:
        array[..., -1] = value
    elif choice == 3:
        array[array > 2] = value
    elif choice == 4:
        array[i[1]] = value
    elif choice == 5:
        array[:1] *= 2
    elif choice == 6:
        array[[0, 0]] += value
    else:
        array[...] = np.sum(other)


X = np.arange(12.0).reshape(3, 4) / 3
I = np.array([0, -1])  # noqa: E741 - an index


def test_programs_of_views_and_assignments() -> None:
    refused = 0
    for seed in range(PROGRAMS):
        program = Program(seed)
        expected = program(X.copy(), I)
        try:
            traced = trace(program, (X, I))
        except TraceError as error:
            if "may or may not share memory" not in error.what:
                raise
            refused += 1
            continue
        found = interpret(traced.function, [X, I])
        assert len(found) == len(expected)
        for have, want in zip(found, expected):
            assert have == pytest.approx(want, rel=1e-12), seed
    assert refused < PROGRAMS / 3
