"""The one function of scipy.optimize that is a formula: Rosenbrock, on which solvers are tried."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.by_name import array, numpy
from gradc.tracing.registry.scipy_function import scipy_function


@scipy_function("optimize.rosen")
def rosen(x: Any) -> Any:
    """Record ``scipy.optimize.rosen``, of points along the first axis."""
    x = array(x)
    if not x.type.dtype.is_float:
        x = x.astype(np.float64)
    return numpy.sum(100.0 * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1 - x[:-1]) ** 2.0, axis=0)
