"""What an engine is: it runs a task on all rows, wherever they are, and puts the parts together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from gradc.distributed.blocks import Blocks, Rows, pieces
from gradc.row_sums.partials import Partials, join
from gradc.row_sums.task import Task

# Takes how many more rows are done.
Told = Callable[[int], None]


class Engine(Protocol):
    """Runs tasks on rows: in this process, or somewhere else.

    Both methods take the arrays of the row arguments, in order, as the user has given them.
    """

    def like(self, leaves: list[Any]) -> list[Any]:
        """Return what is like all the rows: arrays, or :class:`Rows` in their place."""

    def total(self, task: Task, leaves: list[Any], told: Told) -> Partials:
        """Return what all rows add to the sums; ``told`` is told of rows that are done."""


class Here:
    """This process, a block at a time, so that memory holds one block and what is summed up."""

    def like(self, leaves: list[Any]) -> list[Any]:
        """Return the arrays themselves."""
        return leaves

    def total(self, task: Task, leaves: list[Any], told: Told) -> Partials:
        """Return what all rows add to the sums."""
        count = leaves[0].shape[0] if leaves else 0
        return _summed(task, pieces(leaves, count), told)


class InBlocks:
    """This process, on blocks that come one after another."""

    def __init__(self, blocks: Blocks, arguments: int) -> None:
        self._blocks = blocks
        self._arguments = arguments

    def like(self, leaves: list[Any]) -> list[Rows]:
        """Return what is like the rows of all blocks."""
        return self._blocks.like(self._arguments)

    def total(self, task: Task, leaves: list[Any], told: Told) -> Partials:
        """Return what all blocks add to the sums."""
        return _summed(task, self._blocks, told)


def _summed(task: Task, blocks: Any, told: Told) -> Partials:
    found, start = Partials(), 0
    for block in blocks:
        found = join(found, task(block, start))
        start += len(block[0])
        told(len(block[0]))
    return found
