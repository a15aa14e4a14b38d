"""Tables that load what they hold by name: which names, when, and what no module defines."""

from __future__ import annotations

import cmath
import math
import subprocess
import sys

import pytest

from gradc_codegen.arrays.whole_array_ops import WHOLE
from gradc_codegen.lazy_table import LazyTable
from gradc_codegen.math.emitted.table import DEFINITIONS


def test_names_stand_for_what_modules_define() -> None:
    table: LazyTable[object] = LazyTable({"math": "sin cos", "cmath": "phase"}, prefix="of.")
    assert list(table) == ["of.sin", "of.cos", "of.phase"]
    assert len(table) == 3
    assert "of.cos" in table
    assert "cos" not in table
    assert table["of.sin"] is math.sin
    assert table["of.phase"] is cmath.phase
    with pytest.raises(KeyError):
        table["of.tan"]


@pytest.mark.parametrize("table", [DEFINITIONS, WHOLE], ids=["math", "arrays"])
def test_every_name_of_a_table_is_defined(table: LazyTable[object]) -> None:
    assert all(table[name] is not None for name in table)


def test_a_kernel_loads_the_functions_it_has() -> None:
    code = """
import sys
from gradc_codegen.lower.lower import lower
from gradc_ir.text.parser import parse_function
text = "func @f(%x: f64) -> f64 {\\n  %0: f64 = exp %x\\n  return %0\\n}"
lower(parse_function(text), "f")
for name in ("math.emitted.exponential", "math.emitted.gamma", "arrays.sorting", "math.special"):
    print(f"gradc_codegen.{name}" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "False", "False"]
