"""Elements that captured arrays decide, or static ones: shapes may hang on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.testing import check_grads
from gradc_ir.errors import TraceError

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=6)
ROWS = RANDOM.normal(size=(6, 2))
GROUPS = np.array([0, 1, 1, 0, 2, 2])
FOLDS = np.array([0, 1, 2, 0, 1, 2])


def spread_within_groups(x: Any) -> Any:
    return sum(np.var(x[k == GROUPS]) ** 2 for k in np.unique(GROUPS))


def means_of_groups(x: Any) -> Any:
    return np.sum((np.bincount(GROUPS, weights=x) / np.bincount(GROUPS)) ** 2)


def indices_of_groups(x: Any) -> Any:
    _, index, count = np.unique(GROUPS - 1, return_inverse=True, return_counts=True)
    return np.sum(np.bincount(index, weights=x) ** 2 / count)


def one_hot(x: Any) -> Any:
    return np.sum((np.eye(GROUPS.max() + 1)[GROUPS].T @ x) ** 2)


def repeated(x: Any) -> Any:
    return np.prod(np.repeat(x[:3], np.bincount(GROUPS)))


def split_where_they_change(x: Any) -> Any:
    return sum(np.sum(part) ** 2 for part in np.split(x, np.flatnonzero(np.diff(GROUPS)) + 1))


def cross_validated(x: Any) -> Any:
    loss = 0.0
    for fold in range(3):
        rows, others = ROWS[fold == FOLDS], ROWS[fold != FOLDS]
        b = np.linalg.solve(others.T @ others, others.T @ x[fold != FOLDS])
        loss += np.sum((x[fold == FOLDS] - rows @ b) ** 2)
    return loss


def joined(x: Any) -> Any:
    return np.sum(np.concatenate([x[GROUPS == 0] * 2, x[GROUPS != 0] ** 2]) * np.arange(6))


def sorted_groups(x: Any) -> Any:
    return sum(np.prod(np.sort(x[k == GROUPS])[::-1] * np.arange(1, 3)) for k in range(3))


def first_and_last(x: Any) -> Any:
    (places,) = np.where(GROUPS == 1)
    return x[places[0]] * x[places[-1]] * len(places)


def rows_with_a_property(x: Any) -> Any:
    good = ROWS[:, 0] > np.sort(ROWS[:, 0])[1]
    return np.sum(np.linalg.lstsq(ROWS[good], x[good], rcond=None)[0] ** 2)


def beside_a_mask_of_the_call(x: Any) -> Any:
    return np.sum(x[x > 0]) * np.sum(np.concatenate([x[GROUPS == 0], x[GROUPS == 2]]) ** 2)


PROGRAMS = [
    spread_within_groups,
    means_of_groups,
    indices_of_groups,
    one_hot,
    repeated,
    split_where_they_change,
    cross_validated,
    joined,
    sorted_groups,
    first_and_last,
    rows_with_a_property,
    beside_a_mask_of_the_call,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_what_captured_arrays_decide_is_known(program: Callable[[Any], Any]) -> None:
    np.testing.assert_allclose(gradc.compile(program)(X), program(X), rtol=1e-12)
    check_grads(program, (X,), order=1)


def test_another_content_is_another_kernel() -> None:
    groups = GROUPS.copy()

    def program(x: Any) -> Any:
        return sum(np.ptp(np.sort(x[k == groups])) for k in np.unique(groups))

    compiled = gradc.compile(program)
    answers = compiled.value_and_grad
    for content in (GROUPS, [0, 0, 0, 1, 1, 3], [0, 0, 0, 1, 1, 3], GROUPS):
        groups[:] = content
        np.testing.assert_allclose(answers(X)[0], program(X), rtol=1e-14)
        np.testing.assert_allclose(compiled(X), program(X), rtol=1e-14)


def test_a_mask_that_shapes_do_not_hang_on_is_read_at_every_call() -> None:
    groups = GROUPS.copy()
    compiled = gradc.compile(lambda x: np.sum(x[groups == 1] ** 2))
    for content in (GROUPS, FOLDS):
        groups[:] = content
        np.testing.assert_allclose(compiled(X), np.sum(X[groups == 1] ** 2), rtol=1e-14)
    assert len(compiled.signatures) == 1


def groups_of(x: Any, groups: Any) -> Any:
    return sum(np.mean(x[groups == k]) ** 2 for k in np.unique(groups))


def test_a_static_array_counts_by_its_elements() -> None:
    compiled = gradc.compile(groups_of, static="groups")
    answers, groups = compiled.value_and_grad, GROUPS.copy()
    bound = compiled.bind(X, groups)
    for content in (GROUPS, FOLDS, FOLDS, [0, 0, 1, 1, 1, 5]):
        groups[:] = content
        wanted = groups_of(X, groups)
        for _ in range(3):  # so that calls take their quick way, if they have one
            np.testing.assert_allclose(answers(X, groups)[0], wanted, rtol=1e-14)
            np.testing.assert_allclose(compiled(X, groups), wanted, rtol=1e-14)
            np.testing.assert_allclose(bound(), wanted, rtol=1e-14)


def test_what_an_argument_decides_is_refused_with_both_cures() -> None:
    with pytest.raises(TraceError, match=r"np\.unique is not supported") as error:
        gradc.compile(groups_of)(X, GROUPS)
    assert "make the argument static, gradc.compile(static=…), or capture" in str(error.value)
    with pytest.raises(TraceError, match="the values have to be known") as error:
        gradc.compile(lambda x, k: np.repeat(x, k))(X, GROUPS)
    assert "static" in str(error.value)
    with pytest.raises(TraceError, match="shape depends on the values of the mask"):
        gradc.compile(lambda x: np.concatenate([x[x > 0], x]))(X)
