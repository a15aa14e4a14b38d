"""The derivative of a formula: there is none, since formulas are made after differentiation."""

from __future__ import annotations

from gradc.autodiff.table import nondifferentiable
from gradc_ir.ops import TABLE

for _name in ("unbounded", "recover"):
    nondifferentiable(TABLE[_name], why="is made of a derivative, at the end of its way")
