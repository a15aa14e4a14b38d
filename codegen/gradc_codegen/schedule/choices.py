"""The free choices of a schedule, and the default: what moves least.

Whatever is chosen, a kernel's results are the same to the bit; time and scratch are not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradc_codegen.nest.loop_nest import Loop, Statement, StatementKind
from gradc_codegen.schedule import barriers, cost, phases
from gradc_codegen.schedule.estimates import Estimates
from gradc_codegen.schedule.lane_costs import LaneCosts
from gradc_ir.core.graph import Node
from gradc_ir.core.op import Op

MOST_RECOMPUTED_OPS = 8
# … of what is read from arguments alone, which saves an array of its own
MOST_FROM_ARGUMENTS = 16
_MOST_READINGS = 8
# Alternatives are weighed for labels with at least this share of the largest volume …
_WORTH_WEIGHING = 0.4
_MOST_LABELS_WEIGHED = 3
# … and only in bodies of at most this many statements.
_LARGE_BODY = 2000
_PHASES = (phases.assign_earliest, phases.assign_sunk, phases.assign_latest)

COPY = Op(
    "copy",
    "elementwise",
    1,
    lambda x, *, reader: (x,),
    lambda x, reader: x,
    "A value as it is, kept for one reader.",
    attributes=("reader",),
    scalar="identity",
)


class Choices:
    """What the recursion asks wherever several ways are open to it."""

    # After this many labels side by side, the rest are scheduled together: time stays linear.
    most_peeled = 8
    # Whether functions of numbers that do not wait for each other are computed side by side.
    joins_functions = True
    # What sizes are weighed by.
    estimate = Estimates()

    def __init__(self, estimate: Estimates | None = None) -> None:
        """Weigh sizes by estimates; by default any that is not known now counts the same."""
        if estimate is not None:
            self.estimate = estimate

    def recompute(self, node: Node, operations: int, readings: int, kept: int) -> bool:
        """Whether a value is recomputed by its readers in place of being kept.

        Parameters
        ----------
        operations: what an element takes, with what it recomputes in turn.
        readings: how many elements that are kept it reads.
        kept: how many arrays of statements these are of.
        """
        most = MOST_RECOMPUTED_OPS if kept else MOST_FROM_ARGUMENTS
        if node.op is COPY or operations > most or readings > _MOST_READINGS:
            return False
        # keeping one array is cheaper than keeping several
        return not (node.op.is_elementwise and kept > 1)

    def lanes(self, loop: Loop, block: int) -> bool:
        """Whether a loop that may run ``block`` iterations at once does so.

        Those inside of it run one after another then; else they are asked for in turn.
        """
        return LaneCosts(self.estimate).is_cheaper(loop, block)

    def divide(self, statements: Sequence[Statement], scope: int) -> None:
        """Choose a label, for each statement which of its dims is the loop, and its phase."""
        best: tuple[float, int, barriers.Pick, Callable[..., None]] | None = None
        for label in self._labels(statements):
            before: list[int] = []
            for pick in (_picking_first(scope), _picking_aligned(scope)):
                barriers.choose(statements, label, pick)
                chosen = [statement.choice for statement in statements]
                if chosen == before:
                    break
                before = chosen
                for assign in _PHASES:
                    assign(statements, scope)
                    moved = cost.traffic(statements, scope)
                    if best is None or moved < best[0]:
                        best = moved, label, pick, assign
                    if phases.count(statements) == 1:
                        break
        assert best is not None
        _, label, pick, assign = best
        barriers.choose(statements, label, pick)
        assign(statements, scope)

    def separate(self, statements: Sequence[Statement]) -> None:
        """Choose for each statement by itself a dim that is its loop: that of its largest label."""
        volume = dict(cost.labels_by_volume(statements))
        for statement in statements:
            statement.choice = max(
                statement.remaining,
                key=lambda dim: (volume[statement.labels[dim]], -dim),
                default=barriers.NONE,
            )

    def _labels(self, statements: Sequence[Statement]) -> list[int]:
        """Return the labels that are worth weighing."""
        labels = cost.labels_by_volume(statements)
        if len(statements) > _LARGE_BODY or len(labels) == 1:
            return [labels[0][0]]
        least = _WORTH_WEIGHING * labels[0][1]
        return [label for label, volume in labels if volume >= least][:_MOST_LABELS_WEIGHED]


class WithoutLanes(Choices):
    """The default where a machine has no vectors, which LLVM would take apart; or code is short."""

    joins_functions = False

    def lanes(self, loop: Loop, block: int) -> bool:
        """No loop runs several iterations at once."""
        return False


def _picking_first(scope: int) -> barriers.Pick:
    """Return the choice of the first dim of the result."""

    def pick(statement: Statement, dims: Sequence[int]) -> int:
        apart = statement.sequential == dims[0] and _is_better_apart(statement, scope)
        return barriers.APART if apart else dims[0]

    return pick


def _picking_aligned(scope: int) -> barriers.Pick:
    """Return the choice of the dim aligned with most producers, reduced ones included."""
    first = _picking_first(scope)

    def pick(statement: Statement, dims: Sequence[int]) -> int:
        if len(dims) == 1:
            return first(statement, dims)
        return max(dims, key=lambda dim: (barriers.aligned_producers(statement, dim, scope), -dim))

    return pick


def _is_better_apart(statement: Statement, scope: int) -> bool:
    """Whether a reduction would go through too large a state in every iteration of its own loop.

    It then gets loops of its own, of another order: of its result's axes one is outside. What is
    made in these loops would have to be kept for them, so a reader of such values stays.
    """
    if statement.kind is not StatementKind.REDUCE or len(statement.remaining) < 3:
        return False
    if any(producer.scope == scope and producer.choice >= 0 for producer, _, _ in statement.inputs):
        return False
    return cost.state(statement) > cost.LARGEST_STATE
