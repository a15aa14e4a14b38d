"""The interpreter: what a function means."""

from __future__ import annotations

import numpy as np
import pytest

from gradc_ir.errors import DTypeError, IndexError, ShapeError
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.text.parser import parse_function
from tests.comparing import assert_same_bits
from tests.ir.test_text import LOOPS, LOSS


def run(text: str, *arrays: object) -> tuple[np.ndarray, ...]:
    return interpret(parse_function(text), [np.asarray(array) for array in arrays])


def test_sizes_are_bound_by_the_arguments() -> None:
    for n in (0, 1, 5):
        x = np.arange(4.0 * n).reshape(n, 4)
        (found,) = run(LOSS, x, np.ones(4))
        assert found.shape == ()
        assert found == 2 * x.sum()


def test_results_are_arrays_of_their_own() -> None:
    x = np.ones(3)
    text = """
    func @f(%x: f64[3]) -> (f64[3], f64[3,3]) {
      %0: f64[3,3] = broadcast %x {axes = [1]}
      return %x, %0
    }
    """
    same, spread = run(text, x)
    spread[0, 0] = same[0] = 7
    assert x[0] == 1
    assert spread[1, 0] == 1


def test_control_flow() -> None:
    total, rows, k, half, quarter = run(LOOPS, np.asarray([1.0, 2.0, 4.0]), True, np.int64(3))
    assert (total, k, half, quarter) == (7, 192, 3.5, 1.75)
    assert_same_bits(rows, np.asarray([1.0, 2.0, 4.0]))
    assert [a.dtype.name for a in (total, k)] == ["float64", "int64"]
    total, rows, *_ = run(LOOPS, np.zeros(0), False, np.int64(1000))
    assert_same_bits(rows, np.zeros(0))


def test_scan_goes_forward_or_backward_and_stacks_rows_in_place() -> None:
    text = """
    func @f(%x: f64[n]) -> f64[n] {{
      %0: f64 = constant 0.0
      %1, %2: f64, f64[n] = scan %0, %x
        {{body = @body, consts = 0, carries = 1, length = n, reverse = {reverse},
         counted = false, checkpoint = none}}
      return %2
    }}
    func @body(%sum: f64, %row: f64) -> (f64, f64) {{
      %0: f64 = add %sum, %row
      return %0, %0
    }}
    """
    x = np.asarray([1.0, 2.0, 4.0])
    assert_same_bits(run(text.format(reverse="false"), x)[0], np.asarray([1.0, 3.0, 7.0]))
    assert_same_bits(run(text.format(reverse="true"), x)[0], np.asarray([7.0, 6.0, 4.0]))


def test_only_the_branch_taken_runs() -> None:
    text = """
    func @f(%p: bool, %x: f64[2], %i: i64) -> f64 {
      %0: f64 = cond %p, %x, %i {then = @then, otherwise = @otherwise}
      return %0
    }
    func @then(%x: f64[2], %i: i64) -> f64 { %0: f64 = gather %x, %i {axes = [0]} return %0 }
    func @otherwise(%x: f64[2], %i: i64) -> f64 { %0: f64 = constant 3.0 return %0 }
    """
    assert run(text, False, np.zeros(2), np.int64(7))[0] == 3
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        run(text, True, np.zeros(2), np.int64(7))


def test_an_index_outside_shows_the_line() -> None:
    text = """
    func @f(%x: f64[n], %i: i64[2]) -> f64[2] {
      %0: f64[2] = gather %x, %i {axes = [0]}   # model.py:7
      return %0
    }
    """
    assert_same_bits(run(text, np.arange(3.0), [-1, 0])[0], np.asarray([2.0, 0.0]))
    with pytest.raises(IndexError) as caught:
        run(text, np.arange(3.0), [0, -4])
    assert str(caught.value) == ("index -4 is out of bounds for axis 0 with size 3\n  model.py:7")


def test_arguments_must_fit() -> None:
    text = "func @f(%x: f64[n], %y: f64[n]) -> f64[n] { return %x }"
    with pytest.raises(DTypeError, match="x has dtype f32, not f64"):
        run(text, np.zeros(3, np.float32), np.zeros(3))
    with pytest.raises(ShapeError):
        run(text, np.zeros(3), np.zeros(4))
    with pytest.raises(ShapeError):
        run(text, np.zeros((3, 1)), np.zeros(3))
    with pytest.raises(ShapeError, match="f takes 2 arrays, not 1"):
        run(text, np.zeros(3))


def test_a_window_outside_is_an_error_and_never_wraps() -> None:
    text = """
    func @f(%x: f64[n]) -> f64[2] {
      %0: f64[2] = slice %x {starts = [n - 2], steps = [1]}   # model.py:3
      return %0
    }
    """
    assert_same_bits(run(text, np.arange(5.0))[0], np.asarray([3.0, 4.0]))
    with pytest.raises(ShapeError, match=r"slice: elements -1…0 lie outside f64\[1\]"):
        run(text, np.arange(1.0))


def test_a_size_below_zero_is_an_error() -> None:
    text = """
    func @f(%x: f64[n]) -> f64[n-1] {
      %0: f64[n-1] = slice %x {starts = [1], steps = [1]}
      return %0
    }
    """
    assert run(text, np.arange(1.0))[0].shape == (0,)
    with pytest.raises(ShapeError):
        run(text, np.arange(0.0))


@pytest.mark.parametrize(
    ("op", "x", "y", "want"),
    [
        ("floor_divide", [7, -7, 7, 5], [2, 2, -2, 0], [3, -4, -4, 0]),
        ("remainder", [7, -7, 7, 5], [2, 2, -2, 0], [1, 1, -1, 0]),
        ("floor_divide", [-(2**63)], [-1], [-(2**63)]),
        ("remainder", [-(2**63)], [-1], [0]),
        ("power", [2, 2, -1, 1, 0], [3, -1, -3, -5, -1], [8, 0, -1, 1, 0]),
    ],
)
def test_integer_arithmetic_is_defined(
    op: str, x: list[int], y: list[int], want: list[int]
) -> None:
    text = f"func @f(%x: i64[n], %y: i64[n]) -> i64[n] {{ %0: i64[n] = {op} %x, %y return %0 }}"
    assert_same_bits(run(text, x, y)[0], np.asarray(want))


@pytest.mark.parametrize("dtype", ["i64", "i32"])
def test_casts_to_integers_saturate(dtype: str) -> None:
    text = f"func @f(%x: f64[n]) -> {dtype}[n] {{ %0: {dtype}[n] = cast %x return %0 }}"
    info = np.iinfo({"i64": np.int64, "i32": np.int32}[dtype])
    found = run(text, [1.9, -1.9, np.nan, 1e300, -np.inf, -0.0])[0]
    assert list(found) == [1, -1, 0, info.max, info.min, 0]
