"""A case: a plain NumPy function, the ranges of its arguments, and where it is hard."""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.accuracy import cases

Function = Callable[..., Any]
HELD_OUT = "held_out"


@dataclass(frozen=True)
class Range:
    """Where an argument comes from.

    Parameters
    ----------
    usual: between which numbers it lies in daily use.
    low, high: the bounds of all it may be; both are included.
    near: places where something happens, which get points at all distances.
    whole: whether it is a whole number, a count.
    """

    usual: tuple[float, float]
    low: float = -math.inf
    high: float = math.inf
    near: tuple[float, ...] = (0.0,)
    whole: bool = False


def real(low: float, high: float, *near: float) -> Range:
    """Any double, usually between two numbers; something happens at zero and at ``near``."""
    return Range((low, high), near=(0.0, *near))


def positive(low: float, high: float, *near: float) -> Range:
    """Any positive double, usually between two numbers; something happens at zero."""
    return Range((low, high), low=0.0, near=(0.0, *near))


def within(
    low: float, high: float, *near: float, usual: tuple[float, float] | None = None
) -> Range:
    """A double from low to high; something happens at ``near``."""
    return Range(usual or (low, high), low, high, near)


def count(low: float, high: float, most: float) -> Range:
    """A whole number from 0, usually between two numbers and never above ``most``."""
    return Range((low, high), 0.0, most, (), whole=True)


@dataclass(frozen=True)
class Case:
    """A function with its ranges.

    ``given`` is the precondition, a function of the same arguments; ``close`` are pairs of
    arguments of which the second also gets points at all distances from the first.
    """

    suite: str
    function: Function
    ranges: Mapping[str, Range]
    given: Function | None = None
    close: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The function's name in words."""
        return self.function.__name__.replace("_", " ")

    @property
    def hard(self) -> str:
        """Where the function is hard, in one line."""
        return inspect.cleandoc(self.function.__doc__ or "")

    @property
    def text(self) -> str:
        """All that the points and truths depend on: the case, and the file with what it calls."""
        module = inspect.getmodule(self.function)
        return "\n".join(
            [self.suite, self.name, "" if module is None else inspect.getsource(module)]
        )


def case(
    *, given: Function | None = None, close: tuple[tuple[str, str], ...] = (), **ranges: Range
) -> Callable[[Function], Function]:
    """Make a function a case of the file it stands in, one range an argument, in any order."""

    def declare(function: Function) -> Function:
        names = list(inspect.signature(function).parameters)
        if sorted(names) != sorted(ranges):
            raise ValueError(f"{function.__name__}: ranges of {sorted(ranges)} for {names}")
        suite = function.__module__.rpartition(".")[2]
        in_order = {name: ranges[name] for name in names}
        function.__dict__["case"] = Case(suite, function, in_order, given, close)
        return function

    return declare


def all_cases() -> Iterator[Case]:
    """Return the cases of all files in ``cases/``, file by file, in the order they stand in."""
    for module in sorted(module.name for module in pkgutil.iter_modules(cases.__path__)):
        names = vars(importlib.import_module(f"{cases.__name__}.{module}"))
        for function in names.values():
            found = getattr(function, "case", None)
            if isinstance(found, Case):
                yield found
