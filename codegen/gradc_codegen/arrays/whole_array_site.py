"""One statement on whole arrays: its node, and where its operands, results and scratch begin."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gradc_codegen.text.writer import Writer
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
    """

    writer: Writer
    node: Node
    operands: tuple[str, ...]
    results: tuple[str, ...]
    scratch: tuple[str, ...]
    refuse: Callable[[str], None]
    check: Callable[[str], None]

    def size(self, size: Size) -> str:
        """Return a size as an operand."""
        return self.writer.size(size)

    def call(self, name: str, pointers: tuple[str, ...], sizes: tuple[str, ...]) -> None:
        """Write a call of an internal function of pointers, then sizes, without a result."""
        arguments = [f"ptr {pointer}" for pointer in pointers] + [f"i64 {size}" for size in sizes]
        self.writer.do(f"call void {name}({', '.join(arguments)})")


class WholeOp(NamedTuple):
    """How an op on whole arrays is compiled.

    Parameters
    ----------
    write: writes it.
    scratch: for a node the bytes of each piece of scratch it needs.
    """

    write: Callable[[Site], None]
    scratch: Callable[[Node], tuple[Size, ...]] = lambda node: ()


def around(node: Node) -> tuple[Size, Size, Size]:
    """Return a node's first shape as three sizes: before its axis, the axis, behind it."""
    shape = node.results[0].type.shape
    axis: int = node.attributes["axis"]
    return product(shape[:axis]), shape[axis], product(shape[axis + 1 :])
