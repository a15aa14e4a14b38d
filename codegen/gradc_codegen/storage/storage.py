"""Storage as data: where each value lives, the state of reductions, and the layout of the arena.

A value keeps only the axes below the lowest loop it shares with all its readers. What keeps no
axis is a register. All else is a buffer in one arena, the caller's ``work``.
"""

from __future__ import annotations

from dataclasses import field

from gradc_codegen.nest.loop_nest import Loop, Statement
from gradc_codegen.schedule.cost import joins_in_order
from gradc_ir.classes.named import NamedTuple
from gradc_ir.classes.quick import dataclass
from gradc_ir.core import sizes
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.sizes import Size
from gradc_ir.meaning import reduction

ALIGNMENT = 64


class Span(NamedTuple):
    """The numbers of the first and of the last statement that need something."""

    first: int
    last: int

    def joined(self, other: Span) -> Span:
        """Return the span of both, and of what is between them."""
        return Span(min(self.first, other.first), max(self.last, other.last))


@dataclass(eq=False)
class Buffer:
    """A piece of the arena: ``bytes`` long, needed for as long as a span."""

    bytes: Size
    needed: Span
    is_own: bool = False  # whether each task has one of its own
    offset: int = 0  # from the start of the fixed part
    slot: int = -1  # the symbolic slot it is, behind the fixed part; -1 when it is in that


@dataclass(eq=False, slots=True)
class Storage:
    """Where a value lives.

    Parameters
    ----------
    path: the loops it shares with its readers.
    part: the function its register is in.
    memory: whether it lives in memory; a register otherwise.
    first, last: the items of the nest by whose numbers it is written first, and read last.
    kept: the axes it keeps in memory.
    lanes: how many iterations of a loop have an element of their own, side by side.
    output: the result whose memory it uses when that is wanted, -1 for none.
    read: whether a statement reads it.
    buffer: its scratch.
    """

    path: tuple[Loop, ...]
    part: int
    memory: bool
    first: int
    last: int
    kept: tuple[int, ...] = ()
    lanes: int = 1
    output: int = -1
    read: bool = False
    buffer: Buffer | None = None

    @property
    def is_output_only(self) -> bool:
        """Whether it lives in an output alone, and in nothing if that is not wanted."""
        return self.memory and self.buffer is None


@dataclass(eq=False)
class Accumulator:
    """The state of a reduction besides its total; None stands for the stack or a register.

    Parameters
    ----------
    inner: the dims inside the reduced loop.
    grouped: whether it has partials.
    lanes: how many lanes of a loop outside have a state of their own.
    along: how many elements are joined at once, as lanes of the reduced loop.
    levels: how many nodes of the tree of its chunks it keeps; 0 where they join one after another.
    node_bytes: how much scratch they take; 0 where they are on the stack.
    row: the partials that lanes of the reduced loop join to, or what may be joined in any order.
    chunks: the sum of each chunk, or of each group, where tasks make them.
    """

    statement: Statement
    inner: tuple[int, ...]
    grouped: bool
    lanes: int = 1
    along: int = 1
    levels: Size = 0
    node_bytes: Size = 0
    partials: Buffer | None = None
    chunk: Buffer | None = None
    nodes: Buffer | None = None
    row: Buffer | None = None
    chunks: Buffer | None = None

    @property
    def is_free_along(self) -> bool:
        """Whether lanes of the reduced loop are joined in an order that changes no bit."""
        return self.along > 1 and not joins_in_order(self.statement)

    @property
    def has_row(self) -> bool:
        """Whether lanes of the reduced loop join to as many numbers side by side."""
        if self.inner:
            return False
        return self.is_free_along or (self.grouped and 1 < self.along < reduction.GROUP)

    @property
    def width(self) -> int:
        """How many numbers these are."""
        dtype = self.statement.value.type.dtype
        return self.along if self.is_free_along else reduction.lanes(dtype.numpy)


@dataclass(eq=False)
class Region:
    """The layout of a run of buffers: a fixed part, and slots behind it of symbolic sizes."""

    fixed_bytes: int = 0
    slots: list[Size] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.fixed_bytes or self.slots)

    @property
    def bytes(self) -> Size:
        """How long it is at most."""
        slots = (sizes.maximum(slot, 0) + ALIGNMENT for slot in self.slots)
        return sum(slots, start=self.fixed_bytes)


@dataclass(eq=False)
class Plan:
    """The storage of all values of a kernel, and the layout of its arena.

    ``begun``: of loops cut into groups how many of each chunk's the task joins that begins it.
    ``bodies`` are the plans of the bodies of control flow; ``all_wanted``: every output has memory;
    ``shared`` is the scratch of the kernel, ``own`` that of a task, which stands behind it once.
    """

    storage: dict[Value, Storage] = field(default_factory=dict)
    accumulators: dict[Statement, Accumulator] = field(default_factory=dict)
    scratch: dict[Statement, tuple[Buffer, ...]] = field(default_factory=dict)
    staged: dict[Loop, tuple[Buffer, ...]] = field(default_factory=dict)
    begun: dict[Loop, Buffer] = field(default_factory=dict)
    bodies: dict[Node, tuple[Plan, ...]] = field(default_factory=dict)
    all_wanted: bool = False
    shared: Region = field(default_factory=Region)
    own: Region = field(default_factory=Region)

    @property
    def needs_work(self) -> bool:
        """Whether the kernel can need scratch at all."""
        return bool(self.shared or self.own)

    @property
    def bytes(self) -> Size:
        """How long the arena is at most."""
        shared = self.shared.bytes
        if self.own and isinstance(shared, int):  # what is a task's begins at a cache line
            shared = -(-shared // ALIGNMENT) * ALIGNMENT
        return shared + self.own.bytes
