"""What to do about gradients that are no plain numbers: the keywords of grad, jvp and vjp."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from gradc_ir.errors import PolicyError, UnconnectedGradientError

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


PLAIN = Policies()


def without_unconnected(
    policy: str, found: Sequence[Any], connected: Sequence[bool], paths: Sequence[str], name: str
) -> list[Any]:
    """Return derivatives, with None or an error for those that nothing leads to."""
    if policy == "zero":
        return list(found)
    for path, is_connected in zip(paths, connected, strict=True):
        if policy == "raise" and not is_connected:
            raise UnconnectedGradientError(
                f"{name} does not depend on {path}",
                help='leave it out of wrt, or choose unconnected="zero" or "none"',
            )
    return [one if is_so else None for one, is_so in zip(found, connected, strict=True)]


def groups_of(leaves: Sequence[Any], kinds: tuple[type, ...]) -> tuple[int, ...]:
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
