"""Whatever a text is, it is read, or refused with its line: no other exception."""

from __future__ import annotations

import pytest

from gradc_ir.core.attributes import KINDS
from gradc_ir.core.op import TABLE
from gradc_ir.errors import ParseError
from gradc_ir.text.parser import parse_function, parse_module
from gradc_ir.text.printer import print_function
from tests.hostile_texts import blocks, made, mutants, refusal

BLOCKS = blocks()


def test_mutants_are_read_or_refused() -> None:
    refused = [refusal(text) for text in mutants(BLOCKS, 300, seed=1)]
    assert 200 < sum(map(bool, refused)) < 300


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 8))
def test_many_mutants_are_read_or_refused(seed: int) -> None:
    for text in mutants(BLOCKS, 3000, seed):
        refusal(text)


@pytest.mark.slow
def test_deep_and_huge_texts_are_read_or_refused() -> None:
    for text in made():
        refusal(text)


def test_every_attribute_has_a_kind() -> None:
    names = {name for op in TABLE.values() for name in (*op.attributes, *op.options)}
    assert names == set(KINDS)


def message(statement: str, type_: str = "i64") -> str:
    with pytest.raises(ParseError) as caught:
        parse_function(f"func @f(%x: f64[3]) -> {type_} {{\n  %0: {statement}\n  return %0\n}}")
    return str(caught.value)


def test_an_attribute_of_another_kind_is_refused_with_its_line() -> None:
    assert message("i64 = size {size = nan:0xfff7}") == (
        "size: size is a size, not nan\n"
        "  line 2:   %0: i64 = size {size = nan:0xfff7}\n"
        "                      ^^^^"
    )
    assert message("f64 = reduce_sum %x {axes = 0}", "f64") == (
        "reduce_sum: axes is a list of integers, not 0\n"
        "  line 2:   %0: f64 = reduce_sum %x {axes = 0}\n"
        "                      ^^^^^^^^^^"
    )


def test_bits_that_are_no_nan_are_refused() -> None:
    assert "0xfff7 are not the bits of a nan of f64" in message("f64 = constant nan:0xfff7", "f64")
    assert "too big" in message(f"f64 = constant nan:0x{'f' * 20}", "f64")


@pytest.mark.parametrize("dtype", ["f64", "f32"])
def test_the_bits_of_every_nan_come_back(dtype: str) -> None:
    all_bits = {
        "f64": (0x7FF8000000000000, 0xFFF8000000000000, 0x7FF8000000000007, 0x7FF0000000000001),
        "f32": (0x7FC00000, 0xFFC00000, 0x7FC00007, 0x7F800001),
    }
    for bits in all_bits[dtype]:
        text = f"func @f() -> {dtype} {{\n  %0: {dtype} = constant nan:{bits:#x}\n  return %0\n}}\n"
        function = parse_function(text)
        array = function.results[0].node.attributes["value"].array
        assert int(array.view(f"u{array.dtype.itemsize}")) == bits
        assert parse_function(print_function(function)) == function


def test_bodies_that_stand_too_deep_are_refused() -> None:
    text = "\n".join(
        f"func @f{i}(%x: f64) -> f64 {{\n  %0: f64 = checkpoint %x {{body = @f{i + 1}}}\n"
        "  return %0\n}"
        for i in range(70)
    )
    with pytest.raises(ParseError, match="stands more than 64 bodies deep"):
        parse_module(f"{text}\nfunc @f70(%x: f64) -> f64 {{\n  return %x\n}}")
