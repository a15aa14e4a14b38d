"""Loop interchange: an axis that loops keep apart goes through them strip by strip, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradc
from gradc.pipeline import Request, derive
from gradc.tracing import trace
from gradc_codegen.compile_function import Compilation, compile_function
from gradc_codegen.nest.strips import STRIPS
from gradc_codegen.schedule.interchange import regions
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size, symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from tests.comparing import assert_same_bits

N, T = symbol("n"), symbol("t")
STEPS = 5


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """However little there is to gain; strips of 96 rows."""
    monkeypatch.setattr(regions, "_WORTH", 0)
    monkeypatch.setattr(regions, "_LONGEST", 96)


# without functions of the mathematics library, which the interpreter has others of


def walk(s: Any, z: Any) -> Any:
    """Paths that a loop takes side by side; their mean square."""

    def step(x: Any, z_t: Any) -> Any:
        return x + s / (2 + x * x) * z_t, None

    return np.mean(gradc.scan(step, np.zeros(z.shape[1]), z)[0] ** 2)


def floored(s: Any, z: Any) -> Any:
    """The same with a floor, so that masks go back, and two carries."""

    def step(carry: Any, z_t: Any) -> Any:
        x, v = carry
        low = np.maximum(v, 0.0)
        return (x + np.sqrt(low) * z_t, v + s * (0.04 - low) + 0.3 * low * z_t), x * v

    (x, v), rows = gradc.scan(step, (np.ones(z.shape[1]), np.full(z.shape[1], 0.05)), z)
    return np.sum(np.maximum(x - 1, 0)) + np.sum(rows) * s + np.max(v)


def moved(s: Any, z: Any) -> Any:
    """Points of three coordinates, one a row."""

    def step(x: Any, z_t: Any) -> Any:
        middle = np.mean(x, axis=1, keepdims=True)
        return x + s * (middle - x) + z_t[:, None] * np.array([0.5, 1.0, -0.25]), None

    start = np.ones((z.shape[1], 3)) * z[0][:, None]
    return np.sum(gradc.scan(step, start, z)[0] ** 2)


def twice(s: Any, z: Any) -> Any:
    """Two loops, of which the second needs a sum over what the first has made."""

    def step(x: Any, z_t: Any) -> Any:
        return x * x * s + z_t, x

    first, rows = gradc.scan(step, np.zeros(z.shape[1]), z)
    again, _ = gradc.scan(step, first / (1 + np.sum(rows**2)), z)
    return np.sum(again * first)


def branches(s: Any, z: Any) -> Any:
    """A branch in each step, and a loop in a loop."""

    def inner(i: Any, x: Any) -> Any:
        return x * 0.5 + s * i

    def step(x: Any, z_t: Any) -> Any:
        x = gradc.cond(s > 0.1, lambda x: x * s, lambda x: x + s, x)
        return gradc.fori_loop(0, 3, inner, x) + z_t, np.minimum(x, z_t)

    last, rows = gradc.scan(step, np.zeros(z.shape[1]), z, reverse=True)
    return np.sum(last * rows[1]) + np.prod(1 + 0.001 * last)


def written(s: Any, z: Any) -> Any:
    """Rows of one array are read and written by their numbers."""

    def step(i: Any, carry: Any) -> Any:
        x, kept = carry
        x = x * s + z[i] * kept[i]
        kept[i] += x
        return x, kept

    x, kept = gradc.fori_loop(0, z.shape[0], step, (np.zeros(z.shape[1]), z * 1.0))
    return np.sum(x) + np.sum(kept[1] * x)


PROGRAMS = (walk, written, floored, moved, twice, branches)


def gradient(
    program: Any, steps: Size, n: Size, dtype: DType = DType.F64, of: str = "value_and_grad"
) -> Function:
    types = (Type(dtype), Type(dtype, (steps, n)))
    return derive(trace(program, types).function, Request(of, () if of == "value" else (0, 1)))


def arguments(n: int, dtype: DType = DType.F64) -> list[Any]:
    random = np.random.default_rng(n)
    made = [np.asarray(0.3), 0.1 * random.normal(size=(STEPS, n))]
    return [np.asarray(x, dtype.numpy) for x in made]


def prepared(function: Function) -> Function:
    return Compilation(function).nest.function


def is_interchanged(function: Function) -> bool:
    return any(node.op is STRIPS for node in prepared(function).nodes)


def roots(function: Function) -> int:
    bodies = [node.attributes["body"] for node in function.nodes if node.op.name == "scan"]
    return sum(node.op.name == "sqrt" for body in bodies for node in body.nodes)


def assert_same(function: Function, given: list[Any]) -> None:
    kernel = compile_function(function)
    for found, want in zip(kernel(given), interpret(function, given), strict=True):
        assert_same_bits(found, want)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("n", [200, pytest.param(4096 + 40, marks=pytest.mark.slow), 3 * 4096 + 33])
@pytest.mark.parametrize("program", PROGRAMS)
def test_bits_are_those_of_whole_arrays(program: Any, n: int) -> None:
    function = gradient(program, STEPS, n)
    assert is_interchanged(function)
    assert_same(function, arguments(n))


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("program", PROGRAMS)
def test_bits_are_those_of_whole_arrays_of_any_size(program: Any) -> None:
    function = gradient(program, STEPS, N)
    assert is_interchanged(function)
    kernel = compile_function(function)
    for n in (0, 1, 31, 32, 33, 100, 4097, 5 * 4096 + 7):
        given = arguments(n)
        with np.errstate(all="ignore"):
            wanted = interpret(function, given)
        for found, want in zip(kernel(given), wanted, strict=True):
            assert_same_bits(found, want)


# What takes seconds to compile for any number of steps: the rest has its loops, not all at once.
LONG = {floored, twice, branches}


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(
    "program",
    [pytest.param(each, marks=[pytest.mark.slow] * (each in LONG)) for each in PROGRAMS],
)
def test_sums_of_short_floats_and_any_number_of_steps(program: Any) -> None:
    function = gradient(program, T, N, DType.F32)
    kernel = compile_function(function)
    for n in (40, 4100):
        given = arguments(n, DType.F32)
        for found, want in zip(kernel(given), interpret(function, given), strict=True):
            assert_same_bits(found, want)


@pytest.mark.usefixtures("eager")
def test_values_of_paths_leave_strips_in_their_places() -> None:
    def paths(s: Any, z: Any) -> Any:
        def step(x: Any, z_t: Any) -> Any:
            x = x * s + z_t
            return x, x * x

        last, rows = gradc.scan(step, np.zeros(z.shape[1]), z)
        return last, np.cumsum(rows, axis=0), np.sum(rows, axis=1)

    function = gradient(paths, STEPS, 200, of="value")
    assert is_interchanged(function)
    assert_same(function, arguments(200))


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(
    "mix",
    [
        lambda x: x - np.sum(x),
        lambda x: np.cumsum(x),
        lambda x: np.concatenate([x[1:], x[:1]]),
        lambda x: x[::-1],
        lambda x: np.sort(x),
    ],
)
def test_loops_that_mix_the_rows_stay_as_they_are(mix: Any) -> None:
    def mixing(s: Any, z: Any) -> Any:
        def step(x: Any, z_t: Any) -> Any:
            return mix(x) * s + z_t, x

        last, rows = gradc.scan(step, np.zeros(z.shape[1]), z)
        return np.sum(last) + np.sum(rows)

    function = gradient(mixing, STEPS, 200, of="value")
    assert not is_interchanged(function)
    assert_same(function, arguments(200))


@pytest.mark.usefixtures("eager")
def test_what_a_loop_makes_beside_its_rows_is_there_without_rows() -> None:
    def beside(s: Any, z: Any) -> Any:
        def step(carry: Any, z_t: Any) -> Any:
            x, time = carry
            return (x * time + z_t, time + s), x

        (x, time), rows = gradc.scan(step, (np.zeros(z.shape[1]), 1.0), z)
        return time, np.sum(x * rows[1])

    for n in (200, N):
        function = gradient(beside, STEPS, n, of="value")
        for count in (0, 200) if n is N else (200,):
            assert_same(function, arguments(count))


@pytest.mark.usefixtures("eager")
def test_loops_of_counted_steps_have_no_rows_and_stay_as_they_are() -> None:
    def counted(k: Any, x: Any) -> Any:
        def step(i: Any, carry: Any) -> Any:
            x, total = carry
            return x * 0.5 + i, total + np.sum(x)

        return gradc.fori_loop(0, k, step, (x, 0.0))

    types = (Type(DType.I64), Type(DType.F64, (200,)))
    function = derive(trace(counted, types).function, Request("value"))
    assert not is_interchanged(function)
    assert_same(function, [np.asarray(4), np.linspace(0, 1, 200)])


def test_little_that_is_near_anyhow_stays_as_it_is() -> None:
    assert not is_interchanged(gradient(walk, STEPS, 1000))
    assert is_interchanged(gradient(walk, 50, 10_000))
    assert not is_interchanged(gradient(walk, 50, 10_000, of="value"))
    # what a step hands to the next is far away as well
    assert is_interchanged(gradient(walk, 50, 100_000, of="value"))


@pytest.mark.usefixtures("eager")
def test_a_root_is_a_row_of_the_loop_that_goes_back() -> None:
    """It is computed once: in strips, reading a row that is near takes less time."""
    function = gradient(floored, STEPS, 200)
    assert roots(function) == 2
    strips, back = [node for node in prepared(function).nodes if node.op is STRIPS]
    # what goes back needs the largest number of all, so that it is a region of its own
    assert roots(strips.attributes["body"]) == roots(back.attributes["body"]) == 1


@pytest.mark.usefixtures("eager")
def test_the_nest_prints_its_strips() -> None:
    text = str(Compilation(gradient(walk, STEPS, 200)).nest)
    assert "= strips " in text
    assert "joins sum_onto" in text


def test_the_next_row_is_asked_for_where_it_is_far() -> None:
    """Rows of 80 kB, of which a step reads one; those of 800 bytes follow each other."""
    for program in (written_rows, walk):
        hints = []
        for n in (10_000, 100):
            made = gradient(program, 50, n, of="value")
            hints.append("llvm.prefetch" in Compilation(made).llvm)
        assert hints == [True, False]


@pytest.mark.parametrize("steps", [50, 400])
def test_of_a_row_only_the_piece_of_the_strip_is_read(steps: int) -> None:
    """Looking up whole rows first would read each of them in every strip."""
    made = gradient(written_rows, steps, 10_000)
    assert any(node.op is STRIPS for node in prepared(made).nodes)
    assert "for i in 10000" not in str(Compilation(made).nest)


def written_rows(s: Any, z: Any) -> Any:
    """A loop of Python's over rows."""
    x = np.zeros(z.shape[1])
    for t in range(z.shape[0]):
        x = x + s / (2 + x * x) * z[t]
    return np.mean(x)
