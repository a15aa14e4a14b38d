"""Dividing the reverse mode of a loop's body: what runs in the loop, and what runs backwards.

Of the values that the backward half needs, a step keeps those of least cost: a minimum cut between
what cannot be computed again and what is needed (the way of Griewank and Walther, *Evaluating
Derivatives*, 2008, of weighing store against recompute, made exact as in PyTorch's partitioner).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gradc.autodiff.loops import recomputation
from gradc.autodiff.loops.minimum_cut import Network
from gradc.autodiff.parameters import parameters
from gradc.autodiff.partition import read_late
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core import walk
from gradc_ir.core.graph import Function, Node, Value, topological
from gradc_ir.graphs import cost
from gradc_ir.graphs.subgraph import closed


class Division(NamedTuple):
    """The two halves of a body, and what goes from one to the other.

    Parameters
    ----------
    forward: takes the known parameters, in order, to the first results and then the residuals.
    backward: takes the invariants it needs, retraced carries after the step, the residuals, the
        rows it needs and the unknown parameters, in order, to the retraced carries before the step
        and the remaining results.
    invariants: positions in the whole function of the invariants that backward takes.
    residuals: how many values are kept of each step; all differ from step to step.
    rows: positions in the whole function of the row parameters that backward takes again.
    retraced: which carries backward carries back; counted from 0.
    """

    forward: Function
    backward: Function
    invariants: tuple[int, ...]
    residuals: int
    rows: tuple[int, ...]
    retraced: tuple[int, ...] = ()


def divide(
    function: Function,
    *,
    unknown: Sequence[int],
    invariants: Sequence[int],
    rows: Sequence[int],
    results: int,
    stacked: Sequence[int] = (),
    carried: Sequence[int] = (),
) -> Division:
    """Divide the body of a loop at what its parameters at ``unknown`` reach.

    The first ``results`` of the results do not depend on unknown parameters. Parameters at
    ``invariants`` have one value in all steps, those at ``rows`` can be read again by the backward
    loop; the other known ones are carries. Results at ``stacked`` are kept for their own sake:
    taking them as residuals costs nothing. A residual is the very value of a result, or of a
    parameter, where it is one. ``carried`` are the parameters whose next values are the first
    results: what stays as it is, and integers that count up or down, need not be kept but are
    carried back.

    Nothing is kept that only depends on invariants; what is expensive is never computed twice,
    except for values of the size of a tape, which are never kept.
    """
    hidden = [function.params[i] for i in unknown]
    free = [function.params[i] for i in invariants]
    again = [function.params[i] for i in rows]
    outside = {*unknown, *invariants, *rows}
    carries = [param for i, param in enumerate(function.params) if i not in outside]
    late = walk.depends_on(function, hidden)
    own, remaining = function.results[:results], function.results[results:]
    varying = walk.depends_on(function, [*carries, *again])
    _, needed = read_late(function, remaining, late)
    steps = dict(_steps([function.params[i] for i in carried], own, varying))
    changing = [param for param in carries if param not in steps or steps[param].by is not None]
    kept = _kept(
        function,
        needed,
        own,
        [param for param in carries if param not in steps],
        [*again, *steps],
        walk.depends_on(function, [*changing, *again]),
        {function.results[i] for i in stacked},
    )
    taken = set(topological(kept, remaining)) - {value.node for value in kept}
    steps = {param: step for param, step in steps.items() if param.node in taken}
    taken.update(topological((), _changes(steps.values())))
    used_free = [param for param in free if param.node in taken]
    used_again = [param for param in again if param.node in taken]
    known = [param for i, param in enumerate(function.params) if i not in set(unknown)]
    forward = closed(function, f"{function.name}_forward", known, (*own, *kept))
    given = (*used_free, *steps, *kept, *used_again, *hidden)
    backward = closed(function, f"{function.name}_backward", given, (*steps, *remaining))
    if steps:
        backward = _retracing(function, backward, used_free, list(steps.values()))
    place = {param: i for i, param in enumerate(function.params)}
    return Division(
        forward,
        backward,
        tuple(place[param] for param in used_free),
        len(kept),
        tuple(place[param] for param in used_again),
        tuple(step.carry for step in steps.values()),
    )


class _Step(NamedTuple):
    """A step that can be retraced: carry number ``carry`` goes up, or down, or stays (None)."""

    carry: int
    up: bool
    by: Value | None

    def back(self, after: Value, by: Iterator[Value]) -> Value:
        """Return the value before the step; ``by`` yields what it changes by."""
        if self.by is None:
            return after
        return build.sub(after, next(by)) if self.up else build.add(after, next(by))


def _changes(steps: Iterable[_Step]) -> list[Value]:
    return [step.by for step in steps if step.by is not None]


def _steps(
    params: Sequence[Value], results: Sequence[Value], varying: set[Node]
) -> Iterator[tuple[Value, _Step]]:
    """Yield the carries that stay, or count by an invariant: integers, which are not rounded."""
    for i, (param, after) in enumerate(zip(params, results)):
        if after is param:
            yield param, _Step(i, True, None)
        if not param.type.dtype.is_integer or after.op.name not in ("add", "sub"):
            continue
        left, right = after.operands
        up = after.op.name == "add"
        if up and right is param:
            left, right = right, left
        if left is param and right.node not in varying:
            yield param, _Step(i, up, right)


def _retracing(
    function: Function, backward: Function, invariants: Sequence[Value], steps: Sequence[_Step]
) -> Function:
    """Return the backward half that takes carries as they are after the step, not before."""
    changes = closed(function, function.name, invariants, _changes(steps))
    with Builder() as builder:
        params = parameters(backward.param_types)
        first = len(invariants)
        by = iter(builder.inline(changes, params[:first]))
        before = [step.back(after, by) for step, after in zip(steps, params[first:])]
        given = [*params[:first], *before, *params[first + len(steps) :]]
        results = builder.inline(backward, given)
        return builder.function(backward.name, params, results, location=backward.location)


def _kept(
    function: Function,
    needed: Sequence[Value],
    own: Sequence[Value],
    carries: Sequence[Value],
    rows: Sequence[Value],
    varying: set[Node],
    stacked: set[Value],
) -> list[Value]:
    """Return what to keep of each step, so that all that is needed can be had from it.

    A node on the source's side of the cut runs in the forward loop only; of its results those are
    kept that are on the other side. A node on the sink's side runs in the backward loop, from
    operands on the same side: at its cost if the forward loop runs it as well. So does what the
    functions of one number have in common, wherever a function on its side is.
    """
    runs_forward = set(topological((), own))
    parts = set(filter(None, map(recomputation.shared_part, runs_forward)))
    before = [node for node in topological((), needed) if node in varying]
    stored = {param.node for param in carries}
    read_again = {param.node for param in rows}
    network = Network()
    side: dict[Node | Value | tuple[Value, bool], int] = {}
    for node in before:
        if node in read_again:
            continue
        side[node] = vertex = network.vertex()
        for operand in node.operands:
            if operand in side:
                network.edge(side[operand], vertex, cost.GREAT)
        part = recomputation.shared_part(node)
        if part in parts:
            if part not in side:
                side[part] = network.vertex()
                network.edge(Network.SOURCE, side[part], recomputation.of_shared_part(node))
            network.edge(side[part], vertex, cost.GREAT)
        if node in stored:
            network.edge(Network.SOURCE, vertex, cost.GREAT)
        elif node in runs_forward:
            network.edge(Network.SOURCE, vertex, recomputation.of_computing(node))
        for result in node.results:
            side[result] = network.vertex()
            keeping = 1 if result in stacked else recomputation.of_keeping(result)
            network.edge(vertex, side[result], keeping)
    for value in needed:
        if value in side:
            network.edge(side[value], Network.SINK, cost.GREAT)
    forward = network.source_side()
    return [
        result
        for node in before
        if node in side and forward[side[node]]
        for result in node.results
        if not forward[side[result]]
    ]
