"""Reverse mode for plain NumPy functions of numbers, over any arithmetic that has partials.

The same code differentiates a function in balls of high precision, which gives the truth, and in
arrays of doubles, which gives what a mechanical derivative of the naive code is worth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

COMPARISONS = frozenset(
    {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal}
)


class Arithmetic(Protocol):
    """What a tape computes with: its numbers, and the partial derivatives of functions on them."""

    def number(self, constant: Any) -> Any:
        """Return a Python or NumPy number as a number of this arithmetic."""

    def value(self, function: Any, *operands: Any) -> Any:
        """Return the value of a NumPy or SciPy ufunc, or the outcome of a comparison."""

    def partials(self, function: Any, result: Any, *operands: Any) -> Sequence[Any]:
        """Return the partial derivatives of a ufunc, one an operand; None where it is zero."""

    def select(self, condition: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
        """Return x or y, and the partial derivatives; None by what was not taken."""


class Tape:
    """What a function computed, in order."""

    def __init__(self, arithmetic: Arithmetic) -> None:
        self.arithmetic = arithmetic
        self._sources: list[tuple[Sequence[Any], Callable[[], Sequence[Any]]]] = []

    def argument(self, value: Any) -> Recorded:
        """Return a value to hand to a function."""
        return self.record(value, (), lambda: ())

    def record(
        self, value: Any, operands: Sequence[Any], partials: Callable[[], Sequence[Any]]
    ) -> Recorded:
        """Append a value that was computed from operands; its partials are found when needed."""
        self._sources.append((operands, partials))
        return Recorded(self, len(self._sources) - 1, value)

    def number(self, value: Any) -> Any:
        """Return the number of a recorded value or of a constant."""
        return value.value if isinstance(value, Recorded) else self.arithmetic.number(value)

    def gradient(self, result: Any, arguments: Sequence[Recorded], seed: Any) -> list[Any]:
        """Return the derivatives of a result by arguments, times a seed; None where it is zero."""
        cotangents: list[Any] = [None] * len(self._sources)
        if isinstance(result, Recorded):
            cotangents[result.index] = seed
        for index in reversed(range(len(self._sources))):
            cotangent = cotangents[index]
            operands, partials = self._sources[index]
            if cotangent is None or not operands:
                continue
            for operand, partial in zip(operands, partials()):
                if isinstance(operand, Recorded) and partial is not None:
                    share = cotangent * partial
                    before = cotangents[operand.index]
                    cotangents[operand.index] = share if before is None else before + share
        return [cotangents[argument.index] for argument in arguments]


class Recorded(np.lib.mixins.NDArrayOperatorsMixin):
    """A number on a tape that NumPy's functions take for an array."""

    def __init__(self, tape: Tape, index: int, value: Any) -> None:
        self.tape, self.index, self.value = tape, index, value

    def __array_ufunc__(self, function: Any, method: str, *operands: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            raise NotImplementedError(f"{function.__name__}.{method} with {sorted(options)}")
        if any(isinstance(operand, Rows) for operand in operands):
            return NotImplemented
        tape, arithmetic = self.tape, self.tape.arithmetic
        numbers = [tape.number(operand) for operand in operands]
        value = arithmetic.value(function, *numbers)
        if function in COMPARISONS:
            return value
        return tape.record(value, operands, lambda: arithmetic.partials(function, value, *numbers))

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return _FUNCTIONS[function](*args, **options)


class Rows(np.lib.mixins.NDArrayOperatorsMixin):
    """Numbers stacked along a first axis."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self.rows = list(rows)

    def __array_ufunc__(self, function: Any, method: str, *operands: Any, **options: Any) -> Rows:
        if method != "__call__" or options:
            raise NotImplementedError(f"{function.__name__}.{method} with {sorted(options)}")
        columns = [
            operand.rows if isinstance(operand, Rows) else [operand] * len(self.rows)
            for operand in operands
        ]
        return Rows([function(*row) for row in zip(*columns)])

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return _FUNCTIONS[function](*args, **options)

    def __getitem__(self, place: int) -> Any:
        return self.rows[place]

    def sum(self, axis: int) -> Any:
        """Return the sum over the first axis."""
        return _over_rows(np.add)(self, axis)


def _over_rows(function: Any) -> Callable[..., Any]:
    def fold(rows: Rows, axis: int) -> Any:
        assert axis == 0
        result = rows.rows[0]
        for row in rows.rows[1:]:
            result = function(result, row)
        return result

    return fold


def _where(condition: Any, x: Any, y: Any) -> Any:
    tape = next(value.tape for value in (x, y) if isinstance(value, Recorded))
    value, *partials = tape.arithmetic.select(condition, tape.number(x), tape.number(y))
    return tape.record(value, (x, y), lambda: partials)


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: _where,
    np.clip: lambda x, low, high: np.minimum(np.maximum(x, low), high),
    np.stack: Rows,
    np.sum: _over_rows(np.add),
    np.prod: _over_rows(np.multiply),
    np.max: _over_rows(np.maximum),
    np.min: _over_rows(np.minimum),
    np.mean: lambda rows, axis: rows.sum(axis) / len(rows.rows),
    np.linalg.norm: lambda rows, axis: np.sqrt((rows * rows).sum(axis)),
    np.zeros_like: lambda x: 0.0,
    np.ones_like: lambda x: 1.0,
}
