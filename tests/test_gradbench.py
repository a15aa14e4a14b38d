"""GradBench's programs: their derivatives, the tool's answers, what the driver makes of them."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.gradbench.drive import drive
from benchmarks.gradbench.run import print_cases, print_means
from benchmarks.gradbench.tool import answered, functions_of
from benchmarks.gradbench.tools import ROOT, Built, Speaking, environment, processor_clock

RANDOM = np.random.default_rng(0)


def reals(*shape: int) -> Any:
    return RANDOM.uniform(0.2, 1, shape).tolist()


MIXTURE = {"alpha": reals(3), "mu": reals(3, 2), "q": reals(3, 2), "l": reals(3, 1)}
TEXT = {"main_params": reals(4, 12), "extra_params": reals(3, 3)}
READ = {"state": reals(4, 3), "sequence": reals(6, 3)}
PRIOR = {"x": reals(8, 2), "gamma": 1.5, "m": 1}
INPUTS: dict[str, tuple[str, str, tuple[str, ...], Mapping[str, Any]]] = {
    "lse": ("primal", "gradient", ("x",), {"x": reals(9)}),
    "llsq": ("primal", "gradient", ("x",), {"x": reals(5), "n": 7}),
    "det": ("primal", "gradient", ("A",), {"A": reals(16), "ell": 4}),
    "lstm": ("objective", "jacobian", tuple(TEXT), TEXT | READ),
    "gmm": ("objective", "jacobian", tuple(MIXTURE), MIXTURE | PRIOR),
}


def run(module: str, function: str, given: Any) -> Any:
    message = {"kind": "evaluate", "module": module, "function": function, "input": given}
    answer = answered(message)
    assert answer["success"], answer["error"]
    assert {entry["name"] for entry in answer["timings"]} >= {"evaluate", "first_processor"}
    return json.loads(json.dumps(answer["output"]))


def moved(given: Mapping[str, Any], directions: Mapping[str, Any], by: float) -> Any:
    there = {name: np.array(given[name]) + by * along for name, along in directions.items()}
    return {**given, **{name: array.tolist() for name, array in there.items()}}


@pytest.mark.parametrize("module", INPUTS)
def test_gradients_are_slopes(module: str) -> None:
    value, gradient, names, given = INPUTS[module]
    directions = {name: RANDOM.normal(size=np.shape(given[name])) for name in names}
    ahead, behind = (run(module, value, moved(given, directions, by)) for by in (1e-5, -1e-5))
    found = run(module, gradient, given)
    parts = [found[name] for name in names] if isinstance(found, dict) else [found]
    slopes = np.concatenate([np.ravel(part) for part in parts])
    along = np.concatenate([directions[name].ravel() for name in names])
    assert math.isclose(slopes @ along, (ahead - behind) / 2e-5, rel_tol=1e-6)


def test_kmeans_steps_from_the_means() -> None:
    points, centroids = RANDOM.normal(size=(40, 3)), RANDOM.normal(size=(4, 3))
    step = run("kmeans", "dir", {"points": points.tolist(), "centroids": centroids.tolist()})
    nearest = np.argmin(np.sum((points[:, None] - centroids) ** 2, axis=2), axis=1)
    means = np.array([points[nearest == i].mean(axis=0) for i in range(4)])
    np.testing.assert_allclose(centroids - step, means, rtol=1e-12)


def test_the_solution_of_the_equations_is_known_to_many_digits() -> None:
    x = RANDOM.uniform(0.5, 1, 4)
    given = {"x": x.tolist(), "s": 10}
    # y[i] = x[0] … x[i] t^(i + 1) / (i + 1)!, of which four stages are exact to the fourth power
    expected = np.cumprod(2 * x / np.arange(1, 5))
    np.testing.assert_allclose(run("ode", "primal", given), expected, rtol=1e-12)
    np.testing.assert_allclose(run("ode", "gradient", given), expected[-1] / x, rtol=1e-12)


def test_errors_of_observations_have_slopes() -> None:
    camera = [0.1, 0.2, 0.3, 0.1, 0.2, -3, 500, 300, 200, 1e-2, 1e-3]
    given = {
        "n": 2,
        "m": 3,
        "p": 4,
        "cam": camera,
        "x": [0.3, 0.2, 0.5],
        "w": 0.5,
        "feat": [3.0, 4],
    }
    jacobian = run("ba", "jacobian", given)
    assert (jacobian["rows"][:3], jacobian["rows"][-1]) == ([0, 15, 30], 124)
    assert jacobian["cols"][:15] == [*range(11), 22, 23, 24, 31]
    values = jacobian["vals"]
    assert values[-1] == -1
    for row in range(2):
        for column in (0, 4, 6, 9):
            ahead, behind = (
                run("ba", "objective", moved(given, {"cam": np.eye(11)[column]}, by))
                for by in (1e-6, -1e-6)
            )
            slope = ahead["reproj_error"]["elements"][row] - behind["reproj_error"]["elements"][row]
            assert math.isclose(values[15 * row + column], slope / 2e-6, rel_tol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("modes", ["ff", "fr", "rf", "rr"])
def test_descents_end_where_the_suite_says(modes: str) -> None:
    assert math.isclose(run("particle", modes, {"w": 0.0}), 0.2071918746486116, rel_tol=1e-4)
    found = run("saddle", modes, {"start": [1.0, 1.0]})
    np.testing.assert_allclose(found, [8.246324826140356e-06] * 4, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("points", [0, 5])
def test_a_pose_has_slopes(points: int) -> None:
    model = {
        "parents": [-1, *range(21)], "base_relatives": RANDOM.normal(size=(22, 4, 4)).tolist(),
        "inverse_base_absolutes": RANDOM.normal(size=(22, 4, 4)).tolist(),
        "base_positions": reals(12, 4), "weights": (np.eye(12, 22) / 2 + 0.01).tolist(),
        "triangles": RANDOM.integers(0, 12, (8, 3)).tolist(), "is_mirrored": True,
    }  # fmt: skip
    data = {"model": model, "correspondences": [0, 3, 5, 6, 7], "points": reals(5, 3)}
    given = {"theta": reals(26), "us": reals(2 * points), "data": data}
    jacobian = np.array(run("ht", "jacobian", given))
    own = 2 if points else 0
    assert jacobian.shape == (15, own + 26)
    along = RANDOM.normal(size=26)
    ahead, behind = (
        np.array(run("ht", "objective", moved(given, {"theta": along}, by))) for by in (1e-6, -1e-6)
    )
    slopes = (ahead - behind) / 2e-6
    np.testing.assert_allclose(
        jacobian[:, own:] @ along, slopes, rtol=1e-4, atol=1e-5 * np.abs(slopes).max()
    )


def test_what_fails_is_an_answer() -> None:
    assert answered({"kind": "start"}) == {"tool": "gradc"}
    told = answered({"kind": "define", "module": "nothing"})
    assert not told["success"]
    assert "ModuleNotFoundError" in told["error"]
    assert set(functions_of("hello")) == {"square", "double"}


EVAL = """
import json, sys

def say(number, **message):
    print(json.dumps({"id": number} | message), flush=True)
    return json.loads(sys.stdin.readline())

say(0, kind="start", eval="hello")
say(1, kind="define", module="hello")
for number, (function, given, wanted) in enumerate([("square", 3.0, 9.0), ("double", 9.0, 81.0)]):
    ask = dict(module="hello", function=function, input=given, description=function)
    answer = say(2 + 2 * number, kind="evaluate", **ask)
    if answer["success"]:
        say(3 + 2 * number, kind="analysis", of=2 + 2 * number, valid=answer["output"] == wanted,
            error="wrong")
"""

BUILT = """#!/bin/sh
test $2 = square || sleep 9
echo 9.0
echo '{"name": "evaluate", "nanoseconds": 3000}'
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    script = tmp_path / "python/gradbench/gradbench/evals/hello/run.py"
    built = tmp_path / "tools/manual/bin/hello"
    for path, text in ((script, EVAL), (built, BUILT)):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    built.chmod(0o755)
    return tmp_path


def test_a_run_tells_what_is_valid_and_what_was_cut(
    suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = suite / "log"
    command = [sys.executable, "-m", "benchmarks.gradbench.tool"]
    ours = Speaking("gradc", command, ROOT / "benchmarks/gradbench/programs", suite, log)
    theirs = Built("manual", suite / "tools/manual/bin", suite)
    assert ours.has("hello")
    assert theirs.has("hello")
    assert not theirs.has("ode")
    found = drive("hello", ours, suite, log, [], 60)
    assert [one.failure for one in found] == ["", "wrong"]
    beside = drive("hello", theirs, suite, log, [], 0.5)
    assert [one.failure for one in beside] == ["", "cut after 0.5 s"]
    assert beside[0].time == 3e-6
    print_cases(found + beside, "time")
    print_means(found + beside, "time")
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("hello    square    square")
    assert " manual " in told[0]
    assert told[1].endswith("FAILED wrong")
    assert "first, most" in told[3]


def test_an_eval_that_fails_is_told(suite: Path) -> None:
    script = suite / "python/gradbench/gradbench/evals/hello/run.py"
    script.write_text(EVAL + "\nraise SystemExit(1)\n")
    theirs = Built("manual", suite / "tools/manual/bin", suite)
    found = drive("hello", theirs, suite, suite / "log", [], 0.5)
    assert [one.failure for one in found] == ["", "cut after 0.5 s", "the eval failed"]
    print_means(found, "time")  # without gradc


def test_the_command_says_what_it_takes(suite: Path) -> None:
    options = ["--evals", "hello", "--tools", "gradc"]
    command = [sys.executable, "-m", "benchmarks.gradbench.run", suite, *options]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment(suite))
    assert ran.returncode == 1
    assert "not all answers are valid" in ran.stderr


def test_the_time_of_a_processor_stands_still_while_a_tool_waits() -> None:
    code = """
import time
began = time.perf_counter()
time.sleep(0.1)
print(time.perf_counter() - began)
"""
    given = os.environ | {"LD_PRELOAD": str(processor_clock())}
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, capture_output=True, text=True, env=given, check=True)
    assert float(ran.stdout) < 0.1
