"""Graphs read as Python and LaTeX: what is printed is run, and gives what the kernel gives."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.pipeline import derive
from gradc.reading.latex_text import latex_text
from gradc.reading.python_text import python_text
from gradc.reading.simple import simple
from gradc_ir.core.graph import Function
from gradc_ir.core.op import TABLE
from gradc_ir.core.types import DType
from gradc_ir.interpreter.interpret import interpret
from tests.control_programs import control_program
from tests.corpus.pharmacology import two_compartments
from tests.gradc.every_op import CONTROL, FACTOR, FOREIGN, SYMBOLIC_ONLY, cases, function_of
from tests.gradc.test_names import SPEC
from tests.gradc.test_ordinary_functions import TOPICS

# Where an infinity meets a zero that stays zero, the mathematics has a nan.
WITHOUT_MASKS = {("phylogeny_loglik", "grad"), ("phylogeny_loglik", "jvp")}
REFUSED = {"himmelblau_and_friends"}


def run(function: Function, arrays: list[Any]) -> tuple[Any, ...]:
    """Run a function by its text as Python."""
    names: dict[str, Any] = {}
    exec(python_text(function), names)
    name = next(name for name in reversed(names) if callable(names[name]))
    found = names[name](*arrays)
    return found if isinstance(found, tuple) and len(function.results) != 1 else (found,)


def assert_reads(function: Function, arrays: list[Any], wanted: Any = None) -> None:
    wanted = interpret(function, arrays) if wanted is None else wanted
    with np.errstate(all="ignore"):
        found = run(function, arrays)
    for have, want in zip(found, wanted, strict=True):
        assert np.shape(have) == want.shape
        np.testing.assert_allclose(np.asarray(have, float), want.astype(float), 1e-7, 1e-9)


# -- every op, random programs, the corpus ---------------------------------------------------------

READ = sorted(set(TABLE) - {*CONTROL, *FACTOR, *FOREIGN, *SYMBOLIC_ONLY, "param"})


@pytest.mark.parametrize("part", range(6))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_op_is_read_as_python_that_computes_it(part: int) -> None:
    for name in READ[part::6]:
        for dtype in (DType.F64, DType.I64, DType.BOOL):
            used = cases(TABLE[name], dtype)
            if used and (name, dtype) != ("power", DType.I64):  # which NumPy refuses below 0
                function, arrays = function_of(used, "f")
                try:
                    assert_reads(function, arrays)
                except Exception as error:
                    raise AssertionError(f"{name} of {dtype}: {python_text(function)}") from error


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_loops_and_branches_are_read_as_python(seed: int) -> None:
    function = control_program(seed, depth=2)
    arrays = [np.float64(0.7), np.float64(-1.3), np.array([0.3, 1.1, 0.9])]
    try:
        wanted = interpret(function, arrays)
    except gradc.LoopError:
        return  # of more steps than it may take, which a text does not count
    assert_reads(function, arrays, wanted)


def corpus(topics: Any) -> list[Any]:
    return [
        pytest.param(*case, id=case[0].__name__)
        for topic in topics
        for case in importlib.import_module(f"tests.corpus.{topic}").CASES
        if case[0].__name__ not in REFUSED
    ]


def check_corpus(fn: Any, make: Any, wrt: Any, kinds: tuple[str, ...]) -> None:
    compiled, arguments = gradc.compile(fn), make()
    bound, _ = compiled._bound(arguments)
    for of in kinds:
        try:
            traced, request = compiled._request(arguments, of, wrt)
            final = derive(traced.function, request)
        except gradc.GradcError:
            continue  # no gradient of what is no number
        if (fn.__name__, of) in WITHOUT_MASKS:
            continue
        read = simple(traced.function, request)
        given = [*bound.leaves, *(capture.read() for capture in traced.captures)]
        random = np.random.default_rng(0)
        arrays = [np.asarray(x) for x in given]
        arrays += [random.normal(size=x.shape) for x in final.param_types[len(given) :]]  # type: ignore
        assert_reads(read, arrays, interpret(final, arrays))
        assert latex_text(read).startswith("\\begin{aligned}")


@pytest.mark.parametrize(("fn", "make", "wrt"), corpus(["pharmacology", "machine_learning"]))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_mathematics_is_what_the_kernel_computes(fn: Any, make: Any, wrt: Any) -> None:
    check_corpus(fn, make, wrt, ("grad",))


@pytest.mark.slow
@pytest.mark.parametrize(("fn", "make", "wrt"), corpus(TOPICS))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_all_of_the_corpus(fn: Any, make: Any, wrt: Any) -> None:
    check_corpus(fn, make, wrt, ("value", "grad", "jvp"))


# -- what it looks like ----------------------------------------------------------------------------


def test_a_logistic_loss() -> None:
    def loss(w, x, y):
        margin = y * (x @ w)
        return np.sum(np.log(1 + np.exp(-margin)))

    text = gradc.compile(loss).dump(
        "w: f64[d], x: f64[n,d], y: f64[n]", of="grad", simple=True
    )  # fmt: skip
    line = loss.__code__.co_firstlineno
    assert text == (
        f"# the gradient of loss by w, test_reading.py:{line}: what is computed, over the reals\n"
        "from gradc.special import sigmoid\n"
        "# w: f64[d], x: f64[n,d], y: f64[n]\n"
        "def loss_grad(w, x, y):\n"
        "    margin = y * (x @ w)\n"
        "    return (-sigmoid(-margin) * y) @ x\n"
    )


def test_a_long_gradient_is_short() -> None:
    text = gradc.compile(two_compartments).dump(SPEC, of="grad", simple=True)
    assert len(text.splitlines()) <= 60
    assert max(map(len, text.splitlines())) <= 110
    assert "where" not in text
    for statement in ("size = weight / 70", "vp = size * exp(log_rates[3])", "c = -a - b"):
        assert f"    {statement}\n" in text


def test_what_each_pass_changed_is_short() -> None:
    text = gradc.compile(two_compartments).dump(SPEC, of="grad", after="all")
    lines = text.splitlines()
    assert len(lines) <= 400
    assert max(map(len, lines)) <= 140
    assert lines[0].startswith("## traced: ")
    assert "## before.narrow, before.hoist, before.control, before.dce: nothing changed" in lines


def test_axes_that_repeat_are_left_to_numpy() -> None:
    def f(a, b):
        return np.sum(a[:, None] * b, axis=1) + a * np.mean(b)

    text = gradc.compile(f).dump("a: f64[n], b: f64[n,m]", simple=True)
    assert "return a * sum(b, axis=1) + sum(b) * a / (m * n)\n" in text


def test_a_loop_with_its_derivative() -> None:
    def newton(a):
        return gradc.while_loop(lambda x: np.abs(x * x - a) > 1e-9, lambda x: (x + a / x) / 2, a)

    text = gradc.compile(newton).dump("a: f64", of="grad", simple=True)
    assert text.split("\n", 3)[3] == (
        "def newton_grad(a):\n"
        "    newton = a\n"
        "    rows = []\n"
        "    steps = 0\n"
        "    while 1e-09 < abs(newton ** 2 - a):\n"
        "        rows.append(newton)\n"
        "        newton = (newton + a / newton) / 2\n"
        "        steps += 1\n"
        "    rows = array(rows)\n"
        "    carry = 0\n"
        "    carry_2 = 1\n"
        "    for i in reversed(range(steps)):\n"
        "        carry, carry_2 = carry + carry_2 / (2 * rows[i]), "
        "carry_2 * (0.5 - a / (2 * rows[i] ** 2))\n"
        "    return carry + carry_2\n"
    )
    names: dict[str, Any] = {}
    exec(text, names)
    assert abs(names["newton_grad"](2.0) - 0.5 / np.sqrt(2.0)) < 1e-9  # as the loop is


def test_long_rows_are_told_by_what_is_not_usual() -> None:
    one, two = np.zeros(40), np.ones(20)
    one[7], two[0], two[19] = 2.0, np.nan, -1.0
    rows = {
        "where(arange(40) == 7, 2.0, 0.0)": one,
        "where(arange(20) == 19, -1.0, where(arange(20) == 0, nan, 1.0))": two,
        "array([0.0, 1.0, 2.0, 0.0, ": np.arange(20.0) % 3,
    }
    for text, row in rows.items():
        numbers = tuple(row.tolist())
        function = gradc.compile(lambda x, row=numbers: x + np.array(row))
        printed = function.dump(f"x: f64[{len(row)}]", simple=True)
        assert text in printed
        names: dict[str, Any] = {}
        exec(printed, names)
        found = next(names[name] for name in reversed(names) if callable(names[name]))(0 * row)
        np.testing.assert_array_equal(found, row)


def test_names_that_functions_have_are_given_to_no_variable() -> None:
    def f(x):
        exp = np.exp(x)
        sum = exp * 2
        return np.sum(sum * exp)

    text = gradc.compile(f).dump("x: f64[n]", simple=True)
    names: dict[str, Any] = {}
    exec(text, names)
    np.testing.assert_allclose(names["f"](np.array([1.0, 2.0])), np.sum(2 * np.exp([2.0, 4.0])))


def test_latex() -> None:
    def f(alpha, k1, x_max, x):
        rate = np.exp(-alpha * x) / k1
        return np.sqrt(np.sum(rate**2)) + np.where(x_max > 0, x_max, 0.5)

    shown = gradc.compile(f).ir("alpha: f64, k1: f64, x_max: f64, x: f64[n]", simple=True)
    assert latex_text(shown) == (
        "\\begin{aligned}\n"
        "\\mathrm{rate} &= \\frac{e^{-\\alpha \\, x}}{k_{1}} \\\\\n"
        "f\\left(\\alpha, k_{1}, x_{\\mathrm{max}}, x\\right) &= "
        "\\begin{cases} x_{\\mathrm{max}} & \\text{if } 0 < x_{\\mathrm{max}} \\\\ 0.5 & "
        "\\text{otherwise} \\end{cases} + \\sqrt{\\sum \\mathrm{rate}^{2}}\n"
        "\\end{aligned}"
    )


def test_cotangents_have_bars_in_latex() -> None:
    text = latex_text(gradc.compile(two_compartments).ir(SPEC, of="grad", simple=True))
    assert "\\bar{\\mathrm{total}} &=" in text
    assert "\\bar{k_{10}}" in text
