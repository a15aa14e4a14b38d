"""How tests compare numbers: as bits, in units in the last place, or scaled by their terms."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np

from gradc_ir.meaning.ulp_distance import same_bits

# SciPy's own errors by op, in units in the last place: it squares x / sqrt(2), which is rounded
LEAST_ACCURATE = {
    **{"ndtr": 2_000, "log_ndtr": 2_000, "erfcx": 12},
    # exponentials, which magnify the rounding of their exponents
    **dict.fromkeys(("geometric_sum", "power_mean"), 100),
    # composed of SciPy's functions, whose terms cancel
    **dict.fromkeys(("log_mixture", "log_poch", "digamma_difference"), 500),
    # a quotient by cosines, which at 1e20 are of an angle that they make of several
    "tan_difference": 100,
}
# ops whose results are differences: next to their zeros the interpreter's terms cancel, so that
# their last digits are those of 1
DIFFERENCES = frozenset(
    {"logaddexp", "log_mixture", "log_poch", "digamma_difference", "sin_sum", "cos_sum"}
    | {"sin_difference", "cos_difference", "tan_difference"}
)


def assert_same_bits(found: Any, want: Any) -> None:
    """Shapes, dtypes and bits are the same; all NaNs count as equal."""
    found, want = np.asarray(found), np.asarray(want)
    assert (found.dtype, found.shape) == (want.dtype, want.shape)
    same = same_bits(found, want)
    assert np.all(same), f"found {found[~same].flat[:5]}, wanted {want[~same].flat[:5]}"


def assert_within_ulps(found: Any, want: Any, ulps: float = 4, least: float = 0.0) -> None:
    """Every element is within so many units in the last place of the wanted one.

    Those of elements below ``least`` are those of that.
    """
    found, want = np.asarray(found), np.asarray(want)
    assert (found.dtype, found.shape) == (want.dtype, want.shape)
    # inf - inf is compared by the first condition
    error = np.abs(np.float64(1) * found - np.float64(1) * want)
    unit = np.spacing(np.maximum(np.abs(want), least or np.finfo(want.dtype).smallest_subnormal))
    good = (found == want) | (np.isnan(found) & np.isnan(want)) | (error <= ulps * unit)
    assert np.all(good), f"found {found[~good].flat[:5]}, wanted {want[~good].flat[:5]}"


def ulps_off(found: Any, exact: Any, dtype: Any = None) -> float:
    """Return how many units in the last place a float is off a multiple-precision number.

    They are those of the found number's dtype where no other is given.
    """
    dtype = np.dtype(dtype or np.asarray(found).dtype)
    unit = np.spacing(np.abs(dtype.type(float(exact))))
    return float(abs(mpmath.mpf(float(found)) - exact) / mpmath.mpf(float(unit)))


def assert_accurate(found: Any, exact: Any, ulps: float = 4) -> None:
    """A float is within so many units in the last place of a multiple-precision number."""
    off = ulps_off(found, exact)
    assert off <= ulps, f"found {found}, wanted {exact}, {off} ulp away"


def assert_close(found: Any, want: Any, scale: Any = None, relative: float = 1e-12) -> None:
    """Elements agree relative to a scale: the sum of their terms' magnitudes where it is given."""
    found, want = np.asarray(found), np.asarray(want)
    assert found.shape == want.shape
    scale = np.abs(want) if scale is None else np.asarray(scale)
    error = np.abs(found - want)
    good = (error <= relative * np.maximum(scale, np.finfo(np.float64).tiny)) | (found == want)
    good |= np.isnan(found) & np.isnan(want)
    assert np.all(good), f"found {found[~good].flat[:5]}, wanted {want[~good].flat[:5]}"
