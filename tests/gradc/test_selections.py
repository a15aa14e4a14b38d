"""What a traced mask selects: NumPy's values, derivatives blind to the rest, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.tracing import trace
from gradc_ir.errors import GradcError, ShapeError, TraceError
from gradc_ir.interpreter.interpret import interpret

# no element on a kink of a test below, and the selected and the others differ in number
X = np.array([[1.5, -2.0, 3.0, 0.75], [-1.0, 2.5, 4.0, -0.25], [0.5, -3.0, 1.25, -0.5]])


def total(x):
    return np.sum(np.log(x[x > 0]))


def mean(x):
    return x[x > 0].mean() + np.mean(x[x < 0])


def spread(x):
    return x[x > 0].std() + np.var(x[x > 0], ddof=1)


def extremes(x):
    return np.max(x[x > 0]) * x[x > 0].min() + np.ptp(x[x < 0])


def truths(x):
    return np.any(x[x > 0] > 3), np.all(x[x > 0] > 3), np.count_nonzero(x[x > 0] > 1)


def product(x):
    return np.prod(x[x > 0])


def middle(x):
    return np.median(x[x > 0])


def middle_of_columns(x):
    return np.median(x[x[:, 0] > 0], axis=0)


def norms(x):
    return np.linalg.norm(x[x > 0]) + np.linalg.norm(x[x < 0], 1)


def norms_of_rows(x):
    return np.linalg.norm(x[x[:, 0] > 0], axis=1).sum()


def products(x):
    p = x[x > 0]
    return p @ np.log(p) + np.dot(p, p) + np.inner(p, p)


def normal_equations(x):
    rows = x[:, 0] > 0
    return x[rows].T @ x[rows], x[rows].T @ (x[rows] @ x[0])


def centred_rows(x):
    rows = x[:, 0] > 0
    distance = x[rows] - x[rows].mean(axis=0, keepdims=True)
    return (distance**2).sum(axis=0) / len(x[rows])


def along_other_axes(x):
    rows = x[:, 0] > 0
    return np.sum(np.mean(x[rows], axis=1) * x[rows].max(axis=1))


def columns(x):
    chosen = x[0] > 0
    return x[:, chosen].sum(axis=1), x[1, chosen].sum(), x[1:, chosen].sum()


def parts_of_rows(x):
    rows = x[:, 0] > 0
    return np.sum(x[rows][:, 0] * x[rows][:, [2, 1]].sum(axis=1)) + np.sum(x[rows, 1])


def counts(x):
    p = x[x > 0]
    return p.sum() / len(p) + p.size + p.shape[0] + p.ndim


def weighted(x):
    return np.average(x[x > 0], weights=x[x > 0] ** 2)


def log_of_sum(x):
    return np.logaddexp.reduce(x[x > 0])


def running(x):
    return np.sum(np.cumsum(x[x > 0]) ** 2)


def narrowed(x):
    p = x[x > 0]
    return p[p < 2].sum() + x[x > 0][x[x > 0] > 2].sum()


def assigned_in_turn(x):
    p = x[x > 0]
    q = p
    p[p > 2] = 2
    p *= 3
    return q.sum()


def taken_before_assignment(x):
    p = x[x > 0]
    x[...] = 0
    return p.sum() + x.sum()


def positions(x):
    i, j = np.nonzero(x > 0)
    return np.sum(x[i, j] * i) + j.max() + np.sum(x[np.where(x < 0)])


def flat_positions(x):
    return np.sum(x.ravel()[np.flatnonzero(x > 0)] ** 2) + np.argwhere(x > 0).sum()


def compressed(x):
    return np.compress(x[0] > 0, x, axis=1).sum(axis=1), np.extract(x > 0, x).sum()


def choices(x):
    p = x[x > 0]
    return np.where(p > 1, p**2, 0).sum() + p.clip(0.6, 2).sum() + abs(x[x < 0]).sum()


def interpolated(x):
    return np.interp(x[x > 0], [0.0, 1.1, 2.2, 5.0], [1.0, 0.0, 3.0, 1.0]).sum()


def logarithms(x):
    y = np.zeros_like(x)
    mask = x > 0
    y[mask] = np.log(x[mask])
    y[~mask] = np.exp(x[~mask])
    return y


def absolute(x):
    x[x < 0] = -x[x < 0]
    return x


def augmented(x):
    x[x > 0] *= 2
    x[x < -1.5] += x[0, 0]
    x[x > 3.5] **= 2
    return x


def rows_assigned(x):
    rows = x[:, 0] > 0
    y = np.zeros((3, 2))
    y[rows] = x[rows] @ x[:2].T
    y[rows, 1] -= x[rows, 0]
    x[:, x[0] > 0] = x[:, :1]
    return x, y


def through_a_view(x):
    v = x.T[1:]
    v[v > 0] = 7.0
    x[1][x[1] < 0] = x[0, 0]
    return x


def at_positions(x):
    x[np.where(x > 1)] = 0
    i = np.flatnonzero(x[0] > 0)
    x[1, i] *= 5
    return x


FUNCTIONS = [
    total, mean, spread, extremes, truths, product, middle, middle_of_columns, norms, norms_of_rows,
    products, normal_equations, centred_rows, along_other_axes, columns, parts_of_rows, counts,
    weighted, log_of_sum, running, narrowed, assigned_in_turn, taken_before_assignment, positions,
    flat_positions, compressed, choices, interpolated, logarithms, absolute, augmented,
    rows_assigned, through_a_view, at_positions,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_values_and_derivatives(function: Callable[..., Any]) -> None:
    def outputs(x: Any) -> list[Any]:
        found = function(np.array(x))
        return list(found) if isinstance(found, tuple) else [found]

    found = interpret(trace(function, (X,)).function, [X])
    for have, want in zip(found, outputs(X), strict=True):
        assert (have.dtype, have.shape) == (np.asarray(want).dtype, np.shape(want))
        np.testing.assert_allclose(have, want, rtol=1e-13)

    def loss(x):
        parts = function(np.array(x))
        parts = parts if isinstance(parts, tuple) else (parts,)
        return sum(np.sum(part * 1.0) for part in parts)

    gradient = gradc.grad(loss)(X)
    numeric = np.zeros_like(X)
    for place in np.ndindex(X.shape):
        step = np.zeros_like(X)
        step[place] = 1e-6
        numeric[place] = (loss(X + step) - loss(X - step)) / 2e-6
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-6)
    pushed = gradc.jvp(loss, (X,), (np.cos(X),))[1]
    np.testing.assert_allclose(pushed, np.sum(gradient * np.cos(X)), rtol=1e-12)


def test_the_number_of_selected_elements_may_be_any() -> None:
    f = gradc.compile(total)
    for x in (X, -X, np.abs(X), X[:1], X[:, :2]):
        assert f(x) == pytest.approx(total(x), rel=1e-14)
    assert np.isnan(gradc.compile(lambda x: x[x > 9].mean())(X))
    assert np.isnan(gradc.compile(lambda x: np.median(x[x > 9]))(X))


def test_a_function_of_arrays_takes_a_number() -> None:
    def logarithm(x):
        x = np.asarray(x)
        y = np.zeros_like(x)
        m = x > 0
        y[m] = np.log(x[m])
        y[~m] -= 1
        return y

    f = gradc.compile(logarithm)
    for x in (2.0, -2.0, np.array([2.0, -2.0])):
        np.testing.assert_array_equal(f(x), logarithm(x))
    assert gradc.grad(logarithm)(4.0) == 0.25
    assert gradc.grad(logarithm)(-4.0) == 0.0


def test_an_extreme_of_no_elements_is_an_error_as_in_numpy() -> None:
    def largest(x):
        return x[x > 9].max()

    f = gradc.compile(largest)
    assert f(X + 9) == 13.0
    for run in (f, f.grad, f.value_and_grad):
        with pytest.raises(ShapeError, match="selects no elements") as caught:
            run(X)
        at = caught.value.at
        assert at is not None
        assert str(caught.value) == (
            "x[x > 9] selects no elements, of which np.max has no value\n"
            f"  test_selections.py:{at.line} in largest\n"
            "      return x[x > 9].max()\n"
            "             ^^^^^^^^^^^^^^\n"
            "  help: say what it is then: initial=-np.inf, or np.max(np.where(mask, x, -np.inf))"
        )


MASK = np.array([True, False, True])


def test_a_captured_mask_is_known_until_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    def halves(x):
        return np.concatenate([x[MASK] * 2, x[~MASK].sum(axis=0)[None]])

    f = gradc.compile(halves)
    for mask in (MASK, ~MASK, MASK):
        monkeypatch.setitem(globals(), "MASK", mask)
        np.testing.assert_array_equal(f(X), halves(X))
    assert len(f.signatures) == 2


def refused(function: Callable[..., Any], error: type[GradcError] = TraceError) -> str:
    """Return the whole message but for the lines that show the user's."""
    with pytest.raises(error) as caught:
        trace(function, (X, np.abs(X)))
    lines = str(caught.value).splitlines()
    return "\n".join([lines[0], *(line for line in lines if line.startswith("  help"))])


def returned(x, z):
    return x[x > 0]


def joined(x, z):
    p = x[x > 0]
    return np.concatenate([p, z])


def of_two_masks(x, z):
    return np.sum(x[x > 0] * z[z > 1])


def with_a_whole_array(x, z):
    return np.sum(x[x > 0] * z)


def by_position(x, z):
    return x[x[:, 0] > 0][1:]


def iterated(x, z):
    return sum(2 * value for value in x[x > 0])


def sorted_(x, z):
    return np.sort(x[x > 0])[0]


def as_a_size(x, z):
    return float(x[x > 0])


def into_a_slice(x, z):
    z[:1] = x[x > 0]
    return z


def by_another_mask(x, z):
    z[z > 1] = x[x > 1]
    return z


def of_another_length(x, z):
    z[z > 1] = np.ones(3)
    return z


def mask_and_array(x, z):
    return x[x[:, 0] > 0, [0, 1]]


def indices(x, z):
    return np.where(x > 0)[0]


def reshaped(x, z):
    return x[x > 0].reshape(2, -1)


def written_into(x, z):
    return np.max(x[x > 0], out=z[0, 0])


def given_by_position(x, z):
    return x[x > 0].max(0, None, True)


SHAPE = "its shape depends on the values of the mask"
REFUSED = {
    returned: f"x[x > 0] cannot be returned: {SHAPE}\n"
    "  help: keep the shape: return np.where(x > 0, x, 0)",
    joined: f"x[x > 0] cannot be a part of np.concatenate([p, z]): {SHAPE}\n"
    "  help: keep the shape: p = np.where(x > 0, x, 0)",
    of_two_masks: "x[x > 0] and z[z > 1] are selected by different masks: they may differ in "
    "length\n  help: select both by one mask, or keep the shapes: np.where(mask, x, 0)",
    with_a_whole_array: "x[x > 0] is combined with an array of its own length, which depends on "
    "the mask\n  help: select both by the same mask, or keep the shapes: np.where(mask, x, 0)",
    by_position: f"x[x[:, 0] > 0] cannot be indexed by position: {SHAPE}\n"
    "  help: keep the shape: return np.where((x[:, 0] > 0)[:, None], x, 0)[1:]",
    iterated: f"x[x > 0] cannot be iterated over: {SHAPE}\n"
    "  help: keep the shape: return sum(2 * value for value in np.where(x > 0, x, 0))",
    sorted_: f"x[x > 0] cannot be an argument of np.sort: {SHAPE}\n"
    "  help: keep the shape: return np.sort(np.where(x > 0, x, 0))[0]",
    as_a_size: f"x[x > 0] cannot give the number of its elements to Python: {SHAPE}\n"
    "  help: write np.sum(mask) for it",
    into_a_slice: f"x[x > 0] cannot be assigned to a part whose shape is known: {SHAPE}\n"
    "  help: keep the shape: z[:1] = np.where(x > 0, x, 0)",
    by_another_mask: "z[z > 1] and x[x > 1] are selected by different masks: they may differ in "
    "length\n  help: select both by one mask, or keep the shapes: np.where(mask, x, 0)",
    of_another_length: "an array assigned through a traced mask must fit whatever the mask selects"
    "\n  help: assign a number, select it by the same mask, or write x[...] = "
    "np.where(mask, new, x)",
    mask_and_array: "a traced boolean mask cannot be combined with index arrays or another mask\n"
    "  help: combine masks with &; for the rest keep the shape: np.where(mask, new, x)",
    indices: f"np.where(x > 0) cannot be returned: {SHAPE}\n"
    "  help: use it as an index, or keep the shape: np.where(x > 0, x, 0)",
    reshaped: f"x[x > 0] cannot be reshaped: {SHAPE}\n"
    "  help: keep the shape: return np.where(x > 0, x, 0).reshape(2, -1)",
    written_into: "np.max: out= is not supported for x[x > 0], which a traced mask selects\n"
    "  help: it takes a, axis, keepdims, initial, where; or keep the shape: "
    "return np.max(np.where(x > 0, x, 0), out=z[0, 0])",
    given_by_position: "np.max: too many positional arguments for x[x > 0], which a traced mask "
    "selects\n  help: it takes a, axis, keepdims, initial, where; or keep the shape: "
    "return np.where(x > 0, x, 0).max(0, None, True)",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_what_needs_the_number_is_refused(function: Callable[..., Any]) -> None:
    assert refused(function) == REFUSED[function]


def test_the_whole_message() -> None:
    with pytest.raises(TraceError) as caught:
        trace(returned, (X, X))
    at = caught.value.at
    assert at is not None
    assert str(caught.value) == (
        f"x[x > 0] cannot be returned: {SHAPE}\n"
        f"  test_selections.py:{at.line} in returned\n"
        "      return x[x > 0]\n"
        "             ^^^^^^^^\n"
        "  help: keep the shape: return np.where(x > 0, x, 0)"
    )


def test_a_mask_of_another_shape() -> None:
    def loss(x, z):
        return x[z[0] > 0].sum()

    assert refused(loss, ShapeError) == "a mask does not fit the array it is to select from"
