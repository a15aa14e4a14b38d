"""The points of a case: all bit patterns, daily use, and the neighbourhoods of hard places."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np

from benchmarks.accuracy.case import Case, Range
from gradc.testing.sampling import distances
from gradc_ir.core.types import Array
from gradc_ir.meaning.ulp_distance import uniform_patterns

LARGEST = float(np.finfo(np.float64).max)
# The parts of a sample, in points of a hundred.
PATTERNS, USUAL, NEAR = 40, 30, 30
# How many rounds of candidates are thrown before a precondition is given up.
ROUNDS = 200


def points(case: Case, number: int) -> Array:
    """Return points of a case, shape (arguments, number): the same ones in every run.

    Two fifths are uniform over the bit patterns in the ranges, three tenths uniform over the reals
    of daily use, three tenths close to where something happens, at distances whose logarithm is
    uniform. Fewer are returned where the precondition lets nearly none pass.
    """
    random = np.random.default_rng(zlib.crc32(f"{case.suite} {case.name}".encode()))
    parts = [
        _accepted(case, number * PATTERNS // 100, lambda n: _patterns(case, random, n)),
        _accepted(case, number * USUAL // 100, lambda n: _usual(case, random, n)),
        _accepted(case, number * NEAR // 100, lambda n: _near(case, random, n)),
    ]
    return np.concatenate(parts, axis=1)


def _accepted(case: Case, number: int, candidates: Callable[[int], Array]) -> Array:
    """Return candidates that satisfy the precondition."""
    found = np.empty((len(case.ranges), 0))
    for _ in range(ROUNDS):
        thrown = candidates(2 * number)
        for row, range_ in zip(thrown, case.ranges.values()):
            if range_.whole:
                np.rint(row, out=row)
            np.clip(row, max(range_.low, -LARGEST), min(range_.high, LARGEST), out=row)
        if case.given is not None:
            with np.errstate(all="ignore"):
                thrown = thrown[:, np.asarray(case.given(*thrown), np.bool_)]
        found = np.concatenate([found, thrown], axis=1)
        if found.shape[1] >= number:
            break
    return found[:, :number]


def _patterns(case: Case, random: np.random.Generator, number: int) -> Array:
    """Return points uniform over bit patterns."""
    return np.stack([_patterns_of(range_, random, number) for range_ in case.ranges.values()])


def _patterns_of(range_: Range, random: np.random.Generator, number: int) -> Array:
    low, high = max(range_.low, -LARGEST), min(range_.high, LARGEST)
    return uniform_patterns(random, low, high, number)


def _usual(case: Case, random: np.random.Generator, number: int) -> Array:
    """Return points uniform over the reals of daily use."""
    return np.stack([random.uniform(*range_.usual, size=number) for range_ in case.ranges.values()])


def _near(case: Case, random: np.random.Generator, number: int) -> Array:
    """Return points of daily use, one argument of each moved close to a hard place.

    A case without hard places has points of daily use and of all bit patterns instead.
    """
    names = list(case.ranges)
    found = _usual(case, random, number)
    spread = random.integers(0, 2, number) == 1
    found[:, spread] = _patterns(case, random, number)[:, spread]
    places = [(name, at) for name, range_ in case.ranges.items() for at in range_.near]
    choices = len(places) + len(case.close)
    if choices == 0:
        return found
    # Half of the points keep their other arguments where daily use has them.
    usual = random.integers(0, 2, number) == 1
    found[:, usual] = _usual(case, random, number)[:, usual]
    distance = distances(random, number)
    chosen = random.integers(0, choices, number)
    for k, (name, at) in enumerate(places):
        here = chosen == k
        found[names.index(name), here] = at + distance[here] * (abs(at) or 1.0)
    for k, (one, other) in enumerate(case.close, start=len(places)):
        here = chosen == k
        found[names.index(other), here] = found[names.index(one), here] * (1.0 + distance[here])
    return found
