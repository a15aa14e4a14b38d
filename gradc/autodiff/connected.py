"""Which parameters of a function reach its results, however flat the way there is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradc_ir.core.graph import Function, Node, Value

# What gradc.disconnected records: a call without rules, which goes before differentiation.
DISCONNECTED = "disconnected"


def connected(function: Function, sources: Sequence[int], results: Iterable[int]) -> list[bool]:
    """Return for each of some parameters whether floats lead from it to one of some results.

    A derivative along such a path may be zero, as behind ``stop_gradient``; behind
    ``gradc.disconnected`` there is no path.
    """
    wanted = _needed(function, results)
    return [function.params[position] in wanted for position in sources]


def reached(function: Function, sources: Iterable[int]) -> list[bool]:
    """Return for each result whether floats lead to it from one of some parameters."""
    given = set(sources)
    return [
        any(i in given and param in needed for i, param in enumerate(function.params))
        for result in range(len(function.results))
        for needed in (_needed(function, [result]),)
    ]


def _needed(function: Function, results: Iterable[int]) -> set[Value]:
    """Return the float values from which floats lead to the results."""
    ends = (function.results[position] for position in results)
    needed = {end for end in ends if end.type.dtype.is_float}
    for node in reversed(function.nodes):
        asked = [result in needed for result in node.results]
        if any(asked):
            for operand, is_needed in zip(node.operands, _operands(node, asked)):
                if is_needed and operand.type.dtype.is_float:
                    needed.add(operand)
    return needed


def _operands(node: Node, asked: Sequence[bool]) -> Sequence[bool]:
    """Return which operands of a node its results depend on."""
    name, given = node.op.name, node.attributes
    every = [True] * len(node.operands)
    if name == "call":
        no_rules = given["vjp"] is None and given["jvp"] is None
        cut = no_rules and given["name"] == DISCONNECTED
        return [False] if cut else _of_body(given["body"], asked)
    if name == "checkpoint":
        return _of_body(given["body"], asked)
    if name == "cond":
        sides = zip(_of_body(given["then"], asked), _of_body(given["otherwise"], asked))
        return [False, *map(any, sides)]
    if name == "scan":
        first = int(given["counted"])
        return [False] * first + _of_loop(given["body"], given["consts"], given["carries"], asked)
    if name == "while":
        first, consts = given["condition_consts"], given["body_consts"]
        carries = len(node.operands) - first - consts
        return [False] * first + _of_loop(given["body"], consts, carries, asked[:-1])
    return every


def _of_body(body: Function, asked: Sequence[bool]) -> list[bool]:
    needed = _needed(body, [i for i, is_asked in enumerate(asked) if is_asked])
    return [param in needed for param in body.params]


def _of_loop(body: Function, consts: int, carries: int, asked: Sequence[bool]) -> list[bool]:
    """A carry that is needed in one step is needed in all."""
    wanted = list(asked)
    while True:
        params = _of_body(body, wanted)
        more = [wanted[i] or params[consts + i] for i in range(carries)]
        if more == wanted[:carries]:
            break
        wanted[:carries] = more
    return [*params[:consts], *wanted[:carries], *params[consts + carries :]]
