"""Sums over an axis leave a loop, if only other sums wait for them, so that its rows are apart.

A gradient by numbers that all steps share adds a sum over all rows in each step. The loop makes
what is summed, as stacked rows; a loop behind it adds the sums, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gradc_codegen.schedule.interchange.apart import Apart
from gradc_ir import build
from gradc_ir.core.builder import Builder, rebuilt
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.graphs.control_flow import Roles

# A value of a loop's body that is a parameter of a part of it, and what that is given.
Given = tuple[Value, Value]


def with_sums_apart(function: Function, apart: Apart) -> Function:
    """Return the function with sums over an axis behind the loops that make them."""
    splits: dict[Node, _Split] = {}
    for node in function.nodes:
        if node.op.name == "scan" and any(map(apart.has, node.operands)):
            split = _Split(node, apart)
            if split.is_possible:
                splits[node] = split
    if not splits:
        return function
    return rebuilt(function, splits.__contains__, lambda node, given: splits[node].make(given))


class _Split:
    """A loop whose body is cut into what comes before sums over an axis, and what is behind."""

    def __init__(self, node: Node, apart: Apart) -> None:
        roles = Roles.of(node)
        assert roles is not None
        self.node = node
        self.body: Function = node.attributes["body"]
        self.roles = roles
        self.apart = apart
        self.sums = [one for one in self.body.body if apart.sums_up(one)]
        self.behind = self._found_behind() if self.sums else set()

    def _found_behind(self) -> set[Value]:
        """Return the values of the body that wait for sums, of this step or of one before."""
        carries = self.body.params[self.roles.consts : self.roles.end]
        behind: set[Value] = set()
        count = -1
        while len(behind) > count:
            count = len(behind)
            for node in self.body.body:
                if self.apart.sums_up(node) or not behind.isdisjoint(node.operands):
                    behind.update(node.results)
            ends = zip(carries, self.body.results)
            behind.update(carry for carry, after in ends if after in behind)
        return behind

    @property
    def is_possible(self) -> bool:
        """Whether no row waits for a sum, and all else keeps rows apart."""
        if not self.sums or any(map(self.apart.has, self.behind)):
            return False
        if self.node.attributes["length"] is None:
            return False  # it can have no rows
        for node in self.body.body:
            if self.apart.sums_up(node):
                continue
            if self.behind.isdisjoint(node.results):
                if not self.apart.keeps(node):
                    return False
            elif any(map(self.apart.has, node.operands)):
                return False
        return True

    def make(self, operands: Sequence[Value]) -> list[Value]:
        """Return what stands for the loop's results, in the active builder."""
        body, roles = self.body, self.roles
        given: list[Given] = list(zip(body.params, operands[roles.first :]))
        consts, rows = given[: roles.consts], given[roles.end :]
        carries = given[roles.consts : roles.end]
        shared = [(param, x) for param, x in consts if not self.apart.has(param)]
        stacked = dict.fromkeys(body.results[roles.carries :])
        known = {param for param, _ in shared}
        needed = dict.fromkeys(value for value in self._needed() if value not in known)

        first = [i for i, (param, _) in enumerate(carries) if param not in self.behind]
        kept = [*dict.fromkeys((*(x for x in stacked if x not in self.behind), *needed))]
        before = self._scan(operands, consts, [carries[i] for i in first], rows, first, kept)
        made = dict(zip(kept, before[len(first) :]))
        last = dict(zip(first, before))

        entering: list[Given] = [(x, made[x]) for x in needed if not self.apart.has(x)]
        for node in self.sums:
            axes = tuple(axis + 1 for axis in node.attributes["axes"])
            total = build.apply(node.op.name, made[node.operands[0]], axes=axes)
            entering.append((node.results[0], total))
        second = [i for i in range(len(carries)) if i not in last]
        kept = [value for value in stacked if value in self.behind]
        after = self._scan(operands, shared, [carries[i] for i in second], entering, second, kept)
        made |= zip(kept, after[len(second) :])
        last |= zip(second, after)
        return [last[i] for i in range(len(carries))] + [
            made[value] for value in body.results[roles.carries :]
        ]

    def _needed(self) -> Iterator[Value]:
        """Yield what the values behind need of those before them."""
        for node in self.body.body:
            if not self.behind.isdisjoint(node.results):
                for value in node.operands:
                    if value not in self.behind and value.node.op.name != "constant":
                        yield value

    def _scan(
        self,
        operands: Sequence[Value],
        consts: Sequence[Given],
        carries: Sequence[Given],
        rows: Sequence[Given],
        carried: Iterable[int],
        stacked: Iterable[Value],
    ) -> tuple[Value, ...]:
        """Return the results of a loop over the part of the body that makes some carries and rows.

        ``carried``: which of the body's carries they are.
        """
        attributes, body = self.node.attributes, self.body
        results = [*(body.results[i] for i in carried), *stacked]
        params = {param for param, _ in (*consts, *carries, *rows)}
        nodes, read = _made_of(results, params)
        consts = [(param, x) for param, x in consts if param in read]
        rows = [(param, x) for param, x in rows if param in read]
        with Builder() as builder:
            mapping: dict[Value, Value] = {}
            for param, _ in (*consts, *carries, *rows):
                mapping[param] = builder.param(len(mapping), param.type)
            params_made = list(mapping.values())
            for node in nodes:
                builder.copy(node, mapping, body.locations.get(node, ()))
            part = builder.function(
                body.name, params_made, [mapping[x] for x in results], location=body.location
            )
        return build.scan(
            part,
            [x for _, x in consts],
            [x for _, x in carries],
            [x for _, x in rows],
            length=attributes["length"],
            reverse=attributes["reverse"],
            count=operands[0] if attributes["counted"] else None,
        )


def _made_of(results: Iterable[Value], params: set[Value]) -> tuple[list[Node], set[Value]]:
    """Return the nodes that results are made of, operands first, and the parameters they read."""
    order: dict[Node, None] = {}
    read: set[Value] = set()
    stack = [(value, False) for value in reversed(list(results))]
    while stack:
        value, is_ready = stack.pop()
        if is_ready:
            order[value.node] = None
        elif value in params:
            read.add(value)
        elif value.node not in order:
            stack.append((value, True))
            stack += [(operand, False) for operand in reversed(value.node.operands)]
    return list(order), read
