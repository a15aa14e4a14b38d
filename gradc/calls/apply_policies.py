"""Policies as a pass right after differentiation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gradc.autodiff.parameters import parameters
from gradc.calls.policies import Policies, summed_by_group
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import DType


@dataclass(frozen=True)
class ApplyPolicies:
    """Apply policies to a derivative; its last result is then how many elements are not finite.

    Parameters
    ----------
    called: what the result is called: as the user's function is, for errors.
    policies: of them ``unconnected``, ``nonfinite`` and ``aliases``.
    connected: for each of the derivatives, which are the last results of the function, whether
        anything leads to it.
    groups: as of :func:`groups_of`, of what the derivatives are by; empty where none are together.
    """

    called: str
    policies: Policies
    connected: tuple[bool, ...]
    groups: tuple[int, ...] = ()

    name = "policies"
    summary = "applies what the user chose for derivatives that are no plain numbers"

    def __call__(self, function: Function) -> Function:
        """Return the function with derivatives under the policies, and the count."""
        with Builder() as builder:
            params = parameters(function.param_types)
            results = builder.inline(function, params)
            before = len(results) - len(self.connected)
            found = self._alone(results[before:])
            summed = summed_by_group(found, self.groups) if self.groups else found
            total = build.full((), 0, DType.I64)
            made: list[Value] = []
            for one, plain in zip(summed, results[before:], strict=True):
                value = plain if one is None else one
                if self.policies.nonfinite != "propagate":
                    bad = build.logical_not(build.lt(build.abs(value), float("inf")))
                    axes = range(value.type.rank)
                    total = build.add(total, build.reduce_sum(build.cast(bad, DType.I64), axes))
                    if self.policies.nonfinite == "zero":
                        value = build.select(bad, build.zeros_like(value), value)
                made.append(value)
            return builder.function(
                self.called,
                params,
                [*results[:before], *made, total],
                names=function.names,
                location=function.location,
            )

    def _alone(self, found: Sequence[Any]) -> list[Any]:
        """Return the derivatives, each by its own; None for what ``unconnected`` has None for."""
        if self.policies.unconnected == "zero":
            return list(found)
        return [one if is_so else None for one, is_so in zip(found, self.connected, strict=True)]

    def unpacked(self, results: Sequence[Any]) -> tuple[list[Any], Any]:
        """Return the results with None for what nothing leads to, and the count."""
        *every, count = results
        before = len(every) - len(self.connected)
        is_there = self._alone([True] * len(self.connected))
        is_there = summed_by_group(is_there, self.groups) if self.groups else is_there
        found = [one if there else None for one, there in zip(every[before:], is_there)]
        return [*every[:before], *found], count
