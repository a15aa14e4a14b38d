"""Rules and passes reach into bodies of loops and branches, before and after differentiation."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.derivatives import vjp
from gradc.pipeline import derive
from gradc.requests.options import Options
from gradc.requests.request import Request
from gradc.testing import check_grads
from gradc_ir.core.graph import Function
from gradc_ir.core.walk import nested
from gradc_ir.errors import NonFiniteError, TraceError
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.text.parser import parse_function
from gradc_ir.text.printer import print_function
from tests.counting import calls_in

X = np.array([800.0, -800.0, 0.5])


def softplus(x):
    return np.log(1 + np.exp(x))


def in_scan(x):
    return gradc.scan(lambda c, row: (c + softplus(row), None), 0.0, x)[0]


def in_scan_of_scan(x):
    def outer(c, row):
        return c + gradc.scan(lambda d, y: (d, softplus(y)), c, row * np.ones(2))[1][0], None

    return gradc.scan(outer, 0.0, x)[0]


def in_while(x):
    def step(carry):
        i, c = carry
        return i + 1, c + softplus(x[i])

    return gradc.while_loop(lambda carry: carry[0] < len(x), step, (0, 0.0))[1]


def in_condition(x):
    start = np.sum(x) * 0.0
    return gradc.while_loop(lambda c: softplus(c + 799) < 801.5, lambda c: c + 1.0, start) + x[0]


def in_cond(x):
    return gradc.cond(x[0] > 1, lambda: np.sum(softplus(x)), lambda: np.sum(softplus(-x)))


def in_map(x):
    return np.sum(gradc.map(softplus, x))


def in_checkpoint(x):
    return np.sum(gradc.checkpoint(softplus)(x))


ONCE = [in_scan, in_scan_of_scan, in_while, in_cond, in_map, in_checkpoint]


def ops_of(function: Function) -> set[str]:
    return {node.op.name for _, node in nested(function)}


@pytest.mark.parametrize("f", [*ONCE, in_condition])
def test_bodies_are_stabilised(f: Callable[[Any], Any]) -> None:
    compiled = gradc.compile(f)
    assert "softplus" in ops_of(compiled.ir(X))
    assert "log" not in ops_of(compiled.ir(X))
    if f in ONCE:
        assert compiled(X) == pytest.approx(800 + softplus(0.5))
        with np.errstate(all="raise"):
            assert compiled.grad(X) == pytest.approx([1, 0, 1 / (1 + np.exp(-0.5))])


@pytest.mark.parametrize("f", ONCE)
def test_rules_in_bodies_are_explained_at_the_user_s_line(f: Callable[[Any], Any]) -> None:
    text = gradc.compile(f).explain(X)
    assert "      return np.log(1 + np.exp(x))\n      log-one-plus (stable, before" in text
    line = softplus.__code__.co_firstlineno + 1
    assert f"test_rules_in_bodies.py:{line} in softplus" in text


def test_unstable_stays_unstable_in_bodies() -> None:
    with np.errstate(all="ignore"):
        assert gradc.compile(in_scan, stable=False)(X) == np.inf


def test_fast_rules_work_in_bodies() -> None:
    def f(x):
        return gradc.scan(lambda c, row: (c + row * 3.0 / 3.0, None), 0.0, x)[0]

    assert "div" in ops_of(gradc.compile(f).ir(X))
    assert "div" not in ops_of(gradc.compile(f, fast=True).ir(X))


def test_rules_fire_in_bodies_that_differentiation_makes() -> None:
    """The derivative of log(sigmoid) holds 1 - sigmoid, which cancels."""

    def f(x):
        return gradc.scan(lambda c, row: (c + np.log(1 / (1 + np.exp(-row))), None), 0.0, x)[0]

    found = gradc.compile(f).grad(np.array([50.0, -800.0]))
    assert found[0] == pytest.approx(np.exp(-50.0), rel=1e-12)
    assert found[1] == 1.0


def test_what_is_known_decides_in_bodies() -> None:
    two = np.float64(2.0)

    def f(x):
        def step(c, row):
            scale = gradc.cond(two * c[1] > 1, lambda: row, lambda: np.sin(row))
            return (c[0] + scale * two, c[1]), c[1]

        return gradc.scan(step, (0.0, 1.0), x)[0][0]

    made = gradc.compile(f).ir(X)
    assert "sin" not in print_function(made)
    assert gradc.compile(f)(X) == 1.0


def test_the_gradient_keeps_what_it_needs_of_a_loop() -> None:
    """Rows for the reverse pass are gone where only the value is asked, and the value elsewhere."""

    def f(x):
        def step(c, row):
            return (c[0] + row * row, np.sin(c[1] + row)), np.cos(c[1])

        (total, _), _ = gradc.scan(step, (0.0, 0.0), x)
        return total

    compiled = gradc.compile(f)
    assert "sin" not in ops_of(compiled.ir(X))
    assert "cos" not in ops_of(compiled.ir(X))
    assert not {"sin", "cos"} & ops_of(compiled.ir(X, of="grad"))
    assert (compiled.grad(X) == 2 * X).all()


def test_equal_loops_keep_their_own_lines() -> None:
    text = """
    func @f(%x: f64[3], %a: i64, %b: i64) -> (f64, f64) {
      %0: f64 = checkpoint %x, %a {body = @one}
      %1: f64 = checkpoint %x, %b {body = @two}
      return %0, %1
    }
    func @one(%x: f64[3], %i: i64) -> f64 {
      %0: f64 = gather %x, %i {axes = [0]}   # one.py:1
      return %0
    }
    func @two(%x: f64[3], %i: i64) -> f64 {
      %0: f64 = gather %x, %i {axes = [0]}   # two.py:2
      return %0
    }
    """
    made = print_function(derive(parse_function(text), Request("value")))
    assert "one.py:1" in made
    assert "two.py:2" in made


def test_a_row_that_is_a_const_has_a_cotangent() -> None:
    text = """
    func @f(%x: f64, %rows: f64[3]) -> f64[3] {
      %0: f64[3] = scan %x, %rows
        {body = @body, consts = 1, carries = 0, length = 3, reverse = false, counted = false,
         checkpoint = none}
      return %0
    }
    func @body(%x: f64, %row: f64) -> f64 {
      return %x
    }
    """
    for made in (
        vjp(parse_function(text), (0,)),
        derive(parse_function(text), Request("vjp", (0,))),
    ):
        assert interpret(made, [np.float64(2.0), np.zeros(3), np.ones(3)])[1] == 3.0


def nest(depth: int) -> Callable[[Any, Any], Any]:
    def leaf(c, x):
        return c + softplus(np.sin(c * x)), c * x

    step = leaf
    for _ in range(depth - 1):

        def step(c, x, inner=step):
            last, rows = gradc.scan(inner, c, x * np.arange(1.0, 4.0))
            return last + np.sum(rows), c * x

    def f(a, x):
        last, rows = gradc.scan(step, a, x)
        return last + np.sum(rows)

    return f


def test_passes_take_linear_time_in_deep_nests() -> None:
    def calls(depth: int) -> int:
        traced = gradc.compile(nest(depth)).ir(0.3, np.ones(4))
        request = Request("value_and_grad", (0, 1))
        assert sum(1 for _ in nested(derive(traced, request))) < 60 * depth
        return calls_in(lambda: derive(traced, request))

    assert calls(6) < 6 * calls(2)


# -- what people look at ---------------------------------------------------------------------------


def test_bodies_are_printed_parsed_dumped_and_shown() -> None:
    compiled = gradc.compile(in_scan_of_scan)
    made = compiled.ir(X)
    assert parse_function(print_function(made)) == made
    assert "func @in_scan_of_scan.body" in str(made)
    assert "func @in_scan_of_scan.body" in made._repr_html_()
    dumped = compiled.dump(X, after="all")
    counts = [int(count) for count in re.findall(r"^## .*: (\d+) nodes$", dumped, re.MULTILINE)]
    assert len(counts) > 2
    assert min(counts) >= 10 > len(made.nodes)


@pytest.mark.parametrize("f", ONCE)
def test_gradients_are_checked_through_bodies(f: Callable[[Any], Any]) -> None:
    check_grads(f, [np.array([0.5, -1.0, 2.0])])


# -- values that are not finite --------------------------------------------------------------------


def test_the_op_in_a_body_that_is_not_finite_is_named() -> None:
    def f(x):
        def step(c, row):
            inner = gradc.cond(row > 1, lambda: row, lambda: np.log(row))
            return c + inner, c

        return gradc.scan(step, 1.0, x)[0] * 2.0

    with pytest.raises(NonFiniteError) as caught:
        gradc.compile(f, debug_nans=True)(np.array([2.0, 0.5, 0.0, 3.0]))
    text = str(caught.value)
    assert text.startswith("log makes the first inf of f\n")
    assert "inner = gradc.cond(row > 1, lambda: row, lambda: np.log(row))" in text
    assert "operand 1: f64, 0.0" in text
    assert "in step 2 of scan" in text
    assert text.index("in step 2 of scan") < text.index("in cond")


def test_an_argument_is_named_that_a_loop_only_hands_on() -> None:
    def f(x, y):
        return gradc.scan(lambda c, row: (c * row, c), 1.0, x)[0] + y

    compiled = gradc.compile(f, debug_nans=True)
    assert compiled(np.ones(3), 1.0) == 2.0
    with pytest.raises(NonFiniteError, match="nan in x, an argument of f"):
        compiled(np.array([1.0, np.nan, 2.0]), 1.0)


def test_a_while_loop_that_overflows_names_its_step() -> None:
    def f(x):
        return gradc.while_loop(lambda c: c < 1e300, lambda c: np.exp(c), x)

    with pytest.raises(NonFiniteError) as caught:
        gradc.compile(f, debug_nans=True)(1.0)
    assert "exp makes the first inf of f" in str(caught.value)
    assert "in step 3 of while" in str(caught.value)


def test_a_slope_that_is_not_finite_in_a_body_is_named() -> None:
    def f(x):
        return gradc.scan(lambda c, row: (c + np.sqrt(row), None), 0.0, x)[0]

    with pytest.raises(NonFiniteError) as caught:
        gradc.compile(f, debug_nans=True).grad(np.array([1.0, 0.0, 4.0]))
    assert "np.sqrt(row)" in str(caught.value)


def test_debug_print_in_a_body_is_refused() -> None:
    def f(x):
        def step(c, row):
            gradc.debug_print("{}", c)
            return c + row, None

        return gradc.scan(step, 0.0, x)[0]

    with pytest.raises(TraceError, match=r"debug_print inside of a body of gradc\.scan"):
        gradc.compile(f)(X)


def test_options_are_those_of_the_whole_function() -> None:
    made = derive(
        gradc.compile(in_scan, stable=False).ir(X), Request("value", (), "auto", Options())
    )
    assert "softplus" in ops_of(made)
