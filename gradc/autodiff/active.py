"""Which values are differentiated: floats on a path from a parameter to a result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradc.autodiff import zeros
from gradc.autodiff.table import TABLE
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.graphs.control_flow import Roles, settled


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
    if node.op.multilinear:
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


def active_in_body(
    body: Function,
    given: Sequence[bool],
    asked: Sequence[bool],
    consts: int = 0,
    carries: int = 0,
) -> Active:
    """Return what is active in a body that runs once, or in a loop of consts, carries and rows.

    ``given`` says which parameters vary, ``asked`` of which results derivatives are wanted. A carry
    varies as soon as it does in one step, and is asked for as soon as it is in one. It stands in
    ``params`` and ``results`` alike; where it only varies, or is only asked for, at the ends of the
    loop, that is enough: a loop may have no steps.
    """
    given, reached, varied = _varied_in_body(body, given, consts, carries)

    def step(asked: Sequence[bool]) -> tuple[list[bool], list[bool]]:
        useful = _useful(body, varied, _where(body.results, asked))
        params = [param in useful for param in body.params]
        return params[consts : consts + carries], params

    asked, _, params = settled(asked, range(carries), step)
    carried = [given[consts + i] and asked[i] for i in range(carries)]
    params[consts : consts + carries] = carried
    rows = [varies and wanted for varies, wanted in zip(reached[carries:], asked[carries:])]
    return Active(tuple(params), (*carried, *rows))


def _varied(function: Function, sources: Iterable[Value]) -> set[Value]:
    """Return the float values that depend on the sources."""
    varied = set(sources)
    for node in function.nodes:
        given = [operand in varied for operand in node.operands]
        if any(given) and passes(node):
            varied.update(
                result
                for result, reaches in zip(node.results, _reached(node, given))
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
            needed = zip(node.operands, _needed(node, given, asked))
            useful.update(operand for operand, is_needed in needed if is_needed)
    return useful


def _varied_in_body(
    body: Function, given: Sequence[bool], consts: int, carries: int
) -> tuple[list[bool], list[bool], set[Value]]:
    """Return which parameters vary in some step, which results after one, and the values."""

    def step(given: Sequence[bool]) -> tuple[list[bool], set[Value]]:
        varied = _varied(body, _where(body.params, given))
        return [result in varied for result in body.results], varied

    return settled(given, range(consts, consts + carries), step)


def _reached(node: Node, given: Sequence[bool]) -> Sequence[bool]:
    """Return which results vary; the pred of a cond and how often a loop runs are not smooth."""
    roles = Roles.of(node)
    if roles is None:
        return [True] * len(node.results)
    sides = []
    for body in roles.bodies:
        flags, reached, _ = _varied_in_body(body, given[roles.first :], roles.consts, roles.carries)
        sides.append([*flags[roles.consts : roles.end], *reached[roles.carries :]])
    return [any(side) for side in zip(*sides)]  # without the count of a while


def _needed(node: Node, given: Sequence[bool], asked: Sequence[bool]) -> Sequence[bool]:
    """Return which of the operands that vary the results that are asked for depend on."""
    roles = Roles.of(node)
    if roles is None:
        return given
    given = given[roles.first :]
    sides = [
        active_in_body(body, given, asked[: len(body.results)], roles.consts, roles.carries).params
        for body in roles.bodies
    ]
    needed = [varies and any(side) for varies, side in zip(given, zip(*sides))]
    return [False] * roles.first + needed


def _where(values: Sequence[Value], holds: Sequence[bool]) -> list[Value]:
    return [value for value, is_so in zip(values, holds, strict=True) if is_so]
