"""Random programs of the fuzzer, a few; all that it ever found; and that it finds what is wrong."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradc
from gradc_ir.interpreter.interpret import interpret
from tests.fuzz import slopes, ways
from tests.fuzz.exact import exact
from tests.fuzz.grammar import Program, Writer, function_of
from tests.fuzz.judge import Result, differences
from tests.fuzz.operands import operands_of
from tests.fuzz.run import judged
from tests.fuzz.running import OPEN, plain, quietly
from tests.fuzz.shrink import shrunk

FOUND = sorted((Path(__file__).parent / "found").glob("*.py"))


def wrong(program: Program) -> list[str]:
    return [each for each in differences(program) if not each.startswith(OPEN)]


@pytest.mark.parametrize("number", range(12))
def test_a_random_program_is_what_numpy_computes(number: int) -> None:
    found, text = judged(number)
    assert not found or found.startswith(OPEN), f"{text}\n{found}"


@pytest.mark.slow
@pytest.mark.parametrize("start", range(100, 500, 20))
def test_many_random_programs(start: int) -> None:
    for number in range(start, start + 20):
        found, text = judged(number)
        assert not found or found.startswith(OPEN), f"{text}\n{found}"


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in FOUND])
def test_what_was_found_stays_right(path: Path) -> None:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert wrong(program_of(path.read_text(), module.POINTS)) == []


def program_of(text: str, points: list[tuple[Any, ...]]) -> Program:
    """Return a program in a file: its function, each line a statement."""
    body = text[text.index("def f(") :].partition("\n\n")[0]
    head, *lines = body.splitlines()
    params = head.removeprefix("def f(").removesuffix("):").split(", ")
    results = [name for name in lines[-1].strip().removeprefix("return ").split(", ") if name]
    statements = [("", "\n".join(line.removeprefix("    ") for line in lines[:-1]))]
    return Program(params, statements, [name.rstrip(",") for name in results], points)


# -- the fuzzer itself -----------------------------------------------------------------------------


def test_a_number_is_always_the_same_program() -> None:
    assert [Writer(7).program().text for _ in range(2)] == [Writer(7).program().text] * 2
    assert Writer(7).program().text != Writer(8).program().text


def test_programs_reach_each_kind_of_statement() -> None:
    text = "\n".join(Writer(number).program().text for number in range(300))
    for word in (
        "np.where",
        "gradc.scan",
        "for k in",
        "astype",
        "@",
        "[0] =",
        "axis=",
        "np.log",
        "linalg.inv",
        "vmap",
    ):
        assert word in text


POINT = (np.array([1.0, 4.0, -1.0, np.nan, 0.0]),)
ROOT = "def f(a0):\n    v0 = np.sqrt(a0)\n    return v0,\n"


@pytest.mark.parametrize(
    ("made", "element"),
    [
        ([1.0, 2.0 + 1e-9, np.nan, np.nan, 0.0], 1),
        ([1.0, 2.0, 0.0, np.nan, 0.0], 2),
        ([1.0, 2.0, np.nan, 0.0, 0.0], 3),
        ([1.0, 2.0, np.nan, np.nan, -0.0], 4),
        ([np.inf, 2.0, np.nan, np.nan, 0.0], 0),
    ],
)
def test_a_wrong_element_is_told(made: list[float], element: int) -> None:
    plain = function_of(ROOT)
    with np.errstate(all="ignore"):
        right = np.asarray(plain(*POINT)[0])
    result = Result(ROOT, plain, POINT, 0, right, right)
    assert list(result.wrong(stable=True)) == []
    result = Result(ROOT, lambda _: (made,), POINT, 0, np.array(made), right)
    (found,) = (each.removeprefix(OPEN) for each in result.wrong(stable=False))
    assert found.endswith(f"at element {element}")


def test_what_is_nearer_to_the_exact_result_is_right() -> None:
    text = "def f(a0):\n    v0 = np.log(1 + a0)\n    return v0,\n"
    point = (np.array([1e-20]),)
    made = np.array([1e-20])
    result = Result(text, lambda _: (made,), point, 0, made, np.array([0.0]))
    assert list(result.wrong(stable=True)) == []
    assert len(list(result.wrong(stable=False))) == 1


def test_what_follows_from_right_operands_is_right() -> None:
    # NumPy divides the 0 that it rounds to by 0
    text = "def f(a0):\n    v0 = np.log(1 + a0)\n    v1 = v0 / (a0 - a0)\n    return v1,\n"
    point = (np.array([1e-20]),)
    for made, count in ((np.inf, 0), (-np.inf, 1), (0.0, 1)):
        result = Result(
            text, lambda _, x=made: ([x],), point, 0, np.array([made]), np.array([np.nan])
        )
        assert len(list(result.wrong(stable=True))) == count


@pytest.mark.parametrize(
    ("lines", "program", "names", "last"),
    [
        ("v0 = np.exp(a0) - 2", "    o0 = np.exp(a0)\n", ["o0"], "return o0 - 2,"),
        ("v0 = np.exp(a0, a1)", "", ["a0", "a1"], "return np.exp(a0, a1),"),
        ("v1 = -a0\n    v0 = a1 < v1", "    v1 = -a0\n", ["a1", "v1"], "return a1 < v1,"),
        (
            "v1 = {'p': a0}\n    v0 = v1['p'] + a1",
            "    v1 = {'p': a0}\n",
            ["a0", "a1"],
            "return a0 + a1,",
        ),
        (
            "v0 = +a0\n    v0[1:] = a1",
            "",
            ["a0", "a1"],
            "v0 = +a0\n    v0[1:] = a1\n    return v0,",
        ),
    ],
)
def test_a_program_is_taken_apart(lines: str, program: str, names: list[str], last: str) -> None:
    found = operands_of(f"def f(a0, a1):\n    {lines}\n    v9 = a0\n    return v0,\n")
    head, results = f"def f(a0, a1):\n{program}", ", ".join(names)
    assert found == (f"{head}    return {results},\n", names, last)


def test_functions_may_be_off_in_their_last_digit() -> None:
    text = "def f(a0):\n    v0 = 1 - np.tanh(a0)\n    return v0,\n"
    point = (np.array([9.0]),)
    right = np.asarray(quietly(plain(text), point)[0])
    for made, count in ((right + 2.0**-53, 0), (right + 2.0**-45, 1)):
        result = Result(text, lambda _, x=made: (x,), point, 0, made, right)
        assert len(list(result.wrong(stable=False))) == count


def test_a_gradient_beyond_its_dtype_is_no_slope() -> None:
    text = "def f(a0):\n    v0 = a0.astype(np.float64) ** 100.0\n    return v0,\n"
    assert list(slopes.slopes(text, (np.array([8.0], np.float32),), 0)) == []


def test_exact_numbers() -> None:
    text = "def f(a0):\n    return np.linalg.norm(a0), np.max(a0), np.sort(a0)\n"
    length, largest, order = exact(text, (np.array([3e200, np.nan, -4e200])[::2],)) or [None] * 3
    np.testing.assert_allclose(length, 5e200, rtol=1e-15)
    np.testing.assert_array_equal(largest, 3e200)
    np.testing.assert_array_equal(order, [-4e200, 3e200])
    # what has no real value is neither below nor above
    assert exact("def f(a0):\n    return np.fmin(a0 / a0, 1.0),\n", (np.zeros(1),)) is None


def test_a_wrong_slope_is_told() -> None:
    @gradc.custom_gradient
    def odd(x: Any) -> Any:
        return x * x, lambda upstream: upstream * x

    judged_ = function_of("def f(a0):\n    v0 = odd(a0)\n    return v0,\n")
    judged_.__globals__["odd"] = odd
    original, slopes.function_of = slopes.function_of, lambda text: judged_
    try:
        (found,) = slopes.slopes("def f(a0):\n    v0 = odd(a0)\n    return v0,\n", (np.ones(2),), 0)
    finally:
        slopes.function_of = original
    assert found.startswith("the slope is")


WAYS = Program(
    ["a0", "a1"],
    [("v0", "v0 = np.where(a0 > 0, a0 * 2.0 - a1, a1)"), ("v1", "v1 = np.cumsum(v0)")],
    ["v0", "v1"],
    [(np.array([1.5, -0.0, np.nan]), 0.1), (np.array([np.inf, -1.0, 5e-324]), -np.inf)],
)


def test_ways_to_run_a_program_agree() -> None:
    assert list(ways.disagreements(WAYS)) == []


def test_a_way_with_other_bits_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(*given: Any) -> Any:
        return [np.nextafter(each, np.inf) for each in interpret(*given)]

    monkeypatch.setattr(ways, "interpret", other)
    found = list(ways.disagreements(WAYS))
    assert found
    assert all(" interpreted, " in each for each in found)


def test_sizes_are_symbols_where_they_vary(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(ways, "_grown", lambda each, more: seen.append(more) or each)
    assert list(ways.disagreements(WAYS)) == []
    assert seen == [1, 1, 2, 2] * 2


def test_a_found_program_is_made_small() -> None:
    program = Program(
        ["a0"],
        [
            ("v0", "v0 = a0 + 1"),
            ("v1", "v1 = a0 * 2"),
            ("v2", "v2 = v1 * 3"),
            ("v3", "v3 = v0 - 1"),
        ],
        ["v2", "v3"],
        [(1.0,), (2.0,), (3.0,)],
    )
    small = shrunk(program, lambda each: "v1 = a0 * 2" in each.text and (3.0,) in each.points)
    assert small.text == "def f(a0):\n    v1 = a0 * 2\n    return v1,\n"
    assert small.points == [(1.0,), (3.0,)]
