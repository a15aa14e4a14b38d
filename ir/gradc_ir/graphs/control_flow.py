"""How a node of control flow meets its bodies: which operands and results are whose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Node

Found = TypeVar("Found")


class Roles(NamedTuple):
    """The bodies of a node, and the roles of their parameters and results.

    Of the node's operands the first ``first`` are no body's; the others are those of each body:
    consts, carries, rows. The node's results begin with a body's: carries, rows. A body that runs
    once has neither carries nor rows.

    Parameters
    ----------
    bodies: of a cond both branches, else one.
    first: the pred of a cond, the count of a scan, the condition's consts of a while.
    consts, carries: how many the bodies take.
    """

    bodies: tuple[Function, ...]
    first: int
    consts: int
    carries: int = 0

    @classmethod
    def of(cls, node: Node) -> Roles | None:
        """Return the roles of scan, while, cond and checkpoint; None for any other node."""
        return cls.by_name(node.op.name, node.attributes, len(node.operands))

    @classmethod
    def by_name(cls, name: str, attributes: Mapping[str, Any], operands: int) -> Roles | None:
        """Return the roles of an op with these attributes and so many operands, as of ``of``."""
        match name:
            case "scan":
                first, consts = int(attributes["counted"]), attributes["consts"]
                return cls((attributes["body"],), first, consts, attributes["carries"])
            case "while":
                first, consts = attributes["condition_consts"], attributes["body_consts"]
                return cls((attributes["body"],), first, consts, operands - first - consts)
            case "cond":
                return cls((attributes["then"], attributes["otherwise"]), 1, operands - 1)
            case "checkpoint":
                return cls((attributes["body"],), 0, operands)
        return None

    @property
    def end(self) -> int:
        """How many parameters of a body are consts or carries."""
        return self.consts + self.carries


def settled(
    flags: Sequence[bool],
    carries: range,
    step: Callable[[list[bool]], tuple[list[bool], Found]],
) -> tuple[list[bool], list[bool], Found]:
    """Return flags that a further step of a loop leaves as they are, and what a step makes of them.

    What holds of a carry in one step holds in all.

    Parameters
    ----------
    flags: of the parameters or of the results of a body, those that are set outside.
    carries: where carries are among them.
    step: from flags to those after a step, the carries' first, and to anything else.
    """
    now = list(flags)
    while True:
        after, found = step(now)
        more = [now[i] or is_set for i, is_set in zip(carries, after)]
        if more == now[carries.start : carries.stop]:
            return now, after, found
        now[carries.start : carries.stop] = more
