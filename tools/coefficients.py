"""Computes the coefficients of the emitted math functions: ``make coefficients`` renews the file.

    python tools/coefficients.py [names …]

prints tables of these names with their error bounds; without names it writes all of them to
``codegen/gradc_codegen/math/emitted/coefficients.py``.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpmath
from mpmath import mpf

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from tools.minimax import minimax, rounded  # noqa: E402

FILE = ROOT / "codegen" / "gradc_codegen" / "math" / "emitted" / "coefficients.py"
PRECISION = {"F64": 53, "F32": 24}
# Bits that a part of a number leaves zero at its end: none, or so many that its product with any
# exponent of the format, with 3, or with the right angles in an angle is exact.
NEAREST = {"F64": 0, "F32": 0}
EXPONENT = {"F64": 11, "F32": 8}
SMALL = {"F64": 2, "F32": 2}
RIGHT_ANGLES = {"F64": 20, "F32": 0}


@dataclass(frozen=True)
class Approximation:
    """A polynomial to compute.

    Parameters
    ----------
    formula: what it approximates, and where.
    function, weight: as :func:`tools.minimax.minimax` takes them.
    interval: the interval for a format.
    terms: the number of coefficients for each format.
    """

    formula: str
    function: Callable[[Any], Any]
    weight: Callable[[Any], Any]
    interval: Callable[[str], tuple[Any, Any]]
    terms: dict[str, int]


def _half_log_2(_: str) -> tuple[Any, Any]:
    end = mpmath.log(2) / 2 * mpf("1.0001")
    return -end, end


def _tangent(_: str) -> tuple[Any, Any]:
    root = mpmath.sqrt(2)
    return mpf(0), ((root - 1) / (root + 1)) ** 2 * mpf("1.0001")


def _right_angle(format_: str) -> tuple[Any, Any]:
    # the number of right angles is rounded from a product that is rounded
    return mpf(0), (mpmath.pi / 4 * mpf({"F64": "1.0001", "F32": "1.005"}[format_])) ** 2


def _scaled_erfc(q: Any) -> Any:
    x = 4 * (1 + q) / (1 - q)
    return (1 + 2 * x) * mpmath.exp(x * x) * mpmath.erfc(x)


APPROXIMATIONS = {
    "EXP": Approximation(
        "(exp(r) - 1 - r) / r², |r| <= log(2) / 2; error relative to exp(r)",
        lambda r: (mpmath.expm1(r) - r) / r**2,
        lambda r: r**2 / mpmath.exp(r),
        _half_log_2,
        {"F64": 10, "F32": 5},
    ),
    "EXPM1": Approximation(
        "the same; error relative to exp(r) - 1",
        lambda r: (mpmath.expm1(r) - r) / r**2,
        lambda r: r**2 / mpmath.expm1(r),
        _half_log_2,
        {"F64": 11, "F32": 6},
    ),
    "EXP2": Approximation(
        "(2**r - 1 - r log(2)) / r², |r| <= 1/2; error relative to 2**r",
        lambda r: (mpmath.expm1(r * mpmath.log(2)) - r * mpmath.log(2)) / r**2,
        lambda r: r**2 / mpf(2) ** r,
        lambda _: (mpf(-1) / 2, mpf(1) / 2),
        {"F64": 10, "F32": 5},
    ),
    "LOG": Approximation(
        "(log((1 + s) / (1 - s)) - 2 s) / s³, a polynomial in z = s², |s| <= (√2 - 1) / (√2 + 1); "
        "error relative to the logarithm",
        lambda z: (2 * mpmath.atanh(mpmath.sqrt(z)) / mpmath.sqrt(z) - 2) / z,
        lambda z: z / (2 * mpmath.atanh(mpmath.sqrt(z)) / mpmath.sqrt(z)),
        _tangent,
        {"F64": 7, "F32": 4},
    ),
    "LOG_OF_POWER": Approximation(
        "(log((1 + s) / (1 - s)) - 2 s - 2/3 s³) / s⁵, a polynomial in z = s², s as above; error "
        "relative to the logarithm",
        lambda z: ((2 * mpmath.atanh(mpmath.sqrt(z)) / mpmath.sqrt(z) - 2) / z - mpf(2) / 3) / z,
        lambda z: z**2 / (2 * mpmath.atanh(mpmath.sqrt(z)) / mpmath.sqrt(z)),
        _tangent,
        {"F64": 7, "F32": 3},
    ),
    "ATAN": Approximation(
        "(atan(t) - t) / t³, a polynomial in z = t², |t| <= tan(π/8); error relative to atan(t)",
        lambda z: (mpmath.atan(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z,
        lambda z: z / (mpmath.atan(mpmath.sqrt(z)) / mpmath.sqrt(z)),
        lambda _: (mpf(0), ((mpmath.sqrt(2) - 1) * mpf("1.0001")) ** 2),
        {"F64": 11, "F32": 5},
    ),
    "ASIN": Approximation(
        "(asin(t) - t) / t³, a polynomial in z = t², |t| <= 1/2; error relative to asin(t)",
        lambda z: (mpmath.asin(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z,
        lambda z: z / (mpmath.asin(mpmath.sqrt(z)) / mpmath.sqrt(z)),
        lambda _: (mpf(0), mpf(1) / 4),
        {"F64": 13, "F32": 6},
    ),
    "SIN": Approximation(
        "(sin(t) - t) / t³, a polynomial in z = t², |t| <= π/4; error relative to sin(t)",
        lambda z: (mpmath.sin(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z,
        lambda z: z / (mpmath.sin(mpmath.sqrt(z)) / mpmath.sqrt(z)),
        _right_angle,
        {"F64": 6, "F32": 3},
    ),
    "COS": Approximation(
        "(cos(t) - 1 + t² / 2) / t⁴, a polynomial in z = t², |t| <= π/4; error relative to cos(t)",
        lambda z: (mpmath.cos(mpmath.sqrt(z)) - 1 + z / 2) / z**2,
        lambda z: z**2 / mpmath.cos(mpmath.sqrt(z)),
        _right_angle,
        {"F64": 6, "F32": 3},
    ),
    "INVERSE_CBRT": Approximation(
        "1 / ∛(1 + f), √½ <= 1 + f <= √2; relative error",
        lambda f: 1 / mpmath.cbrt(1 + f),
        lambda f: mpmath.cbrt(1 + f),
        lambda _: (mpmath.sqrt(0.5) - 1, mpmath.sqrt(2) - 1),
        {"F64": 5, "F32": 4},
    ),
    "ERFC": Approximation(
        "(1 + 2 x) exp(x²) erfc(x), a polynomial in q = (x - 4) / (x + 4), 1/2 <= x <= 27.3 (F32: "
        "10.2); relative error",
        _scaled_erfc,
        lambda q: 1 / _scaled_erfc(q),
        lambda format_: (mpf(-7) / 9, {"F64": mpf("23.3") / 31, "F32": mpf("6.2") / 14}[format_]),
        {"F64": 22, "F32": 10},
    ),
    "ERF": Approximation(
        "erf(x) / x - 1, a polynomial in z = x², |x| <= 1; error relative to erf(x)",
        lambda z: mpmath.erf(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1,
        lambda z: mpmath.sqrt(z) / mpmath.erf(mpmath.sqrt(z)),
        lambda _: (mpf(0), mpf(1)),
        {"F64": 13, "F32": 7},
    ),
    "LOG_ERFC": Approximation(
        "log(erfc(1 + t)), 1 <= 1 + t <= 6 (F32: 4); error relative to erf(1 + t)",
        lambda t: mpmath.log(mpmath.erfc(t + 1)),
        lambda t: mpmath.erfc(t + 1) / mpmath.erf(t + 1),
        lambda format_: (mpf(0), {"F64": mpf(5), "F32": mpf(3)}[format_]),
        {"F64": 18, "F32": 9},
    ),
}

# Numbers as sums of floats: name -> what it is, its value, and the bits that each part leaves zero.
CONSTANTS: dict[str, tuple[str, Callable[[], Any], tuple[dict[str, int], ...]]] = {
    "LOG_2": (
        "log(2) as a sum, whose first part times an exponent is exact",
        lambda: mpmath.log(2),
        (EXPONENT, NEAREST),
    ),
    "INVERSE_LOG_2": ("1 / log(2) as a sum", lambda: 1 / mpmath.log(2), (NEAREST, NEAREST)),
    "LOG_2_NEAREST": ("log(2) as a sum", lambda: mpmath.log(2), (NEAREST, NEAREST)),
    "HALF_PI": ("π / 2 as a sum", lambda: mpmath.pi / 2, (NEAREST, NEAREST)),
    "QUARTER_PI_SHORT": (
        "π / 4 as a sum, whose first part times 3 is exact",
        lambda: mpmath.pi / 4,
        (SMALL, NEAREST),
    ),
    "QUARTER_PI": ("π / 4 as a sum", lambda: mpmath.pi / 4, (NEAREST, NEAREST)),
    "HALF_PI_PARTS": (
        "π / 2 as a sum, whose second part for F64 times an integer below 2**20 is exact",
        lambda: mpmath.pi / 2,
        (NEAREST, RIGHT_ANGLES, NEAREST),
    ),
    "TWO_THIRDS": ("2 / 3 as a sum", lambda: mpf(2) / 3, (NEAREST, NEAREST)),
    "INVERSE_HALF_PI": ("2 / π", lambda: 2 / mpmath.pi, (NEAREST,)),
    "LOG10_2": (
        "log10(2) as a sum, whose first part times an exponent is exact",
        lambda: mpmath.log10(2),
        (EXPONENT, NEAREST),
    ),
    "INVERSE_LOG_10": ("1 / log(10) as a sum", lambda: 1 / mpmath.log(10), (NEAREST, NEAREST)),
}

# Numbers as words of 64 bits, those before the point first: name -> what it is, its value, and how
# many words there are behind the point.
WORDS: dict[str, tuple[str, Callable[[], Any], int]] = {
    "INVERSE_HALF_PI_WORDS": ("2 / π", lambda: 2 / mpmath.pi, 19),
}


def polynomial(name: str, format_: str) -> tuple[list[float], float]:
    """Return the coefficients of a table for a format, and log2 of the error."""
    made = APPROXIMATIONS[name]
    with mpmath.workprec(256):
        interval = made.interval(format_)
    return minimax(made.function, made.weight, interval, made.terms[format_], PRECISION[format_])


def constant(name: str, format_: str) -> tuple[float, ...]:
    """Return a number as a sum of floats, each the nearest to what those before it leave."""
    _, value, free = CONSTANTS[name]
    parts: list[float] = []
    with mpmath.workprec(256):
        for bits in free:
            rest = value() - mpmath.fsum(map(mpf, parts))
            parts.append(rounded(rest, PRECISION[format_] - bits[format_]))
    return tuple(parts)


def words(name: str) -> tuple[int, ...]:
    """Return a number as words of 64 bits, rounded down."""
    _, value, behind = WORDS[name]
    with mpmath.workprec(64 * (behind + 2)):
        whole = int(mpmath.floor(value() * mpf(2) ** (64 * behind)))
    return tuple(whole >> 64 * k & (2**64 - 1) for k in reversed(range(behind + 1)))


def entry(name: str) -> str:
    """Return the lines of a table."""
    if name in WORDS:
        numbers = ", ".join(map(hex, words(name)))
        return f"# {WORDS[name][0]} in words of 64 bits\n{name} = ({numbers})"
    if name in CONSTANTS:
        about = CONSTANTS[name][0]
        rows = {format_: list(constant(name, format_)) for format_ in PRECISION}
    else:
        made = APPROXIMATIONS[name]
        found = {format_: polynomial(name, format_) for format_ in PRECISION}
        rows = {format_: coefficients for format_, (coefficients, _) in found.items()}
        bounds = ", ".join(f"2**{error:.1f} for {f}" for f, (_, error) in found.items())
        about = f"{made.formula}: at most {bounds}"
    comment = textwrap.wrap(about, 98, break_on_hyphens=False)
    lines = [*(f"# {line}" for line in comment), f"{name}: Table = {{"]
    for format_, numbers in rows.items():
        lines.append(f"    DType.{format_}: {tuple(numbers)!r},")
    return "\n".join([*lines, "}"])


HEAD = '''\
"""Coefficients of the emitted functions; `make coefficients` writes them."""

from __future__ import annotations

from gradc_ir.types import DType

Table = dict[DType, tuple[float, ...]]
'''


def main(names: list[str]) -> None:
    """Print the tables of these names, or write all of them."""
    if names:
        print("\n\n".join(map(entry, names)))
        return
    tables = []
    for name in [*CONSTANTS, *WORDS, *APPROXIMATIONS]:
        tables.append(entry(name))
        print("\n".join(line for line in tables[-1].splitlines() if line[0] == "#"), flush=True)
    FILE.write_text("\n".join([HEAD, "\n\n".join(tables), ""]), encoding="utf-8")
    ruff = Path(sys.executable).parent / "ruff"
    subprocess.run([ruff, "format", "--quiet", FILE], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
