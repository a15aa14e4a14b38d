"""Passes, and lists of them: run one after the other, each result verified."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property
from importlib import import_module
from typing import Any, Protocol, TypeAlias

from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Function
from gradc_ir.core.op import Op
from gradc_ir.telling.phases import phase
from gradc_ir.verify import verify

# Is told the name of a step and the function after it.
Watch: TypeAlias = Callable[[str, Function], None]


class Pass(Protocol):
    """One step: a function in, an equal function out."""

    @property
    def name(self) -> str:
        """How the command line calls it."""

    @property
    def summary(self) -> str:
        """What it does, in one line."""

    def __call__(self, function: Function) -> Function:
        """Return the function after this step."""


@dataclass(frozen=True)
class PlainPass:
    """The base of passes without fields, whose methods are made once and not for each class."""


@dataclass(frozen=True)
class OnNeed:
    """A pass whose module is loaded with the first function that it may change.

    Parameters
    ----------
    module: where its class is.
    kind: what the class is called.
    may_change: whether a function has something for it; where this says no, the pass would say so.
    given: what the class is called with.
    """

    module: str
    kind: str
    may_change: Callable[[Function], bool]
    given: tuple[Any, ...] = ()

    @cached_property
    def loaded(self) -> Pass:
        """The pass itself."""
        made: Pass = getattr(import_module(self.module), self.kind)(*self.given)
        return made

    @property
    def name(self) -> str:
        """How the command line calls it."""
        return self.loaded.name

    @property
    def summary(self) -> str:
        """What it does, in one line."""
        return self.loaded.summary

    def __call__(self, function: Function) -> Function:
        """Return the function after this step."""
        return self.loaded(function) if self.may_change(function) else function


@dataclass(frozen=True)
class Pipeline:
    """A list of passes with a name.

    Parameters
    ----------
    ops: those by name that the passes may make besides the ops of the language.
    symbols: sizes that the functions around a body bind.
    phase: which phase of a compilation it is a part of, "" where that is its caller's business.
    """

    name: str
    passes: tuple[Pass, ...]
    ops: Mapping[str, Op] = field(default_factory=dict)
    symbols: tuple[str, ...] = ()
    phase: str = ""

    def __call__(self, function: Function, watch: Watch | None = None) -> Function:
        """Run the passes in order, each result verified; ``watch`` is told its name and result."""
        if self.phase:
            with phase(self.phase):
                return self._run(function, watch)
        return self._run(function, watch)

    def _run(self, function: Function, watch: Watch | None) -> Function:
        for step in self.passes:
            made = step(function)
            if made is not function:
                verify(made, self.ops, self.symbols)
            function = made
            if watch is not None:
                watch(f"{self.name}.{step.name}", function)
        return function
