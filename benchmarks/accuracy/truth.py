"""Correctly rounded values and gradients of a case, at each of its points."""

from __future__ import annotations

import hashlib
import math
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import flint
import numpy as np

from benchmarks.accuracy import balls, case, partials, sampling, tape
from benchmarks.accuracy.balls import Balls
from benchmarks.accuracy.case import Case, Function
from benchmarks.accuracy.sampling import points
from benchmarks.accuracy.tape import Tape
from gradc.rules.verify import balls as arithmetic
from gradc.rules.verify.balls import Undecided, growing, rounded
from gradc.testing import sampling as spots
from gradc_ir.core.types import Array
from gradc_ir.meaning import ulp_distance

# A change of these modules makes new truths.
MODULES = (balls, case, partials, sampling, tape, arithmetic, spots, ulp_distance)


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
    for _ in growing():
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
            found = tape.gradient(result, arguments, flint.arb(1))
        except Undecided:
            continue
        gradient = [0.0 if ball is None else rounded(ball) for ball in found]
        if not any(map(math.isnan, gradient)):
            break
    return value, gradient


def _folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or tempfile.gettempdir()) / "gradc-accuracy"


def _key(case: Case, number: int) -> str:
    texts = [Path(file).read_text() for file in (__file__, *(m.__file__ for m in MODULES))]
    return hashlib.sha256("\0".join([*texts, case.text, str(number)]).encode()).hexdigest()[:32]
