"""Random programs of indexing and assignment: NumPy's bits and derivatives, or a clear refusal."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings

from gradc.derivatives import jvp, vjp
from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.runtime.executable import Executable
from gradc.tracing import NeedsConcreteSize, trace
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import GradcError, ShapeError
from gradc_ir.interpreter.interpret import interpret
from tests.gradc.indexing_programs import Array, Program, programs

pytestmark = pytest.mark.slow

EXAMPLES = int(os.environ.get("GRADC_EXAMPLES", "300"))
COMPILED = 50  # of so many programs one is compiled, which takes a hundred times as long
# What a program may be refused for: the beginnings of messages.
REFUSALS = re.compile(
    r"an array was assigned to that may or may not share memory"
    # NumPy drops axes of any length when there is nothing to assign to
    r"|.*does not fit into shape \[(.*,)?0\b"
)
# a power of two, so that scaling by it rounds nothing, and its square vanishes beside an integer
STEP = 2.0**-100


programs_of = settings(
    deadline=None,
    derandomize=True,  # a red test must stay red until someone has looked
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@settings(programs_of, max_examples=EXAMPLES)
@given(programs())
def test_programs_of_indexing_and_assignment(drawn: tuple[Program, list[Array]]) -> None:
    program, arrays = drawn
    note(program.text)
    note(repr(arrays))
    want = program.real(*(array.copy() for array in arrays))
    try:
        function = trace(program.real, arrays).function
    except GradcError as error:
        if not REFUSALS.match(error.what):
            raise
        return
    found = interpret(function, arrays)
    if len(program.text) % COMPILED == 0:
        found = Executable(derive(function, Request("value")))(arrays)
    for have, wanted in zip(found, want, strict=True):
        _assert_equal(have, wanted)
    tangents = [1 + np.arange(array.size, dtype=float).reshape(array.shape) for array in arrays[:2]]
    stepped = [array + STEP * 1j * t for array, t in zip(arrays, tangents)]
    # the rest of a product of steps, where a factor is zero, is rounded away
    parts = program.complex(*stepped, arrays[2].copy())
    derivatives = [np.round(part.imag / STEP) for part in parts]
    pushed = interpret(jvp(function, (0, 1)), [*arrays, *tangents])[len(want) :]
    for have, wanted in zip(pushed, derivatives, strict=True):
        _assert_equal(have, wanted)
    weights = [1 + np.arange(part.size, dtype=float).reshape(part.shape) for part in want]
    if len(program.text) % COMPILED == 1:
        pulled = Executable(derive(function, Request("vjp", (0, 1))))([*arrays, *weights])[-2:]
    else:
        pulled = interpret(vjp(function, (0, 1)), [*arrays, *weights])[len(want) :]
    assert sum(np.sum(g * t) for g, t in zip(pulled, tangents, strict=True)) == sum(
        np.sum(w * d) for w, d in zip(weights, derivatives)
    )


@settings(programs_of, max_examples=EXAMPLES // 3)
@given(programs())
def test_programs_with_symbolic_sizes(drawn: tuple[Program, list[Array]]) -> None:
    program, arrays = drawn
    note(program.text)
    note(repr(arrays))
    want = program.real(*(array.copy() for array in arrays))
    types = [
        Type(dtype, tuple(n if n < 2 else symbol(f"{name}{i}") for i, n in enumerate(array.shape)))
        for name, dtype, array in zip("nmk", (DType.F64, DType.F64, DType.I64), arrays)
    ]
    try:
        function = trace(program.real, types).function
        found = interpret(function, arrays)
    except NeedsConcreteSize:
        return
    except GradcError as error:
        # a shape that fits for these sizes alone: the compiled function takes them as numbers
        if not isinstance(error, ShapeError) and not REFUSALS.match(error.what):
            raise
        return
    for have, wanted in zip(found, want, strict=True):
        _assert_equal(have, wanted)


def _assert_equal(found: Any, want: Any) -> None:
    want = np.asarray(want)
    assert (found.dtype, found.shape) == (want.dtype, want.shape)
    np.testing.assert_array_equal(found, want)
