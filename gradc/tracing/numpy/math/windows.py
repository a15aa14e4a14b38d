"""The Kaiser window, and the Bessel function it is made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.by_name import number, numpy
from gradc.tracing.building.floats import as_float, record_floats
from gradc.tracing.registry.numpy_function import numpy_function


@numpy_function("i0", masked="elementwise", computes=True)
def i0(x: Any) -> Any:
    """Record ``np.i0``, the modified Bessel function of order 0."""
    return record_floats("bessel_i", (0.0, x))


@numpy_function("kaiser")
def kaiser(M: Any, beta: Any) -> Any:
    """Record ``np.kaiser`` of a known length: ``i0`` on a half circle, over ``i0(beta)``."""
    length = number(M, "np.kaiser")
    beta = numpy.multiply(as_float(beta), np.float64(1.0))
    if length < 2:
        return numpy.ones((max(length, 0),))
    half = (length - 1) / 2.0
    places = (np.arange(length) - half) / half
    return i0(beta * np.sqrt(1.0 - places * places)) / i0(beta)
