"""Contractions as stacks of matrix products: which lie as BLAS reads them, and what must move."""

from __future__ import annotations

import itertools

import pytest

from gradc_codegen.nest.contractions import Layout, Product, arranged, product_of, weight
from gradc_ir.core.sizes import Size, symbol
from gradc_ir.ops.linalg import parse_spec

n, m = symbol("n"), symbol("m")
SIZES: dict[str, Size] = dict(zip("abijklu", (2, 3, 40, 50, 60, 70, 1), strict=True))


def shapes(spec: str) -> list[tuple[Size, ...]]:
    return [tuple(SIZES[label] for label in labels) for labels in parse_spec(spec)[:2]]


@pytest.mark.parametrize(
    ("spec", "stack", "lengths", "leading"),
    [
        ("ij,jk->ik", (), (40, 60, 50), (50, 60, 60)),
        ("ij,kj->ki", (), (40, 60, 50), (50, 50, 40)),
        ("ji,jk->ik", (), (40, 60, 50), (40, 60, 60)),
        ("aij,ajk->aik", (2,), (40, 60, 50), (50, 60, 60)),
        ("iaj,jak->iak", (2,), (40, 60, 50), (100, 120, 120)),
        ("ija,jk->iak", (40,), (2, 60, 50), (2, 60, 60)),
        ("aij,jk->aik", (), (80, 60, 50), (50, 60, 60)),
        ("aij,aik->jk", (), (50, 60, 80), (50, 60, 60)),
        ("ija,jka->ik", (), (40, 60, 100), None),  # the summed labels do not follow each other
        ("ij,ajk->aik", (2,), (40, 60, 50), (50, 60, 60)),
        ("iaj,kj->aik", (2,), (40, 60, 50), (100, 50, 60)),
        ("uij,ujk->uik", (), (40, 60, 50), (50, 60, 60)),
        ("ij,j->i", None, None, None),
        ("i,k->ik", None, None, None),
        ("ij,ij->ij", None, None, None),
    ],
)
def test_what_lies_as_it_is_read(
    spec: str,
    stack: tuple[int, ...] | None,
    lengths: tuple[int, ...] | None,
    leading: tuple[int, ...] | None,
) -> None:
    found = product_of(spec, *shapes(spec))
    if leading is None:
        assert found is None
    else:
        assert found is not None
        assert found.stack == stack
        assert (found.rows, found.columns, found.summed) == lengths
        assert (found.left.leading, found.right.leading, found.result.leading) == leading


def test_a_layout_says_which_axis_is_adjacent() -> None:
    assert product_of("bij,bkj->bik", (n, 40, 50), (n, m, 50)) == Product(
        (n,),
        40,
        m,
        50,
        Layout(50, (2000,), transposed=True),
        Layout(50, (50 * m,), transposed=True),
        Layout(m, (40 * m,), transposed=False),
    )


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ("ij,jk->ik", "ij,jk->ik"),
        ("aijb,ajkb->aikb", "abij,abkj->abik"),
        ("ija,jka->ik", "ija,kja->ik"),
        ("iuja,jkau->uik", "iuja,ukja->uik"),
        ("ij,ajk->aik", "ij,ajk->aik"),  # the left matrix is the same in both products
        ("ija,jk->iak", "iaj,jk->iak"),  # 40 thin products cost more than the copy
        ("ij,j->i", None),
    ],
)
def test_as_little_as_possible_is_moved(spec: str, wanted: str | None) -> None:
    assert arranged(spec, *shapes(spec)) == wanted


def test_every_arrangement_is_a_product() -> None:
    for left, right, result in itertools.product(
        *(map("".join, itertools.permutations(labels)) for labels in ("aij", "ajk", "aik"))
    ):
        given = f"{left},{right}->{result}"
        order = arranged(given, *shapes(given))
        assert order is not None
        assert product_of(order, *shapes(order)) is not None
        have = product_of(given, *shapes(given)) is not None
        assert (order == given) == have


def test_a_symbol_weighs_a_thousand() -> None:
    assert weight(7) == 7.0
    assert weight(3 * n * m + 2 * n + 5) == 3_002_005.0
