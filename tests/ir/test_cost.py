"""Estimates of what nodes cost: of ops that exist, by elements, great for what is unknown."""

from __future__ import annotations

import pytest

from gradc_ir import build, ops
from gradc_ir.build import Builder
from gradc_ir.core import sizes
from gradc_ir.core.types import DType, Type
from gradc_ir.graphs import cost

N = sizes.symbol("n")


def test_every_name_is_an_op() -> None:
    assert {*cost._PER_ELEMENT, *cost._PER_ELEMENT_READ} <= set(ops.TABLE)


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        (lambda x, m: x + x, 1000),
        (lambda x, m: build.div(x, x), 16_000),
        (lambda x, m: build.reshape(x, (N, 1)), 0),
        (lambda x, m: build.reduce_sum(m, (0,)), 1_000_000),
        (lambda x, m: build.contract(m, m, "ij,jk->ik"), 4_000_000_000),
        (lambda x, m: build.contract(x, x, "i,j->ij"), 1_000_000),
        (lambda x, m: build.exp(x), cost.GREAT),
        (lambda x, m: build.cholesky(m), cost.GREAT),
    ],
)
def test_work(written, wanted) -> None:
    with Builder() as builder:
        x, m = (builder.param(i, Type(DType.F64, (N,) * (i + 1))) for i in range(2))
        assert cost.work(written(x, m).node) == wanted
