"""Which values of a body vary from point to point, when some of its parameters do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from gradc_ir.core.graph import Function, Node

Flags: TypeAlias = tuple[bool, ...]
# What can fail for a point, or go on for ever: indices, and loops with a number of steps.
_MAY_FAIL = frozenset({"gather", "scatter_set", "scatter_add", "scan", "while"})
_MASKED = _MAY_FAIL | {"set_slice"}


class LoopFlags(NamedTuple):
    """What varies in a loop: its number of steps, its carries, the rows it makes."""

    steps: bool
    carries: Flags
    rows: Flags

    @property
    def results(self) -> Flags:
        """The flags of what a scan makes."""
        return self.carries + self.rows


class Varying:
    """The answers for the bodies of one function, each found once."""

    def __init__(self) -> None:
        self._results: dict[tuple[Function, Flags], Flags] = {}
        self._holds: dict[tuple[Function, frozenset[str]], bool] = {}

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
            if not any(given):
                found: Flags = (False,) * len(node.results)
            elif node.op.name in _CONTROL:
                found = _CONTROL[node.op.name](self, node, given)
            else:
                found = (True,) * len(node.results)
            varies.update(zip(node.results, found, strict=True))
        return tuple([varies[result] for result in function.results])

    def scan(self, node: Node, flags: Sequence[bool]) -> LoopFlags:
        """Return what varies in a scan, given which operands do."""
        given = node.attributes
        steps = bool(given["counted"] and flags[0])
        flags = flags[1:] if given["counted"] else flags
        end = given["consts"] + given["carries"]
        consts, rows = tuple(flags[: given["consts"]]), tuple(flags[end:])
        carries = tuple(flags[given["consts"] : end])
        return _settled(
            carries,
            lambda now: (steps, self.results(given["body"], consts + now + rows)),
        )

    def while_loop(self, node: Node, flags: Sequence[bool]) -> LoopFlags:
        """Return what varies in a while loop, given which operands do."""
        given = node.attributes
        split = given["condition_consts"]
        end = split + given["body_consts"]

        def turn(carries: Flags) -> tuple[bool, Flags]:
            (steps,) = self.results(given["condition"], (*flags[:split], *carries))
            return steps, self.results(given["body"], (*flags[split:end], *carries))

        return _settled(tuple(flags[end:]), turn)

    def cond(self, node: Node, flags: Sequence[bool]) -> Flags:
        """Return which results of a branch vary, given which operands do."""
        if flags[0]:
            return (True,) * len(node.results)
        then, otherwise = (
            self.results(node.attributes[branch], flags[1:]) for branch in ("then", "otherwise")
        )
        return _either(then, otherwise)

    # -- what bodies hold --------------------------------------------------------------------------

    def may_fail(self, function: Function) -> bool:
        """Whether a function holds what can fail, or a loop, and so is run for a reason only."""
        return self._contains(function, _MAY_FAIL)

    def heeds_mask(self, function: Function) -> bool:
        """Whether a function holds what does another thing for points that are not at work."""
        return self._contains(function, _MASKED)

    def _contains(self, function: Function, names: frozenset[str]) -> bool:
        key = (function, names)
        found = self._holds.get(key)
        if found is None:
            found = self._holds[key] = any(
                node.op.name in names or any(self._contains(body, names) for body in _bodies(node))
                for node in function.body
            )
        return found


def _bodies(node: Node) -> list[Function]:
    return [body for body in node.attributes.values() if isinstance(body, Function)]


def _settled(carries: Flags, turn: Callable[[Flags], tuple[bool, Flags]]) -> LoopFlags:
    """Return what varies in a loop once no carry begins to.

    ``turn``: from the carries' flags to whether the number of steps varies, and the body's results.
    """
    while True:
        steps, found = turn(carries)
        after = _either(carries, found[: len(carries)])
        if steps or after == carries:
            break
        carries = after
    made = found[len(carries) :]
    if steps:
        return LoopFlags(True, (True,) * len(carries), (True,) * len(made))
    return LoopFlags(False, carries, made)


def _either(x: Sequence[bool], y: Sequence[bool]) -> Flags:
    return tuple([a or b for a, b in zip(x, y, strict=True)])


def _all(varying: Varying, node: Node, flags: Flags) -> Flags:
    return (True,) * len(node.results)


def _scan(varying: Varying, node: Node, flags: Flags) -> Flags:
    return varying.scan(node, flags).results


def _while(varying: Varying, node: Node, flags: Flags) -> Flags:
    found = varying.while_loop(node, flags)
    return (*found.results, found.steps)


def _cond(varying: Varying, node: Node, flags: Flags) -> Flags:
    return varying.cond(node, flags)


def _checkpoint(varying: Varying, node: Node, flags: Flags) -> Flags:
    return varying.results(node.attributes["body"], flags)


_CONTROL: dict[str, Callable[[Varying, Node, Flags], Flags]] = {
    "call": _all,
    "checkpoint": _checkpoint,
    "scan": _scan,
    "while": _while,
    "cond": _cond,
}
