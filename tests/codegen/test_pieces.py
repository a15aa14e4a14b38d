"""What is read by pieces has the bits it had: as the interpreter and as machine code make it."""

from __future__ import annotations

import numpy as np
import pytest

from gradc_ir.core import sizes
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.pieces.in_pieces import InPieces
from gradc_ir.pieces.need import joins
from gradc_ir.text.parser import parse_function
from tests.codegen.compiled import assert_compiled_same
from tests.comparing import assert_same_bits
from tests.golden_runner import GOLDEN, cases_of

CASES = {
    case.heading.partition("\n")[0]: case.before
    for case in cases_of((GOLDEN / "in-pieces.ir").read_text())
}


@pytest.mark.parametrize("heading", CASES)
def test_bits_are_the_same(heading: str) -> None:
    function = parse_function(CASES[heading])
    assert joins(function)
    made = InPieces()(function)
    random = np.random.default_rng(3)
    known = {name: 3 + 2 * i for i, name in enumerate(function.size_symbols)}
    shapes = [[sizes.evaluate(n, known) for n in type_.shape] for type_ in function.param_types]
    arguments = [random.normal(size=shape) for shape in shapes]
    for found, want in zip(interpret(made, arguments), interpret(function, arguments), strict=True):
        assert_same_bits(found, want)
    assert_compiled_same(made, arguments)


def test_what_joins_nothing_is_left_alone() -> None:
    function = parse_function("func @f(%x: f64) -> f64 {\n  %0: f64 = sin %x\n  return %0\n}\n")
    assert not joins(function)
    assert InPieces()(function) is function
