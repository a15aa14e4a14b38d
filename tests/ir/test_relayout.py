"""Exchanging the axes of a loop's matrices keeps every bit, and is done at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradc_ir.core import sizes
from gradc_ir.core.graph import Function
from gradc_ir.core.walk import nested
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.passes import RelayoutInvariants
from gradc_ir.text.parser import parse_function
from gradc_ir.text.printer import print_function
from gradc_ir.verify import verify
from tests.comparing import assert_same_bits
from tests.golden_runner import GOLDEN, cases_of

CASES = {case.heading: case.before for case in cases_of((GOLDEN / "relayout.ir").read_text())}

SCAN = """
func @f(%w: f64[{matrix}], %h: f64[{vector}], %x: f64[{result}]) -> f64[{result}] {{
  %0: f64[{result}] = scan %w, %h, %x {{body = @f.body, consts = 2, carries = 1, length = 3,
    reverse = false, counted = false, checkpoint = none}}
  return %0
}}
func @f.body(%w: f64[{matrix}], %h: f64[{vector}], %x: f64[{result}]) -> f64[{result}] {{
  {product}
  %1: f64[{result}] = add %x, %0
  return %1
}}
"""
DESCENT = """
func @f(%x: f64[n,m], %w: f64[m]) -> f64[m] {
  %0: f64[m] = scan %x, %w {body = @f.body, consts = 1, carries = 1, length = 3,
    reverse = false, counted = false, checkpoint = none}
  return %0
}
func @f.body(%x: f64[n,m], %w: f64[m]) -> f64[m] {
  %0: f64[n] = contract %x, %w {spec = "ij,j->i"}
  %1: f64[m] = contract %0, %x {spec = "i,ij->j"}
  return %1
}
"""
WHILE = """
func @f(%w: f64[6,6], %h: f64[6]) -> f64[6] {
  %0, %1: f64[6], i64 = while %w, %h {condition = @f.condition, condition_consts = 0,
    body = @f.body, body_consts = 1, length = none}
  return %0
}
func @f.condition(%h: f64[6]) -> bool {
  %0: f64 = reduce_sum %h {axes = [0]}
  %1: f64 = constant 100.0
  %2: bool = lt %0, %1
  return %2
}
func @f.body(%w: f64[6,6], %h: f64[6]) -> f64[6] {
  %0: f64[6] = contract %w, %h {spec = "ij,j->i"}
  %1: f64[6] = mul %0, %0
  %2: f64[6] = add %1, %h
  return %2
}
"""


def products(function: Function) -> list[str]:
    """Return the products of a function and of its bodies."""
    found = [node for _, node in nested(function) if node.op.name == "contract"]
    return [node.attributes["spec"] for node in found]


def turned(text: str) -> Function:
    """Return a function after the pass, which changes no bit and is done at once."""
    before = parse_function(text)
    after = RelayoutInvariants()(before)
    verify(after)
    assert print_function(RelayoutInvariants()(after)) == print_function(after)
    random = np.random.default_rng(1)
    symbols = dict.fromkeys(before.size_symbols, 5)
    shapes = [[sizes.evaluate(n, symbols) for n in type_.shape] for type_ in before.param_types]
    arrays = [random.normal(size=shape) / 8 for shape in shapes]
    for found, want in zip(interpret(after, arrays), interpret(before, arrays), strict=True):
        assert_same_bits(found, want)
    return after


@pytest.mark.parametrize("heading", CASES)
def test_bits_stay(heading: str) -> None:
    turned(CASES[heading])


@given(
    rows=st.integers(4, 40), columns=st.integers(4, 40), batch=st.integers(0, 2), last=st.booleans()
)
def test_bits_stay_for_all_sizes(rows: int, columns: int, batch: int, last: bool) -> None:
    size = {"b": str(batch), "i": str(rows), "j": str(columns)}
    labels = ("bij", "bj", "bi") if batch else ("ij", "j", "i")
    matrix, vector, result = (",".join(size[label] for label in axes) for axes in labels)
    left, right = ("h", "w") if last else ("w", "h")
    first, second = (labels[1], labels[0]) if last else labels[:2]
    spec = f"{first},{second}->{labels[2]}"
    product = f'%0: f64[{result}] = contract %{left}, %{right} {{spec = "{spec}"}}'
    after = turned(SCAN.format(matrix=matrix, vector=vector, result=result, product=product))
    assert products(after) == [spec.replace("ij", "ji")]


def scanned(matrix: str, vector: str, result: str, spec: str) -> str:
    product = f'%0: f64[{result}] = contract %w, %h {{spec = "{spec}"}}'
    return SCAN.format(matrix=matrix, vector=vector, result=result, product=product)


def test_weights_of_any_size_whose_rows_the_loop_carries() -> None:
    after = turned(scanned("n,n", "n", "n", "ij,j->i"))
    assert products(after) == ["ji,j->i"]


def test_data_of_any_number_of_samples_stay_as_they_are() -> None:
    """A descent carries weights; a copy of the data would be as large as they are."""
    after = turned(DESCENT)
    assert products(after) == ["ij,j->i", "i,ij->j"]


def test_in_loops_that_run_while_something_holds() -> None:
    assert products(turned(WHILE)) == ["ji,j->i"]


def test_a_matrix_that_is_only_read_exchanged_is_not_handed_on() -> None:
    after = turned(CASES[next(heading for heading in CASES if heading.startswith("# A sum"))])
    (loop,) = (node for node in after.nodes if node.op.name == "scan")
    assert {operand.op.name for operand in loop.operands[:2]} == {"transpose"}
    assert len(loop.operands) == 4
