"""Removes what no result needs, in the bodies of loops and branches too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gradc_ir import walk
from gradc_ir.build import Builder
from gradc_ir.graph import Function, Node, Value


@dataclass(frozen=True)
class RemoveDeadNodes:
    """Keeps the parameters, and of the rest what a result needs.

    A loop loses the carries, rows and consts that matter to none of its results in use, a branch
    the operands and results that do not. A ``call`` keeps its operands, which its derivatives
    expect.
    """

    name = "dce"
    summary = "remove what no result needs"

    def __call__(self, function: Function) -> Function:
        """Return the function without dead nodes; every result keeps its bits."""
        live = set(function.results)
        plans: dict[Node, _Plan] = {}
        for node in reversed(function.nodes):
            wanted = [i for i, result in enumerate(node.results) if result in live]
            if not wanted:
                continue
            shrink = _SHRINKERS.get(node.op.name)
            if shrink is None:
                live.update(node.operands)
            else:
                plans[node] = plan = shrink(node, wanted)
                live.update(node.operands[i] for i in plan.operands)
        with Builder() as builder:
            mapping: dict[Value, Value] = {}
            for node in function.nodes:
                lines = function.locations.get(node, ())
                if node in plans:
                    with builder.at(lines):
                        _build(builder, node, plans[node], mapping)
                elif node.op.name == "param" or any(result in live for result in node.results):
                    builder.copy(node, mapping, lines)
            params = [mapping[param] for param in function.params]
            results = [mapping[result] for result in function.results]
            return builder.function(
                function.name, params, results, function.names, function.location
            )


class _Plan(NamedTuple):
    """What is kept of a control op: positions of operands and results, and its new attributes."""

    operands: list[int]
    results: list[int]
    attributes: dict[str, Any]


def _build(builder: Builder, node: Node, plan: _Plan, mapping: dict[Value, Value]) -> None:
    operands = tuple(mapping[node.operands[i]] for i in plan.operands)
    made = builder.apply(node.op, operands, plan.attributes)
    for position, result in zip(plan.results, made.results):
        mapping[node.results[position]] = result


def _used(function: Function, results: Iterable[int]) -> set[int]:
    """Return the positions of the parameters that some results of a function need."""
    nodes = walk.topological((), [function.results[i] for i in results])
    return {node.attributes["index"] for node in nodes if node.op.name == "param"}


def _restrict(function: Function, params: Sequence[int], results: Sequence[int]) -> Function:
    """Return a function with only some of its parameters and results, which need no others."""
    nodes = walk.topological((), [function.results[i] for i in results])
    with Builder() as builder:
        kept = [builder.param(new, function.params[old].type) for new, old in enumerate(params)]
        mapping = {function.params[old]: value for old, value in zip(params, kept)}
        for node in nodes:
            if node.op.name != "param":
                builder.copy(node, mapping, function.locations.get(node, ()))
        names = [function.names[old] for old in params]
        ends = [mapping[function.results[i]] for i in results]
        made = builder.function(function.name, kept, ends, names, function.location)
    return RemoveDeadNodes()(made)


def _shrink_cond(node: Node, wanted: list[int]) -> _Plan:
    then, otherwise = node.attributes["then"], node.attributes["otherwise"]
    params = sorted(_used(then, wanted) | _used(otherwise, wanted))
    attributes = {
        "then": _restrict(then, params, wanted),
        "otherwise": _restrict(otherwise, params, wanted),
    }
    return _Plan([0, *(i + 1 for i in params)], wanted, attributes)


def _shrink_scan(node: Node, wanted: list[int]) -> _Plan:
    body: Function = node.attributes["body"]
    consts, carries = node.attributes["consts"], node.attributes["carries"]
    kept = set(wanted)
    while True:
        params = _used(body, kept)
        # a carry that is read in the next turn must be computed in this one
        needed = {i - consts for i in params if consts <= i < consts + carries} - kept
        if not needed:
            break
        kept |= needed
    # a carry that is kept stays a parameter, even if only its last value matters
    params |= {consts + i for i in kept if i < carries}
    operands, results = sorted(params), sorted(kept)
    attributes = {
        **node.attributes,
        "body": _restrict(body, operands, results),
        "consts": sum(i < consts for i in operands),
        "carries": sum(i < carries for i in results),
    }
    return _Plan(operands, results, attributes)


def _shrink_while(node: Node, wanted: list[int]) -> _Plan:
    condition: Function = node.attributes["condition"]
    body: Function = node.attributes["body"]
    split, consts = node.attributes["condition_consts"], node.attributes["body_consts"]
    asked = _used(condition, [0])
    kept = set(wanted) | {i - split for i in asked if i >= split}
    while True:
        params = _used(body, kept)
        needed = {i - consts for i in params if i >= consts} - kept
        if not needed:
            break
        kept |= needed
    results = sorted(kept)
    condition_consts = sorted(i for i in asked if i < split)
    body_consts = sorted(i for i in params if i < consts)
    attributes = {
        "condition": _restrict(condition, [*condition_consts, *(split + i for i in results)], [0]),
        "body": _restrict(body, [*body_consts, *(consts + i for i in results)], results),
        "condition_consts": len(condition_consts),
        "body_consts": len(body_consts),
    }
    operands = [
        *condition_consts,
        *(split + i for i in body_consts),
        *(split + consts + i for i in results),
    ]
    return _Plan(operands, results, attributes)


_SHRINKERS = {"cond": _shrink_cond, "scan": _shrink_scan, "while": _shrink_while}
