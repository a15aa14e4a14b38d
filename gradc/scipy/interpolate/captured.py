"""Piecewise polynomials outside of the function: their arrays are read again at every call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.interpolate import PPoly

from gradc.scipy.interpolate.piecewise import PiecewisePolynomial
from gradc.tracing.captured.captures import Guard
from gradc.tracing.captured.reads import Attribute
from gradc.tracing.core.state import Lens
from gradc.tracing.core.tracer import make_known
from gradc.tracing.registry.scipy_function import CAPTURED, MAKERS


def _is_plain(value: Any) -> bool:
    """Whether it is one of SciPy's own, of real numbers, with ascending breaks."""
    return (
        isinstance(value, PPoly)
        and type(value).__module__.startswith("scipy.interpolate")
        and value.c.dtype == value.x.dtype == np.float64
        and bool(value.x[0] <= value.x[-1])
    )


def captured(
    value: Any, name: str, fetch: Callable[[], Any], outside: Callable[[], Any], lens: Lens
) -> Any:
    """Return what stands for a piecewise polynomial that ``fetch`` finds again; None for all else.

    Its coefficients and breaks are hidden inputs.
    """
    if not isinstance(value, PPoly):
        return None
    if not _is_plain(value):
        return outside()
    if lens.trace is not None:
        lens.trace.keep_not(f"it reads {name}, a piecewise polynomial")
    # of the object itself, which the lens has guarded to be the same
    reads = {part: Attribute(value, part) for part in ("c", "x", "extrapolate", "axis")}
    told = {}
    for part in ("extrapolate", "axis"):
        told[part] = reads[part]()
        lens.guard((id(value), part), Guard(f"{name}.{part}", told[part], reads[part]))
    coefficients, breaks = (
        lens.captured(reads[part](), (id(value), part), f"{name}.{part}", reads[part])
        for part in ("c", "x")
    )
    return PiecewisePolynomial(coefficients, breaks, told["extrapolate"], told["axis"], outside())


def constant(value: Any) -> Any:
    """Return what stands for a piecewise polynomial that is known while tracing; all else as it is.

    Such is one that traced code made of numbers that it knows.
    """
    if not isinstance(value, PPoly) or not _is_plain(value):
        return value
    coefficients, breaks = (make_known(part.copy()) for part in (value.c, value.x))
    return PiecewisePolynomial(coefficients, breaks, value.extrapolate, value.axis)


CAPTURED.append(captured)
MAKERS.append(constant)
