"""What a trace has found: the graph, the nest of the result, what was read from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from gradc.arguments.pytree import Structure
from gradc.tracing.captured.captures import Capture, Guard
from gradc_ir.classes.named import NamedTuple
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import Array


class Printing(Protocol):
    """What a function prints at every call."""

    def show(self, arrays: Sequence[Array]) -> None:
        """Print it all for the arrays of a call."""


class Looked(NamedTuple):
    """What a trace has looked at outside, by which it went as it did; as of :class:`Traced`.

    ``guards`` are by what they are of, so that a second trace adds what is new.
    """

    captures: tuple[Capture, ...]
    guards: Mapping[Any, Guard]
    unkept: tuple[str, ...]
    imports: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Traced:
    """What a trace found.

    Parameters
    ----------
    function: the graph; its parameters are the leaves of the arguments, then the captured arrays.
    out_tree: the structure of the result.
    captures: the arrays reached by name, to be read and passed at every call, in parameter order.
    deciding: the leaves, numbers all, of which the graph depends on whether they are Python's.
    guards: numbers, strings and flags reached by name; the graph holds only while they hold.
    specialised: symbols that an op forced to be a number or another symbol.
    log: what was decided on the way, one line each.
    prints: what ``debug_print`` prints at every call.
    least: what symbolic sizes must be at least, since the graph of smaller ones is another one.
    unkept: why the trace is not kept on disk: it hangs on more than what it reads by names.
    imports: the modules that were imported while tracing.
    checks: what it asserts and raises at every call, None for nothing.
    loops: what became of its loops.
    rewritten: the functions whose loops and branches were asked for.
    """

    function: Function
    out_tree: Structure
    captures: tuple[Capture, ...]
    deciding: frozenset[int]
    guards: tuple[Guard, ...] = ()
    specialised: Mapping[str, Size] = field(default_factory=dict)
    log: tuple[str, ...] = ()
    prints: Printing | None = None
    least: Mapping[Size, int] = field(default_factory=dict)
    unkept: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    checks: Any = None
    loops: tuple[Any, ...] = ()
    rewritten: tuple[Any, ...] = ()

    @property
    def looked(self) -> Looked:
        """What the trace has looked at outside."""
        return Looked(self.captures, dict(enumerate(self.guards)), self.unkept, self.imports)
