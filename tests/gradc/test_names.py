"""Values are printed under the names of the user's variables, in every graph and after passes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradc
from gradc_ir.errors import ParseError
from gradc_ir.text.parser import parse_function
from gradc_ir.text.printer import WIDTH, print_function, print_module
from tests.corpus.pharmacology import two_compartments

SPEC = (
    "log_rates: f64[7], dose: f64, weight: f64, age: f64, creatinine: f64, times: f64[n], "
    "measured: f64[n]"
)


def names(fn: Any, spec: str, of: str = "value", stage: str = "traced", **options: Any) -> set[str]:
    """Return the names of the values in a dump that are more than numbers."""
    lines = gradc.compile(fn).dump(spec, of=of, stage=stage, **options).splitlines()
    lefts = [
        line.strip().partition(":")[0] for line in lines if " = " in line and "func" not in line
    ]
    found = {name.strip(" %") for left in lefts for name in left.split(",")}
    return {name for name in found if not name.isdecimal()}


def helper(a):
    half = a / 2
    return np.sin(half)


def test_assignments_of_all_kinds() -> None:
    def f(x, y):
        total = x + y
        a, b = total * 2, total * 3
        c = d = a - b
        e: float = np.exp(c)
        e += d
        if (g := e * x) is None:
            return x
        box = np.zeros(2)
        box[0] = g * y
        root, _ = np.sqrt(g), 0
        w, v = np.linalg.eigh(np.outer(box, box))
        return (w + v[0]) * root

    found = names(f, "x: f64, y: f64")
    assert {"total", "a", "b", "c", "e", "e_2", "g", "box", "root", "w", "v", "f"} <= found


def test_what_a_helper_returns_has_the_name_it_is_given() -> None:
    def f(x):
        first = helper(x)
        second = helper(first)
        return helper(second)

    assert names(f, "x: f64") == {"half", "first", "half_2", "second", "half_3", "f"}


def test_variables_assigned_again_and_again_have_numbers() -> None:
    def f(x):
        for _ in range(3):
            x = x * np.cos(x)
        return x

    assert names(f, "x: f64") == {"x_2", "x_3", "x_4"}


def test_cotangents_and_tangents_are_called_by_what_they_are_of() -> None:
    def f(x, y):
        inner = x * y + np.sin(x)
        outer = np.exp(inner) * y
        return outer * outer

    assert {"inner", "outer", "g_inner"} <= names(f, "x: f64, y: f64", "grad", "derivative")
    pushed = names(f, "x: f64, y: f64", "jvp", "derivative")
    assert {"inner", "outer", "df"} <= pushed


def test_names_survive_the_passes() -> None:
    found = names(two_compartments, SPEC, "grad", "final")
    assert {"size", "maturity", "renal", "cl", "k10", "total", "root", "conc", "noise"} <= found
    assert {"g_c", "g_a", "g_b", "g_total", "g_k10", "g_scale", "g_vc"} <= found


def test_names_in_bodies() -> None:
    def f(w, xs):
        def step(h, x):
            z = w * h + x
            return np.tanh(z), z

        return gradc.scan(step, 0.0, xs)[1]

    text = gradc.compile(f).dump("w: f64, xs: f64[n]", stage="traced")
    assert "(%c0: f64, %h: f64, %x: f64)" in text
    assert "%z: f64 = add" in text


def test_names_are_no_part_of_what_a_function_is() -> None:
    def f(x):
        first = np.sin(x)
        return first * 2

    def g(x):
        other = np.sin(x)
        return other * 2

    graphs = [gradc.compile(fn).ir("x: f64") for fn in (f, g)]
    assert graphs[0] == graphs[1]
    texts = [print_function(one, locations=False, names=False) for one in graphs]
    assert texts[0].replace("@f", "@g") == texts[1]
    assert "%first" in str(graphs[0])
    assert str(graphs[0]) == str(gradc.compile(f).ir("x: f64"))


@pytest.mark.parametrize("of", ["value", "grad", pytest.param("hessian", marks=pytest.mark.slow)])
def test_the_text_reads_back_with_its_names(of: str) -> None:
    compiled = gradc.compile(two_compartments)
    function = compiled.ir(SPEC, of=of)
    text = print_module(function)
    assert parse_function(text) == function
    assert print_module(parse_function(text)) == text
    assert max(map(len, text.splitlines())) <= WIDTH


def test_long_lines_are_cut_and_read_back() -> None:
    text = (
        "func @f(" + ", ".join(f"%argument_{i}: f64[2,3]" for i in range(20)) + ") -> f64[40,3] {\n"
    )
    text += "  %joined: f64[40,3] = concatenate "
    text += ", ".join(f"%argument_{i}" for i in range(20)) + " {axis = 0}"
    text += "   # " + ", ".join(f"some_file_{i}.py:{i}, {i + 1}" for i in range(20))
    text += "\n  return %joined\n}\n"
    function = parse_function(text)
    printed = print_function(function)
    assert max(map(len, printed.splitlines())) <= WIDTH
    assert print_function(parse_function(printed)) == printed
    (node,) = function.body
    assert len(function.locations[node]) == 40


def test_a_text_of_another_version_is_refused() -> None:
    body = "func @f(%x: f64) -> f64 {\n  return %x\n}\n"
    assert parse_function(f"# gradc ir 1\n{body}") == parse_function(body)
    with pytest.raises(ParseError) as caught:
        parse_function(f"# gradc ir 2\n{body}")
    assert str(caught.value) == (
        "the text is of version 2 of the language\n"
        "  this gradc reads version 1\n"
        "  help: read it with the gradc that wrote it"
    )
