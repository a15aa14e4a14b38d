"""The Kaiser window, and the Bessel function it is made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc import special
from gradc.special.recording import floats, numpy
from gradc.tracing.core.by_name import number


def i0(x: Any) -> Any:
    """Record ``np.i0``, the modified Bessel function of order 0."""
    return special.i0(x)


def kaiser(M: Any, beta: Any) -> Any:
    """Record ``np.kaiser`` of a known length: ``i0`` on a half circle, over ``i0(beta)``."""
    length = number(M, "np.kaiser")
    beta = numpy("multiply", floats(beta), np.float64(1.0))
    if length < 2:
        return numpy("ones", (max(length, 0),))
    half = (length - 1) / 2.0
    places = (np.arange(length) - half) / half
    return special.i0(beta * np.sqrt(1.0 - places * places)) / special.i0(beta)
