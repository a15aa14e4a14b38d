"""Kernels with tapes: room for some steps at first, twice as many when that is not enough."""

from __future__ import annotations

import numpy as np
import pytest

from gradc_codegen.abi import Signature, Status
from gradc_codegen.interface import tape_growth as kernel_tape
from gradc_codegen.interface.c_header import Exported, header
from gradc_codegen.interface.python_kernel import Kernel, KernelStatus
from gradc_codegen.target.target import target
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import TAPE, symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import ParseError
from gradc_ir.interpreter import tape
from gradc_ir.location import Location
from gradc_ir.text.parser import parse_function
from gradc_ir.text.printer import print_function
from gradc_ir.text.spec import parse_spec
from gradc_ir.verify import verify
from tests.in_threads import in_threads

n = symbol("n")
LINE = Location("model.py", 7, "halve")


def halving(names: tuple[str, str] = ("x", "least")) -> Function:
    """Return ``while x[0] > least: x = x / 2``: the last x, all of them, and how many."""
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, (n,)))
        body = builder.function("body", [x], [x * 0.5, x])
    with Builder() as builder:
        least, x = builder.param(0, Type(DType.F64)), builder.param(1, Type(DType.F64, (n,)))
        first = build.reshape(build.slice(x, (0,), (1,), (1,)), ())
        condition = builder.function("condition", [least, x], [build.gt(first, least)])
    with Builder() as builder:
        x, least = builder.param(0, Type(DType.F64, (n,))), builder.param(1, Type(DType.F64))
        with builder.at((LINE,)):
            last, rows, count = build.while_loop(condition, body, [least], [], [x], length=TAPE)
        return builder.function("halve", [x, least], [last, rows, count], names)


# The same by hand: the first n elements, rows [_tape, n], and the count.
HALVE = """
define i32 @halve(i64 %n, i64 %steps, ptr %x, double %least, ptr %y, ptr %rows, ptr %count,
                  ptr %work) {
entry:
  %bytes = mul i64 %n, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %y, ptr %x, i64 %bytes, i1 false)
  %all = mul i64 %bytes, %steps
  call void @llvm.memset.p0.i64(ptr %rows, i8 0, i64 %all, i1 false)
  br label %test
test:
  %i = phi i64 [0, %entry], [%i.next, %halved]
  %first = load double, ptr %y
  %more = fcmp ogt double %first, %least
  br i1 %more, label %step, label %done
step:
  %full = icmp eq i64 %i, %steps
  br i1 %full, label %tape, label %copy
copy:
  %at = mul i64 %i, %bytes
  %row = getelementptr i8, ptr %rows, i64 %at
  call void @llvm.memcpy.p0.p0.i64(ptr %row, ptr %y, i64 %bytes, i1 false)
  br label %halve
halve:
  %k = phi i64 [0, %copy], [%k.next, %halve]
  %place = getelementptr double, ptr %y, i64 %k
  %old = load double, ptr %place
  %new = fmul double %old, 0.5
  store double %new, ptr %place
  %k.next = add i64 %k, 1
  %again = icmp ult i64 %k.next, %n
  br i1 %again, label %halve, label %halved
halved:
  %i.next = add i64 %i, 1
  br label %test
done:
  store i64 %i, ptr %count
  ret i32 0
tape:
  ret i32 5
}
define i64 @halve_worksize(i64 %n, i64 %steps) {
  ret i64 0
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""


@pytest.fixture(params=["native", "ctypes"])
def halve(request: pytest.FixtureRequest) -> Kernel:
    return Kernel(halving(), HALVE, native=request.param == "native")


def check(kernel: Kernel, steps: int, count: int = 1) -> int:
    """Call for as many steps, compare, and return how many there was room for."""
    x = np.full(count, 2.0**steps)
    last, rows, found = kernel([x, 1.0])
    assert last.tolist() == [1.0] * count
    assert found == steps
    np.testing.assert_array_equal(rows[:steps, 0], 2.0 ** np.arange(steps, 0, -1))
    assert not rows[steps:].any()
    assert rows.shape[1:] == (count,)
    return len(rows)


def test_room_doubles_until_it_is_enough_and_stays(halve: Kernel) -> None:
    assert [check(halve, steps) for steps in (0, 3, 64, 65, 3, 500, 64)] == [
        64, 64, 64, 128, 128, 512, 512,
    ]  # fmt: skip


def test_arrays_of_other_sizes_begin_with_what_was_needed(halve: Kernel) -> None:
    assert check(halve, 200, count=2) == 256
    assert check(halve, 3, count=3) == 256


def test_large_rows_begin_with_less_room(halve: Kernel) -> None:
    assert check(halve, 500) == 512
    assert check(halve, 3, count=2**14) == 8
    assert check(halve, 3, count=2**19) == 4


def test_threads_share_the_kernel(halve: Kernel) -> None:
    wrong: list[int] = []

    def call(steps: int) -> None:
        for _ in range(30):
            if check(halve, steps) < steps:
                wrong.append(steps)

    in_threads(call, (3, 300, 70, 900))
    assert not wrong


def test_a_loop_without_end_is_an_error(halve: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradc_codegen.interface.python_kernel.most_bytes", lambda: 2**20)
    with pytest.raises(kernel_tape.TapeTooLong) as error:
        halve([np.ones(4), -1.0])
    assert error.value.steps == 2**14
    assert error.value.bytes > 2**20
    assert check(halve, 3) == 64  # as if it had not been


def test_other_errors_are_not_about_tapes() -> None:
    text = HALVE.replace("ret i32 5", f"ret i32 {Status.LIMIT.value}")
    with pytest.raises(KernelStatus) as error:
        Kernel(halving(), text)([np.full(1, 2.0**100), 1.0])
    assert error.value.status is Status.LIMIT


def second_half() -> Function:
    """Return what a pullback's second half looks like: rows from the first, and a loop again."""
    with Builder() as builder:
        rows, x = builder.param(0, Type(DType.F64, (TAPE, 2))), builder.param(1, Type(DType.F64))
        return builder.function("rest", [rows, x], [rows], ["rows", "x"])


REST = """
define i32 @rest(i64 %steps, ptr %rows, double %x, ptr %y, ptr %work) {
  %few = icmp slt i64 %steps, 100
  br i1 %few, label %tape, label %fine
fine:
  %bytes = mul i64 %steps, 16
  call void @llvm.memcpy.p0.p0.i64(ptr %y, ptr %rows, i64 %bytes, i1 false)
  ret i32 0
tape:
  ret i32 5
}
define i64 @rest_worksize(i64 %steps) {
  ret i64 0
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""


@pytest.mark.parametrize("native", [True, False])
def test_rows_of_a_first_half_get_longer_in_the_second(native: bool) -> None:
    kernel = Kernel(second_half(), REST, native=native)
    assert kernel.signature.tape is None
    rows = np.arange(60.0).reshape(30, 2)
    for _ in range(2):
        (longer,) = kernel([rows, 1.0])
        assert longer.shape == (120, 2)
        np.testing.assert_array_equal(longer[:30], rows)
        assert not longer[30:].any()


def test_the_tape_is_the_last_size_of_the_signature() -> None:
    signature = Signature.of(halving(), ["last", "rows", "count"])
    assert signature.c_declaration("halve") == (
        "int halve(int64_t n, int64_t tape, const double *x, double least, double *last, "
        "double *rows, int64_t *count, void *work)"
    )
    assert signature.c_worksize_declaration("halve") == (
        "size_t halve_worksize(int64_t n, int64_t tape)"
    )
    assert signature.tape == signature.sizes[-1]


def test_the_tape_makes_way_for_a_name_of_the_user() -> None:
    assert Signature.of(halving(("tape", "work"))).c_declaration("f") == (
        "int f(int64_t n, int64_t tape_, const double *tape, double work, double *y0, double *y1, "
        "int64_t *y2, void *work_)"
    )


def test_the_header_says_what_a_tape_is() -> None:
    text = header(
        "halve",
        [Exported("halve", Signature.of(halving()), "value")],
        target=target(),
        version="1",
        ir_hash="0",
    )
    assert "tape: how many steps the tapes of loops have room for\n" in text
    assert (
        " * The caller chooses how many steps the loops of halve may take, as tape:\n"
        " * after HALVE_E_TAPE call again with twice as many, and the scratch _worksize then asks"
        " for.\n"
    ) in text


def test_functions_with_tapes_are_text() -> None:
    function = halving()
    verify(function)
    text = print_function(function)
    assert "f64[_tape,n]" in text
    assert parse_function(text) == function


def test_which_loops_have_tapes() -> None:
    assert tape.has_free_tape(halving())
    assert not tape.has_free_tape(second_half())
    assert tape.taped_loops(halving()) == (LINE,)
    assert tape.taped_loops(second_half()) == ()


def test_only_axes_of_tapes_get_longer() -> None:
    types = [Type(DType.F64, (TAPE, 2)), Type(DType.F64, (n,)), Type(DType.I64, (3, TAPE))]
    arrays = [np.ones((2, 2)), np.ones(2), np.ones((3, 2), np.int64)]
    longer = tape.lengthened(types, arrays, 4)
    assert [array.shape for array in longer] == [(4, 2), (2,), (3, 4)]
    assert [array.sum() for array in longer] == [4, 2, 6]
    assert longer[1] is arrays[1]


def test_a_user_cannot_name_a_size_like_that() -> None:
    with pytest.raises(ParseError, match="_tape is the size of the tapes of loops"):
        parse_spec("x: f64[n,_tape]")
