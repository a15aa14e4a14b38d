"""The figures of a case: bits of error of each engine, against the truth."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.accuracy.case import Case
from benchmarks.accuracy.engines import Engine
from benchmarks.accuracy.truth import truth_of
from gradc_ir.core.types import Array
from gradc_ir.meaning.ulp_distance import bits_between


@dataclass(frozen=True)
class Figures:
    """How far an engine is off: mean bits, and how many results are not finite that should be.

    ``gradient`` is the mean over all derivatives that have a truth. ``worst`` is the point of the
    largest error of the gradient, or of the value where that is larger.
    """

    value: float
    gradient: float
    values_not_finite: int
    gradients_not_finite: int
    worst: tuple[float, ...]

    @property
    def larger(self) -> float:
        """The larger one of the two means."""
        return max(self.value, self.gradient)


@dataclass(frozen=True)
class Measured:
    """A case with the figures of the engines, or why one failed."""

    case: Case
    values: int
    derivatives: int
    figures: Mapping[str, Figures]
    failures: Mapping[str, str]


def measure(case: Case, engines: Mapping[str, Engine], number: int) -> Measured:
    """Return the figures of a case at ``number`` points, less those that have no truth."""
    truth = truth_of(case, number)
    found: dict[str, Figures] = {}
    failures: dict[str, str] = {}
    for name, engine in engines.items():
        try:
            values, gradients = engine(case, truth.points)
        except Exception as error:
            failures[name] = f"{type(error).__name__}: {error}".splitlines()[0]
        else:
            found[name] = figures(truth.points, truth.values, truth.gradients, values, gradients)
    derivatives = int(np.sum(~np.isnan(truth.gradients)))
    return Measured(case, len(truth.values), derivatives, found, failures)


def figures(
    points: Array, true_values: Array, true_gradients: Array, values: Array, gradients: Array
) -> Figures:
    """Return the figures of values (n) and gradients (arguments, n) at points (arguments, n)."""
    of_values = bits_between(values, true_values)
    of_gradients = bits_between(gradients, true_gradients)
    known = ~np.isnan(true_gradients)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # no derivative at all has a truth
        worst = np.nanmax([of_values, *of_gradients], axis=0)
        gradient = float(np.nanmean(of_gradients)) if known.any() else 0.0
    return Figures(
        float(np.mean(of_values)),
        gradient,
        int(np.sum(~np.isfinite(values))),
        int(np.sum(~np.isfinite(gradients) & known)),
        tuple(float(x) for x in points[:, int(np.argmax(worst))]),
    )


@dataclass(frozen=True)
class Suite:
    """The means over the cases of a suite for one engine.

    ``within_one`` and ``over_five`` count cases by the larger of their two means.
    """

    value: float
    gradient: float
    values_not_finite: int
    gradients_not_finite: int
    derivatives: int
    within_one: int
    over_five: int
    failed: int


def summary(measured: Iterable[Measured], engine: str) -> Suite:
    """Return the means; a case that failed counts in ``failed`` only."""
    measured = list(measured)
    rows = [(m.figures[engine], m.derivatives) for m in measured if engine in m.figures]
    all_figures = [row[0] for row in rows]
    return Suite(
        float(np.mean([f.value for f in all_figures])) if rows else 0.0,
        float(np.mean([f.gradient for f in all_figures])) if rows else 0.0,
        sum(f.values_not_finite for f in all_figures),
        sum(f.gradients_not_finite for f in all_figures),
        sum(row[1] for row in rows),
        sum(f.larger <= 1.0 for f in all_figures),
        sum(f.larger > 5.0 for f in all_figures),
        len(measured) - len(rows),
    )
