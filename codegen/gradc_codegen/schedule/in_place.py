"""Which arrays of a loop's body are overwritten in place, and the order of nodes that allows it.

A carry whose next value is a chain of updates on it (a window or indexed elements replaced or added
to, or an inner loop or branch that updates it) needs no second array: every update writes into the
one there is. That is so when nothing that reads an older version needs a newer one; its readers
are then put before the update.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from itertools import pairwise

from gradc_codegen.nest.carry_storage import is_fill
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.walk import users

# not in memory of its own: the caller's, the module's, or that of another value
_NOT_OURS = ("param", "constant", "reshape")
# For each node of control flow: the result that overwrites an operand, by position.
Links = Mapping[Node, Mapping[int, int]]


@dataclass
class Overwriting:
    """What is overwritten in a function.

    Parameters
    ----------
    order: all nodes, operands and earlier readers before users.
    params: for a result of the function the parameter whose memory it overwrites.
    shares: for every version of an array that is overwritten the last one.
    after: for an update the readers of the version it overwrites.
    """

    order: Sequence[Node]
    params: dict[int, int] = field(default_factory=dict)
    shares: dict[Value, Value] = field(default_factory=dict)
    after: dict[Node, list[Node]] = field(default_factory=dict)

    def overwrites(self, value: Value) -> bool:
        """Whether a value is a version that a newer one overwrites."""
        return self.shares.get(value, value) is not value

    def is_in_place(self, update: Node) -> bool:
        """Whether an update writes into the array it updates; another one may overwrite that."""
        base, newer = update.operands[0], update.results[0]
        return self.overwrites(base) and self.shares[base] is self.shares.get(newer)


def root(function: Function, result: int, links: Links) -> int | None:
    """Return the parameter that a result is a chain of updates on, None if it is none."""
    value = function.results[result]
    while (base := base_of(value, links)) is not None:
        value = base
    return value.node.attributes["index"] if value.op.name == "param" else None


def overwriting(function: Function, wanted: Mapping[int, int], links: Links) -> Overwriting:
    """Return what can be overwritten: parameters a caller grants, and what loops start from.

    Parameters
    ----------
    wanted: for results of the function the parameter each may overwrite.
    links: what nodes of control flow can overwrite.
    """
    made = Overwriting(function.nodes)
    readers = users(function)
    results = set(function.results)
    for result, param in wanted.items():
        value = function.results[result]
        if not value.type.shape or param in made.params.values():
            continue
        versions = _versions(function.params[param], value, links, readers)
        if versions and (len(versions) == 1 or _join(made, function, versions, readers)):
            made.params[result] = param
    for node in function.nodes:
        for newer in node.results:
            base = base_of(newer, links)
            if base is None or base in results or base.op.name in _NOT_OURS or is_fill(base):
                continue
            # what an update alone reads is better computed into its place
            if node in links or base.node in links or base in made.shares:
                _join(made, function, [base, newer], readers)
    return made


def _join(
    made: Overwriting,
    function: Function,
    versions: Sequence[Value],
    readers: Mapping[Value, list[Node]],
) -> bool:
    """Let versions share memory if each can be overwritten by the next; says whether they do."""
    first, last = versions[0], versions[-1]
    if any(map(made.overwrites, versions)) or last in made.shares:
        return False
    if any(version in function.results for version in versions[:-1]):
        return False  # an older version is asked for as well
    after = _readers_first(versions, readers)
    if after is None:
        return False
    if any(after.values()):
        joined = {
            node: [*made.after.get(node, ()), *after.get(node, ())]
            for node in {*made.after, *after}
        }
        order = _ordered(function, joined)
        if order is None:
            return False
        made.order, made.after = order, joined
    older = [value for value, final in made.shares.items() if final is first]
    made.shares.update(dict.fromkeys([*older, *versions], last))
    return True


def base_of(value: Value, links: Links) -> Value | None:
    """Return the value that is overwritten to make another, None when that is made anew."""
    node = value.node
    if node.op.updates:
        return node.operands[0]
    operand = links.get(node, {}).get(value.index)
    return None if operand is None else node.operands[operand]


def _versions(
    first: Value, last: Value, links: Links, readers: Mapping[Value, list[Node]]
) -> list[Value]:
    """Return the versions of an array from the first to the last; none when they are not of one."""
    newer: dict[Value, Value | None] = {last: None}
    waiting = [last]
    while waiting:
        value = waiting.pop()
        if value is first:
            found = [value]
            while (following := newer[found[-1]]) is not None:
                found.append(following)
            return found
        base = base_of(value, links)
        for older in _read_once(value, readers) if base is None else (base,):
            if older not in newer:
                newer[older] = value
                waiting.append(older)
    return []


def _read_once(value: Value, readers: Mapping[Value, list[Node]]) -> Iterable[Value]:
    """Yield the operands that an elementwise op alone reads, each element before it is written."""
    node = value.node
    if node.op.is_elementwise:
        for operand in node.operands:
            if (
                operand.type == value.type
                and readers[operand] == [node]
                and node.operands.count(operand) == 1
            ):
                yield operand


def _readers_first(
    versions: Sequence[Value], readers: Mapping[Value, list[Node]]
) -> dict[Node, list[Node]] | None:
    """Return for each update its version's other readers, None where an update reads it twice."""
    after: dict[Node, list[Node]] = {}
    for version, newer in pairwise(versions):
        update = newer.node
        if update in after or sum(operand is version for operand in update.operands) > 1:
            return None
        found = list(_readers(version, readers))
        if found.count(update) > 1:
            return None  # it also reads it through a reshape
        after[update] = [reader for reader in found if reader is not update]
    return after


def _readers(value: Value, readers: Mapping[Value, list[Node]]) -> Iterable[Node]:
    """Yield what reads a value, through reshapes, which ops on whole arrays see through, too."""
    for user in readers.get(value, ()):
        yield user
        if user.op.name == "reshape":
            yield from _readers(user.results[0], readers)


def _ordered(function: Function, after: Mapping[Node, list[Node]]) -> list[Node] | None:
    """Return the nodes with updates behind earlier readers; None when that is impossible."""
    order: list[Node] = []
    state: dict[Node, bool] = {}  # whether a node is done; absent: not seen
    for start in function.nodes:
        stack = [start]
        while stack:
            node = stack[-1]
            if node in state:
                stack.pop()
                if not state[node]:
                    state[node] = True
                    order.append(node)
                continue
            state[node] = False
            for needed in (*(operand.node for operand in node.operands), *after.get(node, ())):
                if needed not in state:
                    stack.append(needed)
                elif not state[needed]:
                    return None
    return order
