"""How a loop keeps each of its carries, and the scratch that control flow needs."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from gradc_codegen.nest.loop_nest import LoopNest
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.sizes import Size

# A carried array of up to this many elements is on the stack ...
_FEW_ELEMENTS = 16
# ... while all that one loop carries there is no more than this many bytes.
_MOST_ON_STACK = 256


class Way(Enum):
    """How a carry is kept from one step to the next."""

    NUMBER = "on the stack, a register after LLVM"
    FEW = "a few elements on the stack, the next ones moved into their place"
    PLACED = "overwritten in place"
    DOUBLE_BUFFERED = "in two places, one read and one written, which are swapped"


def ways(node: Node, nests: Sequence[LoopNest]) -> list[Way]:
    """Return how each carry of a loop is kept; nothing for a branch."""
    found: list[Way] = []
    on_stack = 0
    for i in range(len(inits(node))):
        type_ = node.results[i].type
        count = type_.count
        if not type_.shape:
            found.append(Way.NUMBER)
        elif i in nests[-1].overwrites:
            found.append(Way.PLACED)
        elif (
            isinstance(count, int)
            and 0 < count <= _FEW_ELEMENTS
            and on_stack + 2 * count * type_.dtype.bytes <= _MOST_ON_STACK
        ):
            on_stack += 2 * count * type_.dtype.bytes
            found.append(Way.FEW)
        else:
            found.append(Way.DOUBLE_BUFFERED)
    return found


def control_scratch(node: Node, nests: Sequence[LoopNest], arenas: Sequence[Size]) -> list[Size]:
    """Return the bytes of scratch of a node: its bodies' arenas, then carries' second places."""
    doubled = [
        node.results[i].type
        for i, way in enumerate(ways(node, nests))
        if way is Way.DOUBLE_BUFFERED
    ]
    return [*arenas, *(type_.count * type_.dtype.bytes for type_ in doubled)]


def left_open(function: Function) -> set[Value]:
    """Return the stacked rows of loops of which nobody reads those that were not visited.

    All that reads them are loops over as many rows: the tape of a loop and its way back.
    """
    read_whole = set(function.results)
    read_as_rows: set[Value] = set()
    for node in function.nodes:
        rows = range(0)
        if node.op.name == "scan" and node.attributes["counted"]:
            rows = range(inits(node).stop, len(node.operands))
        for i, operand in enumerate(node.operands):
            if i in rows and node.operands[0] is _count_of(operand.node):
                read_as_rows.add(operand)
            else:
                read_whole.add(operand)
    return read_as_rows - read_whole


def _count_of(loop: Node) -> Value | None:
    if loop.op.name == "while":
        return loop.results[-1]
    return loop.operands[0] if loop.op.name == "scan" and loop.attributes["counted"] else None


def inits(node: Node) -> range:
    """Return which operands of a loop are what its carries start from; none for a branch."""
    given = node.attributes
    if node.op.name == "scan":
        first = int(given["counted"]) + int(given["consts"])
        return range(first, first + int(given["carries"]))
    if node.op.name == "strips":
        return range(int(given["consts"]), len(node.operands))
    if node.op.name == "while":
        return range(int(given["condition_consts"]) + int(given["body_consts"]), len(node.operands))
    return range(0)


def is_fill(value: Value) -> bool:
    """Whether a value is one number everywhere: a carry is filled with it, it need not be kept."""
    return value.op.name == "broadcast" and not value.operands[0].type.shape
