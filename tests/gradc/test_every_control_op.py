"""Every op of control flow: its value, and its derivative in both modes where it has one."""

from __future__ import annotations

import numpy as np
import pytest

from gradc.executable import Executable
from gradc.pipeline import Request, derive
from gradc_ir.errors import NoGradientError
from gradc_ir.interpret import interpret
from gradc_ir.parser import parse_function
from tests.comparing import assert_close
from tests.gradc.every_op import CONTROL

DTYPES = {"f64": (np.float64, 1e-12), "f32": (np.float32, 1e-5)}
SHAPES = {"": (), "[0]": (0,), "[1]": (1,), "[7]": (7,), "[3,5]": (3, 5)}

CALL = """
func @f(%x: TYPE, %y: TYPE) -> TYPE {
  %0: TYPE = call %x, %y {name = "product", body = @body, vjp = @vjp, jvp = none}
  %1: TYPE = sin %0
  return %1
}
func @body(%x: TYPE, %y: TYPE) -> TYPE { %0: TYPE = mul %x, %y return %0 }
func @vjp(%x: TYPE, %y: TYPE, %up: TYPE) -> (TYPE, TYPE) {
  %0: TYPE = mul %up, %y
  %1: TYPE = mul %up, %x
  return %0, %1
}
"""
COND = """
func @f(%x: TYPE, %y: TYPE) -> TYPE {
  %0: DTYPE = constant 0.5
  %1: DTYPE = constant LIMIT
  %2: bool = lt %0, %1
  %3: TYPE = cond %2, %x, %y {then = @then, otherwise = @otherwise}
  return %3
}
func @then(%x: TYPE, %y: TYPE) -> TYPE { %0: TYPE = tanh %x %1: TYPE = mul %0, %y return %1 }
func @otherwise(%x: TYPE, %y: TYPE) -> TYPE { %0: TYPE = sin %y return %0 }
"""
PROGRAMS = {
    "call": (CALL, lambda x, y: np.sin(x * y)),
    "cond, then": (COND.replace("LIMIT", "1.0"), lambda x, y: np.tanh(x) * y),
    "cond, otherwise": (COND.replace("LIMIT", "0.0"), lambda x, y: np.sin(y)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_value_and_derivatives(name: str, dtype: str, shape: str) -> None:
    text, numpy = PROGRAMS[name]
    text = text.replace("DTYPE", dtype).replace("TYPE", dtype + shape)
    function = parse_function(text)
    kind, tolerance = DTYPES[dtype]
    random = np.random.default_rng(0)
    x, y, dx, dy, up = (np.asarray(random.normal(size=SHAPES[shape])).astype(kind) for _ in "12345")
    (value,) = Executable(derive(function, Request("value")))([x, y])
    assert value.dtype == kind
    assert_close(value, numpy(x, y), 1, tolerance)
    assert_close(interpret(function, [x, y])[0], numpy(x, y), 1, tolerance)
    _, pushed = Executable(derive(function, Request("jvp", (0, 1))))([x, y, dx, dy])
    _, *pulled = Executable(derive(function, Request("vjp", (0, 1))))([x, y, up])
    left, right = np.sum(pushed * up), np.sum(pulled[0] * dx) + np.sum(pulled[1] * dy)
    assert_close(left, right, 1 + np.sum(np.abs(pushed)), tolerance)
    if kind is np.float64:
        step = 1e-6
        above, below = (numpy(x + s * dx, y + s * dy) for s in (step, -step))
        assert_close(pushed, (above - below) / (2 * step), 1 + np.abs(pushed), 1e-6)


LOOPS = {
    "scan": """
        func @f(%x: f64, %rows: f64[n]) -> (f64, f64[n]) {
          %0, %1: f64, f64[n] = scan %x, %rows
            {body = @body, consts = 0, carries = 1, length = n, reverse = false}
          return %0, %1
        }
        func @body(%sum: f64, %row: f64) -> (f64, f64) {
          %0: f64 = add %sum, %row
          return %0, %0
        }
    """,
    "while": """
        func @f(%x: f64, %rows: f64[n]) -> f64 {
          %0: f64 = while %x
            {condition = @condition, body = @body, condition_consts = 0, body_consts = 0}
          return %0
        }
        func @condition(%x: f64) -> bool { %0: f64 = constant 10.0 %1: bool = lt %x, %0 return %1 }
        func @body(%x: f64) -> f64 { %0: f64 = add %x, %x return %0 }
    """,
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_has_a_value_and_refuses_its_derivative(name: str) -> None:
    function = parse_function(LOOPS[name])
    for size in (0, 1, 7):
        rows = np.arange(float(size))
        found = Executable(derive(function, Request("value")))([np.float64(1.5), rows])
        if name == "scan":
            assert found[0] == 1.5 + rows.sum()
            assert found[1].tolist() == (1.5 + np.cumsum(rows)).tolist()
        else:
            assert found[0] == 12.0
    for kind in ("jvp", "vjp"):
        with pytest.raises(NoGradientError, match=name):
            derive(function, Request(kind, (0,)))


def test_every_control_op_is_used() -> None:
    programs = {name.partition(",")[0] for name in (*PROGRAMS, *LOOPS)}
    assert programs == set(CONTROL)
