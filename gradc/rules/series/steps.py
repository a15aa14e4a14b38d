"""Steps of functions of one variable: what they are, and what a kernel makes of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.op import TABLE
from gradc_ir.core.types import Array
from gradc_ir.interpreter.interpret import reference

# Sums of products of the variable: what a person arranged with care stays as it is.
ARITHMETIC = frozenset({"neg", "add", "sub", "mul"})

VARIABLE = "variable"
CONSTANT = "constant"
UNKNOWN = "unknown"  # the operand of a select that it is not near the point


class Step(NamedTuple):
    """One function of the variable: an op of earlier ones, a number, or the variable itself."""

    name: str
    operands: tuple[int, ...] = ()
    number: float = 0.0


def floats(step: Step, variable: Array, earlier: Sequence[Array]) -> Array:
    """Return what a kernel makes of a step, of the variable and of what it makes before."""
    number = variable.dtype.type
    if step.name == VARIABLE:
        return variable
    if step.name in (CONSTANT, UNKNOWN):
        return np.full(variable.shape, number(step.number))
    meaning = reference(TABLE[step.name])
    assert meaning is not None
    made: Array = meaning(*[earlier[at] for at in step.operands])
    return made
