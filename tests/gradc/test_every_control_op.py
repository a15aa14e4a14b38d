"""Every op of control flow: its value, and its derivative in both modes where it has one."""

from __future__ import annotations

import numpy as np
import pytest

from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.runtime.executable import Executable
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.text.parser import parse_function
from tests.comparing import assert_close
from tests.gradc.every_op import CONTROL

DTYPES = {"f64": (np.float64, 1e-12), "f32": (np.float32, 1e-5)}
SHAPES = {"": (), "[0]": (0,), "[1]": (1,), "[7]": (7,), "[3,5]": (3, 5)}

CALL = """
func @f(%x: TYPE, %y: TYPE) -> TYPE {
  %0: TYPE = call %x, %y {name = "product", body = @body, vjp = @vjp, jvp = none, constants = []}
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
CHECKPOINT = """
func @f(%x: TYPE, %y: TYPE) -> TYPE {
  %0, %1: TYPE, TYPE = checkpoint %x, %y {body = @body}
  %2: TYPE = mul %0, %1
  return %2
}
func @body(%x: TYPE, %y: TYPE) -> (TYPE, TYPE) {
  %0: TYPE = tanh %x
  %1: TYPE = mul %0, %y
  return %0, %1
}
"""
# y <- tanh(x) y, four times; rows hold what y was
SCAN = """
func @f(%x: TYPE, %y: TYPE) -> TYPE {
  %0, %1: TYPE, ROWS = scan %x, %y
    {body = @body, consts = 1, carries = 1, length = 4, reverse = REVERSE,
     counted = false, checkpoint = none}
  %2: TYPE = reduce_sum %1 {axes = [0]}
  %3: TYPE = mul %0, %2
  return %3
}
func @body(%x: TYPE, %y: TYPE) -> (TYPE, TYPE) {
  %0: TYPE = tanh %x
  %1: TYPE = mul %0, %y
  return %1, %y
}
"""
WHILE = """
func @f(%x: TYPE, %y: TYPE) -> TYPE {
  %0: i64 = constant 0
  %1: i64 = constant 3
  %2, %3, %4: TYPE, i64, i64 = while %1, %x, %y, %0
    {condition = @condition, body = @body, condition_consts = 1, body_consts = 1, length = LIMIT}
  return %2
}
func @condition(%limit: i64, %y: TYPE, %k: i64) -> bool {
  %0: bool = lt %k, %limit
  return %0
}
func @body(%x: TYPE, %y: TYPE, %k: i64) -> (TYPE, i64) {
  %0: TYPE = sin %y
  %1: TYPE = mul %0, %x
  %2: i64 = constant 1
  %3: i64 = add %k, %2
  return %1, %3
}
"""


def scanned(x, y, steps=4):
    rows = [y * np.tanh(x) ** k for k in range(steps + 1)]
    return rows[-1] * sum(rows[:-1], np.zeros_like(x))


PROGRAMS = {
    "call": (CALL, lambda x, y: np.sin(x * y)),
    "checkpoint": (CHECKPOINT, lambda x, y: np.tanh(x) ** 2 * y),
    "cond, then": (COND.replace("LIMIT", "1.0"), lambda x, y: np.tanh(x) * y),
    "cond, otherwise": (COND.replace("LIMIT", "0.0"), lambda x, y: np.sin(y)),
    "scan": (SCAN.replace("REVERSE", "false"), scanned),
    "scan, reverse": (SCAN.replace("REVERSE", "true"), scanned),
    "while": (WHILE.replace("LIMIT", "none"), lambda x, y: x * np.sin(x * np.sin(x * np.sin(y)))),
    "while, limited": (
        WHILE.replace("LIMIT", "5"),
        lambda x, y: x * np.sin(x * np.sin(x * np.sin(y))),
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_value_and_derivatives(name: str, dtype: str, shape: str) -> None:
    text, numpy = PROGRAMS[name]
    text = text.replace("ROWS", str(Type(DType(dtype), (4, *SHAPES[shape]))))
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


def test_every_control_op_is_used() -> None:
    programs = {name.partition(",")[0] for name in PROGRAMS}
    assert programs == set(CONTROL)
