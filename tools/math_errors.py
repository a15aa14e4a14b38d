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
from gradc_ir.types import DType
from tools import math_points
from tools.math_loops import NUMPY, apply

Array = NDArray[Any]


class Measured(NamedTuple):
    """How a function is measured.

    Parameters
    ----------
    value: its value of balls, as a ball.
    centres: arguments where it changes its face.
    reach: how far out it grows or shrinks to nothing.
    """

    value: Callable[..., Any]
    centres: tuple[float, ...]
    reach: float


def _remainder(x: Any, y: Any) -> Any:
    rest = abs(Fraction(float(x))) % abs(Fraction(float(y)))
    return arb(rest.numerator) / rest.denominator * (1 if x > 0 else -1)


# name of the function in the C library -> how it is measured
FUNCTIONS: dict[str, Measured] = {
    "exp": Measured(lambda x: x.exp(), (0.0,), 746.0),
    "exp2": Measured(lambda x: arb(2) ** x, (0.0,), 1076.0),
    "expm1": Measured(lambda x: x.expm1(), (0.0,), 710.0),
    "log": Measured(lambda x: x.log(), (0.0, 1.0), 1e3),
    "log1p": Measured(lambda x: x.log1p(), (0.0, -1.0), 1e3),
    "log2": Measured(lambda x: x.log() / arb.const_log2(), (0.0, 1.0), 1e3),
    "log10": Measured(lambda x: x.log() / arb.const_log10(), (0.0, 1.0), 1e3),
    "pow": Measured(lambda x, y: x**y, (0.0, 1.0), 1e3),
    "sin": Measured(lambda x: x.sin(), (0.0,), 1e3),
    "cos": Measured(lambda x: x.cos(), (0.0,), 1e3),
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
}


def points(name: str, dtype: DType, count: int, seed: int = 0) -> list[Array]:
    """Return arguments of a function, an array for each operand."""
    _, centres, reach = FUNCTIONS[name]
    operands = operands_of(f"math.{name}")
    return math_points.points(name, dtype, count, centres, reach, operands, seed)


def exact(name: str, *operands: Array) -> tuple[Array, Array]:
    """Return the true values rounded to float64, and the rest in units in the last place of those.

    NaN where there is none, infinite beyond all floats.
    """
    function = FUNCTIONS[name].value
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
    function = getattr(np, NUMPY.get(name, name), None) or np.vectorize(getattr(math, name))
    with np.errstate(all="ignore"):
        return float(function(*map(np.float64, operands)))


def errors(found: Array, want: tuple[Array, Array]) -> Array:
    """Return the error of each result in units in the last place; inf where a special is wrong."""
    with np.errstate(all="ignore"):
        rounded = want[0].astype(found.dtype)
        unit = _unit(rounded).astype(np.float64)
        rest = want[1] * (_unit(want[0]) / unit)
        apart = np.abs((found.astype(np.float64) - want[0]) / unit - rest)
        same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
        special = ~np.isfinite(rounded) | ~np.isfinite(found)
    return np.where(special, np.where(same, 0.0, np.inf), apart)


def _unit(x: Array) -> Array:
    """Return the unit in the last place of floats, of the largest one too."""
    return np.spacing(np.minimum(np.abs(x), np.finfo(x.dtype).max * x.dtype.type(0.75)))


def every(names: list[str]) -> None:
    """Print the largest errors of functions of one number in f32, over all that there are."""
    piece = 1 << 17  # stays in the cache
    for name in names or [name for name in FUNCTIONS if operands_of(f"math.{name}") == 1]:
        largest, where = 0.0, 0.0
        for start in range(0, 1 << 32, piece):
            x = np.arange(start, start + piece, dtype=np.uint32).view(np.float32)
            with np.errstate(all="ignore"):
                true = apply(f"math.{name}", x.astype(np.float64))
            apart = errors(apply(f"math.{name}", x, lanes=16), (true, np.zeros(1)))
            worst = int(np.argmax(apart))
            if apart[worst] > largest:
                largest, where = float(apart[worst]), float(x[worst])
        print(f"{name:6} f32  largest {largest:.3f} ulp at {where.hex()}, all numbers", flush=True)


def main(count: int, names: list[str]) -> None:
    """Print the largest and the mean error of functions of these names, of all without one."""
    for name in names or FUNCTIONS:
        for dtype in (DType.F64, DType.F32):
            operands = points(name, dtype, count)
            apart = errors(apply(f"math.{name}", *operands), exact(name, *operands))
            worst = int(np.argmax(apart))
            where = ", ".join(x[worst].item().hex() for x in operands)
            print(
                f"{name:6} {dtype.name.lower()}  largest {apart[worst]:.3f} ulp at "
                f"{where}, mean {apart.mean():.3f}, {len(apart):,} points",
                flush=True,
            )


if __name__ == "__main__":
    what, *names = sys.argv[1:] or ["100_000"]
    every(names) if what == "every" else main(int(what), names)
