"""Whether a loop of alike steps is rolled or unrolled: one function, and what a user says."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from gradc.tracing.core.state import Trace, running
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Function, Node
from gradc_ir.core.sizes import product

# Fewer steps are written out: what a loop costs around its body is that of a few operations.
FEW_STEPS = 4
# Up to so much is written out: it takes a few milliseconds to compile, and what one step computes
# may meet what the next one does.
FEW_NODES = 200
# Of a short loop more is: the joints of an arm, whose matrices are numbers, and shared, then.
SHORT, MORE_NODES = 8, 1000
# Less in a step of a recorded loop, where a branch stays one: every array that it changes goes
# through it, and all of the step is there once more for reverse mode.
MORE_IN_A_STEP, NODES_OF_A_BRANCH = 300, 40
# A node that becomes a loop of its own over elements, a sum, a product of matrices or the like,
# counts as so many others: LLVM takes some 20 ms for one. Elementwise nodes share a loop.
NODES_OF_A_LOOP = 20
# Arrays of up to so many elements are numbers, and no loops.
FEW_ELEMENTS = 64
_LOOPS = frozenset({"reduce", "linalg", "factor", "order"})
_BRANCHES = frozenset({"cond", "switch"})


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
    most = FEW_NODES
    if steps <= SHORT:
        most = MORE_IN_A_STEP if _is_in_a_step(running()) else MORE_NODES
    return steps > FEW_STEPS and steps * nodes > most


def _is_in_a_step(trace: Trace) -> bool:
    """Whether what is traced is a piece of a step of a recorded loop."""
    around: Trace | None = trace
    while around is not None and around.step is None:
        around = around.outer
    return around is not None


class Size:
    """Counts the nodes that a trace makes."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._before = nodes_in(trace)

    def since(self) -> int:
        """Return how many nodes were made since then."""
        return nodes_in(self._trace) - self._before


def nodes_in(trace: Trace) -> int:
    """Return how many nodes a trace has, those of bodies included, by what they cost to compile."""
    nodes = trace.builder._nodes
    if trace.nodes_weighed < len(nodes):
        new = list(islice(nodes.values(), trace.nodes_weighed, None))
        trace.weight += sum(map(_weight, new))
        if _is_in_a_step(trace):
            trace.weight += NODES_OF_A_BRANCH * sum(node.op.name in _BRANCHES for node in new)
        trace.nodes_weighed = len(nodes)
    return trace.weight


def _weight(node: Node) -> int:
    """Return as how many nodes one counts, those of its bodies included."""
    own = NODES_OF_A_LOOP if node.op.family in _LOOPS and not _is_small(node) else 1
    bodies = (body for body in node.attributes.values() if isinstance(body, Function))
    return own + sum(_weight(inner) for body in bodies for inner in body.body)


def _is_small(node: Node) -> bool:
    """Whether a node is arithmetic of a few numbers, as its arrays are known to be small."""
    volumes = (product(value.type.shape) for value in (*node.operands, *node.results))
    return all(isinstance(volume, int) and volume <= FEW_ELEMENTS for volume in volumes)
