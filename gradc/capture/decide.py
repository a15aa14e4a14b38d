"""Whether a loop of alike steps is rolled or unrolled: one function, and what a user says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gradc.tracing.core.state import Trace
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Function

# Fewer steps are written out: what a loop costs around its body is that of a few operations.
FEW_STEPS = 4
# Up to so many nodes are written out: they take a few milliseconds to compile, and what one step
# computes may meet what the next one does.
FEW_NODES = 200


@dataclass(frozen=True)
class Told:
    """What is gone through, by a loop that the user wants unrolled or rolled."""

    iterable: Any
    rolled: bool

    def __iter__(self) -> Any:
        return iter(self.iterable)

    def __len__(self) -> int:
        return len(self.iterable)


def unroll(iterable: Iterable[Any]) -> Any:
    """Have a loop of a traced function written out: ``for i in gradc.unroll(range(3))``.

    Parameters
    ----------
    iterable: what the loop goes through, of known length.

    Outside of traced code it is what it is given.
    """
    return Told(iterable, False)


def rolled(iterable: Iterable[Any]) -> Any:
    """Have a loop of a traced function be one operation, however few its steps are.

    Parameters
    ----------
    iterable: what the loop goes through: a range, an array, a list of like things, enumerate(…),
        zip(…) or reversed(…) of these.

    Raises TraceError, in traced code, where the steps are not alike. Outside of it, it is what it
    is given.
    """
    return Told(iterable, True)


def is_worth_rolling(steps: int | None, nodes: int) -> bool:
    """Whether a loop is to be rolled whose steps have so many nodes each; None: nobody knows."""
    if steps is None:
        return nodes > FEW_NODES
    return steps > FEW_STEPS and steps * nodes > FEW_NODES


class Size:
    """Counts the nodes that a trace makes."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._before = nodes_in(trace)

    def since(self) -> int:
        """Return how many nodes were made since then."""
        return nodes_in(self._trace) - self._before


def nodes_in(trace: Trace) -> int:
    """Return how many nodes a trace has, those of bodies included."""
    nodes = trace.builder._nodes
    total = len(nodes)
    if trace.control_nodes < total:
        for node in list(nodes.values())[trace.control_nodes :]:
            for body in node.attributes.values():
                if isinstance(body, Function):
                    trace.body_nodes += size_of(body)
        trace.control_nodes = total
    return total + trace.body_nodes


def size_of(function: Function) -> int:
    """Return how many nodes a function has, those of bodies included."""
    total = 0
    for node in function.body:
        total += 1
        for body in node.attributes.values():
            if isinstance(body, Function):
                total += size_of(body)
    return total
