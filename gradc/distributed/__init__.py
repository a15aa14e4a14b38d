"""Sums over rows that no one process has at once: in blocks, on clusters, and fits by them."""

from __future__ import annotations

from gradc.distributed.blocks import Blocks, Rows, cuts
from gradc.distributed.fitting import minimize
from gradc.distributed.functions import grad, hvp, value, value_and_grad
from gradc.distributed.on_mpi import mpi
from gradc.row_sums.partials import Partials, join

__all__ = [
    "Blocks",
    "Partials",
    "Rows",
    "cuts",
    "grad",
    "hvp",
    "join",
    "minimize",
    "mpi",
    "value",
    "value_and_grad",
]
