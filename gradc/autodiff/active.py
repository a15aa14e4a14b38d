"""Which values are differentiated: floats on a path from a parameter to a result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gradc.autodiff import zeros
from gradc.autodiff.table import TABLE
from gradc_ir.core.graph import Function, Node, Value


class Active(NamedTuple):
    """Which parameters, and which results, of a body are on a path from the one to the other."""

    params: tuple[bool, ...]
    results: tuple[bool, ...]

    @property
    def wrt(self) -> tuple[int, ...]:
        """The positions of the active parameters."""
        return tuple(i for i, active in enumerate(self.params) if active)


def passes(node: Node) -> bool:
    """Whether tangents of a node's operands reach its results, going by what is written there."""
    name = node.op.name
    if name == "mul" or name == "contract":
        # a literal zero: grad(0 * sqrt(x)) at 0 is 0, not 0 * inf
        return not any(zeros.is_number(operand, 0) for operand in node.operands)
    return TABLE[node.op.name].kind != "zero"


def active_values(function: Function, wrt: Sequence[int], results: Iterable[Value]) -> set[Value]:
    """Return the values on a path of floats from the parameters at ``wrt`` to the results."""
    varied = _varied(function, [function.params[position] for position in wrt])
    return _useful(function, varied, results)


def active_nodes(function: Function, wrt: Sequence[int], results: Iterable[Value]) -> set[Node]:
    """Return the nodes of the active values."""
    return {value.node for value in active_values(function, wrt, results)}


def _varied(function: Function, sources: Iterable[Value]) -> set[Value]:
    """Return the float values that depend on the sources."""
    varied = set(sources)
    for node in function.nodes:
        given = [operand in varied for operand in node.operands]
        if any(given) and passes(node):
            control = _CONTROL.get(node.op.name)
            reached = control.reached(node, given) if control else [True] * len(node.results)
            varied.update(
                result
                for result, reaches in zip(node.results, reached)
                if reaches and result.type.dtype.is_float
            )
    return varied


def _useful(function: Function, varied: set[Value], results: Iterable[Value]) -> set[Value]:
    """Return the varied values that the results depend on."""
    useful = {result for result in results if result in varied}
    for node in reversed(function.nodes):
        asked = [result in useful for result in node.results]
        if any(asked):
            given = [operand in varied for operand in node.operands]
            control = _CONTROL.get(node.op.name)
            needed = control.needed(node, given, asked) if control else given
            useful.update(operand for operand, is_needed in zip(node.operands, needed) if is_needed)
    return useful


# -- control flow ---------------------------------------------------------------------------------


def active_in_body(body: Function, given: Sequence[bool], asked: Sequence[bool]) -> Active:
    """Return what is active in a body that runs once.

    ``given`` says which parameters vary, ``asked`` of which results derivatives are wanted.
    """
    varied = _varied(body, _where(body.params, given))
    useful = _useful(body, varied, _where(body.results, asked))
    return Active(
        tuple(param in useful for param in body.params),
        tuple(is_asked and result in varied for result, is_asked in zip(body.results, asked)),
    )


def active_in_loop(
    body: Function, consts: int, carries: int, given: Sequence[bool], asked: Sequence[bool]
) -> Active:
    """Return what is active in the body of a loop, of consts, carries and rows.

    A carry varies as soon as it does in one step, and is asked for as soon as it is in one. It
    stands in ``params`` and ``results`` alike; where it only varies, or is only asked for, at the
    ends of the loop, that is enough: a loop may have no steps.
    """
    given, varied = _varied_in_loop(body, consts, carries, given)
    asked = list(asked)
    while True:
        useful = _useful(body, varied, _where(body.results, asked))
        more = [asked[i] or body.params[consts + i] in useful for i in range(carries)]
        if more == asked[:carries]:
            break
        asked[:carries] = more
    carried = [given[consts + i] and asked[i] for i in range(carries)]
    params = [param in useful for param in body.params]
    params[consts : consts + carries] = carried
    rows = [
        is_asked and result in varied
        for result, is_asked in zip(body.results[carries:], asked[carries:])
    ]
    return Active(tuple(params), (*carried, *rows))


def _varied_in_loop(
    body: Function, consts: int, carries: int, given: Sequence[bool]
) -> tuple[list[bool], set[Value]]:
    given = list(given)
    end = consts + carries
    while True:
        varied = _varied(body, _where(body.params, given))
        more = [given[consts + i] or body.results[i] in varied for i in range(carries)]
        if more == given[consts:end]:
            return given, varied
        given[consts:end] = more


def _where(values: Sequence[Value], holds: Sequence[bool]) -> list[Value]:
    return [value for value, is_so in zip(values, holds, strict=True) if is_so]


class _Scan:
    """Rows and carries of a scan; its count has no derivative."""

    def reached(self, node: Node, given: Sequence[bool]) -> Sequence[bool]:
        body, first, consts, carries = self._layout(node)
        carried, varied = _varied_in_loop(body, consts, carries, given[first:])
        rows = [result in varied for result in body.results[carries:]]
        return [*carried[consts : consts + carries], *rows]

    def needed(self, node: Node, given: Sequence[bool], asked: Sequence[bool]) -> Sequence[bool]:
        body, first, consts, carries = self._layout(node)
        found = active_in_loop(body, consts, carries, given[first:], asked[: len(body.results)])
        return [False] * first + [has and is_so for has, is_so in zip(given[first:], found.params)]

    def _layout(self, node: Node) -> tuple[Function, int, int, int]:
        given = node.attributes
        return given["body"], int(given["counted"]), given["consts"], given["carries"]


class _While(_Scan):
    """Carries and rows of a while; its condition and its count have no derivative."""

    def reached(self, node: Node, given: Sequence[bool]) -> Sequence[bool]:
        return [*super().reached(node, given), False]

    def _layout(self, node: Node) -> tuple[Function, int, int, int]:
        body: Function = node.attributes["body"]
        consts = node.attributes["body_consts"]
        first = node.attributes["condition_consts"]
        return body, first, consts, len(node.operands) - first - consts


class _Cond:
    """What either branch makes of the operands."""

    def reached(self, node: Node, given: Sequence[bool]) -> Sequence[bool]:
        found = [
            _varied(branch, _where(branch.params, given[1:])) for branch in self._branches(node)
        ]
        return [
            any(branch.results[i] in varied for branch, varied in zip(self._branches(node), found))
            for i in range(len(node.results))
        ]

    def needed(self, node: Node, given: Sequence[bool], asked: Sequence[bool]) -> Sequence[bool]:
        found = [active_in_body(branch, given[1:], asked).params for branch in self._branches(node)]
        return [False, *map(any, zip(*found))]

    def _branches(self, node: Node) -> tuple[Function, Function]:
        return node.attributes["then"], node.attributes["otherwise"]


class _Checkpoint:
    """What the body makes of the operands."""

    def reached(self, node: Node, given: Sequence[bool]) -> Sequence[bool]:
        body: Function = node.attributes["body"]
        varied = _varied(body, _where(body.params, given))
        return [result in varied for result in body.results]

    def needed(self, node: Node, given: Sequence[bool], asked: Sequence[bool]) -> Sequence[bool]:
        return active_in_body(node.attributes["body"], given, asked).params


_CONTROL: dict[str, _Scan | _Cond | _Checkpoint] = {
    "scan": _Scan(),
    "while": _While(),
    "cond": _Cond(),
    "checkpoint": _Checkpoint(),
}
