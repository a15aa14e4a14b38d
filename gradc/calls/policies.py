"""What to do about derivatives that are no plain numbers: what users choose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from gradc.calls.options import unknown_option
from gradc_ir.classes.quick import dataclass
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
