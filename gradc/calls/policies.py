"""What to do about derivatives that are no plain numbers: a pass right after differentiation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from gradc.autodiff.parameters import parameters
from gradc.calls.options import unknown_option
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import DType
from gradc_ir.errors import PolicyError

CHOICES = {
    "unconnected": ("zero", "none", "raise"),
    "nonfinite": ("propagate", "zero", "raise"),
    "aliases": ("distinct", "same"),
    "int_args": ("raise", "float"),
}


@dataclass(frozen=True)
class Policies:
    """One choice for each question.

    Parameters
    ----------
    unconnected: the derivative where nothing leads from an argument to the value: zeros, None, or
        UnconnectedGradientError.
    nonfinite: an element of a derivative that is nan or infinite: as it is, 0, or NonFiniteError,
        which names the op and the line where that began.
    aliases: the same array given twice: two arguments, or one, whose derivative each of them gets.
    int_args: an integer to differentiate by: DTypeError, or a float of the same value.

    Raises PolicyError for any other choice.
    """

    unconnected: str = "zero"
    nonfinite: str = "propagate"
    aliases: str = "distinct"
    int_args: str = "raise"

    def __post_init__(self) -> None:
        for field in fields(self):
            chosen, choices = getattr(self, field.name), CHOICES[field.name]
            if chosen not in choices:
                raise PolicyError(
                    f"{field.name}={chosen!r} is no policy",
                    help=f"choose {', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}",
                )

    @classmethod
    def of(cls, given: dict[str, str]) -> Policies | None:
        """Return the policies of keywords, None where all are those that nothing is done for.

        Raises TraceError for a keyword that is no policy.
        """
        for name in given:
            if name not in CHOICES:
                raise unknown_option("a derivative", name, ("wrt", "has_aux", *CHOICES))
        found = cls(**given)
        return None if found == cls() else found


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


def groups_of(leaves: Iterable[Any], kinds: tuple[type, ...]) -> tuple[int, ...]:
    """Return for each leaf the position of the first one that is the same object of these kinds."""
    first: dict[int, int] = {}
    return tuple(
        first.setdefault(id(leaf), i) if isinstance(leaf, kinds) else i
        for i, leaf in enumerate(leaves)
    )


def summed_by_group(found: Sequence[Any], groups: Sequence[int]) -> list[Any]:
    """Return for each derivative the sum over its group; None counts as none."""
    totals: dict[int, Any] = {}
    for one, group in zip(found, groups, strict=True):
        before = totals.get(group)
        totals[group] = one if before is None else before if one is None else before + one
    return [totals[group] for group in groups]
