"""Functions print, and the text parses back to an equal function; errors underline the place."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradc_ir import build, ops
from gradc_ir.build import Builder
from gradc_ir.core.constant import Constant
from gradc_ir.core.op import TABLE
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import ParseError
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.location import Location
from gradc_ir.text.parser import parse_function, parse_module, parse_type
from gradc_ir.text.printer import describe, print_function, print_node
from tests.programs import programs

LOSS = """\
# model.py:12 loss
func @loss(%x: f64[n,4], %w: f64[4]) -> f64 {
  %0: f64[n] = contract %x, %w {spec = "ij,j->i"}   # model.py:14
  %1: f64[n] = mul %0, 2.0                          # model.py:14, helpers.py:3
  %2: f64 = reduce_sum %1 {axes = [0]}              # model.py:15
  return %2
}
"""

LOOPS = """\
func @loops(%x: f64[n], %p: bool, %k: i64) -> (f64, f64[n], i64, f64, f64) {
  %0: f64 = constant 0.0
  %1, %2: f64, f64[n] = scan %0, %x
    {body = @step, consts = 0, carries = 1, length = n, reverse = true, counted = false,
     checkpoint = none}
  %3, %4: i64, i64 = while %k
    {condition = @small, body = @twice, condition_consts = 0, body_consts = 0, length = none}
  %5: f64 = cond %p, %1 {then = @half, otherwise = @half}
  %6: f64 = call %5 {name = "half of it", body = @half, vjp = @half.vjp, jvp = none, constants = []}
  return %1, %2, %3, %5, %6
}

func @step(%sum: f64, %row: f64) -> (f64, f64) {
  %0: f64 = add %sum, %row
  return %0, %row
}

func @small(%k: i64) -> bool {
  %0: bool = lt %k, 100
  return %0
}

func @twice(%k: i64) -> i64 {
  %0: i64 = mul %k, 2
  return %0
}

func @half(%x: f64) -> f64 {
  %0: f64 = mul %x, 0.5
  return %0
}

func @half.vjp(%x: f64, %cotangent: f64) -> f64 {
  %0: f64 = mul %cotangent, 0.5
  return %0
}
"""


@pytest.mark.parametrize("text", [LOSS])
def test_text_stays(text: str) -> None:
    assert print_function(parse_function(text)) == text


def test_locations_are_read_and_left_out() -> None:
    function = parse_function(LOSS)
    assert function.location == Location("model.py", 12, "loss")
    product = function.results[0].operands[0].node
    assert function.locations[product] == (Location("model.py", 14), Location("helpers.py", 3))
    assert "#" not in print_function(function, locations=False)


def test_control_flow_round_trip() -> None:
    function = parse_function(LOOPS)
    text = print_function(function)
    assert parse_function(text) == function
    assert print_function(parse_function(text)) == text
    assert list(parse_module(LOOPS)) == ["loops", "step", "small", "twice", "half", "half.vjp"]


def test_equal_bodies_of_one_function_are_one() -> None:
    function = parse_function(LOOPS)
    (cond,) = (node for node in function.body if node.op is ops.cond)
    assert cond.attributes["then"] is cond.attributes["otherwise"]


@settings(max_examples=150, deadline=None)
@given(programs(symbolic=True))
def test_round_trip(function: object) -> None:
    text = print_function(function)  # type: ignore[arg-type]
    parsed = parse_function(text)
    assert parsed == function
    assert print_function(parsed) == text


@pytest.mark.parametrize("dtype", list(DType), ids=str)
@given(bits=st.integers(0, 2**64 - 1))
@settings(max_examples=60, deadline=None)
def test_constants_keep_their_bits(dtype: DType, bits: int) -> None:
    width = dtype.bytes * 8
    drawn = np.asarray(bits % 2**width % (2 if dtype is DType.BOOL else 2**64), f"u{dtype.bytes}")
    value = Constant(np.stack([drawn, drawn[()]]).view(dtype.numpy)[:1])
    with Builder() as builder:
        made = build.apply("constant", value=value)
        function = builder.function("f", [], [made])
    assert parse_function(print_function(function)) == function


@pytest.mark.parametrize("number", [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 0.1, 1e-45, 3e38])
def test_special_numbers(number: float) -> None:
    for dtype in (DType.F64, DType.F32):
        with Builder() as builder, np.errstate(all="ignore"):
            x = builder.param(0, Type(dtype, (symbol("n"),)))
            function = builder.function("f", [x], [x * build.full_like(x, number)])
        assert parse_function(print_function(function)) == function


def test_literals_stand_where_their_dtype_is_known() -> None:
    with Builder() as builder:
        x = builder.param(0, Type(DType.F32, (2,)))
        lone = build.lt(build.full_like(x, 1), build.full_like(x, 2))
        chosen = build.select(build.full((2,), True, DType.BOOL), x, build.full_like(x, 0.1))
        function = builder.function("f", [x], [lone, chosen, build.lt(x, 3)])
    assert print_function(function) == (
        "func @f(%p0: f32[2]) -> (bool[2], f32[2], bool[2]) {\n"
        "  %0: f32[2] = broadcast 1.0 {axes = []}\n"
        "  %1: f32[2] = broadcast 2.0 {axes = []}\n"
        "  %2: bool[2] = lt %0, %1\n"
        "  %3: f32[2] = select true, %p0, 0.1\n"
        "  %4: bool[2] = lt %p0, 3.0\n"
        "  return %2, %3, %4\n"
        "}\n"
    )
    assert parse_function(print_function(function)) == function


def test_odd_names_are_quoted() -> None:
    with Builder() as builder:
        params = [builder.param(i, Type(DType.F64)) for i in range(4)]
        function = builder.function(
            "<lambda> of it", params, [params[0] + params[3]], ['p["w"]', "x", "x", "0"]
        )
    text = print_function(function)
    assert text.startswith(
        r'func @"<lambda> of it"(%"p[\"w\"]": f64, %x: f64, %x_2: f64, %"0": f64)'
    )
    parsed = parse_function(text)
    assert parsed == function
    assert parsed.names == ('p["w"]', "x", "x_2", "0")
    assert parsed.name == "<lambda> of it"


def test_one_node() -> None:
    function = parse_function(LOSS)
    assert print_node(function, function.results[0].node) == (
        "%2: f64 = reduce_sum %1 {axes = [0]}"
    )
    assert print_node(function, function.params[1].node) == "%w: f64[4]"
    assert describe(function.results[0]) == "reduce_sum(mul(contract(%0, %1), 2.0))"


def test_types() -> None:
    for text in ("f64", "bool[0]", "f32[n,3]", "i64[2*n+1,max(n-1,0)]", "i32[n//2]"):
        assert str(parse_type(text)) == text


def error(text: str) -> str:
    with pytest.raises(ParseError) as caught:
        parse_function(text)
    return str(caught.value)


# What stands under a line, from where it is underlined on, is what the error says.
ERRORS = """
%0: f64 = ad %x, %x
          ^^ no op is called ad
%0: f64 = param
          ^^^^^ no op is called param
%0: f64 = add %x, %z
                  ^^ %z is not defined
%0: f64[3] = add %x, %x
    ^^^ add makes f64, not f64[3]
%0: f64 = add %x
          ^^^ add has 2 operands, not 1
%0: f64 = add %x, %y
          ^^^ add: operands of different shapes
%x: f64 = neg %x
^^ %x is defined twice
%0, %1: f64, f64 = neg %x
        ^^^ neg makes f64, not f64, f64
%0: f64 = neg %x {axes = [0]}
                  ^^^^ neg has no attribute axes to write
%0: f32 = reduce_sum %y
          ^^^^^^^^^^ reduce_sum needs the attribute axes
%0: f32 = reduce_sum %y {axes = [0], axes = [0]}
                                     ^^^^ axes is given twice
%0: f32 = reduce_sum %y {axes = [n-]}
                                 ^^ expected a size, found n-
%0: f16 = neg %x
    ^^^ expected a type, found f16
%0: i64 = constant 1.5
                   ^^^ expected an integer, found 1.5
%0: bool = constant 1
                    ^ expected a number of dtype bool, found 1
%0: i32 = constant 3000000000
                   ^^^^^^^^^^ Python integer 3000000000 out of bounds for int32
%0: f64[2] = constant [1.0]
                      ^ expected 2 elements, found 1
%0: f32[n] = constant [1.0]
                      ^ expected n elements, found 1
%0: f64 = reduce_sum 1.0 {axes = []}
                     ^^^ reduce_sum takes no literal here
%0: f64 = iota
          ^^^^ iota makes a value with one axis
%0: f64 = call %x {name = "g", body = @g, vjp = none, jvp = none, constants = []}
                                      ^^ no function is called @g
%0: f64 = neg %x !
                 ^ unexpected character !
"""


@pytest.mark.parametrize(
    ("line", "below"), list(zip(ERRORS.split("\n")[1:-1:2], ERRORS.split("\n")[2::2]))
)
def test_errors(line: str, below: str) -> None:
    marks, what = re.fullmatch(r"( *\^+) (.*)", below).groups()  # type: ignore[union-attr]
    text = f"func @f(%x: f64, %y: f32[n]) -> f64 {{\n{line}\n  return %x\n}}\n"
    assert error(text).splitlines()[:3] == [what, f"  line 2: {line}", f"          {marks}"]


def test_more_errors() -> None:
    assert error("") == "expected func, found the end of the text\n  \n  ^"
    assert error("func @f() -> () {").startswith("expected }, found the end of the text")
    assert error("func @f() -> () { return }\nfunc @f() -> () { return }").startswith(
        "@f is defined twice"
    )
    assert error("func @f(%x: f64) -> f32 { return %x }") == (
        "returns (f64), not (f32)\n  func @f(%x: f64) -> f32 { return %x }\n"
        "                      ^^^"
    )
    assert error("func @f(%x: f64[n-]) -> () { return }").startswith("expected a size, found n-")
    holds = '{name = "f", body = @f, vjp = none, jvp = none, constants = []}'
    assert error(f"func @f(%x: f64) -> f64 {{ %0: f64 = call %x {holds} return %0 }}").startswith(
        "@f holds itself"
    )


def test_every_op_name_is_a_word_of_the_grammar() -> None:
    assert all(name.isidentifier() for name in TABLE)


@pytest.mark.parametrize("module", ["core.graph", "core.walk", "ops", "errors", "text.parser"])
def test_functions_are_shown_whatever_is_imported_first(module: str) -> None:
    code = (
        f"import gradc_ir.{module}\n"
        "from gradc_ir.text.parser import parse_function\n"
        f"f = parse_function({LOSS!r})\n"
        "assert parse_function(str(f)) == f and f._repr_html_().startswith('<pre>')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_optional_attribute_may_be_left_out() -> None:
    text = """func @f(%x: f64, %y: f64) -> (f64, f64) {
  %0: f64 = hypot %x, %y
  %1: f64 = hypot %x, %y {infinity_wins = true}
  return %0, %1
}
"""
    function = parse_function(text)
    assert print_function(function) == text
    inf, nan = np.inf, np.nan
    assert np.isnan(interpret(function, [np.array(inf), np.array(nan)])[0])
    assert interpret(function, [np.array(inf), np.array(nan)])[1] == inf
    with pytest.raises(ParseError, match="has no attribute"):
        parse_function(text.replace("infinity_wins", "other"))
