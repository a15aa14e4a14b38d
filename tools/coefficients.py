"""Computes the coefficients of the emitted math functions: ``make coefficients`` renews the file.

    python tools/coefficients.py [names …]

prints tables of these names with their error bounds; without names it writes all of them to
``codegen/gradc_codegen/math/emitted/``: ``coefficients.py`` and ``special_coefficients.py``.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
from mpmath import mpf

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from tools import special_approximations  # noqa: E402
from tools.minimax import Approximation, minimax, rounded  # noqa: E402
from tools.rational import Quotient, quotient  # noqa: E402

FOLDER = ROOT / "codegen" / "gradc_codegen" / "math" / "emitted"
PRECISION = {"F64": 53, "F32": 24}
# Bits that a part of a number leaves zero at its end: none, or so many that its product with any
# exponent of the format, or with the right angles in an angle is exact.
NEAREST = {"F64": 0, "F32": 0}
EXPONENT = {"F64": 11, "F32": 8}
RIGHT_ANGLES = {"F64": 20, "F32": 0}
# As many as leave a positive rest of π / 2.
POSITIVE = {"F64": 0, "F32": 1}


def _half_log_2(_: str) -> tuple[Any, Any]:
    end = mpmath.log(2) / 2 * mpf("1.0001")
    return -end, end


def _half_log_2_squared(format_: str) -> tuple[Any, Any]:
    return mpf(0), _half_log_2(format_)[1] ** 2


def _tangent(_: str) -> tuple[Any, Any]:
    root = mpmath.sqrt(2)
    return mpf(0), ((root - 1) / (root + 1)) ** 2 * mpf("1.0001")


def _log_of_quotient(z: Any) -> Any:
    s = mpmath.sqrt(z)
    return (2 * mpmath.atanh(s) / s - 2) / z


def _root_of_two(_: str) -> tuple[Any, Any]:
    root = mpmath.sqrt(2)
    return 1 / root - mpf("1.00001"), root - mpf("0.99999")


def _right_angle(format_: str) -> tuple[Any, Any]:
    # the number of right angles is rounded from a product that is rounded
    return mpf(0), (mpmath.pi / 4 * mpf({"F64": "1.0001", "F32": "1.005"}[format_])) ** 2


def _erfcx(x: Any) -> Any:
    return mpmath.exp(x * x) * mpmath.erfc(x)


def _logarithm_of_erfc(x: Any) -> Any:
    return -mpmath.log(mpmath.erfc(x)) / x - 1


APPROXIMATIONS = {
    "EXP": Approximation(
        "(exp(r) - 1 - r) / r², |r| <= log(2) / 2; error relative to exp(r)",
        lambda r: (mpmath.expm1(r) - r) / r**2,
        lambda r: r**2 / mpmath.exp(r),
        _half_log_2,
        {"F64": 10, "F32": 5},
    ),
    "EXPM1": Approximation(
        "the same; error relative to exp(r) - 1 and exp(r) - 1/2",
        lambda r: (mpmath.expm1(r) - r) / r**2,
        lambda r: r**2 / min(abs(mpmath.expm1(r)), mpmath.exp(r) - mpf("0.5")),
        _half_log_2,
        {"F64": 11, "F32": 6},
    ),
    "TANH": Approximation(
        "((exp(2 r) - 1) / 2 - r) / r², |r| <= log(2) / 4; error relative to exp(2 r) - 1",
        lambda r: (mpmath.expm1(2 * r) / 2 - r) / r**2,
        lambda r: 2 * r**2 / mpmath.expm1(2 * r),
        lambda format_: tuple(end / 2 for end in _half_log_2(format_)),
        {"F64": 10, "F32": 5},
    ),
    "SINH": Approximation(
        "(sinh(r) - r) / r³, a polynomial in z = r², |r| <= log(2) / 2; error relative to sinh(r)",
        lambda z: (mpmath.sinh(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z,
        lambda z: z * mpmath.sqrt(z) / mpmath.sinh(mpmath.sqrt(z)),
        _half_log_2_squared,
        {"F64": 5, "F32": 2},
    ),
    "COSH": Approximation(
        "(cosh(r) - 1) / r², a polynomial in z = r², |r| <= log(2) / 2; error relative to cosh(r)",
        lambda z: (mpmath.cosh(mpmath.sqrt(z)) - 1) / z,
        lambda z: z / mpmath.cosh(mpmath.sqrt(z)),
        _half_log_2_squared,
        {"F64": 5, "F32": 3},
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
        _log_of_quotient,
        lambda z: 1 / (2 / z + _log_of_quotient(z)),
        _tangent,
        {"F64": 7, "F32": 3},
    ),
    "LOG_WIDER": Approximation(
        "the same for |s| <= 0.2006",
        _log_of_quotient,
        lambda z: 1 / (2 / z + _log_of_quotient(z)),
        lambda _: (mpf(0), mpf("0.2006") ** 2),
        {"F64": 8, "F32": 4},
    ),
    "LOG_LONGER": Approximation(
        "the same as LOG with more terms",
        _log_of_quotient,
        lambda z: 1 / (2 / z + _log_of_quotient(z)),
        _tangent,
        {"F64": 8, "F32": 4},
    ),
    "LOG2": Approximation(
        "log2((1 + s) / (1 - s)) / s - 2 * 1.40625, a polynomial in z = s², s as for LOG; error "
        "relative to the logarithm",
        lambda z: (2 + z * _log_of_quotient(z)) / mpmath.log(2) - mpf("2.8125"),
        lambda z: mpmath.log(2) / (2 + z * _log_of_quotient(z)),
        _tangent,
        {"F64": 8},
    ),
    "LOG2_ALONE": Approximation(
        "log2(1 + f) / f - 1.453125, √½ <= 1 + f <= √2; error relative to the logarithm",
        lambda f: mpmath.log1p(f) / mpmath.log(2) / f - mpf("1.453125"),
        lambda f: f * mpmath.log(2) / mpmath.log1p(f),
        _root_of_two,
        {"F32": 10},
    ),
    "LOG10": Approximation(
        "log10((1 + s) / (1 - s)) / s - 2 * 0.421875, a polynomial in z = s², s as for LOG; error "
        "relative to the logarithm",
        lambda z: (2 + z * _log_of_quotient(z)) / mpmath.log(10) - mpf("0.84375"),
        lambda z: mpmath.log(10) / (2 + z * _log_of_quotient(z)),
        _tangent,
        {"F64": 8},
    ),
    "LOG10_ALONE": Approximation(
        "log10(1 + f) / f - 0.4375, √½ <= 1 + f <= √2; error relative to the logarithm",
        lambda f: mpmath.log1p(f) / mpmath.log(10) / f - mpf("0.4375"),
        lambda f: f * mpmath.log(10) / mpmath.log1p(f),
        _root_of_two,
        {"F32": 9},
    ),
    "ATAN": Approximation(
        "(atan(t) - t) / t³, a polynomial in z = t², |t| <= 1; error relative to atan(t)",
        lambda z: (mpmath.atan(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z,
        lambda z: z / (mpmath.atan(mpmath.sqrt(z)) / mpmath.sqrt(z)),
        # in F32 a little more, with which atan(1) is π/4 to the last place
        lambda format_: (mpf(0), mpf({"F64": 1, "F32": "1.02"}[format_])),
        {"F64": 20, "F32": 9},
    ),
    "ASIN": Approximation(
        "(asin(t) - t) / t³, a polynomial in z = t², |t| <= 1/2; error relative to asin(t)",
        lambda z: (mpmath.asin(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z,
        lambda z: z / (mpmath.asin(mpmath.sqrt(z)) / mpmath.sqrt(z)),
        lambda _: (mpf(0), mpf(1) / 4),
        {"F64": 12, "F32": 5},
    ),
    "SIN": Approximation(
        "(sin(t) - t) / t³, a polynomial in z = t², |t| <= π/4; error relative to sin(t)",
        lambda z: (mpmath.sin(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z,
        lambda z: z / (mpmath.sin(mpmath.sqrt(z)) / mpmath.sqrt(z)),
        _right_angle,
        {"F64": 6, "F32": 3},
    ),
    "INVERSE_CBRT": Approximation(
        "(1 / ∛(1 - e) - 1) / e, |e| <= 0.1023; error relative to 1 / ∛(1 - e)",
        lambda e: (1 / mpmath.cbrt(1 - e) - 1) / e,
        lambda e: e * mpmath.cbrt(1 - e),
        lambda _: (mpf("-0.1023"), mpf("0.1023")),
        {"F64": 4, "F32": 3},
    ),
    "INVERSE_ROOT": Approximation(
        "(1 / √(1 - e) - 1) / e, |e| <= 0.0711; error relative to 1 / √(1 - e)",
        lambda e: (1 / mpmath.sqrt(1 - e) - 1) / e,
        lambda e: e * mpmath.sqrt(1 - e),
        lambda _: (mpf("-0.0711"), mpf("0.0711")),
        {"F64": 5, "F32": 2},
    ),
    "ERF": Approximation(
        "-log(erfc(x)) / x - 1, 0 <= x <= 3.95; error of erf(x) relative to it",
        _logarithm_of_erfc,
        lambda x: mpmath.erfc(x) * x / mpmath.erf(x),
        lambda _: (mpf(2) ** -40, mpf("3.95")),
        {"F32": 9},
    ),
    **special_approximations.APPROXIMATIONS,
}

# Each makes two tables, whose names end in _ABOVE and _BELOW.
QUOTIENTS = {
    "TAN": Quotient(
        "tan(t) / t, polynomials in z = t², |t| <= π/4; error relative to tan(t)",
        lambda z: mpmath.tan(mpmath.sqrt(z)) / mpmath.sqrt(z),
        lambda z: mpmath.sqrt(z) / mpmath.tan(mpmath.sqrt(z)),
        _right_angle,
        {"F64": (4, 3), "F32": (3, 2)},
    ),
    "ERFC": Quotient(
        "exp(x²) erfc(x), 0 <= x <= 27.3 (F32: 9.4), over 13/16 + x (what is above times √π + "
        "what is below); relative error",
        _erfcx,
        lambda x: 1 / _erfcx(x),
        lambda format_: (mpf(0), mpf({"F64": "27.3", "F32": "9.4"}[format_])),
        {"F64": (11, 11), "F32": (6, 6)},
        lambda: mpmath.sqrt(mpmath.pi),
        0.8125,
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
    "HALF_LOG_2": ("log(2) / 2 as a sum", lambda: mpmath.log(2) / 2, (NEAREST, NEAREST)),
    "LOG_2_NEAREST": ("log(2) as a sum", lambda: mpmath.log(2), (NEAREST, NEAREST)),
    "HALF_PI": ("π / 2 as a sum", lambda: mpmath.pi / 2, (NEAREST, NEAREST)),
    "HALF_PI_PARTS": (
        "π / 2 as a sum, whose second part is positive and for F64 times an integer below 2**20 "
        "exact",
        lambda: mpmath.pi / 2,
        (POSITIVE, RIGHT_ANGLES, NEAREST),
    ),
    "ROOT_PI": ("√π", lambda: mpmath.sqrt(mpmath.pi), (NEAREST,)),
    "INVERSE_HALF_PI": ("2 / π", lambda: 2 / mpmath.pi, (NEAREST,)),
    "LOG10_2": ("log10(2) as a sum", lambda: mpmath.log10(2), (NEAREST, NEAREST)),
    **{
        name: (f"{about} as a sum", value, (NEAREST, NEAREST))
        for name, (about, value) in special_approximations.CONSTANTS.items()
    },
}

# Numbers as words of 64 bits, those before the point first: name -> what it is, its value, and how
# many words there are behind the point.
WORDS: dict[str, tuple[str, Callable[[], Any], int]] = {
    "INVERSE_HALF_PI_WORDS": ("2 / π", lambda: 2 / mpmath.pi, 19),
}


# Pairs of functions at multiples of a step, in F64: name of file and table -> what they are, their
# values, one over the step, and how many there are.
STEPS: dict[str, tuple[str, Callable[[Any], tuple[Any, Any]], int, int]] = {
    "error_function_steps": (
        "The error function and its derivative at multiples of 1/64",
        lambda x: (mpmath.erf(x), 2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-x * x)),
        64,
        385,
    ),
}


def polynomial(name: str, format_: str) -> tuple[list[float], float]:
    """Return the coefficients of a table for a format, and log2 of the error."""
    made = APPROXIMATIONS[name]
    with mpmath.workprec(256):
        interval = made.interval(format_)
    terms, precision = made.terms[format_], PRECISION[format_]
    return minimax(made.function, made.weight, interval, terms, precision, made.is_split)


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
    """Return the lines of a table, or of the two of a quotient."""
    if name in WORDS:
        numbers = ", ".join(map(hex, words(name)))
        return f"# {WORDS[name][0]} in words of 64 bits\n{name} = ({numbers})"
    if name in CONSTANTS:
        rows = {format_: constant(name, format_) for format_ in PRECISION}
        return _table(name, CONSTANTS[name][0], rows)
    if name in QUOTIENTS:
        made = QUOTIENTS[name]
        both = {format_: quotient(made, format_, PRECISION[format_]) for format_ in made.terms}
        about = _with_bounds(made.formula, {f: e for f, (_, _, e) in both.items()})
        above = _table(f"{name}_ABOVE", about, {f: tuple(over) for f, (over, _, _) in both.items()})
        rows = {f: tuple(under) for f, (_, under, _) in both.items()}
        return "\n\n".join([above, _table(f"{name}_BELOW", f"what {name}_ABOVE is over", rows)])
    found = {format_: polynomial(name, format_) for format_ in APPROXIMATIONS[name].terms}
    about = _with_bounds(APPROXIMATIONS[name].formula, {f: e for f, (_, e) in found.items()})
    return _table(name, about, {f: tuple(numbers) for f, (numbers, _) in found.items()})


def _with_bounds(formula: str, errors: dict[str, float]) -> str:
    bounds = ", ".join(f"2**{error:.1f} for {format_}" for format_, error in errors.items())
    return f"{formula}: at most {bounds}"


def _table(name: str, about: str, rows: dict[str, tuple[float, ...]]) -> str:
    """Return a table as Python: a comment, and for each format a tuple."""
    comment = textwrap.wrap(about, 98, break_on_hyphens=False)
    lines = [*(f"# {line}" for line in comment), f"{name}: Table = {{"]
    indent = " " * 8
    for format_, numbers in rows.items():
        text = "".join(f"{number!r}, " for number in numbers)
        wrapped = textwrap.wrap(text, 100, initial_indent=indent, subsequent_indent=indent)
        lines += [f"    DType.{format_}: (", *wrapped, "    ),"]
    return "\n".join([*lines, "}"])


HEAD = '''\
"""Coefficients of the emitted {functions}; `make coefficients` writes them."""

from __future__ import annotations

from gradc_ir.core.types import DType

Table = dict[DType, tuple[float, ...]]

# fmt: off
'''


def steps(name: str) -> str:
    """Return a file with the values of a pair of functions."""
    about, values, steps_in_one, count = STEPS[name]
    with mpmath.workprec(256):
        pairs = [values(mpf(k) / steps_in_one) for k in range(count)]
    rows = "".join(f"    {tuple(rounded(x, PRECISION['F64']) for x in pair)},\n" for pair in pairs)
    head = f'"""{about}; `make coefficients` writes them."""'
    return f"{head}\n\n# fmt: off\n{name.upper()} = (\n{rows})\n"


def main(names: list[str]) -> None:
    """Print the tables of these names, or write all of them."""
    if names:
        print("\n\n".join(steps(name) if name in STEPS else entry(name) for name in names))
        return
    for name in STEPS:
        (FOLDER / f"{name}.py").write_text(steps(name), encoding="utf-8")
    special = special_approximations.CONSTANTS.keys() | special_approximations.APPROXIMATIONS.keys()
    for file, functions in (("", "functions"), ("special_", "special functions")):
        tables = []
        for name in [*CONSTANTS, *WORDS, *APPROXIMATIONS, *QUOTIENTS]:
            if (name in special) == bool(file):
                tables.append(entry(name))
                about = [line for line in tables[-1].splitlines() if line[0] == "#"]
                print("\n".join(about), flush=True)
        path = FOLDER / f"{file}coefficients.py"
        head = HEAD.format(functions=functions)
        path.write_text("\n".join([head, "\n\n".join(tables), ""]), encoding="utf-8")
        ruff = Path(sys.executable).parent / "ruff"
        subprocess.run([ruff, "format", "--quiet", path], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
