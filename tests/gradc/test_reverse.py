"""Reverse mode on graphs: conventions of parameters and results, sharing, size and time."""

from __future__ import annotations

import numpy as np
import pytest

from gradc.derivatives import jvp, vjp
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import ShapeError
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.verify import verify
from tests.counting import calls_in
from tests.gradc.test_derivatives import made

F = Type(DType.F64)


def test_parameters_and_results() -> None:
    function = made([F, Type(DType.I64), F], lambda x, i, y: [x * y, i + 1, build.sin(x)], "both")
    pulled = vjp(function, [2, 0])
    assert pulled.param_types == (F, Type(DType.I64), F, F, F)
    assert pulled.result_types == (F, Type(DType.I64), F, F, F)
    assert pulled.names == ("p0", "p1", "p2", "ct0", "ct1")
    value, number, sine, by_y, by_x = interpret(pulled, [2.0, 4, 3.0, 1.0, 10.0])
    assert (value, number, sine) == (6, 5, np.sin(2.0))
    assert (by_y, by_x) == (2.0, 3 + 10 * np.cos(2.0))


def test_ones_are_for_the_first_result() -> None:
    function = made([F, F], lambda x, y: [x * y, x + y])
    assert interpret(vjp(function, [0, 1], "ones"), [2.0, 3.0]) == (6.0, 5.0, 3.0, 2.0)


def test_ones_need_a_scalar() -> None:
    function = made([Type(DType.F64, (3,))], lambda x: x)
    with pytest.raises(ShapeError, match=r"a gradient is of a float scalar, not of f64\[3\]"):
        vjp(function, [0], "ones")


def test_a_parameter_that_is_a_result_twice() -> None:
    function = made([F], lambda x: [x, x, x * 2])
    assert interpret(vjp(function, [0]), [5.0, 1.0, 10.0, 100.0])[3] == 211.0


def test_a_parameter_without_influence_has_zeros() -> None:
    function = made([F, Type(DType.F64, (2,))], lambda x, y: x * 2)
    assert interpret(vjp(function, [1]), [1.0, np.ones(2), 1.0])[1].tolist() == [0, 0]


def test_symbolic_sizes() -> None:
    n = sizes.symbol("n")
    function = made(
        [Type(DType.F64, (n, 3)), Type(DType.F64, (3,))],
        lambda x, w: build.reduce_sum(build.tanh(build.contract(x, w, "ij,j->i")), (0,)),
    )
    gradient = vjp(function, [0, 1], "ones")
    verify(gradient)
    assert gradient.result_types[1:] == function.param_types
    x, w = np.ones((4, 3)), np.array([0.1, 0.2, 0.3])
    slope = 1 - np.tanh(0.6) ** 2
    _, by_x, by_w = interpret(gradient, [x, w])
    np.testing.assert_allclose(by_x, np.tile(slope * w, (4, 1)), rtol=1e-14)
    np.testing.assert_allclose(by_w, np.full(3, 4 * slope), rtol=1e-14)


def test_the_lines_of_the_user_are_kept() -> None:
    from gradc_ir.location import Location

    line = Location("model.py", 3, "f")
    with build.Builder() as builder:
        x = builder.param(0, F)
        with builder.at((line,)):
            y = build.sin(x)
        function = builder.function("f", [x], [y])
    gradient = vjp(function, [0], "ones")
    assert {node.op.name for node in gradient.locations if node.op.name == "cos"} == {"cos"}
    assert all(lines == (line,) for lines in gradient.locations.values())


def straight_line(length: int) -> Function:
    def body(x, y):
        value = x
        for i in range(length // 4):
            value = build.sin(value * y) + value * (1 + i * 1e-6)
        return value

    return made([F, F], body)


def test_a_gradient_is_a_small_multiple_of_its_function() -> None:
    function = straight_line(1000)
    gradient = vjp(function, [0, 1], "ones")
    assert len(gradient.nodes) < 3 * len(function.nodes)
    assert len(jvp(function, [0]).nodes) < 4 * len(function.nodes)


def test_time_is_linear_and_depth_no_problem() -> None:
    def calls(length: int) -> int:
        function = straight_line(length)
        return calls_in(lambda: vjp(function, [0, 1], "ones"))

    assert calls(5_000) < 12 * calls(500)


def test_speelpenning_needs_few_multiplications() -> None:
    def body(*x):
        product = x[0]
        for factor in x[1:]:
            product = product * factor
        return product

    gradient = vjp(made([F] * 8, body), range(8), "ones")
    assert sum(node.op.name == "mul" for node in gradient.body) <= 19
