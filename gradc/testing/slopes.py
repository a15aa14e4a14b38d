"""Slopes along a direction that owe nothing to derivative rules: three ways to a reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradc.rules.verify.arithmetic import NoMeaning, complex_numbers
from gradc_ir import ops
from gradc_ir.build import Builder
from gradc_ir.core.constant import Constant
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import Array, DType, Type
from gradc_ir.errors import GradcError
from gradc_ir.interpreter.interpret import interpret, watched

DIGITS = 80
# In numbers of many digits an op on one element takes microseconds; more than this many are not
# computed so.
_MOST_ELEMENTS = 4000


@dataclass(frozen=True)
class Reference:
    """A way to the slopes of the float results along a direction of one argument.

    ``exact`` says that it is as accurate as the numbers are, which differences of floats are not.
    """

    name: str
    slopes: Callable[[Function, Sequence[Array], int, Array], list[Array]]
    exact: bool = True


def central_differences(
    function: Function, arrays: Sequence[Array], position: int, direction: Array
) -> list[Array]:
    """Return slopes by central differences of fourth order in float64."""
    x = arrays[position]
    step = 1e-5 * max(1.0, float(np.max(np.abs(x), initial=0.0)))

    def at(distance: float) -> list[Array]:
        return _floats(
            function, interpret(function, _moved(arrays, position, distance * direction))
        )

    def slopes(step: float) -> list[Array]:
        return [(a - b) / (2 * step) for a, b in zip(at(step), at(-step))]

    with np.errstate(all="ignore"):
        # fourth order: the error of the step is far below the tolerance
        return [(4 * near - far) / 3 for near, far in zip(slopes(step), slopes(2 * step))]


def complex_step(
    function: Function, arrays: Sequence[Array], position: int, direction: Array
) -> list[Array]:
    """Return slopes by a step of 1e-30 along the imaginary axis, which cancels nothing.

    Raises NoMeaning for an op that is not analytic. The method is that of Squire and Trapp, *Using
    complex variables to estimate derivatives of real functions*, SIAM Review 40, 1998.
    """
    step = 1e-30
    moved = _moved(arrays, position, 1j * step * direction)
    with np.errstate(all="ignore"):
        found = _floats(function, interpret(function, moved, complex_numbers()))
        return [np.imag(value) / step for value in found]


def many_digit_differences(
    function: Function, arrays: Sequence[Array], position: int, direction: Array
) -> list[Array]:
    """Return slopes by central differences in balls of many digits, rounded once.

    Raises NoMeaning for an op without a formula, and where it would take too long.
    """
    # python-flint, which other references do without
    from gradc.rules.verify.balls import Ball, Undecided, balls, digits

    _refuse_long(function, arrays)
    numbers = balls()
    whole = [numbers.wide(array) for array in arrays]
    with digits(DIGITS):
        step = Ball(10) ** (-DIGITS // 4)
        distance = numbers.wide(direction) * step
        try:
            pairs = [
                _floats(function, interpret(function, _moved(whole, position, moved), numbers))
                for moved in (distance, -distance)
            ]
        except Undecided:
            raise NoMeaning("numbers that are too close to be compared") from None
        return [np.asarray((a - b) / (2 * step)).astype(np.float64) for a, b in zip(*pairs)]


CENTRAL = Reference("central differences", central_differences, exact=False)
COMPLEX = Reference("a complex step", complex_step)
DIGIT = Reference(f"{DIGITS} digits", many_digit_differences)
# the most accurate first: what is expected is then shown to its last digit
REFERENCES = (COMPLEX, DIGIT, CENTRAL)


def _refuse_long(function: Function, arrays: Sequence[Array]) -> None:
    count = 0

    def counted(owner: Function, node: Any, operands: Any, results: Sequence[Array]) -> None:
        nonlocal count
        count += sum(result.size for result in results if result.dtype.kind == "f")
        if count > _MOST_ELEMENTS:
            raise NoMeaning(f"more than {_MOST_ELEMENTS} elements")

    try:
        with watched(counted):
            interpret(function, arrays)
    except GradcError as error:
        raise NoMeaning(str(error)) from error


def _moved(arrays: Sequence[Array], position: int, by: Array) -> list[Array]:
    moved = list(arrays)
    moved[position] = moved[position] + by
    return moved


def _floats(function: Function, results: Sequence[Array]) -> list[Array]:
    types = function.result_types
    return [value for value, type_ in zip(results, types) if type_.dtype.is_float]


def widen(function: Function) -> Function:
    """Return the function with float64 in place of float32, for numeric differences."""

    def dtype(value: DType) -> DType:
        return DType.F64 if value is DType.F32 else value

    def attribute(value: Any) -> Any:
        if isinstance(value, DType):
            return dtype(value)
        if isinstance(value, Type):
            return value.with_dtype(dtype(value.dtype))
        if isinstance(value, Constant) and value.type.dtype is DType.F32:
            return Constant(value.array.astype(np.float64))
        return widen(value) if isinstance(value, Function) else value

    builder = Builder()
    with builder:
        new: dict[Value, Value] = {}
        for node in function.nodes:
            operands = tuple(new[operand] for operand in node.operands)
            attributes = {key: attribute(value) for key, value in node.attributes.items()}
            made = builder.apply(ops.TABLE[node.op.name], operands, attributes)
            new.update(zip(node.results, made.results))
        return builder.function(
            function.name,
            [new[param] for param in function.params],
            [new[result] for result in function.results],
            function.names,
        )
