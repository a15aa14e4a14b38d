"""A program of the collection, and the arguments it is tried with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Program:
    """A function of plain Python and NumPy.

    Parameters
    ----------
    function: the function as it was written; it returns a number.
    args: arguments of moderate size, at which it is smooth.
    wrt: the positions of the arguments with derivatives.
    second: whether its second derivative is that of one formula here.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    wrt: tuple[int, ...] = (0,)
    second: bool = True

    @property
    def name(self) -> str:
        """What the function is called."""
        return self.function.__name__
