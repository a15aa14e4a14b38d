"""Specs: the types of arguments as text, the same everywhere a user writes one."""

from __future__ import annotations

import pytest

from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import ParseError
from gradc_ir.text.parser import parse_spec, print_spec

F64 = Type(DType.F64)


def test_the_spec_of_the_manual() -> None:
    n = symbol("n")
    assert parse_spec("x: f64[n,3], p: {w: f64[3], b: f64}, t: (f64, i64)") == [
        ("x", Type(DType.F64, (n, 3))),
        ("p", {"w": Type(DType.F64, (3,)), "b": F64}),
        ("t", (F64, Type(DType.I64))),
    ]


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "x: f64",
        "x: f32[n+1,4], k: i32",
        "t: (f64,), u: (), l: [f64, [bool]]",
        'p: {w: {"a b": f64, 3: f32[0]}}, e: none',
    ],
)
def test_specs_round_trip(spec: str) -> None:
    assert print_spec(parse_spec(spec)) == spec


def test_blanks_lines_and_a_comma_at_the_end_do_not_matter() -> None:
    assert parse_spec("\n  x : f64[ 2 , n ] ,\n") == parse_spec("x: f64[2,n]")
    assert parse_spec("x: (f64)") == [("x", F64)]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "x: f16",
            "expected a type, found f16\n  x: f16\n     ^^^\n  help: write dtypes as f64, f32, "
            "i64, i32, bool; nests as {name: type}, (type, type), [type]",
        ),
        ("x f64", "expected :, found f64\n  x f64\n    ^^^"),
        ("x: f64, x: f64", "x is named twice\n  x: f64, x: f64\n          ^"),
        ("x: f64[n", "expected ], found the end of the text\n  x: f64[n\n          ^"),
        ("x: f64[n!]", "unexpected character !\n  x: f64[n!]\n          ^"),
        ("x: f64[]]", "expected the end of the text, found ]\n  x: f64[]]\n          ^"),
        ("f64[3]", "expected :, found [\n  f64[3]\n     ^"),
    ],
)
def test_errors(spec: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_spec(spec)
    assert str(caught.value) == message
