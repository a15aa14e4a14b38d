"""One statement on whole arrays: its node, and where its operands, results and scratch begin."""

from __future__ import annotations

from collections.abc import Callable

from gradc_codegen.text.writer import Writer
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Node
from gradc_ir.core.sizes import Size, product


class Site(NamedTuple):
    """Where a whole-array op is written; all arrays are contiguous, in row-major order.

    Parameters
    ----------
    writer: where instructions go.
    node: what is computed.
    operands, results: a pointer for each.
    scratch: a pointer for each piece of scratch that the op asked for.
    refuse: given a condition, makes the kernel return SIZE where it holds.
    check: given the status of a call, makes the kernel return it unless it is OK.
    range: the first of the op's items that are wanted, and what is behind the last; None for all.
    """

    writer: Writer
    node: Node
    operands: tuple[str, ...]
    results: tuple[str, ...]
    scratch: tuple[str, ...]
    refuse: Callable[[str], None]
    check: Callable[[str], None]
    range: tuple[str, str] | None = None

    def items(self, count: Size) -> tuple[str, str]:
        """Return the first of so many items that is wanted, and what is behind the last."""
        return self.range or ("0", self.size(count))

    def size(self, size: Size) -> str:
        """Return a size as an operand."""
        return self.writer.size(size)

    def call(self, name: str, pointers: tuple[str, ...], sizes: tuple[str, ...]) -> None:
        """Write a call of an internal function of pointers, then sizes, without a result."""
        arguments = [f"ptr {pointer}" for pointer in pointers] + [f"i64 {size}" for size in sizes]
        self.writer.do(f"call void {name}({', '.join(arguments)})")


def _elements(node: Node) -> Size:
    """Return how much it takes to read and write all elements, one by one."""
    return 8 * sum((value.type.count for value in (*node.operands, *node.results)), start=0)


class WholeOp(NamedTuple):
    """How an op on whole arrays is compiled.

    Parameters
    ----------
    write: writes it.
    scratch: for a node the bytes of each piece of scratch it needs.
    items: for a node how many things it does, each by itself; None where it does one.
    work: for a node about how much it takes, as so many cheap operations of vectors.
    unit: for a node how many of its items a task had better have at least.
    """

    write: Callable[[Site], None]
    scratch: Callable[[Node], tuple[Size, ...]] = lambda node: ()
    items: Callable[[Node], Size | None] = lambda node: None
    work: Callable[[Node], Size] = _elements
    unit: Callable[[Node], int] = lambda node: 1


def around(node: Node) -> tuple[Size, Size, Size]:
    """Return a node's first shape as three sizes: before its axis, the axis, behind it."""
    shape = node.results[0].type.shape
    axis: int = node.attributes["axis"]
    return product(shape[:axis]), shape[axis], product(shape[axis + 1 :])
