"""Sums of products of arrays: contractions where ``fast=True`` lets a product not be rounded."""

from __future__ import annotations

import numpy as np
import pytest

import gradc
from gradc_ir.core.graph import Function
from gradc_ir.core.types import Array

RANDOM = np.random.default_rng(0)
X, Y, W = RANDOM.normal(size=(40, 7)), RANDOM.normal(size=(5, 7)), RANDOM.normal(size=40)


def pairs(x, y):
    return np.sum(x[:, None, :] * y, axis=2)


def distances(x, y):
    return np.sum((x[:, None, :] - y) ** 2, axis=2)


def weighted(x, w):
    return np.sum(x * w[:, None], axis=(0, 1))


def of_each(x, y):
    return np.sum(x[:5] * y, axis=0)


CASES = [
    (pairs, (X, Y), "jk,ik->ij"),
    (distances, (X, Y), "ijk,ijk->ij"),
    (weighted, (X, W), "ij,ij->"),
    (of_each, (X, Y), "ij,ij->j"),
]


def _specs(function: Function) -> list[str]:
    contractions = (node for node in function.nodes if node.op.name == "contract")
    return [node.attributes["spec"] for node in contractions]


@pytest.mark.parametrize(("function", "arguments", "spec"), CASES)
def test_they_are_contractions(function, arguments: tuple[Array, ...], spec: str) -> None:
    plain, fast = gradc.compile(function), gradc.compile(function, fast=True)
    assert _specs(fast.ir(*arguments)) == [spec]
    assert not _specs(plain.ir(*arguments))
    want = function(*arguments)
    np.testing.assert_allclose(fast(*arguments), want, rtol=1e-12, atol=1e-13)


def test_numbers_stay_outside() -> None:
    doubled = gradc.compile(lambda x: np.sum(x * 3.0), fast=True)
    assert not _specs(doubled.ir(X))
    assert not _specs(gradc.compile(lambda i: np.sum(i * i), fast=True).ir(np.arange(9)))


def test_gradients_are_those_of_the_sums() -> None:
    def loss(y):
        return np.sum(np.sqrt(distances(X, y)))

    found = gradc.compile(loss, fast=True).grad(Y)
    np.testing.assert_allclose(found, gradc.compile(loss).grad(Y), rtol=1e-12)
