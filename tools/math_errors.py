"""Measures the errors of the emitted math functions against ball arithmetic.

    python tools/math_errors.py [points [names …]]
    python tools/math_errors.py every [names …]

The truth is Arb's, through python-flint; for ``every``, which is every number of f32, it is our
function in f64. The error of a result is its distance from the true value
in units in the last place: the gap between the floats around that value.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.special
from flint import arb
from numpy.typing import NDArray

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from gradc.rules.verify.balls import NAN, growing, is_nan, op
from gradc_codegen.math.emitted.table import operands_of
from gradc_ir.core.types import DType
from gradc_ir.ops import TABLE
from tools import math_points
from tools.math_loops import NUMPY, apply, apply_op

Array = NDArray[Any]


class Measured(NamedTuple):
    """How a function is measured.

    Parameters
    ----------
    centres: arguments where it changes its face.
    reach: how far out it grows or shrinks to nothing.
    near_zero: results smaller than this lie next to a zero of the function that no float is; their
        errors count in units in the last place of this.
    value: its value of balls, as a ball, where it is no op.
    """

    centres: tuple[float, ...]
    reach: float
    near_zero: float = 0.0
    value: Callable[..., Any] | None = None


def _remainder(x: Any, y: Any) -> Any:
    rest = abs(Fraction(float(x))) % abs(Fraction(float(y)))
    return arb(rest.numerator) / rest.denominator * (1 if x > 0 else -1)


def _trigamma(x: Any) -> Any:
    """Return the derivative of digamma, of negative numbers by reflection."""
    if x > 0:
        return arb(2).zeta(x)
    return NAN if x.is_integer() else (arb.pi() / x.sin_pi()) ** 2 - arb(2).zeta(1 - x)


def _scaled_bessel_one(x: Any) -> Any:
    size = abs(x).bessel_i(1, scaled=True)
    return size if x > 0 else -size


def _of_double(name: str) -> Callable[..., Any]:
    return lambda x: op(name)(2 * x)


# name of the function in the C library -> how it is measured
FUNCTIONS: dict[str, Measured] = {
    "exp": Measured((0.0,), 746.0),
    "exp2": Measured((0.0,), 1076.0),
    "exp_product": Measured((0.0, 1.0), 27.0),
    "expm1": Measured((0.0,), 710.0),
    "log": Measured((0.0, 1.0), 1e3),
    "log1p": Measured((0.0, -1.0), 1e3),
    "log2": Measured((0.0, 1.0), 1e3),
    "log10": Measured((0.0, 1.0), 1e3),
    "pow": Measured((0.0, 1.0), 1e3),
    "sin": Measured((0.0,), 1e3),
    "cos": Measured((0.0,), 1e3),
    "sin_beside_cos": Measured((0.0,), 1e3, value=arb.sin),
    "cos_beside_sin": Measured((0.0,), 1e3, value=arb.cos),
    "tan": Measured((0.0,), 1e3),
    "fmod": Measured((0.0, 1.0), 1e3, value=_remainder),
    "cbrt": Measured((0.0,), 1e3),
    "hypot": Measured((0.0,), 1e3),
    "hypot_infinity_wins": Measured((0.0,), 1e3, value=lambda x, y: (x * x + y * y).sqrt()),
    "atan2": Measured((0.0, 0.414, 2.414), 1e3),
    "tanh": Measured((0.0,), 25.0),
    "sinh": Measured((0.0,), 711.0),
    "cosh": Measured((0.0,), 711.0),
    "atan": Measured((0.0, 0.414, 2.414), 1e3),
    "asin": Measured((0.0, 0.5, 1.0), 1.0),
    "acos": Measured((0.0, 0.5, 1.0), 1.0),
    "asinh": Measured((0.0,), 1e3),
    "acosh": Measured((1.0,), 1e3),
    "atanh": Measured((0.0, 1.0), 1.0),
    "erf": Measured((0.0, 1.0), 7.0),
    "erfc": Measured((0.0, 0.5), 28.0),
    "sigmoid": Measured((0.0,), 746.0),
    "sigmoid_of_double": Measured((0.0,), 373.0, value=_of_double("sigmoid")),
    "sigmoid_derivative": Measured((0.0,), 746.0),
    "sigmoid_derivative_of_double": Measured((0.0,), 373.0, value=_of_double("sigmoid_derivative")),
    "softplus": Measured((0.0,), 746.0),
    "logaddexp": Measured((0.0,), 746.0, 1.0),
    "log1mexp": Measured((0.0, -0.69), 746.0),
    "erfcx": Measured((0.0, 3.0), 30.0),
    "erfinv": Measured((0.0, 0.9966, 1.0), 1.0),
    "ndtr": Measured((0.0,), 40.0),
    "log_ndtr": Measured((0.0,), 40.0),
    "gammaln": Measured((0.0, 1.0, 2.0, 3.0, -1.0), 200.0, 1.0),
    "psi": Measured((0.0, 1.0, 1.4616321449683623, 3.0), 200.0, 1.0),
    "trigamma": Measured((0.0, 1.0, -1.0), 200.0, value=_trigamma),
    "i0e": Measured((0.0, 10.0), 50.0, value=lambda x: abs(x).bessel_i(0, scaled=True)),
    "i1e": Measured((0.0, 10.0), 50.0, value=_scaled_bessel_one),
}

# name of an op that is made of others -> how it is measured
OPS: dict[str, Measured] = {"sqrt": Measured((0.0, 1.0), 1e3)}
MEASURED = FUNCTIONS | OPS
# the ops of functions of the C library
_OPS = {(each.scalar or "").removeprefix("math."): each for each in TABLE.values()}

_WITHIN_ONE_UNIT = {
    "exp", "exp2", "expm1", "log", "log1p", "log2", "sqrt", "sin", "cos",
    "sin_beside_cos", "cos_beside_sin", "tanh", "sigmoid",
    "sigmoid_of_double",    "softplus", "pow",
}  # fmt: skip


def limit(name: str) -> float:
    """Return the largest error that a function may have, in units in the last place."""
    return 1.0 if name in _WITHIN_ONE_UNIT else 2.0


def operand_count(name: str) -> int:
    """Return how many operands a function has."""
    return TABLE[name].operands if name in OPS else operands_of(f"math.{name}")


def computed(name: str, *operands: Array, lanes: int = 8) -> Array:
    """Return what a function of the code generator, or a compiled op, makes of arrays."""
    if name in OPS:
        return apply_op(name, *operands)
    return apply(f"math.{name}", *operands, lanes=lanes)


def points(name: str, dtype: DType, count: int, seed: int = 0) -> list[Array]:
    """Return arguments of a function, an array for each operand."""
    centres, reach, *_ = MEASURED[name]
    operands = operand_count(name)
    return math_points.points(name, dtype, count, centres, reach, operands, seed)


def exact(name: str, *operands: Array) -> tuple[Array, Array]:
    """Return the true values rounded to float64, and the rest in units in the last place of those.

    NaN where there is none, infinite beyond all floats.
    """
    function = MEASURED[name].value or op(_OPS[name].name)
    count = len(operands[0])
    rounded, rest = np.empty(count), np.zeros(count)
    for i, arguments in enumerate(zip(*(x.tolist() for x in operands))):
        value = _true(function, arguments)
        if value is None:
            rounded[i] = _at_borders(name, *arguments)
            continue
        rounded[i] = float(value.mid())
        if np.isfinite(rounded[i]):
            unit = math.ulp(rounded[i])
            rest[i] = float(((value - arb(rounded[i])) / arb(unit)).mid())
    return rounded, rest


def _true(function: Callable[..., Any], operands: Sequence[float]) -> Any:
    """Return the value of a function to 120 bits, None at a border or a pole.

    Balls have no sign of zero.
    """
    if all(map(math.isfinite, operands)) and all(operands):
        for _ in growing():
            value = function(*map(arb, operands))
            if is_nan(value):
                return None
            if value.is_exact() or value.rel_accuracy_bits() >= 120:
                return value if value.is_finite() else None
    return None


def _at_borders(name: str, *operands: float) -> float:
    """Return what C or SciPy says of arguments where the function has no finite value to round."""
    if name == "trigamma":
        return float(scipy.special.zeta(2.0, *operands))
    if name == "hypot" and any(map(math.isnan, operands)):
        return math.nan  # where C has inf beside an infinity
    name = name.removesuffix("_infinity_wins")
    if name.endswith("_of_double"):
        name, operands = name.removesuffix("_of_double"), tuple(2 * x for x in operands)
    name = name.partition("_beside_")[0]
    function = getattr(np, NUMPY.get(name, name), None) or getattr(scipy.special, name, None)
    with np.errstate(all="ignore"):
        return float((function or _OPS[name].reference)(*map(np.float64, operands)))


def errors(found: Array, want: tuple[Array, Array], near_zero: float = 0.0) -> Array:
    """Return the error of each result in units in the last place; inf where a special is wrong.

    Results smaller than ``near_zero`` are measured in units in the last place of that.
    """
    with np.errstate(all="ignore"):
        rounded = want[0].astype(found.dtype)
        size = np.maximum(np.abs(rounded), found.dtype.type(near_zero))
        unit = _unit(size).astype(np.float64)
        rest = want[1] * (_unit(want[0]) / unit)
        apart = np.abs((found.astype(np.float64) - want[0]) / unit - rest)
        same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
        special = ~np.isfinite(rounded) | ~np.isfinite(found)
    return np.where(special, np.where(same, 0.0, np.inf), apart)


def _unit(x: Array) -> Array:
    """Return the unit in the last place of floats, of the largest one too."""
    return np.spacing(np.minimum(np.abs(x), np.finfo(x.dtype).max * x.dtype.type(0.75)))


class Largest(NamedTuple):
    """The largest error of a function that was found, in units in the last place, and where."""

    error: float
    where: tuple[float, ...]
    points: int

    def __str__(self) -> str:
        place = ", ".join(x.hex() for x in self.where)
        return f"{self.error:.3f} ulp at {place}, {self.points:,} points"


def largest_error(name: str, dtype: DType, count: int, seed: int = 0) -> Largest:
    """Return the largest error among arguments of all kinds, ``count`` / 2 of any bits."""
    operands = points(name, dtype, count, seed)
    true = exact(name, *operands)
    apart = errors(computed(name, *operands), true, MEASURED[name].near_zero)
    worst = int(np.argmax(apart))
    return Largest(float(apart[worst]), tuple(float(x[worst]) for x in operands), len(apart))


def largest_error_in_f32(name: str, start: int = 0, stop: int = 1 << 32) -> Largest:
    """Return the largest error of a function of one number in f32, beside itself in f64.

    All numbers are tried whose bits, as an integer, are from ``start`` on and below ``stop``.
    """
    piece = 1 << 16  # stays in the cache
    found = Largest(0.0, (0.0,), stop - start)
    for first in range(start, stop, piece):
        x = np.arange(first, first + piece, dtype=np.uint32).view(np.float32)
        with np.errstate(all="ignore"):
            true = computed(name, x.astype(np.float64))
            ours = computed(name, x, lanes=16)
            # most are the true value rounded
            other = np.flatnonzero(true.astype(np.float32).view(np.uint32) != ours.view(np.uint32))
        if other.size:
            want = (true[other], np.zeros(1))
            apart = errors(ours[other], want, MEASURED[name].near_zero)
            worst = int(np.argmax(apart))
            if apart[worst] > found.error:
                found = Largest(float(apart[worst]), (float(x[other[worst]]),), found.points)
    return found


def main(count: int, names: list[str]) -> None:
    """Print the largest errors of functions of these names, of all without one."""
    for name in names or MEASURED:
        for dtype in (DType.F64, DType.F32):
            found = largest_error(name, dtype, count)
            print(f"{name:9} {dtype.name.lower()}  {found}", flush=True)


def every(names: list[str]) -> None:
    """Print the largest errors of functions of one number in f32, over all that there are."""
    for name in names or [name for name in MEASURED if operand_count(name) == 1]:
        print(f"{name:9} f32  {largest_error_in_f32(name)}", flush=True)


if __name__ == "__main__":
    what, *names = sys.argv[1:] or ["100_000"]
    every(names) if what == "every" else main(int(what), names)
