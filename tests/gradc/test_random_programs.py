"""Random programs of 5 to 30 ops: compiled, interpreted, differentiated in all modes, printed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

from gradc.pipeline import derive
from gradc.requests.options import Options
from gradc.requests.request import Request
from gradc.runtime.executable import Executable
from gradc_ir.core.graph import Function
from gradc_ir.core.types import DType
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.text.parser import parse_function
from gradc_ir.text.printer import print_function
from tests.comparing import assert_close, assert_same_bits
from tests.gradc.op_cases import Array
from tests.programs import arguments, arrays_for, programs

pytestmark = pytest.mark.slow

quick = settings(
    max_examples=25,
    deadline=None,  # the first example compiles, imports and warms caches
    derandomize=True,  # a red test must stay red until someone has looked
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
F64 = (DType.F64,)


def run(function: Function, arrays: Sequence[Array]) -> list[Array]:
    note(print_function(function))
    executable = Executable(function)
    assert executable.kernel is not None, executable.reason
    return executable(arrays)


def magnitude(function: Function, arrays: Sequence[Array]) -> float:
    """Return the largest number on the way: what roundings are relative to."""
    values = [value for node in function.nodes for value in node.results]
    every = Function(function.name, function.params, values)
    found = [value for value in interpret(every, arrays) if value.dtype.kind == "f"]
    largest = max((float(np.max(np.abs(value), initial=0)) for value in found), default=0.0)
    assume(np.isfinite(largest))
    assume(largest < 1e6)  # beyond, sin and cos amplify one rounding to all digits
    return 1 + largest


@quick
@given(st.data())
def test_text_round_trip(data: st.DataObject) -> None:
    function = data.draw(programs(symbolic=True))
    text = print_function(function)
    parsed = parse_function(text)
    assert parsed == function
    assert print_function(parsed) == text


@quick
@given(st.data())
def test_compiled_has_the_interpreter_s_bits(data: st.DataObject) -> None:
    function = data.draw(programs(kind="exact", symbolic=True))
    arrays = data.draw(arguments(function, special=True))
    for found, want in zip(run(function, arrays), interpret(function, arrays), strict=True):
        assert_same_bits(found, want)


@quick
@given(st.data())
def test_exact_passes_change_no_bit(data: st.DataObject) -> None:
    function = data.draw(programs(kind="exact", symbolic=True))
    arrays = data.draw(arguments(function, special=True))
    final = derive(function, Request("value", options=Options(stable=False)))
    for found, want in zip(run(final, arrays), interpret(function, arrays), strict=True):
        assert_same_bits(found, want)


@quick
@given(st.data())
def test_compiled_is_the_interpreter_up_to_roundings(data: st.DataObject) -> None:
    function = data.draw(programs(kind="smooth", dtypes=F64, symbolic=True))
    arrays = data.draw(arguments(function))
    final = derive(function, Request("value"))
    scale = magnitude(function, arrays)
    for found, want in zip(run(final, arrays), interpret(function, arrays), strict=True):
        assert found.dtype == want.dtype
        # libm and NumPy round functions differently, and thirty ops may amplify that
        assert_close(found, want, scale * np.ones(want.shape), 1e-11)


@quick
@given(st.data())
def test_derivatives_agree(data: st.DataObject) -> None:
    function = data.draw(programs(kind="smooth", dtypes=F64, scalar=True, symbolic=True))
    arrays = data.draw(arguments(function))
    assume_no_angle_of_the_origin(function, arrays)
    wrt = tuple(range(len(arrays)))
    tangents = arrays_for(function, 1, n=_size(function, arrays))
    forward = derive(function, Request("jvp", wrt))
    reverse = derive(function, Request("value_and_grad", wrt))
    value, pushed = run(forward, [*arrays, *tangents])
    same, *gradient = run(reverse, arrays)
    scale = max(
        magnitude(function, arrays),
        magnitude(forward, [*arrays, *tangents]),
        magnitude(reverse, arrays),
    )
    assert_close(value, same, scale, 1e-12)
    terms = [g * t for g, t in zip(gradient, tangents, strict=True)]
    scale += sum(float(np.sum(np.abs(term))) for term in terms)
    assert_close(pushed, sum(float(np.sum(term)) for term in terms), scale, 1e-12)
    assert_close(pushed, numeric(function, arrays, tangents), scale**2, 1e-6)


def assume_no_angle_of_the_origin(function: Function, arrays: Sequence[Array]) -> None:
    """Drop examples in which arctan2 is asked for what has no derivative."""
    points = [
        value for node in function.nodes if node.op.name == "arctan2" for value in node.operands
    ]
    found = interpret(Function(function.name, function.params, points), arrays)
    for y, x in zip(found[::2], found[1::2]):
        assume(np.all(np.hypot(y, x) > 1e-3))


def _size(function: Function, arrays: Sequence[Array]) -> int:
    for type_, array in zip(function.param_types, arrays):
        if type_.symbols:
            return array.shape[0]
    return 5


def numeric(function: Function, arrays: Sequence[Array], tangents: Sequence[Array]) -> float:
    """Return the central difference; the example is dropped where a comparison flips on the way."""
    step = 1e-6
    choices = [
        value for node in function.nodes for value in node.results if value.type.dtype is DType.BOOL
    ]
    watched = Function(function.name, function.params, [*function.results, *choices])
    results = [
        interpret(
            watched,
            [np.asarray(a + sign * step * t) for a, t in zip(arrays, tangents, strict=True)],
        )
        for sign in (1, 0, -1)
    ]
    above, here, below = results
    for one, middle, other in zip(above[1:], here[1:], below[1:]):
        assume(np.array_equal(one, middle) and np.array_equal(middle, other))
    return float((above[0] - below[0]) / (2 * step))
