"""Correctly rounded values and gradients of a case, at each of its points."""

from __future__ import annotations

import hashlib
import math
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import flint
import numpy as np

from benchmarks.accuracy.balls import Balls, Undecided
from benchmarks.accuracy.bits import Array
from benchmarks.accuracy.case import Case, Function
from benchmarks.accuracy.sampling import points
from benchmarks.accuracy.tape import Tape

# Bits of precision, tried in turn. Four leading terms of a series that cancel at the smallest
# doubles need about 4 * 1074.
PRECISIONS = (128, 448, 1408, 4608)
# A change of these modules makes new truths.
MODULES = ("balls", "bits", "case", "partials", "sampling", "tape", "truth")


@dataclass(frozen=True)
class Truth:
    """Points of a case, shape (arguments, n), with values (n) and gradients (arguments, n).

    Every value is a finite double. A derivative that is not (infinite, too large for a double, at a
    corner) is nan.
    """

    points: Array
    values: Array
    gradients: Array


def truth_of(case: Case, number: int) -> Truth:
    """Return the truth of a case; computed once and kept in a file of the user's cache."""
    file = _folder() / f"{_key(case, number)}.npz"
    if file.exists():
        with np.load(file) as kept:
            return Truth(kept["points"], kept["values"], kept["gradients"])
    found = compute(case.function, points(case, number))
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=file.parent, suffix=".npz", delete=False) as whole:
        np.savez(whole, points=found.points, values=found.values, gradients=found.gradients)
    os.replace(whole.name, file)  # at once, so that nobody reads half of it
    return found


def compute(function: Function, candidates: Array) -> Truth:
    """Return the truth at those of the candidates where the value is a finite double."""
    rows = [evaluate(function, [float(x) for x in point]) for point in candidates.T]
    kept = [k for k, (value, _) in enumerate(rows) if math.isfinite(value)]
    gradients = np.array([rows[k][1] for k in kept], np.float64).reshape(len(kept), len(candidates))
    return Truth(
        np.ascontiguousarray(candidates[:, kept]),
        np.array([rows[k][0] for k in kept], np.float64),
        np.ascontiguousarray(np.where(np.isfinite(gradients), gradients, np.nan).T),
    )


def evaluate(function: Function, point: Sequence[float]) -> tuple[float, list[float]]:
    """Return value and partial derivatives at a point, correctly rounded, nan where there is none.

    Balls are computed at growing precision until all of a ball rounds to one double.
    """
    value, gradient = math.nan, [math.nan] * len(point)
    kept = flint.ctx.prec
    try:
        for flint.ctx.prec in PRECISIONS:
            tape = Tape(Balls())
            arguments = [tape.argument(flint.arb(x)) for x in point]
            try:
                result = function(*arguments)
            except Undecided:
                continue
            value = rounded(tape.number(result))
            if not math.isfinite(value):
                if math.isinf(value):
                    break
                continue
            try:
                balls = tape.gradient(result, arguments, flint.arb(1))
            except Undecided:
                continue
            gradient = [0.0 if ball is None else rounded(ball) for ball in balls]
            if not any(map(math.isnan, gradient)):
                break
    finally:
        flint.ctx.prec = kept
    return value, gradient


def rounded(ball: Any) -> float:
    """Return the double that all numbers of a ball round to, infinite beyond the largest one.

    nan is returned when there is not one such double. Minus zero is zero.
    """
    if not ball.is_finite():
        return math.nan
    low, high = (_round(*map(int, end.man_exp())) for end in (ball.lower(), ball.upper()))
    return low if low == high else math.nan


def _round(mantissa: int, exponent: int) -> float:
    """Return ``mantissa * 2**exponent`` rounded to the nearest double."""
    size = mantissa.bit_length() + exponent
    if mantissa == 0 or size < -1080:
        return 0.0
    infinity = math.inf if mantissa > 0 else -math.inf
    if size > 1030:
        return infinity
    try:
        return float(mantissa << exponent) if exponent >= 0 else mantissa / (1 << -exponent)
    except OverflowError:
        return infinity


def _folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or tempfile.gettempdir()) / "gradc-accuracy"


def _key(case: Case, number: int) -> str:
    texts = [Path(__file__).with_name(f"{module}.py").read_text() for module in MODULES]
    return hashlib.sha256("\0".join([*texts, case.text, str(number)]).encode()).hexdigest()[:32]
