"""Estimates of what nodes cost: of ops that exist, by elements, great for what is unknown."""

from __future__ import annotations

import pytest

from gradc_ir import build, ops
from gradc_ir.build import Builder
from gradc_ir.core import sizes
from gradc_ir.core.types import DType, Type
from gradc_ir.graphs import cost

N = sizes.symbol("n")


def test_only_what_is_made_of_arithmetic_may_run_twice() -> None:
    """An op whose work is not declared is not run again."""
    cheap = {name for name, op in ops.TABLE.items() if op.work is not None}
    words = {
        name: op.scalar
        for name, op in ops.TABLE.items()
        if op.scalar and op.family != "unbounded"  # formulas, which are as long as they are
    }
    assert not [name for name in cheap if words.get(name, "").startswith("math.")]
    assert not [
        name for name, word in words.items() if not word.startswith("math.") and name not in cheap
    ]
    whole = {name for name in cheap if not ops.TABLE[name].is_elementwise}
    assert whole == {name for name, op in ops.TABLE.items() if op.family in ("shape", "index")} | {
        *("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "cumsum")
    }


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
