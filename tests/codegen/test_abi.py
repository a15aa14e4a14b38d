"""The signature of a kernel as C and LLVM see it."""

from __future__ import annotations

import numpy as np
import pytest

from gradc_codegen.abi import RESERVED, Role, Signature, c_identifier
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size, symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import VerifyError

n, m = symbol("n"), symbol("m")


def identity(*params: tuple[str, DType, tuple[Size, ...]], results: tuple[int, ...]) -> Function:
    with Builder() as builder:
        values = [
            builder.param(i, Type(dtype, shape)) for i, (_, dtype, shape) in enumerate(params)
        ]
        return builder.function(
            "f", values, [values[i] for i in results], [name for name, _, _ in params]
        )


MIXED = identity(
    ("x", DType.F64, (n, 3)),
    ("a", DType.F32, ()),
    ("p.w", DType.F32, (m, n)),
    ("k", DType.I64, (m,)),
    ("i", DType.I32, ()),
    ("flag", DType.BOOL, ()),
    ("mask", DType.BOOL, (n,)),
    results=(0, 1, 6),
)


def test_c_declarations() -> None:
    signature = Signature.of(MIXED, ["y", "g_a", "kept"])
    assert signature.c_declaration("f") == (
        "int f(int64_t n, int64_t m, const double *x, float a, const float *p_w, const int64_t *k, "
        "int32_t i, uint8_t flag, const uint8_t *mask, double *y, float *g_a, uint8_t *kept, "
        "void *work)"
    )
    assert signature.c_worksize_declaration("f") == "size_t f_worksize(int64_t n, int64_t m)"


def test_llvm_parameters() -> None:
    signature = Signature.of(MIXED)
    assert signature.llvm_parameters == (
        "i64 %size0, i64 %size1, ptr noalias readonly %in0, float %in1, ptr noalias readonly %in2, "
        "ptr noalias readonly %in3, i32 %in4, i8 %in5, ptr noalias readonly %in6, "
        "ptr noalias %out0, ptr noalias %out1, ptr noalias %out2, ptr noalias %work"
    )
    assert signature.llvm_sizes == "i64 %size0, i64 %size1"
    assert [argument.role for argument in signature.arguments].count(Role.OUTPUT) == 3


def test_static_sizes_take_no_arguments() -> None:
    signature = Signature.of(identity(("x", DType.F64, (6,)), results=(0,)))
    assert signature.c_declaration("f") == "int f(const double *x, double *y, void *work)"
    assert signature.c_worksize_declaration("f") == "size_t f_worksize(void)"


def test_names_of_ours_make_way_for_those_of_the_user() -> None:
    function = identity(("y", DType.F64, ()), ("work", DType.F64, ()), results=(0,))
    assert Signature.of(function).c_declaration("f") == (
        "int f(double y, double work, double *y_, void *work_)"
    )


def test_a_result_of_unknown_size_is_a_defect() -> None:
    with Builder() as builder:
        number = builder.param(0, Type(DType.F64))
        function = builder.function("f", [number], [build.broadcast_to(number, (n,))], ["a"])
    with pytest.raises(VerifyError, match="no parameter has a size n"):
        Signature.of(function)


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("p.w", "p_w"),
        ("x", "x"),
        ("t[0].b", "t_0__b"),
        ("λ", "lambda"),
        ("Δx", "Deltax"),
        ("é", "u00e9"),
        ("double", "double_"),
        ("class", "class_"),
        ("0", "p0"),
        ("_", "value"),
    ],
)
def test_identifiers(name: str, identifier: str) -> None:
    assert c_identifier(name) == identifier
    assert identifier not in RESERVED


def test_every_dtype_has_the_size_numpy_gives_it() -> None:
    sizes = {"double": 8, "float": 4, "int64_t": 8, "int32_t": 4, "uint8_t": 1}
    for dtype in DType:
        function = identity(("x", dtype, (2,)), results=(0,))
        (argument,) = Signature.of(function).inputs
        assert sizes[argument.c.split()[1]] == np.dtype(dtype.numpy).itemsize
