"""Measures the errors of the emitted math functions against ball arithmetic.

    python tools/math_errors.py [points [names …]]

The truth is Arb's, through python-flint. The error of a result is its distance from the true value
in units in the last place: the gap between the floats around that value.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from gradc_codegen.entry import Kernel
from gradc_codegen.jit import compile_module
from gradc_codegen.lower import lower
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.sizes import symbol
from gradc_ir.types import DType, Type

Array = NDArray[Any]

# name of the op -> its value as a ball, arguments where it changes its face, how far out it grows
# or shrinks to nothing
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], tuple[float, ...], float]] = {
    "exp": (lambda x: x.exp(), (0.0,), 746.0),
    "exp2": (lambda x: arb(2) ** x, (0.0,), 1076.0),
    "expm1": (lambda x: x.expm1(), (0.0,), 710.0),
    "log": (lambda x: x.log(), (0.0, 1.0), 1e3),
    "log1p": (lambda x: x.log1p(), (0.0, -1.0), 1e3),
    "log2": (lambda x: x.log() / arb.const_log2(), (0.0, 1.0), 1e3),
    "log10": (lambda x: x.log() / arb.const_log10(), (0.0, 1.0), 1e3),
    "tanh": (lambda x: x.tanh(), (0.0,), 25.0),
    "sinh": (lambda x: x.sinh(), (0.0,), 711.0),
    "cosh": (lambda x: x.cosh(), (0.0,), 711.0),
    "arctan": (lambda x: x.atan(), (0.0, 0.414, 2.414), 1e3),
    "arcsin": (lambda x: x.asin(), (0.0, 0.5, 1.0), 1.0),
    "arccos": (lambda x: x.acos(), (0.0, 0.5, 1.0), 1.0),
    "arcsinh": (lambda x: x.asinh(), (0.0,), 1e3),
    "arccosh": (lambda x: x.acosh(), (1.0,), 1e3),
    "arctanh": (lambda x: x.atanh(), (0.0, 1.0), 1.0),
    "erf": (lambda x: x.erf(), (0.0, 1.0), 7.0),
}


def points(name: str, dtype: DType, count: int, seed: int = 0) -> Array:
    """Return arguments: random bit patterns, numbers of ordinary size, and all kinds of borders."""
    random = np.random.default_rng(seed)
    kind = dtype.numpy.type
    bits = np.dtype(f"u{np.dtype(kind).itemsize}")
    _, centres, reach = FUNCTIONS[name]
    any_bits = random.integers(0, np.iinfo(bits).max, count // 2, bits, True).view(kind)
    spread = [random.uniform(-size, size, count // 8) for size in (0.5, 2.0, 20.0, reach)]
    near = [c + s * 2.0 ** random.uniform(-60, 0, count // 8) for c in centres for s in (-1, 1)]
    limits = np.finfo(kind)
    steps = np.arange(-1100, 1100) / 2
    borders = [
        [0.0, limits.smallest_subnormal, limits.tiny, limits.max, np.inf, 1.0, 2.0, 10.0, 1e3],
        steps, steps * np.log(2), 2.0 ** np.clip(steps, -1020, 1020), [2**0.5, 0.5**0.5, *centres],
    ]  # fmt: skip
    with np.errstate(over="ignore", under="ignore"):
        rounded = np.concatenate([*spread, *near, *borders]).astype(kind)
        edges = np.concatenate(borders).astype(kind)
        around = [np.nextafter(edges, kind(to)) for to in (-np.inf, np.inf)]
    found = np.concatenate([any_bits, rounded, *around])
    return np.concatenate([found, -found[-10_000:]])


def exact(name: str, x: Array) -> tuple[Array, Array]:
    """Return the true values rounded to float64, and the rest in units in the last place of those.

    NaN where there is none, infinite beyond all floats.
    """
    function = FUNCTIONS[name][0]
    rounded, rest = np.empty(len(x)), np.zeros(len(x))
    ctx.prec = 200
    for i, argument in enumerate(x.tolist()):
        value = function(arb(argument))
        doubtful = value.rad() > 0 and value.rel_accuracy_bits() < 120
        if argument != argument or not value.is_finite() or doubtful:
            rounded[i] = _at_borders(name, argument)  # a pole, or far beyond what overflows
            continue
        rounded[i] = float(value.mid())
        if np.isfinite(rounded[i]):
            unit = float(np.spacing(abs(rounded[i])))
            rest[i] = float(((value - arb(rounded[i])) / arb(unit)).mid())
    return rounded, rest


def _at_borders(name: str, x: float) -> float:
    """Return what C says of an argument where the function has no finite value to round."""
    with np.errstate(all="ignore"):
        return float("nan") if x != x else float(getattr(np, name, math.erf)(np.float64(x)))


def errors(found: Array, want: tuple[Array, Array]) -> Array:
    """Return the error of each result in units in the last place; inf where a special is wrong."""
    with np.errstate(all="ignore"):
        rounded = want[0].astype(found.dtype)
        unit = np.spacing(np.abs(rounded)).astype(np.float64)
        rest = want[1] * (np.spacing(np.abs(want[0])) / unit)
        apart = np.abs((found.astype(np.float64) - want[0]) / unit - rest)
        same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
        special = ~np.isfinite(rounded) | ~np.isfinite(found)
    return np.where(special, np.where(same, 0.0, np.inf), apart)


def kernel(name: str, dtype: DType, cpu: str = "native", lanes: bool = True) -> Kernel:
    """Return the kernel of an op on a vector, as a loop over lanes or element by element."""
    with Builder() as builder:
        shape = (symbol("n"),) if lanes else ()
        x = builder.param(0, Type(dtype, shape))
        function = builder.function("f", [x], [build.elementwise(name, x)], ["x"])
    text = lower(function, "f")
    return Kernel(function, compile_module(text, cpu, None if lanes else 0), "f", native=False)


def main(count: int, names: list[str]) -> None:
    """Print the largest and the mean error of functions of these names, of all without one."""
    for name in names or FUNCTIONS:
        for dtype in (DType.F64, DType.F32):
            x = points(name, dtype, count)
            (found,) = kernel(name, dtype)([x])
            apart = errors(found, exact(name, x))
            worst = int(np.argmax(apart))
            print(
                f"{name:6} {dtype.name.lower()}  largest {apart[worst]:.3f} ulp at "
                f"{x[worst].item().hex()}, mean {apart.mean():.3f}, {len(x):,} points",
                flush=True,
            )


if __name__ == "__main__":
    main(int((sys.argv[1:] or ["100_000"])[0]), sys.argv[2:])
