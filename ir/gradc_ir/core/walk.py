"""Relations of a graph: who uses what, what depends on what, what stands in which body."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.op import Attributes

Item = TypeVar("Item", bound=Hashable)
Answer = TypeVar("Answer")


def answered(
    asked: Item,
    known: dict[Item, Answer],
    before: Callable[[Item], Sequence[Item]],
    answer: Callable[[Item, list[Answer]], Answer],
) -> Answer:
    """Return the answer to a question about an item, from its answers about others.

    Parameters
    ----------
    known: the answers there are; those that are found are entered.
    before: the items an answer depends on, the operands or some of them.
    answer: the answer about an item, from those about the items before it.

    No recursion: a straight-line program is as deep as it is long.
    """
    needed = before(asked)
    ready = [known[item] for item in needed if item in known]
    if len(ready) == len(needed):  # as nearly always when a graph is walked in its order
        found = known[asked] = answer(asked, ready)
        return found
    stack = [asked]
    while True:
        top = stack[-1]
        needed = before(top)
        of = [known[item] for item in needed if item in known]
        if len(of) < len(needed):
            stack += [item for item in needed if item not in known]
            continue
        known[top] = answer(top, of)
        # what two items need is on the stack twice
        while stack and stack[-1] in known:
            stack.pop()
        if not stack:
            return known[asked]


def users(function: Function) -> dict[Value, list[Node]]:
    """Return for each value the nodes that read it, in order, each as often as it reads."""
    found: dict[Value, list[Node]] = {
        value: [] for node in function.nodes for value in node.results
    }
    for node in function.nodes:
        for operand in node.operands:
            found[operand].append(node)
    return found


def depends_on(function: Function, sources: Iterable[Value]) -> set[Node]:
    """Return the nodes of the function whose values depend on one of the sources."""
    reached = {source.node for source in sources}
    for node in function.nodes:
        if any(operand.node in reached for operand in node.operands):
            reached.add(node)
    return reached


def nested(function: Function) -> Iterator[tuple[Function, Node]]:
    """Yield every node with the function it stands in, those of bodies of control flow too.

    A body that several nodes share is gone through once.
    """
    return _nested(function, set())


def changed_bodies(
    function: Function, change: Callable[[Function], Function]
) -> dict[Node, Attributes]:
    """Return the attributes of control flow with its bodies changed, where that changes them.

    Bodies of ``call`` stay as they are: they are about to be opened.
    """
    made = {
        node: {
            name: change(item) if isinstance(item, Function) else item
            for name, item in node.attributes.items()
        }
        for node in function.nodes
        if node.op.family == "control" and node.op.name != "call"
    }
    return {node: attributes for node, attributes in made.items() if attributes != node.attributes}


def _nested(function: Function, seen: set[int]) -> Iterator[tuple[Function, Node]]:
    seen.add(id(function))
    for node in function.nodes:
        yield function, node
        if node.op.family == "control":
            for body in node.attributes.values():
                if isinstance(body, Function) and id(body) not in seen:
                    yield from _nested(body, seen)


class Surroundings(NamedTuple):
    """Who reads each value of a function, and the places of its nodes, operands before users."""

    readers: Mapping[Value, Sequence[Node]]
    order: Mapping[Node, int]

    @classmethod
    def of(cls, function: Function) -> Surroundings:
        """Return those of a function."""
        return cls(users(function), {node: i for i, node in enumerate(function.nodes)})
