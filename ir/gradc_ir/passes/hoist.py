"""Computes once before a loop what is the same in each of its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gradc_ir import build
from gradc_ir.core.builder import rebuilt
from gradc_ir.core.graph import Function, Node, Value, topological
from gradc_ir.core.sizes import at_least
from gradc_ir.graphs import cost
from gradc_ir.graphs.failing import may_fail
from gradc_ir.graphs.subgraph import closed
from gradc_ir.passes.steady import at, merged, steady_carries, with_consts
from gradc_ir.passes.trips import Scan, While
from gradc_ir.pipeline import PlainPass

# As much work for an element as four cheap ops is worth an array larger than what it is made of,
# but not one that is larger than caches: where the user makes it in each step, it need not be kept.
_MUCH_WORK = 4
_MANY_ELEMENTS = 1 << 16


class HoistInvariants(PlainPass):
    """Changes no bit of any result; what moves out of a loop that runs no step cannot fail.

    What only moves elements about stays in the loop, and so do results that are larger than what
    they are made of, unless they are much work and fit into a cache. A carry that the body hands on
    as it is is no carry. Nothing leaves a branch, which may not run, nor what is computed again on
    purpose.
    """

    name = "hoist"
    summary = "compute once before a loop what is the same in every step"

    def __call__(self, function: Function) -> Function:
        """Return the function with invariant values computed before the loops."""
        if not any(node.op.name in _HOISTING for node in function.nodes):
            return function
        return rebuilt(
            function,
            lambda node: node.op.name in _HOISTING,
            lambda node, operands: _HOISTING[node.op.name](self, node, operands),
        )

    def scan(self, node: Node, operands: Sequence[Value]) -> Sequence[Value]:
        """Return the results of a scan on other operands, after what is hoisted out of it."""
        loop = Scan.of(node, operands)
        # inner loops first, so that values move all the way out
        body = self(loop.body)
        steady = steady_carries(body, loop.consts, loop.init)
        consts = [*loop.consts, *at(loop.init, steady)]
        init = at(loop.init, steady, others=True)
        body = with_consts(body, len(loop.consts), len(loop.init), steady)
        runs = loop.count is None and loop.length is not None and at_least(loop.length, 1)
        body, consts = self._without_invariants(body, consts, runs)
        made = loop.on(body, consts, init, loop.rows)
        return [*merged(loop.init, steady, made[: len(init)]), *made[len(init) :]]

    def while_loop(self, node: Node, operands: Sequence[Value]) -> Sequence[Value]:
        """Return the results of a while on other operands, after what is hoisted out of it."""
        loop = While.of(node, operands)
        condition, body = self(loop.condition), self(loop.body)
        steady = steady_carries(body, loop.body_consts, loop.init)
        kept, init = at(loop.init, steady), at(loop.init, steady, others=True)
        asked, consts = [*loop.condition_consts, *kept], [*loop.body_consts, *kept]
        carries = len(loop.init)
        condition = with_consts(
            condition, len(loop.condition_consts), carries, steady, results=False
        )
        body = with_consts(body, len(loop.body_consts), carries, steady)
        condition, asked = self._without_invariants(condition, asked, runs=True)
        body, consts = self._without_invariants(body, consts, runs=False)
        made = build.while_loop(condition, body, asked, consts, init, length=loop.length)
        return [*merged(loop.init, steady, made[: len(init)]), *made[len(init) :]]

    def inside(self, node: Node, operands: Sequence[Value]) -> Sequence[Value]:
        """Return the results of a node on other operands, with hoisting in its bodies only."""
        attributes = {
            name: self(item) if isinstance(item, Function) else item
            for name, item in node.attributes.items()
        }
        return build.active().apply(node.op, tuple(operands), attributes).results

    def _without_invariants(
        self, body: Function, consts: Sequence[Value], runs: bool
    ) -> tuple[Function, list[Value]]:
        """Return a body with more consts in place of invariant values, and what all its consts are.

        The values are built in the active builder. ``runs``: whether the body runs at least once.
        """
        count = len(consts)
        found = self._worth_a_const(body, count, runs)
        if not found:
            return body, list(consts)
        builder = build.active()
        mapping = dict(zip(body.params, consts))
        for node in topological((), found):
            if node.op.name != "param":
                builder.copy(node, mapping, body.locations.get(node, ()))
        # of consts, those that are still read
        reached = {*topological((*found, *body.params[count:]), body.results)}
        kept = [i for i in range(count) if body.params[i].node in reached]
        names = [f"i{i}" for i in range(len(found))]
        changed = closed(
            body,
            body.name,
            [*(body.params[i] for i in kept), *found, *body.params[count:]],
            body.results,
            [*(body.names[i] for i in kept), *names, *body.names[count:]],
        )
        return changed, [*(consts[i] for i in kept), *(mapping[value] for value in found)]

    def _worth_a_const(self, body: Function, count: int, runs: bool) -> list[Value]:
        """Return values that are the same in every step and cost something, each chain's last.

        The first ``count`` parameters are the consts.
        """
        fixed = {param.node for param in body.params[:count]}
        # elements of the largest array that a node is made of, without further consts
        widest = {param.node: cost.elements(param) for param in body.params[:count]}
        worth: set[Node] = set()
        for node in body.body:
            if any(operand.node not in fixed for operand in node.operands):
                continue
            if not runs and may_fail(node):
                continue
            fixed.add(node)
            widest[node] = max((widest[operand.node] for operand in node.operands), default=0)
            if node.op.is_leaf or node.op.moves or node.op.is_fence:
                continue
            made = max(map(cost.elements, node.results))
            if made <= widest[node]:
                worth.add(node)
            elif made <= _MANY_ELEMENTS and cost.work(node) >= _MUCH_WORK * made:
                worth.add(node)
                widest[node] = made
        read = [operand for node in body.nodes if node not in fixed for operand in node.operands]
        return _outermost((*read, *body.results), fixed, worth)


_HOISTING: dict[str, Callable[[HoistInvariants, Node, Sequence[Value]], Sequence[Value]]] = {
    "checkpoint": HoistInvariants.inside,
    "cond": HoistInvariants.inside,
    "scan": HoistInvariants.scan,
    "while": HoistInvariants.while_loop,
}


def _outermost(read: Iterable[Value], fixed: set[Node], worth: set[Node]) -> list[Value]:
    """Return the values worth a const that what is read is made of, in a fixed order."""
    found: dict[Value, None] = {}
    seen: set[Value] = set()
    stack = [value for value in read if value.node in fixed]
    while stack:
        value = stack.pop()
        if value in seen:
            continue
        seen.add(value)
        if value.node in worth:
            found[value] = None
        else:
            stack += value.node.operands
    return sorted(found, key=lambda value: (value.node.serial, value.index))
