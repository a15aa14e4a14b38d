"""The harness of ``make accuracy``: truths, points, figures, and that each case has them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flint
import mpmath
import numpy as np
import pytest
from scipy import special

from benchmarks.accuracy import balls, explained, run, truth
from benchmarks.accuracy.case import HELD_OUT, Case, Range, all_cases, case, positive, real, within
from benchmarks.accuracy.engines import ENGINES, naive
from benchmarks.accuracy.measure import figures, measure, summary
from benchmarks.accuracy.partials import PARTIALS
from benchmarks.accuracy.report import means, remarks, table
from benchmarks.accuracy.sampling import points
from benchmarks.accuracy.tape import Tape

CASES = list(all_cases())


@case(x=real(-50, 50))
def softplus(x: Any) -> Any:
    """Overflows."""
    return np.log(1 + np.exp(x))


@case(x=within(0, 1), y=positive(1, 2), given=lambda x, y: y > x, close=(("x", "y"),))
def difference(x: Any, y: Any) -> Any:
    """Cancels."""
    return y - x


def declared(function: Any) -> Case:
    found: Case = function.case
    return found


# The truth.


def value_and_gradient(function: Callable[..., Any], *point: float) -> list[float]:
    value, gradient = truth.evaluate(function, point)
    return [value, *gradient]


def test_truth_where_doubles_have_no_digits() -> None:
    x = 1e-200
    assert value_and_gradient(lambda x: (1 - np.cos(x)) / x**2, x) == [0.5, -x / 12]
    assert value_and_gradient(softplus, 1e300) == [1e300, 1.0]
    assert value_and_gradient(softplus, -750.0)[0] == 0.0
    tiny = float(mpmath.exp(-740))
    assert value_and_gradient(softplus, -740.0) == [tiny, tiny]


def test_truth_of_arrays_guards_and_special_functions() -> None:
    def guarded(x: Any, y: Any) -> Any:
        largest = np.max(np.stack([x, y]), axis=0)
        return np.where(
            (x > 0) & ~(y < 0), special.xlogy(x, y) + np.clip(y, 0, 1), np.sqrt(largest)
        )

    logarithm = mpmath.log(1.5)
    wanted = [float(2 * logarithm + 1), float(logarithm), 2 / 1.5]
    assert value_and_gradient(guarded, 2.0, 1.5) == wanted
    assert value_and_gradient(guarded, -2.0, 4.0) == [2.0, 0.0, 0.25]


@pytest.mark.parametrize(
    ("function", "at", "value"),
    [
        (np.abs, 0.0, 0.0),
        (lambda x: np.maximum(x, 2.0), 2.0, 2.0),
        (lambda x: np.where(x == 0, 1.0, np.sin(x) / x), 0.0, 1.0),
        (lambda x: np.where(x > 0, x, 0.0), 0.0, 0.0),
        (np.sqrt, 0.0, 0.0),
    ],
)
def test_a_corner_has_a_value_and_no_derivative(function: Any, at: float, value: float) -> None:
    assert value_and_gradient(function, at) == pytest.approx([value, math.nan], nan_ok=True)


@pytest.mark.parametrize(("function", "at"), [(np.log, -1.0), (np.exp, 710.0), (np.log, 0.0)])
def test_points_without_a_finite_value_are_left_out(function: Any, at: float) -> None:
    found = truth.compute(lambda x: function(x), np.array([[at, 1.0]]))
    assert found.points.shape == (1, 1)
    assert found.gradients.shape == (1, 1)


def test_a_ball_rounds_to_one_double_or_to_none() -> None:
    with flint.ctx.workprec(128):
        third = flint.arb(1) / 3
        assert truth.rounded(third) == 1 / 3
        assert truth.rounded(third * flint.arb(2) ** -1060) == 1 / 3 * 2.0**-1060
        assert truth.rounded(third * flint.arb(2) ** 5000) == math.inf
        assert truth.rounded(-third * flint.arb(2) ** -5000) == 0.0
        assert math.isnan(truth.rounded(flint.arb(1, 1e-16)))
        assert math.isnan(truth.rounded(flint.arb.nan()))


INSIDE = {np.arccosh: (1.75,), np.power: (0.75, 2.5), np.floor: (0.75,)}


@pytest.mark.parametrize("function", [*PARTIALS, np.absolute, np.maximum, np.minimum, np.power])
def test_partials_are_slopes(function: Any) -> None:
    """The table of partials against differences of 300 bits."""
    arithmetic = balls.Balls()
    with flint.ctx.workprec(1000):
        point = [flint.arb(x) for x in INSIDE.get(function, (0.375, 0.8125)[: function.nin])]
        result = arithmetic.value(function, *point)
        partials = arithmetic.partials(function, result, *point)
        for place, partial in enumerate(partials):
            step = flint.arb(2) ** -300
            moved = [x + step if i == place else x for i, x in enumerate(point)]
            slope = (arithmetic.value(function, *moved) - result) / step
            assert abs(slope - (0 if partial is None else partial)) < 1e-80


def test_truths_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = truth.truth_of(declared(softplus), 50)
    monkeypatch.setattr(truth, "compute", None)
    np.testing.assert_array_equal(truth.truth_of(declared(softplus), 50).gradients, first.gradients)
    assert len(list(tmp_path.rglob("*"))) == 2


# Points.


def test_points_honour_ranges_and_preconditions() -> None:
    x, y = points(declared(difference), 400)
    assert x.shape == (400,)
    assert (x >= 0).all()
    assert (x <= 1).all()
    assert (y > x).all()
    assert np.mean(y - x < 1e-3 * x) > 0.05, "some are close"
    assert np.mean(x < 1e-100) > 0.2, "some are of any magnitude"
    np.testing.assert_array_equal(points(declared(difference), 400), [x, y])


def test_whole_numbers() -> None:
    counts = Case("here", softplus, {"x": Range((1, 9), 0.0, 100.0, (), whole=True)})
    (x,) = points(counts, 100)
    assert (x == np.rint(x)).all()
    assert x.max() <= 100


def test_a_case_needs_a_range_for_each_argument() -> None:
    with pytest.raises(ValueError, match=r"softplus: ranges of \['y'\] for \['x'\]"):
        case(y=real(0, 1))(softplus)


# Figures.


def test_naive_derivatives_are_those_of_plain_doubles() -> None:
    x = np.array([[-1.0, 2.0, 800.0]])
    with np.errstate(all="ignore"):
        values, gradients = naive(declared(softplus), x)
        e = np.exp(x[0])
        np.testing.assert_array_equal(values, np.log(1 + e))
        np.testing.assert_array_equal(gradients[0], 1 / (1 + e) * e)


def test_figures_of_wrong_results() -> None:
    there, wanted = np.array([[1.0, 2.0, 3.0, 4.0]]), np.ones(4)
    values = np.array([1.0, math.nan, math.inf, np.nextafter(1.0, 2.0)])
    found = figures(there, wanted, np.array([[1.0, math.nan, 1.0, 1.0]]), values, values[None])
    assert (found.values_not_finite, found.gradients_not_finite) == (2, 1)
    assert found.value == pytest.approx((0 + 64 + 62 + 1) / 4, abs=0.1)
    assert found.gradient == pytest.approx((0 + 62 + 1) / 3, abs=0.1)
    assert found.worst == (2.0,)


def test_the_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def failing(case: Case, points: Any) -> Any:
        raise ValueError("no\nkernel")

    good = measure(declared(softplus), ENGINES, 100)
    assert good.figures["gradc"].larger < 1 < good.figures["naive"].larger
    bad = measure(declared(difference), {"gradc": failing, "naive": naive}, 100)
    assert bad.failures == {"gradc": "ValueError: no"}
    lines = table([good, bad]).splitlines()
    assert [line.split(" | ")[1] for line in lines[2:]] == ["difference", "softplus"]
    assert "| failed |" in lines[2]
    assert summary([good, bad], "gradc").failed == 1
    assert "(1 failed)" in means([good, bad])
    assert "gradc failed" in remarks([good, bad])


def test_large_errors_are_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = measure(declared(softplus), ENGINES, 100)
    why = {(found.case.suite, "softplus"): "exp overflows"}
    monkeypatch.setattr(explained, "explanations", dict)
    assert "| **not explained** |" in explained.table([found], "naive", "gradc")
    assert explained.remarks([found], "naive") == [f"- not explained, {found.case.suite}: softplus"]
    assert not explained.remarks([found], "gradc")
    monkeypatch.setattr(explained, "explanations", lambda: why)
    assert "| exp overflows |" in explained.table([found], "naive", "gradc")
    assert not explained.remarks([found], "naive")
    assert "small by now" in explained.remarks([found], "gradc")[0]
    held_out = measure(Case(HELD_OUT, softplus, declared(softplus).ranges), ENGINES, 100)
    assert explained.over([held_out], "naive") == []


def test_every_explanation_is_of_a_case() -> None:
    there = {(one.suite, one.name) for one in CASES if one.suite != HELD_OUT}
    assert explained.explanations().keys() <= there
    assert all(why and "\n" not in why for why in explained.explanations().values())


def test_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    words = ["--suites", "numerics", "--cases", "one less than", "--points", "20"]
    assert run.main([*words, "--json", str(tmp_path / "all.json")]) == 0
    assert "one less than an exponential" in capsys.readouterr().out
    assert '"worst"' in (tmp_path / "all.json").read_text()


# The cases.


def test_the_cases_are_many() -> None:
    held_out = [one for one in CASES if one.suite == HELD_OUT]
    assert len(held_out) == 60
    assert len(CASES) - len(held_out) >= 100
    assert len({one.name for one in CASES}) == len(CASES)


@pytest.mark.slow
@pytest.mark.parametrize("one", [pytest.param(one, id=one.name) for one in CASES])
def test_each_case_has_points_and_a_truth(one: Case) -> None:
    assert one.hard
    assert "\n" not in one.hard
    there = points(one, 40)
    assert there.shape == (len(one.ranges), 40)
    found = truth.compute(one.function, there[:, ::5])
    assert len(found.values) >= 2
    assert np.isfinite(found.gradients).sum() >= 2


def test_what_the_tape_does_not_know_is_refused() -> None:
    x = Tape(balls.Balls()).argument(flint.arb(1))
    with pytest.raises(NotImplementedError, match=r"add\.reduce"):
        np.add.reduce(x)
    with pytest.raises(KeyError):
        np.cumsum(x)
