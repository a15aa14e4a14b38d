"""Forward mode on graphs: conventions of parameters and results, symbolic zeros, calls."""

from __future__ import annotations

import numpy as np
import pytest

from gradc.autodiff.open_calls import OpenCalls
from gradc.derivatives import jvp, vjp
from gradc_ir import build
from gradc_ir.core.graph import Function
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import DTypeError, NoGradientError, RuleError
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.location import Location
from tests.gradc.test_derivatives import made

F = Type(DType.F64)


def test_parameters_and_results() -> None:
    function = made([F, Type(DType.I64), F], lambda x, i, y: [x * y, i + 1, build.sin(x)], "both")
    pushed = jvp(function, [2, 0])
    assert pushed.param_types == (F, Type(DType.I64), F, F, F)
    assert pushed.result_types == (F, Type(DType.I64), F, F, F)
    assert pushed.names == ("p0", "p1", "p2", "dp2", "dp0")
    value, number, sine, *tangents = interpret(pushed, [2.0, 4, 3.0, 1.0, 10.0])
    assert (value, number) == (6, 5)
    assert tangents == [2 + 30, 10 * np.cos(2.0)]
    assert sine == np.sin(2.0)


def test_a_tangent_that_is_left_out_is_zero() -> None:
    function = made([F, F], lambda x, y: x * y)
    assert interpret(jvp(function, [0]), [2.0, 3.0, 1.0])[1] == 3.0


def test_symbolic_zeros_cost_nothing() -> None:
    function = made([F, F], lambda x, y: [build.exp(x), build.sin(y)])
    pushed = jvp(function, [0])
    assert "cos" not in {node.op.name for node in pushed.nodes}
    assert interpret(pushed, [0.0, 0.0, 1.0])[2:] == (1.0, 0.0)


def test_forward_over_forward() -> None:
    function = made([F], lambda x: x**3.5)
    twice = jvp(jvp(function, [0]), [0])
    _, first, _, second = interpret(twice, [1.1, 1.0, 1.0])
    assert first == pytest.approx(4.441705472000592, rel=1e-15)
    assert second == pytest.approx(10.094785163637711, rel=1e-15)


def test_no_perturbation_is_confused() -> None:
    """d/dx [x * d/dy (x + y)] is 1, not 2."""
    inner = made([F, F], lambda x, y: x + y)
    with build.Builder() as builder:
        x = builder.param(0, F)
        one = build.constant(1.0)
        slope = builder.inline(jvp(inner, [1]), [x, x, one])[1]
        outer = builder.function("outer", [x], [x * slope])
    assert interpret(jvp(outer, [0]), [1.0, 1.0])[1] == 1.0
    assert interpret(vjp(outer, [0], "ones"), [1.0])[1] == 1.0


def test_integers_have_no_derivative() -> None:
    function = made([Type(DType.I64)], lambda i: i + 1)
    for transform in (jvp, vjp):
        with pytest.raises(DTypeError, match="p0, which is i64"):
            transform(function, [0])


def stepped() -> Function:
    with build.Builder() as builder:
        x = builder.param(0, F)
        with builder.at((Location("model.py", 20, "loss"),)):
            y = build.floor(x)
        return builder.function("loss", [x], [y * x])


def test_an_op_without_a_derivative_says_where_and_what_to_do() -> None:
    for transform in (jvp, vjp):
        with pytest.raises(NoGradientError) as error:
            transform(stepped(), [0])
        assert str(error.value) == (
            "floor has no derivative rule\n"
            "  model.py:20 in loss\n"
            "  floor is piecewise constant\n"
            "  help: use gradc.stop_gradient on it for a zero gradient, or register one with "
            "gradc.register_gradient"
        )


def test_an_op_off_the_path_needs_no_derivative() -> None:
    function = made([F, F], lambda x, y: [build.floor(x) * y, build.stop_gradient(build.floor(y))])
    assert interpret(jvp(function, [1]), [2.5, 3.0, 1.0])[2:] == (2.0, 0.0)
    assert interpret(vjp(function, [1]), [2.5, 3.0, 1.0, 1.0])[2:] == (2.0,)


# -- calls ----------------------------------------------------------------------------------------


def square_called(
    *, vjp: Function | None = None, jvp: Function | None = None, count: int = 1
) -> Function:
    body = made([F] * count, lambda x, *rest: x * x)
    return made(
        [F] * count,
        lambda *x: build.call(x, name="square", body=body, vjp=vjp, jvp=jvp)[0] * 1.0,
    )


# deliberately wrong rules, to see that they are what is used
THREE = made([F, F], lambda x, given: 3 * x * given)


@pytest.mark.parametrize("given", ["vjp", "jvp", "both"])
def test_a_call_is_differentiated_by_its_rule_both_ways(given: str) -> None:
    rules = {"vjp": THREE, "jvp": THREE} if given == "both" else {given: THREE}
    function = square_called(**rules)
    assert interpret(OpenCalls()(jvp(function, [0])), [2.0, 1.0]) == (4.0, 6.0)
    assert interpret(OpenCalls()(vjp(function, [0], "ones")), [2.0]) == (4.0, 6.0)
    gradient = vjp(function, [0], "ones")
    assert interpret(OpenCalls()(jvp(gradient, [0])), [2.0, 1.0])[3] == 3.0
    assert interpret(OpenCalls()(vjp(gradient, [0])), [2.0, 0.0, 1.0])[2] == 3.0


def test_the_call_itself_stays_until_it_is_opened() -> None:
    pushed = jvp(square_called(vjp=THREE), [0])
    assert [node.op.name for node in pushed.nodes].count("call") == 1
    assert "call" not in {node.op.name for node in OpenCalls()(pushed).nodes}


def test_a_call_without_rules_is_its_body() -> None:
    function = square_called()
    assert interpret(jvp(function, [0]), [2.0, 1.0])[1] == 4.0
    assert interpret(vjp(function, [0], "ones"), [2.0])[1] == 4.0


def test_a_vjp_that_is_not_linear_serves_reverse_mode_only() -> None:
    clipped = made([F, F], lambda x, ct: build.minimum(ct, 1.0) * x)
    function = square_called(vjp=clipped)
    assert interpret(vjp(function, [0]), [2.0, 5.0])[1] == 2.0
    with pytest.raises(RuleError) as error:
        jvp(function, [0])
    assert str(error.value) == (
        "square has a vjp but no jvp, and its vjp is not linear in the cotangent\n"
        "  minimum is where it stops being linear\n"
        "  help: give square a jvp rule of its own: @square.def_jvp"
    )


@pytest.mark.parametrize(
    "rule", [lambda x, ct: x, lambda x, ct: ct * x + 1, lambda x, ct: ct * ct, lambda x, ct: x / ct]
)
def test_rules_that_are_not_linear_are_never_transposed(rule: object) -> None:
    with pytest.raises(RuleError, match="not linear"):
        jvp(square_called(vjp=made([F, F], rule)), [0])  # type: ignore[arg-type]


def test_a_rule_with_an_override_of_its_own_is_transposed_by_it() -> None:
    inner = made([F, F], lambda ct, x: ct * x)
    back = made([F, F, F], lambda ct, x, given: [100 * given * x, 0 * x])
    rule = made(
        [F, F], lambda x, ct: build.call([ct, x], name="inner", body=inner, vjp=back, jvp=None)[0]
    )
    function = square_called(vjp=rule)
    assert interpret(OpenCalls()(jvp(function, [0])), [2.0, 1.0])[1] == 200.0


def test_integer_operands_of_a_call() -> None:
    i = Type(DType.I64)
    body = made([F, i], lambda x, k: [x * build.cast(k, DType.F64), k + 1])
    rule = made(
        [F, i, F, i], lambda x, k, ct, _: [ct * build.cast(k, DType.F64), build.zeros_like(k)]
    )
    function = made([F, i], lambda x, k: build.call([x, k], name="scale", body=body, vjp=rule))
    assert interpret(OpenCalls()(jvp(function, [0])), [2.0, 5, 1.0]) == (10.0, 6, 5.0)
    assert interpret(OpenCalls()(vjp(function, [0])), [2.0, 5, 1.0]) == (10.0, 6, 5.0)


def test_calls_are_opened_inside_bodies_too() -> None:
    square = square_called(vjp=THREE)
    loop = {"body": square, "consts": 0, "carries": 1, "length": 2, "reverse": False}
    loop |= {"counted": False, "checkpoint": None}
    function = made([F], lambda x: build.apply_all("scan", x, **loop))
    opened = OpenCalls()(function)
    (scan,) = opened.body
    assert "call" not in {node.op.name for node in scan.attributes["body"].nodes}
    assert interpret(opened, [3.0]) == (81.0,)
