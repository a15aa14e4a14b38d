"""The derivatives of the ops, a file for each family under its name, and of functions, forward
and reverse.

Who differentiates imports ``jvp`` and ``vjp`` from here: importing this package tells the table of
derivatives where the files are, of which each is loaded when an op of its family is first met.
"""

from importlib import import_module

from gradc.autodiff.forward import jvp
from gradc.autodiff.reverse import vjp
from gradc.autodiff.table import TABLE

TABLE.load_by(lambda family: import_module(f"gradc.derivatives.{family}"))

__all__ = ["TABLE", "jvp", "vjp"]
