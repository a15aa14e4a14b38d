"""``gradc check --accuracy``: truths, figures, where errors arise; and the numbers behind them."""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flint
import numpy as np
import pytest
from click.testing import CliRunner

import gradc
from gradc.cli.frame.options import parsed_range
from gradc.cli.main import group
from gradc.rules.verify.balls import Ball as ball
from gradc.rules.verify.balls import Undecided, compare, growing, op, rounded
from gradc.rules.verify.truths import truths
from gradc.testing import check_accuracy
from gradc.testing.sampling import points
from gradc_ir.text.parser import parse_spec

exp, log, cos, div, power = map(op, ("exp", "log", "cos", "div", "power"))


def decided(compute: Callable[[], Any]) -> tuple[float, int]:
    """Return what a computation rounds to, and the precision at which that is known."""
    for precision in growing():
        found = rounded(compute())
        if not math.isnan(found):
            return found, precision
    return math.nan, 0


@pytest.mark.parametrize(
    ("compute", "expected", "precision"),
    [
        (lambda: log(1 + ball(1e-20)), 1e-20, 128),
        (lambda: log(1 + ball(1e-300)), 1e-300, 1408),
        (lambda: (1 - cos(ball(1e-200))) / ball(1e-200) ** 2, 0.5, 1408),
        (lambda: (exp(ball(1e-320)) - 1) / ball(1e-320), 1.0, 1408),
        (lambda: exp(ball(1e5)) / exp(ball(99999.0)), math.e, 128),
        (lambda: ball(1) / 3, 1 / 3, 128),
        (lambda: ball(1e300) * 1e300 / 1e300, 1e300, 128),
        (lambda: exp(ball(1e4)), math.inf, 128),
        (lambda: exp(ball(-1e4)), 0.0, 128),
        (lambda: log(1 + exp(ball(-1e6))) / exp(ball(-1e6)), math.nan, 0),
        (lambda: log(ball(-1.0)), math.nan, 0),
        (lambda: log(ball(0)), -math.inf, 128),
        (lambda: exp(ball(-math.inf)), 0.0, 128),
        (lambda: op("erf")(ball(math.inf)), 1.0, 128),
        (lambda: div(ball(1), ball(0)), math.nan, 0),
        (lambda: power(ball(-2), ball(3)), -8.0, 128),
        (lambda: power(ball(-2), ball(0.5)), math.nan, 0),
        (lambda: op("log_ndtr")(ball(-1e20)), -5e39, 128),
        (lambda: op("betaln")(ball(1e200), ball(1)), -math.log(1e200), 1408),
    ],
)
def test_balls_know_what_they_do_not_know(
    compute: Callable[[], Any], expected: float, precision: int
) -> None:
    assert decided(compute) == pytest.approx((expected, precision), rel=0, nan_ok=True)


def test_balls_that_overlap_are_not_compared() -> None:
    kept = flint.ctx.prec
    for _ in growing():
        third = ball(1) / 3
        assert compare(third, ball(0.34)) == -1
        assert compare(ball(2) * 2, ball(4)) == 0
        assert compare(ball(math.nan), third) is None
        with pytest.raises(Undecided):
            compare(third * 3, ball(1))
    assert flint.ctx.prec == kept


def soft(x: Any) -> Any:
    return np.log(1 + np.exp(x))


def quadratic(x: Any) -> Any:
    return x * x - 2 * x


def distance(x: Any, y: Any) -> Any:
    return np.sum(np.abs(x - y) ** 3) / 3


def test_truths_of_a_graph_are_rounded_once() -> None:
    graph = gradc.compile(soft, stable=False).ir("x: f64[4]", of="vjp")
    x = np.array([-1000.0, -50.0, 1e-20, 1e5])
    value, gradient = truths(graph, [x, np.ones(4)])
    assert value.tolist() == [0.0, math.exp(-50), math.log(2), 1e5]
    assert gradient.tolist() == [0.0, math.exp(-50), 0.5, 1.0]


@pytest.mark.parametrize("spec", ["x: f64", "x: f32", "x: f64[n]", "x: f32[2,n]"])
def test_a_stable_function_is_accurate_and_the_naive_one_is_not(spec: str) -> None:
    found = check_accuracy(soft, spec, points=40)
    assert [row.what for row in found.rows] == ["value", "gradient x"]
    assert found.bits < 1
    assert all(row.gradc.not_finite == 0 for row in found.rows)
    assert found.rows[0].naive.mean > 3
    assert found.rows[0].naive.not_finite > 0
    assert found.without_truth == 0


def test_the_op_and_the_line_of_an_error_are_found() -> None:
    def cancelling(x: Any) -> Any:
        y = gradc.exactly(np.exp(x))
        z = y - 1
        return z / x

    found = check_accuracy(cancelling, "x: f64", ranges={"x": (1e-12, 1e-10)}, points=20)
    (value, *_) = found.worst
    assert value.what == "value"
    assert value.bits > 10
    assert value.origin is not None
    assert value.origin.op == "add"
    assert value.origin.location is not None
    assert value.origin.location.code == "z = y - 1"
    assert "it cancels what rounding left" in str(value)


@pytest.mark.parametrize(
    ("function", "ranges", "op", "what"),
    [
        (lambda x: np.sqrt(gradc.exactly(x * x)), (1e-200, 1e-180), "mul", "it underflows"),
        (lambda x: np.sqrt(gradc.exactly(x * x)), (1e180, 1e200), "mul", "it overflows"),
        (lambda x: np.exp(gradc.exactly(x * 1.1)), (500, 600), "exp", "it enlarges"),
    ],
)
def test_what_happens_at_the_op(
    function: Callable[..., Any], ranges: tuple[float, float], op: str, what: str
) -> None:
    found = check_accuracy(function, "x: f64[n]", ranges={"x": ranges}, points=20)
    origin = found.worst[0].origin
    assert origin is not None
    assert (origin.op, origin.what[: len(what)]) == (op, what)


def test_several_arguments_nests_and_captured_arrays() -> None:
    offset = np.array([1.0, 2.0])

    def fit(p: Any, n: Any) -> Any:
        return np.sum(p["a"] * offset + p["b"]), n

    found = check_accuracy(fit, "p: {a: f64[2], b: f64}, n: i64", points=20)
    assert [row.what for row in found.rows] == ["value", "gradient p.a", "gradient p.b"]
    assert found.rows[1].gradc.mean == 0
    found = check_accuracy(distance, "x: f64[n], y: f64[n]", ranges={"x": (0, 1), "y": (2, 3)})
    assert found.bits < 1


def test_corners_and_what_is_not_real_have_no_truth() -> None:
    found = check_accuracy(lambda x: np.log(x), "x: f64", points=40)
    assert 0 < found.without_truth < 80
    assert found.rows[0].gradc.count + found.rows[1].gradc.count == 80 - found.without_truth


def test_the_same_seed_gives_the_same_points() -> None:
    types = [type_ for _, type_ in parse_spec("x: f64[n], y: f32, i: i64[2]")]
    drawn = points(types, ["x", "y", "i"], 20, {"y": (0.0, 2.0)}, 3, seed=1)
    again = points(types, ["x", "y", "i"], 20, {"y": (0.0, 2.0)}, 3, seed=1)
    for one, other in zip(drawn, again, strict=True):
        assert [array.tolist() for array in one] == [array.tolist() for array in other]
        x, y, i = one
        assert (x.shape, x.dtype, y.dtype, i.dtype) == ((3,), np.float64, np.float32, np.int64)
        assert 0 <= y <= 2
    assert min(np.abs(one[0]).min() for one in drawn) < 1e-50


def test_refusals() -> None:
    with pytest.raises(gradc.TraceError, match="no argument is called 'y'"):
        check_accuracy(soft, "x: f64", ranges={"y": (0, 1)})
    with pytest.raises(gradc.TraceError, match="returns no float"):
        check_accuracy(lambda i: i + 1, "i: i64")


def test_without_python_flint_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "flint", None)
    monkeypatch.delitem(sys.modules, "gradc.rules.verify.balls")
    with pytest.raises(gradc.GradcError) as caught:
        importlib.import_module("gradc.rules.verify.balls")
    assert str(caught.value) == (
        "numbers of many digits need python-flint\n"
        "  import of flint halted; None in sys.modules\n"
        "  help: install python-flint"
    )


# -- the command -----------------------------------------------------------------------------------


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "accurate_model.py").write_text(
        "import numpy as np\n\n\ndef variance(x):\n    return np.mean(x**2) - np.mean(x) ** 2\n"
    )
    monkeypatch.chdir(tmp_path)
    return "accurate_model.py:variance"


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(group, ["check", *arguments])
    return result.exit_code, result.output


def test_the_command_prints_a_table_and_exits_by_max_bits(model: str) -> None:
    words = (model, "--spec", "x: f64[n]", "--accuracy", "--range", "x=1e8:1e9", "--points", "20")
    code, text = run(*words)
    assert code == 0
    assert text.startswith("bits of error of variance at 20 points, seed 0\n")
    assert "np.mean(x**2) - np.mean(x) ** 2" in text
    code, text = run(*words, "--max-bits", "0.5")
    assert code == 1
    assert "FAILED: a mean of " in text


def test_the_command_prints_json(model: str) -> None:
    code, text = run(model, "--spec", "x: f64[n]", "--accuracy", "--points", "10", "--json")
    assert code == 0
    found = json.loads(text)
    assert [row["what"] for row in found["accuracy"]["rows"]] == ["value", "gradient x"]
    assert {"op", "line", "arguments", "bits"} <= set(found["accuracy"]["worst"][0])


def test_wrong_uses(model: str) -> None:
    code, text = run(model, "--spec", "x: f64[n]", "--range", "x=0:1")
    assert code == 2
    assert "--range and --max-bits belong to --accuracy" in text
    code, text = run(model, "--spec", "x: f64[n]", "--accuracy", "--range", "x=1")
    assert code == 2
    assert "'x=1' is no range: write x=-50:50" in text
    assert parsed_range("p.a=0:") == ("p.a", (0.0, math.inf))
