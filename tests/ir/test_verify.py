"""The verifier says which node breaks which rule, at which line of the user."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from gradc_ir import build, ops
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.op import Op
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import VerifyError
from gradc_ir.location import Location
from gradc_ir.text.parser import parse_function
from gradc_ir.verify import verify
from tests.programs import programs

F64 = Type(DType.F64)
WHERE = (Location("model.py", 3, "f"),)


def message(function: Function) -> str:
    with pytest.raises(VerifyError) as caught:
        verify(function)
    return str(caught.value)


def param(index: int = 0, type: Type = F64) -> Value:
    return Builder().param(index, type)


def function(
    x: Value, op: Op, attributes: dict[str, Any], *types: Type, count: int = 1
) -> Function:
    """Return a function with one node made without the builder, which would have refused it."""
    node = Node(op, (x,) * count, attributes, types, 1)
    return Function("f", [x], node.results, names=["x"], locations={node: WHERE})


@settings(max_examples=50, deadline=None)
@given(programs(symbolic=True))
def test_programs_are_well_formed(program: Function) -> None:
    verify(program)


def test_wrong_type() -> None:
    assert message(function(param(), ops.sin, {}, Type(DType.F32))) == (
        "sin makes f64, not f32\n  model.py:3 in f\n  in @f\n      %0: f32 = sin %x"
    )


def test_wrong_operands() -> None:
    assert message(function(param(), ops.sin, {}, F64, count=2)) == (
        "sin has 2 operands, not 1\n  model.py:3 in f\n  in @f\n      %0: f64 = sin %x, %x"
    )
    flag = param(type=Type(DType.BOOL))
    assert message(function(flag, ops.add, {}, F64, count=2)) == (
        "add: operand dtypes do not fit\n  model.py:3 in f\n  in @f\n"
        "      %0: f64 = add %x, %x\n  bool and bool"
    )


def test_wrong_attributes() -> None:
    x = param(type=Type(DType.F64, (2,)))
    assert message(function(x, ops.reduce_sum, {}, F64)) == (
        "reduce_sum has the attributes none, not axes\n  model.py:3 in f\n  in @f\n"
        "      %0: f64 = reduce_sum %x"
    )
    assert message(function(x, ops.reduce_sum, {"axes": [0]}, F64)).startswith(
        "attribute axes of reduce_sum can change"
    )


def test_unknown_op() -> None:
    stranger = Op("sin", "elementwise", 1, ops.sin.infer, None, summary="Another sin.")
    assert message(function(param(), stranger, {}, F64)) == (
        "sin is not in the op table\n  model.py:3 in f\n  in @f"
    )


def test_unbound_size() -> None:
    with Builder() as builder:
        x = builder.param(0, F64)
        spread = build.broadcast(x, (symbol("n"), symbol("m")), ())
        made = builder.function("f", [x], [spread], ["x"])
    assert message(made) == (
        "no parameter binds the size n\n  in @f\n      %0: f64[n,m] = broadcast %x {axes = []}"
    )


def test_foreign_parameter() -> None:
    with Builder() as builder:
        x, y = builder.param(0, F64), builder.param(1, F64)
        with builder.at(WHERE):
            total = x + y
        made = builder.function("f", [x], [total], ["x"])
    assert message(made) == (
        "parameter 1 of another function is used\n  model.py:3 in f\n  in @f\n"
        "      add: f64\n  help: pass it as an operand: functions are closed"
    )


def test_parameters() -> None:
    with Builder() as builder:
        x, y = builder.param(0, F64), builder.param(1, F64)
        swapped = builder.function("f", [y, x], [x], ["y", "x"])
        nameless = builder.function("f", [x, y], [x], ["x"])
        computed = builder.function("f", [-x], [x], ["x"])
    assert message(swapped).startswith("parameter 0 says it is parameter 1\n  in @f\n      %y: f64")
    assert message(nameless) == "2 parameters have 1 names\n  in @f"
    assert message(computed).startswith("parameter 0 is made by neg")


def test_bodies_are_verified_and_may_use_sizes_of_the_outer_function() -> None:
    text = """
    func @f(%x: f64[n]) -> f64[n] {{
      %0: f64 = constant 0.0
      %1, %2: f64, f64[n] = scan %0, %x
        {{body = @body, consts = 0, carries = 1, length = n, reverse = false,
         counted = false, checkpoint = none}}
      return %2
    }}
    func @body(%sum: f64, %row: f64) -> (f64, f64) {{
      %0: i64 = size {{size = {size}}}
      %1: f64 = cast %0
      %2: f64 = add %sum, %1
      return %2, %row
    }}
    """
    verify(parse_function(text.format(size="n")))
    assert message(parse_function(text.format(size="m"))) == (
        "no parameter binds the size m\n  in @body\n      %0: i64 = size {size = m}"
    )
