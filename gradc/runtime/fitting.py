"""Whether a function that was traced for symbolic sizes serves arguments of some shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from gradc.tracing.captured.traced import Traced
from gradc_ir.core.binding import Least, bind_sizes
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import evaluate
from gradc_ir.errors import ShapeError

Shapes: TypeAlias = tuple[tuple[int, ...], ...]


def fits(traced: Traced, shapes: Shapes, least: Least) -> bool:
    """Whether a function that was traced for symbolic sizes serves arguments of these shapes."""
    captured = [capture.read().shape for capture in traced.captures]
    return fits_sizes(traced.function, [*shapes, *captured], least)


def fits_sizes(function: Function, shapes: Sequence[tuple[int, ...]], least: Least = ()) -> bool:
    """Whether a function serves arrays of these shapes, one a parameter."""
    try:
        values = bind_sizes(function.param_types, shapes)
    except ShapeError:
        return False
    return all(evaluate(size, values) >= number for size, number in least)
