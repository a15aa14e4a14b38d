"""The names of NumPy's functions that factorise matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradc.tracing.numpy.linalg import determinants, factorisations, fitting, least_squares, solving

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "linalg.cholesky": factorisations.cholesky,
    "linalg.qr": factorisations.qr,
    "linalg.eigh": factorisations.eigh,
    "linalg.eigvalsh": factorisations.eigvalsh,
    "linalg.svd": factorisations.svd,
    "linalg.svdvals": factorisations.svdvals,
    "linalg.det": determinants.det,
    "linalg.slogdet": determinants.slogdet,
    "linalg.solve": solving.solve,
    "linalg.inv": solving.inv,
    "linalg.tensorinv": solving.tensorinv,
    "linalg.tensorsolve": solving.tensorsolve,
    "linalg.pinv": least_squares.pinv,
    "linalg.lstsq": least_squares.lstsq,
    "linalg.matrix_rank": least_squares.matrix_rank,
    "linalg.cond": least_squares.cond,
    "polyfit": fitting.polyfit,
}
