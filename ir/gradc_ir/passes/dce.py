"""Removes what no result needs."""

from __future__ import annotations

from dataclasses import dataclass

from gradc_ir.graph import Function
from gradc_ir.rewrite import rewrite


@dataclass(frozen=True)
class RemoveDeadNodes:
    """Rebuilds the function from its results."""

    name = "dce"
    summary = "remove what no result needs"

    def __call__(self, function: Function) -> Function:
        """Return the function without dead nodes; parameters stay."""
        return rewrite(function, [])
