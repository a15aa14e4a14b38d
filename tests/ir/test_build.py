"""Graphs: hash-consing, constants by their bits, smart constructors, functions by structure."""

from __future__ import annotations

import numpy as np
import pytest

from gradc_ir import build, ops
from gradc_ir.build import Builder
from gradc_ir.core import walk
from gradc_ir.core.constant import Constant
from gradc_ir.core.op import TABLE
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type, dtype_of
from gradc_ir.errors import DTypeError, ShapeError
from gradc_ir.interpreter.interpret import reference
from gradc_ir.location import Location
from gradc_ir.text.parser import parse_function

F64 = Type(DType.F64)
N = symbol("n")
HERE, THERE = Location("model.py", 1), Location("model.py", 2)


def test_equal_nodes_are_one() -> None:
    with Builder() as builder:
        x = builder.param(0, F64)
        assert build.sin(x) is build.sin(x)
        assert x + 1 is x + 1.0
        assert x / 0.0 is not x / -0.0
        assert x * float("nan") is x * float("nan")


def test_constants_are_compared_by_dtype_shape_and_bits() -> None:
    assert Constant(0.0) != Constant(-0.0)
    assert Constant(np.float32(1)) != Constant(np.float64(1))
    assert Constant([1.0]) != Constant(1.0)
    assert Constant(np.nan) == Constant(np.nan)
    with pytest.raises(ValueError, match="read-only"):
        Constant([1.0]).array[0] = 2


def test_lines_are_joined_when_a_node_is_made_again() -> None:
    with Builder() as builder:
        x = builder.param(0, F64)
        for line in (HERE, THERE, HERE):
            with builder.at((line,)):
                y = build.sin(x)
    assert builder.locations[y.node] == (HERE, THERE)


def test_numbers_take_the_type_of_the_value() -> None:
    with Builder() as builder:
        x = builder.param(0, Type(DType.F32, (N,)))
        for y in (
            2 - x,
            x**2,
            2**x,
            1 / x,
            build.maximum(x, 0),
            build.select(build.lt(x, 1), x, 0),
        ):
            assert y.type == x.type
        assert build.gt(x, 0).type == Type(DType.BOOL, (N,))


def test_rearrangements_that_change_nothing_are_left_out() -> None:
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, (N, 3)))
        assert build.reshape(x, (N, 3)) is x
        assert build.reshape(build.reshape(x, (3 * N,)), (N, 3)) is x
        assert build.transpose(x, (0, 1)) is x
        assert build.cast(x, DType.F64) is x
        assert build.broadcast_to(x, (N, 3)) is x
        assert build.reduce_sum(x, []) is x
        assert build.slice(x, (0, 0), (N, 3), (1, 1)) is x
        assert build.concatenate([x], 0) is x
        spread = build.broadcast(build.broadcast(x, (2, N, 3), (1, 2)), (2, N, 5, 3), (0, 1, 3))
        assert spread.operands == (x,)
        assert spread.node.attributes["axes"] == (1, 3)


def test_broadcasting_is_numpys_but_symbols_never_stretch() -> None:
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, (3, 1)))
        assert build.broadcast_to(x, (2, 3, N)).type.shape == (2, 3, N)
        y = builder.param(1, Type(DType.F64, (N,)))
        for shape in ((symbol("m"),), (3,), ()):
            with pytest.raises(ShapeError):
                build.broadcast_to(y, shape)


def test_arrays_of_equal_elements_are_spread_scalars() -> None:
    with Builder():
        assert build.constant(np.ones((2, 3))).op.name == "broadcast"
        assert build.constant(np.asarray([0.0, -0.0])).op.name == "constant"
        assert build.constant([1, 2]).type == Type(DType.I64, (2,))


def test_functions_are_compared_by_structure() -> None:
    text = "func @{f}(%{x}: f64) -> f64 {{ %0: f64 = sin %{x} %1: f64 = {op} %0, %{x} return %1 }}"
    function = parse_function(text.format(f="f", x="x", op="add"))
    assert function == parse_function(text.format(f="g", x="y", op="add"))
    assert function != parse_function(text.format(f="f", x="x", op="mul"))
    assert hash(function) == hash(parse_function(text.format(f="g", x="y", op="add")))


def test_inlining_a_function() -> None:
    inner = parse_function("func @f(%x: f64[n]) -> f64[n] { %0: f64[n] = sin %x return %0 }")
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, (N,)))
        (y,) = builder.inline(inner, [x])
        assert y is build.sin(x)


def test_users_and_dependence() -> None:
    with Builder() as builder:
        x, y = builder.param(0, F64), builder.param(1, F64)
        square, total = x * x, x + y
        function = builder.function("f", [x, y], [square, total])
    users = walk.users(function)
    assert users[x] == [square.node, square.node, total.node]
    assert users[total] == []
    assert walk.depends_on(function, [y]) == {y.node, total.node}


def test_a_graph_may_be_deep() -> None:
    with Builder() as builder:
        x = value = builder.param(0, F64)
        for _ in range(20_000):
            value = build.sin(value)
        function = builder.function("deep", [x], [value])
    assert len(function.nodes) == 20_001
    assert function == function.__class__("again", function.params, function.results)


def test_outside_a_builder_nothing_is_built() -> None:
    with pytest.raises(RuntimeError, match="no builder is active"):
        build.constant(1.0)


@pytest.mark.parametrize("dtype", [np.complex128, np.float16, np.int8, np.uint64, object])
def test_other_dtypes_are_refused_with_a_cure(dtype: type) -> None:
    with pytest.raises(DTypeError, match="help:"):
        dtype_of(dtype)


def test_an_op_is_an_attribute_of_the_table_s_module() -> None:
    assert ops.log1p is TABLE["log1p"]
    assert ops.while_ is TABLE["while"]
    with pytest.raises(AttributeError, match="there is no op sine"):
        _ = ops.sine


def test_every_op_is_declared_whole() -> None:
    for name, op in TABLE.items():
        assert op.name == name
        assert op.summary.endswith(".")
        assert (op.scalar is not None) == op.is_elementwise or op.family == "reduce"
        assert (reference(op) is None) == (op.family == "control" or name == "param")
        if op.operands and op.family != "control":
            assert len(op.domain) in (op.operands, 1, 0)
        if op.commutative:
            assert op.operands == 2
