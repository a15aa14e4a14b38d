"""Which values of a body vary from point to point, when some of its parameters do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Node
from gradc_ir.core.walk import nested
from gradc_ir.graphs.control_flow import Roles, settled

Flags: TypeAlias = tuple[bool, ...]


class ControlFlags(NamedTuple):
    """What varies of control flow: which branch or how many steps, the carries, the rest."""

    decided: bool
    carries: Flags
    rest: Flags

    @property
    def results(self) -> Flags:
        """The flags of a body's results."""
        return self.carries + self.rest


class Varying:
    """The answers for the bodies of one function, each found once."""

    def __init__(self) -> None:
        self._results: dict[tuple[Function, Flags], Flags] = {}
        self._holds: dict[tuple[Function, Callable[[Node], bool]], bool] = {}

    def results(self, function: Function, flags: Iterable[bool]) -> Flags:
        """Return which results vary, given which parameters do."""
        key = (function, tuple(flags))
        found = self._results.get(key)
        if found is None:
            found = self._results[key] = self._run(*key)
        return found

    def _run(self, function: Function, flags: Flags) -> Flags:
        varies = dict(zip(function.params, flags, strict=True))
        for node in function.body:
            given = tuple([varies[operand] for operand in node.operands])
            found: Flags = (any(given),) * len(node.results)
            if any(given) and Roles.of(node) is not None:
                control = self.control(node, given)
                found = (*control.results, control.decided)[: len(node.results)]
            varies.update(zip(node.results, found, strict=True))
        return tuple([varies[result] for result in function.results])

    def control(self, node: Node, flags: Sequence[bool]) -> ControlFlags:
        """Return what varies of control flow, given which operands do."""
        roles = Roles.of(node)
        assert roles is not None, "only a call keeps its bodies to itself"
        outside, given = flags[: roles.first], flags[roles.first :]
        carries = range(roles.consts, roles.end)
        sides = []
        for body in roles.bodies:

            def step(now: list[bool], body: Function = body) -> tuple[list[bool], None]:
                return list(self.results(body, now)), None

            now, after, _ = settled(given, carries, step)
            sides.append([*now[roles.consts : roles.end], *after[roles.carries :]])
        decided = any(outside)
        if node.op.name == "while":
            asked = (*outside, *sides[0][: roles.carries])
            (decided,) = self.results(node.attributes["condition"], asked)
        found = tuple([decided or any(side) for side in zip(*sides)])
        return ControlFlags(decided, found[: roles.carries], found[roles.carries :])

    # -- what bodies hold --------------------------------------------------------------------------

    def may_fail(self, function: Function) -> bool:
        """Whether a function holds an index or a loop: it is run for a reason only."""
        return self._contains(function, _may_fail)

    def heeds_mask(self, function: Function) -> bool:
        """Whether a function holds what does another thing for points that are not at work."""
        return self._contains(function, _heeds_mask)

    def _contains(self, function: Function, asked: Callable[[Node], bool]) -> bool:
        key = (function, asked)
        found = self._holds.get(key)
        if found is None:
            found = self._holds[key] = any(asked(node) for _, node in nested(function))
        return found


def _may_fail(node: Node) -> bool:
    """Whether a node can fail for a point, or go on for ever."""
    return node.op.family == "index" or node.op.name in ("scan", "while")


def _heeds_mask(node: Node) -> bool:
    return _may_fail(node) or node.op.updates
