"""Kernels as Python callables: binding, checking, allocating, status, threads."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import numpy as np
import pytest

from gradc_codegen.abi import Status
from gradc_codegen.calls import layout
from gradc_codegen.calls.door import Plans, door
from gradc_codegen.interface.python_kernel import Kernel, KernelStatus
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import DTypeError, ShapeError
from tests.in_threads import in_threads

n = symbol("n")


def scaling() -> Function:
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, (n, 2)))
        a = builder.param(1, Type(DType.F64))
        y = x * build.broadcast_to(a, (n, 2))
        return builder.function("scale", [x, a], [y, a], ["x", "a"])


# y = a * x through scratch of 16 n bytes, and a; index error for a < 0
SCALE = """
define i32 @scale(i64 %n, ptr noalias readonly %x, double %a, ptr noalias %y, ptr noalias %b,
                  ptr noalias %work) {
entry:
  store double %a, ptr %b
  %count = mul i64 %n, 2
  %negative = fcmp olt double %a, 0.0
  br i1 %negative, label %index, label %start
start:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %first, label %done
first:
  %i = phi i64 [0, %start], [%k, %first]
  %p = getelementptr double, ptr %x, i64 %i
  %v = load double, ptr %p
  %w = fmul double %v, %a
  %q = getelementptr double, ptr %work, i64 %i
  store double %w, ptr %q, align 1
  %k = add i64 %i, 1
  %c = icmp slt i64 %k, %count
  br i1 %c, label %first, label %second
second:
  %i2 = phi i64 [0, %first], [%k2, %second]
  %q2 = getelementptr double, ptr %work, i64 %i2
  %v2 = load double, ptr %q2, align 1
  %p2 = getelementptr double, ptr %y, i64 %i2
  store double %v2, ptr %p2
  %k2 = add i64 %i2, 1
  %c2 = icmp slt i64 %k2, %count
  br i1 %c2, label %second, label %done
done:
  ret i32 0
index:
  ret i32 3
}
define i64 @scale_worksize(i64 %n) {
  %bytes = mul i64 %n, 16
  ret i64 %bytes
}
""".replace("%b,\n                  ptr", "%b, ptr")


@pytest.fixture(params=["native", "ctypes"])
def scale(request: pytest.FixtureRequest) -> Kernel:
    return Kernel(scaling(), SCALE, native=request.param == "native")


def test_this_interpreter_is_known() -> None:
    assert layout.is_known()


@pytest.mark.parametrize("count", [0, 1, 7, 1000, 100_000])
def test_results(scale: Kernel, count: int) -> None:
    x = np.random.default_rng(0).normal(size=(count, 2))
    for _ in range(3):
        y, a = scale([x, np.array(2.5)])
        assert y.tobytes() == (x * 2.5).tobytes()
        assert y.shape == (count, 2)
        assert y.dtype == np.float64
        assert a.shape == ()
        assert a == 2.5


def test_results_are_fresh(scale: Kernel) -> None:
    x = np.ones((3, 2))
    first, _ = scale([x, 2.0])
    second, _ = scale([x, 3.0])
    assert (first == 2).all()
    assert (second == 3).all()


@pytest.mark.parametrize(
    "number", [2, True, 2.5, np.float64(2.5), np.array(2.5), np.array([2.5, 1.0])[:1].reshape(())]
)
def test_numbers(scale: Kernel, number: object) -> None:
    x = np.ones((3, 2))
    scale([x, 1.0])
    assert scale([x, number])[1] == number


def test_layouts_are_made_contiguous(scale: Kernel) -> None:
    whole = np.arange(24.0).reshape(4, 6)
    unaligned = np.frombuffer(b"." + whole.tobytes(), np.uint8)[1:].view(np.float64)
    views = [whole[::2, ::3], whole[:, :2], whole.reshape(12, 2).T.copy().T, whole.T[:4, 2:0:-1]]
    for x in [*views, unaligned.reshape(12, 2), np.asfortranarray(whole[:, :2])]:
        for _ in range(3):
            assert (scale([x, 2.0])[0] == 2 * x).all()


def test_a_changed_shape_is_noticed(scale: Kernel) -> None:
    for count in (5, 3, 5, 8, 8, 0):
        x = np.arange(2.0 * count).reshape(count, 2)
        assert (scale([x, 2.0])[0] == 2 * x).all()


def test_what_does_not_fit(scale: Kernel) -> None:
    x = np.ones((3, 2))
    for _ in range(3):
        with pytest.raises(ShapeError, match=r"x has shape \[3,3\], wanted f64\[n,2\]"):
            scale([np.ones((3, 3)), 2.0])
        with pytest.raises(ShapeError, match=r"x has shape \[6\], wanted f64\[n,2\]"):
            scale([np.ones(6), 2.0])
        with pytest.raises(DTypeError, match="x has dtype float32, not float64"):
            scale([x.astype(np.float32), 2.0])
        with pytest.raises(DTypeError, match="a has dtype complex128, not float64"):
            scale([x, 2j])
        with pytest.raises(TypeError, match="scale takes 2 arrays, not 1"):
            scale([x])
        with pytest.raises(TypeError, match="scale takes 2 arrays, not 3"):
            scale([x, 1.0, 2.0])
        scale([x, 2.0])


def test_status(scale: Kernel) -> None:
    x = np.ones((3, 2))
    for _ in range(3):
        with pytest.raises(KernelStatus, match="scale returned INDEX: an index lies outside") as e:
            scale([x, -1.0])
        assert e.value.status is Status.INDEX
        scale([x, 1.0])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_no_call_leaks(scale: Kernel) -> None:
    x = np.ones((5000, 2))
    y = scale([x, 1.0])[0]
    assert sys.getrefcount(y) == 2  # the name and the argument

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1])

    pages: list[int] = []
    for _ in range(3):
        for _ in range(200):
            scale([x, 1.0])
            with pytest.raises(KernelStatus):
                scale([x, -1.0])
            scale([x[1:], 1.0])
        pages.append(resident())
    # of 4 KiB; one result that was never freed would be 20 of them
    assert pages[-1] - pages[0] < 1000


def test_threads_share_a_kernel(scale: Kernel) -> None:
    wrong: list[int] = []

    def call(count: int) -> None:
        x = np.full((count, 2), float(count))
        for _ in range(100):
            y, _ = scale([x, 2.0])
            if not (y == 2.0 * count).all():
                wrong.append(count)

    in_threads(call, (3, 2000, 5, 3000))
    assert not wrong


ALL_TYPES = [DType.F64, DType.F32, DType.I64, DType.I32, DType.BOOL]
VALUES = {dtype: dtype.numpy.type(1 if dtype is DType.BOOL else -3) for dtype in ALL_TYPES}


@pytest.mark.parametrize("native", [True, False])
def test_every_dtype_as_number_and_array(native: bool) -> None:
    llvm = ["double", "float", "i64", "i32", "i8"]
    with Builder() as builder:
        numbers = [builder.param(i, Type(dtype)) for i, dtype in enumerate(ALL_TYPES)]
        arrays = [builder.param(5 + i, Type(dtype, (1,))) for i, dtype in enumerate(ALL_TYPES)]
        function = builder.function("swap", [*numbers, *arrays], [*arrays, *numbers])
    params = [f"{type_} %a{i}" for i, type_ in enumerate(llvm)]
    params += [f"ptr %b{i}" for i in range(5)] + [f"ptr %y{i}" for i in range(10)] + ["ptr %w"]
    lines = [f"define i32 @swap({', '.join(params)}) {{"]
    for i, type_ in enumerate(llvm):
        lines.append(f"  %v{i} = load {type_}, ptr %b{i}")
        lines.append(f"  store {type_} %v{i}, ptr %y{i}")
        lines.append(f"  store {type_} %a{i}, ptr %y{5 + i}")
    lines += ["  ret i32 0", "}", "define i64 @swap_worksize() {", "  ret i64 0", "}"]
    kernel = Kernel(function, "\n".join(lines), native=native)
    for numbers_as in (lambda v: v, np.array, lambda v: v.item()):
        arguments = [numbers_as(VALUES[dtype]) for dtype in ALL_TYPES]
        arguments += [np.array([VALUES[dtype]]) for dtype in ALL_TYPES]
        for _ in range(3):
            results = kernel(arguments)
            for dtype, result in zip(2 * ALL_TYPES, results, strict=True):
                assert result.dtype == dtype.numpy
                assert result == VALUES[dtype]


def test_a_number_is_not_cast_silently() -> None:
    with Builder() as builder:
        k = builder.param(0, Type(DType.I64))
        function = builder.function("f", [k], [k], ["k"])
    text = """
define i32 @f(i64 %k, ptr %y, ptr %work) {
  store i64 %k, ptr %y
  ret i32 0
}
define i64 @f_worksize() {
  ret i64 0
}
"""
    kernel = Kernel(function, text)
    assert kernel([7])[0] == 7
    with pytest.raises(DTypeError, match="k is a float, not i64"):
        kernel([7.5])


def test_axes_that_share_a_symbol_or_an_expression_are_checked() -> None:
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, (n,)))
        y = builder.param(1, Type(DType.F64, (n,)))
        z = builder.param(2, Type(DType.F64, (2 * n + 1,)))
        function = builder.function("f", [x, y, z], [], ["x", "y", "z"])
    text = """
define i32 @f(i64 %n, ptr %x, ptr %y, ptr %z, ptr %work) {
  ret i32 0
}
define i64 @f_worksize(i64 %n) {
  ret i64 0
}
"""
    kernel = Kernel(function, text)
    good = [np.ones(3), np.ones(3), np.ones(7)]
    for _ in range(3):
        assert kernel(good) == []
        with pytest.raises(ShapeError, match=r"y has shape \[4\], wanted f64\[n\]\n  with n = 3"):
            kernel([np.ones(3), np.ones(4), np.ones(7)])
        with pytest.raises(ShapeError, match=r"z has shape \[6\], wanted f64\[2\*n\+1\]\n  with n"):
            kernel([np.ones(3), np.ones(3), np.ones(6)])


def test_a_result_of_negative_size_is_an_error() -> None:
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, (n,)))
        shorter = build.slice(x, (0,), (n - 2,), (1,))
        function = builder.function("f", [x], [shorter], ["x"])
    text = """
define i32 @f(i64 %n, ptr %x, ptr %y, ptr %work) {
  ret i32 0
}
define i64 @f_worksize(i64 %n) {
  ret i64 0
}
"""
    kernel = Kernel(function, text)
    assert kernel([np.ones(2)])[0].shape == (0,)
    with pytest.raises(ShapeError, match=r"a result would have negative sizes\n  n = 1"):
        kernel([np.ones(1)])


def test_the_callable_may_outlive_its_plans() -> None:
    plans = Plans()
    call = door(plans, lambda _, x: x, lambda: None, "outliving", "Text that goes with it.")
    del plans
    # what was freed is written over: the callable still reads its definition when it goes
    rubbish = [(ctypes.c_uint8 * 32)(*[255] * 32) for _ in range(1000)]
    assert call(7) == 7
    del call
    assert rubbish
