"""Functions of C have no derivative but the rules that a user gives them."""

from gradc.autodiff.table import nondifferentiable
from gradc_ir import ops

nondifferentiable(ops.external, why="is a function of C: only the rules it is given tell its slope")
