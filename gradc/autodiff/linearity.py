"""Whether results are linear in some parameters together; loops and branches are looked into."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff import zeros
from gradc_ir.core.graph import Function, Node, Value, topological


def nonlinear_node(
    function: Function, sources: Sequence[Value], results: Sequence[Value]
) -> Node | None:
    """Return the node at which a function stops being linear in the sources, None if it is linear.

    ``results`` have to be linear: those of floats that do not depend on the sources have to be 0.
    """
    found, depends = _follow(function, sources)
    if found is not None:
        return found
    for result in results:
        if result not in depends and result.type.dtype.is_float and not zeros.is_number(result, 0):
            return result.node
    return None


def _follow(function: Function, sources: Sequence[Value]) -> tuple[Node | None, set[Value]]:
    """Return the first node that is not linear, and the values that depend on the sources."""
    found: Node | None = None
    depends = set(sources)
    for node in function.nodes:
        varying = [operand in depends for operand in node.operands]
        if any(varying):
            control = _CONTROL.get(node.op.name)
            if control is not None:
                linear, reached = control(node, varying)
            else:
                linear, reached = _is_linear(node, varying), [True] * len(node.results)
            depends.update(x for x, reaches in zip(node.results, reached) if reaches)
            if not linear and found is None:
                found = node
    return found, depends


def _is_linear(node: Node, varying: Sequence[bool]) -> bool:
    """Whether a node is linear in its varying operands, all together."""
    positions = [i for i, varies in enumerate(varying) if varies]
    name = node.op.name
    if name in ("mul", "contract"):
        return len(positions) == 1
    if name == "div":
        return positions == [0]
    if name == "cast":
        return node.results[0].type.dtype.is_float
    if name == "concatenate":
        linear: Sequence[int] = range(len(node.operands))
    else:
        linear = node.op.linear
    return set(positions) <= set(linear) and all(
        varying[i] or zeros.is_number(node.operands[i], 0) for i in linear
    )


# -- control flow: whether it is linear, and which results depend on the varying operands ----------


def _scan(node: Node, varying: Sequence[bool]) -> tuple[bool, list[bool]]:
    attributes = node.attributes
    first = int(attributes["counted"])
    init = node.operands[first + attributes["consts"] :][: attributes["carries"]]
    linear, reached = _loop(attributes["body"], attributes["consts"], init, varying[first:])
    return linear and not any(varying[:first]), reached


def _while(node: Node, varying: Sequence[bool]) -> tuple[bool, list[bool]]:
    condition: Function = node.attributes["condition"]
    split, consts = node.attributes["condition_consts"], node.attributes["body_consts"]
    init = node.operands[split + consts :]
    linear, reached = _loop(node.attributes["body"], consts, init, varying[split:])
    read = topological((), condition.results)
    decides = zip(condition.params, (*varying[:split], *reached[: len(init)]))
    fixed = not any(varies and param.node in read for param, varies in decides)
    return linear and fixed, [*reached, not fixed]


def _loop(
    body: Function, consts: int, init: Sequence[Value], varying: Sequence[bool]
) -> tuple[bool, list[bool]]:
    """A loop: a carry that depends in one step has to depend, or be 0, in all."""
    given = list(varying)
    carries = range(consts, consts + len(init))
    while True:
        found, depends = _follow(body, [p for p, varies in zip(body.params, given) if varies])
        more = [given[i] or body.results[i - consts] in depends for i in carries]
        if more == given[consts : carries.stop]:
            break
        given[consts : carries.stop] = more
    linear = found is None and all(
        depending or not given[i] or zeros.is_number(value, 0)
        for start, after, i in zip(init, body.results, carries)
        for value, depending in ((start, varying[i]), (after, after in depends))
    )
    return linear, [*more, *(row in depends for row in body.results[len(init) :])]


def _cond(node: Node, varying: Sequence[bool]) -> tuple[bool, list[bool]]:
    branches = [node.attributes["then"], node.attributes["otherwise"]]
    linear, reached = _all_of(branches, varying[1:])
    return linear and not varying[0], [varying[0] or reaches for reaches in reached]


def _checkpoint(node: Node, varying: Sequence[bool]) -> tuple[bool, list[bool]]:
    return _all_of([node.attributes["body"]], varying)


def _all_of(bodies: Sequence[Function], varying: Sequence[bool]) -> tuple[bool, list[bool]]:
    """Bodies that run once: what depends in one of them has to depend, or be 0, in all."""
    sources = [[p for p, varies in zip(body.params, varying) if varies] for body in bodies]
    depend = [_follow(*pair)[1] for pair in zip(bodies, sources)]
    count = len(bodies[0].results)
    reached = [any(body.results[i] in d for body, d in zip(bodies, depend)) for i in range(count)]
    linear = not any(
        nonlinear_node(body, given, [r for r, is_so in zip(body.results, reached) if is_so])
        for body, given in zip(bodies, sources)
    )
    return linear, reached


_CONTROL = {"scan": _scan, "while": _while, "cond": _cond, "checkpoint": _checkpoint}
