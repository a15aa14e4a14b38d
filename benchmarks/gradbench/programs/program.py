"""What the protocol can ask of a program: functions, from what JSON holds and back to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Function:
    """One function of a program, as the protocol calls it.

    Parameters
    ----------
    run: what is measured, from arguments to a result.
    arguments: from the input, as JSON has it, to the arguments of ``run``: not measured.
    answer: from the result to what JSON can hold: not measured.
    """

    run: Callable[..., Any]
    arguments: Callable[[Any], tuple[Any, ...]]
    answer: Callable[[Any], Any]


def as_list(array: Any) -> Any:
    """Return an array as nested lists of Python's numbers."""
    return array.tolist()
