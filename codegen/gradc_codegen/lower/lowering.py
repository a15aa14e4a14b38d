"""What writing a part of a function asks of the whole: the walk over the nest, as a protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from gradc_codegen.abi import Status
from gradc_codegen.lower.elements import Elements
from gradc_codegen.lower.row_stores import RowStores
from gradc_codegen.nest.loop_nest import Item, Loop, Statement
from gradc_codegen.text.writer import Writer
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Node

if TYPE_CHECKING:
    from gradc_codegen.lower.reducing.running import Running

# In a body with more functions LLVM runs out of registers, and numbers go to the stack and back.
MOST_INLINED = 24
# what runs the tasks of a kernel, where its caller says that; null in a task
RUNNER = "%runner"


class Bounds(NamedTuple):
    """The first iteration of a range, and the one behind the last."""

    start: str
    end: str


class Body(NamedTuple):
    """A body's function in machine code: its name, whether it can fail, its reads under guards."""

    name: str
    fails: bool
    guarded_reads: int


class Lowering(Protocol):
    """An LLVM function in the making.

    Parameters
    ----------
    indices: the index of each open loop.
    running: the reductions whose loops are open.
    rows: the elements of rows that are not written yet.
    """

    writer: Writer
    elements: Elements
    indices: dict[Loop, str]
    running: dict[Statement, Running]
    rows: RowStores

    @property
    def sizes(self) -> str:
        """The sizes as arguments of a call."""

    @property
    def runner(self) -> list[str]:
        """What runs tasks, as an argument of all functions of a module that has it."""

    def body(self, node: Node, position: int) -> Body:
        """Return a body of a node of control flow as a function of the module."""

    def own(self, statement: Statement) -> list[str]:
        """Return the index of each of a statement's dims; 0 for those no open loop runs over."""

    def refuse(self, condition: str, status: Status) -> None:
        """Return a status where a condition holds."""

    def check(self, status: str) -> None:
        """Return what a function of C returned, where that is not OK."""

    def body_of(self, body: Sequence[Item]) -> None:
        """Write the items of a loop's body, or of the whole nest."""

    def begin(
        self, loop: Loop, chunk_at: str | None = None, is_fresh: str | None = None
    ) -> list[Running]:
        """Write the starts of a loop's reductions; ``chunk_at``: of the chunk of this number.

        ``is_fresh``: a flag that they do not go on from what is there.
        """

    def end(self, running: list[Running]) -> None:
        """Put the totals of a loop's reductions where they live."""

    def turns(self, loop: Loop, running: list[Running], bounds: Bounds | None = None) -> None:
        """Write a loop whose reductions have begun; ``bounds``: one chunk, or a range, of it."""

    def finished(self, statement: Statement, register: str) -> None:
        """Put the total of a reduction where it lives."""
