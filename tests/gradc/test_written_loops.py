"""Programs with Python's own loops and branches, as people write them, unedited."""

from __future__ import annotations

import importlib
import pkgutil

import numpy as np
import pytest

import gradc
from gradc.capture import decide
from tests import written_loops
from tests.written_loops import exchanged, growing_lists, matches
from tests.written_loops.scopes import FUNCTIONS

PROGRAMS = [
    program
    for module in pkgutil.iter_modules(written_loops.__path__)
    for program in getattr(
        importlib.import_module(f"tests.written_loops.{module.name}"), "PROGRAMS", []
    )
]
for module in (
    "conditions",
    "comprehensions",
    "exchanged",
    "first_steps",
    "growing_lists",
    "matches",
    "names",
    "renamed_objects",
    "shared_objects",
    "statements",
    "tables",
):
    importlib.import_module(f"tests.written_loops.{module}")
# Which of two costs is less turns on rounding once both are at their minimum: plain NumPy moves by
# 4e-9 too when one input changes by its last bit.
TOLERANCES = {"levenberg_marquardt": 1e-7}
# What these programs of scopes are refused for, with the line.
REFUSED = {
    "arrays_by_what_is_computed_and_assigned_to": "another name for an array: copy it first",
    "exchanged_in_some_steps": "another name for an array: copy it first",
    "written_after_an_unknown_number_of_steps": "another name for an array: copy it first",
    "deleted_is_unbound": "y has no value of one kind after the if of line",
    "finally_runs": "changes what log holds",
    "list_returned_by_a_step": "changed that has one more name in one case of a branch",
    "else_assigns_after_break": "hit has no value here in every case",
}


def close(found, expected, tolerance):
    np.testing.assert_allclose(
        np.asarray(found, float), np.asarray(expected, float), rtol=tolerance, atol=tolerance
    )


def moved(x, direction, step):
    """An argument, a nest of them included, moved along a direction."""
    if isinstance(x, dict):
        return {key: moved(part, direction[key], step) for key, part in x.items()}
    if isinstance(x, tuple | list):
        return type(x)(moved(part, d, step) for part, d in zip(x, direction))
    result = x + step * direction
    return float(result) if np.ndim(x) == 0 else result


def a_direction(x, random):
    """A direction in which zeros stay: some programs turn on what is zero."""
    if isinstance(x, dict):
        return {key: a_direction(part, random) for key, part in x.items()}
    if isinstance(x, tuple | list):
        return type(x)(a_direction(part, random) for part in x)
    found = random.normal(size=np.shape(x)) * (np.asarray(x) != 0)
    return float(found) if np.ndim(x) == 0 else found


def dot(gradient, direction):
    if isinstance(gradient, dict):
        return sum(dot(gradient[key], direction[key]) for key in gradient)
    if isinstance(gradient, tuple | list):
        return sum(map(dot, gradient, direction))
    return float(np.sum(np.asarray(gradient) * direction))


def numeric(f, x, direction, step=1e-5):
    """The derivative along a direction by differences of fourth order."""
    h = step * max(1.0, *(float(np.max(np.abs(part))) for part in leaves(x)))
    at = [float(f(moved(x, direction, k * h))) for k in (-2, -1, 1, 2)]
    return (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * h)


def leaves(x):
    if isinstance(x, dict):
        return [leaf for part in x.values() for leaf in leaves(part)]
    if isinstance(x, tuple | list):
        return [leaf for part in x for leaf in leaves(part)]
    return [x]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_value(program):
    found = gradc.compile(program.function)(*program.args)
    close(found, program.function(*program.args), TOLERANCES.get(program.name, 1e-10))


@pytest.mark.slow
@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.wrt], ids=lambda p: p.name)
def test_derivatives(program):
    random = np.random.default_rng(0)
    for position in program.wrt:

        def f(x, position=position):
            args = list(program.args)
            args[position] = x
            return program.function(*args)

        x = program.args[position]
        direction = a_direction(x, random)
        reverse = dot(gradc.grad(f)(x), direction)
        expected = numeric(f, x, direction)
        close(reverse, expected, 1e-5 * max(1.0, abs(expected)))
        _, forward = gradc.jvp(f, (x,), (direction,))
        close(forward, reverse, 1e-8 * max(1.0, abs(reverse)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "program", [p for p in PROGRAMS if p.wrt and p.second], ids=lambda p: p.name
)
def test_second_derivatives(program):
    random = np.random.default_rng(1)
    position = program.wrt[0]
    x = program.args[position]
    direction = a_direction(x, random)

    def f(y):
        args = list(program.args)
        args[position] = y
        return program.function(*args)

    def along(y):
        return dot(gradc.grad(f)(y), direction)

    def slope(t):
        return f(moved_by(x, direction, t))

    _, found = gradc.jvp(gradc.grad(slope), (0.0,), (1.0,))
    # the gradients of what stops by a tolerance are no smoother than that
    differences = [numeric(along, x, direction, step) for step in (1e-5, 1e-3)]
    expected = min(differences, key=lambda each: abs(each - found))
    close(found, expected, 1e-5 * max(1.0, abs(expected)))


def moved_by(x, direction, t):
    """An argument moved along a direction by a number that is traced."""
    if isinstance(x, dict):
        return {key: moved_by(part, direction[key], t) for key, part in x.items()}
    if isinstance(x, tuple | list):
        return type(x)(moved_by(part, d, t) for part, d in zip(x, direction))
    return x + t * direction


@pytest.mark.parametrize("forced", [False, True], ids=["as decided", "recorded"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_scopes(function, forced, monkeypatch):
    """What naive rewriting gets wrong is right, or refused with its line."""
    if forced:  # every loop that can be, however short it is
        monkeypatch.setattr(decide, "FEW_STEPS", 0)
        monkeypatch.setattr(decide, "FEW_NODES", 0)
        monkeypatch.setenv("GRADC_DISABLE_JIT", "1")
    x, v = 0.7, np.array([0.3, -1.2, 2.5, 0.9])
    compiled = gradc.compile(function)
    try:
        expected = function(x, v.copy())
    except Exception as error:
        with pytest.raises(type(error)):
            compiled(x, v.copy())
        return
    if function.__name__ in REFUSED:
        with pytest.raises(gradc.GradcError, match=REFUSED[function.__name__]) as caught:
            compiled(x, v.copy())
        assert caught.value.at is not None
        return
    close(compiled(x, v.copy()), expected, 1e-12)


@pytest.mark.parametrize(
    "function",
    [
        exchanged.two_buffers,
        exchanged.three_buffers,
        exchanged.until_they_agree,
        exchanged.left_when_they_agree,
        growing_lists.window_that_fills,
        growing_lists.part_before_the_last,
        growing_lists.two_at_once,
        growing_lists.rows_of_states,
        growing_lists.by_numbers_of_steps,
        growing_lists.by_numbers_of_steps_around,
        matches.states_of_a_machine,
        matches.returns_and_breaks_in_cases,
    ],
    ids=lambda f: f.__name__,
)
def test_is_one_operation(function):
    """What is rolled stays so."""
    compiled = gradc.compile(function, spec="x: f64, v: f64[4]")
    told = str(compiled.explain()).split("loops of Python's:")[1]
    assert ": rolled" in told
    assert "unrolled" not in told


def test_there_are_as_many_programs_as_promised():
    assert len(PROGRAMS) >= 60
    assert len(FUNCTIONS) >= 132
