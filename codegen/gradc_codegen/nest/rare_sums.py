"""Sums that hardly any row needs: an own op, whose loop is entered where a flag says so."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc_ir import ops
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.op import Op
from gradc_ir.core.types import Array, Axes, Type, Types
from gradc_ir.meaning.reduction import reduce_in_order


def _infer(x: Type, flag: Type, *, axes: Axes) -> Types:
    return ops.reduce_sum.infer(x, axes=axes)


def _meaning(x: Array, flag: Array, *, axes: Axes) -> Any:
    return reduce_in_order(x, axes, np.add, -0.0, 0)


RARE_SUM = Op(
    "rare_sum",
    "reduce",
    2,
    _infer,
    _meaning,
    attributes=("axes",),
    scalar="add",
    summary="The sum over an axis; any number where the flag, one for each sum, does not hold.",
)


def summands(node: Node) -> tuple[Value, ...]:
    """Return what a reduction joins, or joins the products of: no flag, nothing it goes on from."""
    return node.operands[:1] if node.op.family == "reduce" else node.operands


def flag_of(values: list[Value]) -> Value | None:
    """Return the one flag of sums that are all rare, else None."""
    flags = {value.operands[1] for value in values if value.op is RARE_SUM}
    if len(flags) != 1 or any(value.op is not RARE_SUM for value in values):
        return None
    return flags.pop()
