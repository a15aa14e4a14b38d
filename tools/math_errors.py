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
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from gradc_codegen.math.emitted.table import operands_of
from gradc_ir.core.types import DType
from gradc_ir.interpreter.interpret import reference
from gradc_ir.ops import TABLE
from tools import math_points, special_balls
from tools.math_loops import NUMPY, apply, apply_op

Array = NDArray[Any]


class Measured(NamedTuple):
    """How a function is measured.

    Parameters
    ----------
    value: its value of balls, as a ball.
    centres: arguments where it changes its face.
    reach: how far out it grows or shrinks to nothing.
    near_zero: results smaller than this lie next to a zero of the function that no float is; their
        errors count in units in the last place of this.
    """

    value: Callable[..., Any]
    centres: tuple[float, ...]
    reach: float
    near_zero: float = 0.0


def _remainder(x: Any, y: Any) -> Any:
    rest = abs(Fraction(float(x))) % abs(Fraction(float(y)))
    return arb(rest.numerator) / rest.denominator * (1 if x > 0 else -1)


def _logaddexp(x: Any, y: Any) -> Any:
    return max(x, y, key=float) + (-abs(x - y)).exp().log1p()


def _sigmoid_derivative(x: Any) -> Any:
    power = (-abs(x)).exp()
    return power / (1 + power) ** 2


# name of the function in the C library -> how it is measured
FUNCTIONS: dict[str, Measured] = {
    "exp": Measured(lambda x: x.exp(), (0.0,), 746.0),
    "exp2": Measured(lambda x: arb(2) ** x, (0.0,), 1076.0),
    "exp_product": Measured(lambda x, y: (x * y).exp(), (0.0, 1.0), 27.0),
    "expm1": Measured(lambda x: x.expm1(), (0.0,), 710.0),
    "log": Measured(lambda x: x.log(), (0.0, 1.0), 1e3),
    "log1p": Measured(lambda x: x.log1p(), (0.0, -1.0), 1e3),
    "log2": Measured(lambda x: x.log() / arb.const_log2(), (0.0, 1.0), 1e3),
    "log10": Measured(lambda x: x.log() / arb.const_log10(), (0.0, 1.0), 1e3),
    "pow": Measured(lambda x, y: x**y, (0.0, 1.0), 1e3),
    "sin": Measured(lambda x: x.sin(), (0.0,), 1e3),
    "cos": Measured(lambda x: x.cos(), (0.0,), 1e3),
    "sin_beside_cos": Measured(lambda x: x.sin(), (0.0,), 1e3),
    "cos_beside_sin": Measured(lambda x: x.cos(), (0.0,), 1e3),
    "tan": Measured(lambda x: x.tan(), (0.0,), 1e3),
    "fmod": Measured(_remainder, (0.0, 1.0), 1e3),
    "cbrt": Measured(lambda x: x.root(3) if x > 0 else -((-x).root(3)), (0.0,), 1e3),
    "hypot": Measured(lambda x, y: (x * x + y * y).sqrt(), (0.0,), 1e3),
    "atan2": Measured(lambda y, x: arb.atan2(y, x), (0.0, 0.414, 2.414), 1e3),
    "tanh": Measured(lambda x: x.tanh(), (0.0,), 25.0),
    "sinh": Measured(lambda x: x.sinh(), (0.0,), 711.0),
    "cosh": Measured(lambda x: x.cosh(), (0.0,), 711.0),
    "atan": Measured(lambda x: x.atan(), (0.0, 0.414, 2.414), 1e3),
    "asin": Measured(lambda x: x.asin(), (0.0, 0.5, 1.0), 1.0),
    "acos": Measured(lambda x: x.acos(), (0.0, 0.5, 1.0), 1.0),
    "asinh": Measured(lambda x: x.asinh(), (0.0,), 1e3),
    "acosh": Measured(lambda x: x.acosh(), (1.0,), 1e3),
    "atanh": Measured(lambda x: x.atanh(), (0.0, 1.0), 1.0),
    "erf": Measured(lambda x: x.erf(), (0.0, 1.0), 7.0),
    "erfc": Measured(lambda x: x.erfc(), (0.0, 0.5), 28.0),
    "sigmoid": Measured(lambda x: 1 / (1 + (-x).exp()), (0.0,), 746.0),
    "sigmoid_of_double": Measured(lambda x: 1 / (1 + (-2 * x).exp()), (0.0,), 373.0),
    "sigmoid_derivative": Measured(_sigmoid_derivative, (0.0,), 746.0),
    "sigmoid_derivative_of_double": Measured(lambda x: _sigmoid_derivative(2 * x), (0.0,), 373.0),
    "softplus": Measured(lambda x: x.exp().log1p(), (0.0,), 746.0),
    "logaddexp": Measured(_logaddexp, (0.0,), 746.0, 1.0),
    "log1mexp": Measured(lambda x: (-x.expm1()).log(), (0.0, -0.69), 746.0),
    "erfcx": Measured(special_balls.erfcx, (0.0, 3.0), 30.0),
    "erfinv": Measured(lambda x: x.erfinv(), (0.0, 0.9966, 1.0), 1.0),
    "ndtr": Measured(special_balls.ndtr, (0.0,), 40.0),
    "log_ndtr": Measured(special_balls.log_ndtr, (0.0,), 40.0),
    "gammaln": Measured(special_balls.log_gamma, (0.0, 1.0, 2.0, 3.0, -1.0), 200.0, 1.0),
    "psi": Measured(lambda x: x.digamma(), (0.0, 1.0, 1.4616321449683623, 3.0), 200.0, 1.0),
    "trigamma": Measured(special_balls.trigamma, (0.0, 1.0, -1.0), 200.0),
    "i0e": Measured(special_balls.scaled_bessel_zero, (0.0, 10.0), 50.0),
    "i1e": Measured(special_balls.scaled_bessel_one, (0.0, 10.0), 50.0),
}

# name of an op that is made of others -> how it is measured
OPS: dict[str, Measured] = {
    "sqrt": Measured(lambda x: x.sqrt(), (0.0, 1.0), 1e3),
}
MEASURED = FUNCTIONS | OPS

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
    _, centres, reach, _ = MEASURED[name]
    operands = operand_count(name)
    return math_points.points(name, dtype, count, centres, reach, operands, seed)


def exact(name: str, *operands: Array) -> tuple[Array, Array]:
    """Return the true values rounded to float64, and the rest in units in the last place of those.

    NaN where there is none, infinite beyond all floats.
    """
    function = MEASURED[name].value
    count = len(operands[0])
    rounded, rest = np.empty(count), np.zeros(count)
    ctx.prec = 200
    for i, arguments in enumerate(zip(*(x.tolist() for x in operands))):
        # balls have no infinity and no sign of zero
        border = not all(map(math.isfinite, arguments)) or not all(arguments)
        value = arb("nan") if border else function(*map(arb, arguments))
        doubtful = value.rad() > 0 and value.rel_accuracy_bits() < 120
        if not value.is_finite() or doubtful:
            rounded[i] = _at_borders(name, *arguments)  # or a pole, or far beyond what overflows
            continue
        rounded[i] = float(value.mid())
        if np.isfinite(rounded[i]):
            unit = math.ulp(rounded[i])
            rest[i] = float(((value - arb(rounded[i])) / arb(unit)).mid())
    return rounded, rest


def _at_borders(name: str, *operands: float) -> float:
    """Return what C says of arguments where the function has no finite value to round."""
    if name in special_balls.NAMES:
        return special_balls.at_border(name, *operands)
    references = {(op.scalar or "").removeprefix("math."): reference(op) for op in TABLE.values()}
    if name.endswith("_of_double"):
        name, operands = name.removesuffix("_of_double"), tuple(2 * x for x in operands)
    name = name.partition("_beside_")[0]
    function = getattr(np, NUMPY.get(name, name), None) or references[name]
    with np.errstate(all="ignore"):
        return float(function(*map(np.float64, operands)))


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
