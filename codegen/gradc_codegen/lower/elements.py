"""Reading an element of a value, or one for each lane: from a register, from memory, or computed.

What all lanes have in common is read once. Lanes that lie side by side are read together; others
are gathered. Where only some lanes count, nothing is read or written for the rest.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from gradc_codegen.lower.addresses import Addresses, Place
from gradc_codegen.lower.horizontal_reductions import HorizontalReductions
from gradc_codegen.nest.far_memory import LINE, has_far_rows, numbers_of_steps
from gradc_codegen.nest.index_maps import (
    Fixed,
    Index,
    IndexMap,
    Lookup,
    Regrouped,
    Shifted,
    Windowed,
    index_maps,
)
from gradc_codegen.nest.loop_nest import Staged
from gradc_codegen.scalar.lower_scalar import cast, lower_formula, lower_scalar, lower_word, select
from gradc_codegen.storage.storage import Buffer, Plan, Storage
from gradc_codegen.text.division import divide
from gradc_codegen.text.indices import Lane, is_vector, varies
from gradc_codegen.text.loads_and_stores import Memory
from gradc_codegen.text.module import REGISTER, literal
from gradc_codegen.text.vectors import all_lanes
from gradc_codegen.text.writer import Writer
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType, Type


class Elements(Addresses):
    """Access to the elements of values within one LLVM function.

    Parameters
    ----------
    writer: where instructions go.
    plan: where values live.
    arena: the pointer to aligned scratch.
    """

    def __init__(self, writer: Writer, plan: Plan, arena: str) -> None:
        super().__init__(writer, plan, arena)
        self.memory = Memory(writer)
        self.horizontal = HorizontalReductions(writer)
        self.registers: dict[Value, str] = {}
        # for arrays whose block at hand is in scratch: the axis, the index along it, and where
        self.transposed: dict[Staged, tuple[str, Buffer]] = {}
        # by the first index of a block: the windows, start and size, that hold in all its lanes
        self.interior: dict[str, frozenset[tuple[Size, Size]]] = {}
        # the elements of the caller's arrays that were touched in lanes, since that was cleared
        self.touched: dict[tuple[str, Type], list[tuple[str, ...]]] = {}
        # of sizes that only the running program knows: whether sums of this length are short here
        self.decided: dict[Size, bool] = {}
        self.may_fail = False
        # whether this is in a loop over strips, and what numbers the steps of a loop: by how much
        self.in_strips = False
        self.steps: dict[Value, int] = {}
        self._maps: dict[Node, tuple[IndexMap, ...]] = {}

    def enter(self, around: Elements, loop: Node, function: Function) -> None:
        """Say that this is of a body of a node of control flow, in what is around it."""
        self.in_strips = around.in_strips or loop.op.name == "strips"
        self.steps = numbers_of_steps(loop, function, self.in_strips)

    def load(self, place: Place, dtype: DType, mask: bool = True) -> str:
        """Return what is at a place; ``mask``: lanes that do not count may be outside of memory."""
        loaded = self.memory.load(place.base, place.position, dtype, mask)
        if dtype is not DType.BOOL:
            return loaded
        vector = is_vector(loaded)
        type_ = self.writer.type_of("i8", vector)
        return self.writer.write(
            vector, f"icmp ne {type_} {loaded}, {'zeroinitializer' if vector else 0}"
        )

    def store(self, place: Place, dtype: DType, register: str, mask: bool = True) -> None:
        """Write a register to a place."""
        if varies(place.position):
            register = self.writer.spread(register, REGISTER[dtype])
        if dtype is DType.BOOL:
            vector = is_vector(register)
            have, want = (self.writer.type_of(name, vector) for name in ("i1", "i8"))
            register = self.writer.write(vector, f"zext {have} {register} to {want}")
        self.memory.store(place.base, place.position, dtype, register, mask)

    def read(self, value: Value, index: tuple[str, ...]) -> str:
        """Return an element of a value that lives in memory."""
        mask = self._plan.storage[value].lanes == 1
        return self.load(self.place(value, index), value.type.dtype, mask)

    def keep(self, value: Value, index: tuple[str, ...], register: str) -> None:
        """Write an element of a value that lives in memory; not in an output nobody wants."""
        storage, dtype = self._plan.storage[value], value.type.dtype
        flag = self.wanted(storage.output) if storage.is_output_only else "true"
        if storage.is_output_only:
            self.touch(f"%out{storage.output}", value.type, index)
        if flag == "true":
            self.store(self.place(value, index), dtype, register, storage.lanes == 1)
        else:
            self.writer.where(flag, lambda: self.store(self.place(value, index), dtype, register))

    def touch(self, base: str, type_: Type, index: tuple[str, ...]) -> None:
        """Note that an element of an array of the caller's is read or written, in lanes."""
        if self.block is not None:
            self.touched.setdefault((base, type_), []).append(index)

    def in_memory(self, value: Value) -> bool:
        """Whether a statement's value lives in memory."""
        return self._plan.storage[value].memory

    def has_lanes(self, value: Value) -> bool:
        """Whether a value in memory has the elements of all lanes side by side."""
        return self._plan.storage[value].lanes > 1

    def whole(self, value: Value) -> str:
        """Return where a value that is in memory whole begins."""
        storage = self._plan.storage.get(value)
        if storage is not None:
            return self.base(value, storage)
        node = value.node
        if node.op.name == "constant":
            return self.writer.module.constant(node.attributes["value"])
        return f"%in{node.attributes['index']}"

    # -- elements ----------------------------------------------------------------------------------

    def element(self, value: Value, index: tuple[str, ...]) -> str:
        """Return an element of a value in a register; axes it does not keep need no index."""
        found = self.registers.get(value)
        if found is not None:
            return found
        node = value.node
        name = node.op.name
        storage = self._plan.storage.get(value)
        if storage is None:
            if name == "constant" and not index:
                return literal(node.attributes["value"].array.item(), value.type.dtype)
            if name == "param" and not index:
                return self._scalar(node.attributes["index"], value.type.dtype)
        return self.writer.once((value, index), lambda: self._element(value, storage, index))

    def _element(self, value: Value, storage: Storage | None, index: tuple[str, ...]) -> str:
        dtype = value.type.dtype
        if storage is not None:
            return self.read(value, index)
        node = value.node
        if node.op.name in ("param", "constant"):
            for axis, at in enumerate(index):
                found = self.transposed.get(Staged(value, axis)) if isinstance(at, Lane) else None
                if found is not None and found[0] == at:
                    others = [*index[:axis], *index[axis + 1 :]]
                    return self.load(
                        self.in_block(Staged(value, axis), found[1], others), dtype, False
                    )
            position = self.writer.linear(list(index), list(value.type.shape))
            self.touch(self.whole(value), value.type, index)
            return self.load(Place(self.whole(value), position), dtype)
        return self.compute(node, index)

    def in_block(
        self, staged: Staged, buffer: Buffer, others: list[str], lanes: int | None = None
    ) -> Place:
        """Return where an element for each lane of a block of an array is, in scratch."""
        shape = staged.value.type.shape
        position = self.writer.linear(others, [shape[i] for i in staged.others])
        lanes = lanes or self.block or self.writer.lanes
        return Place(self.pointer(buffer), self.in_scratch(position, lanes))

    def _scalar(self, position: int, dtype: DType) -> str:
        if dtype is not DType.BOOL:
            return f"%in{position}"
        return self._once(("scalar", position), lambda: f"icmp ne i8 %in{position}, 0")

    def maps(self, node: Node) -> tuple[IndexMap, ...]:
        """Return the index maps of a node."""
        found = self._maps.get(node)
        if found is None:
            found = self._maps[node] = index_maps(node)
        return found

    def compute(self, node: Node, index: tuple[str, ...]) -> str:
        """Return the element of a node's result at its own dims, computed from its operands."""
        op = node.op
        if op.family == "unbounded":
            return lower_formula(self.writer, node, index, lambda x: self.element(x, index))
        if op.is_elementwise:
            return lower_scalar(
                self.writer, node, [self.element(operand, index) for operand in node.operands]
            )
        name = op.name
        dtype = node.results[0].type.dtype
        if name == "size":
            return self.writer.size(node.attributes["size"])
        if name == "iota":
            at = self.writer.index_vector(index[0]) if varies(index[0]) else index[0]
            return cast(self.writer, at, DType.I64, dtype)
        if name == "pad":
            zero = literal(0, dtype)
            return self._windowed(node, 0, index, lambda: zero)
        if name == "set_slice":
            base = node.operands[0]
            return self._windowed(node, 1, index, lambda: self.element(base, index))
        if name == "concatenate":
            return self._concatenated(node, 0, index)
        place = self.read_at(node, 0, index)
        if name == "gather" and self.steps:
            self._fetch_next_row(node, place)
        return self.element(node.operands[0], place)

    def read_at(self, node: Node, position: int, index: tuple[str, ...]) -> tuple[str, ...]:
        """Return at which index a node reads an operand, given the index of its own dims."""
        return tuple(
            index[at] if type(at) is int else self._index(node, axis, at, index)
            for axis, at in enumerate(self.maps(node)[position])
        )

    def operands(self, node: Node, own: list[str], count: int | None = None) -> list[str]:
        """Return the elements a node reads of its operands, given the index of its own dims.

        ``count``: of how many operands, the first ones.
        """
        return [
            self.element(operand, self.read_at(node, i, tuple(own)))
            for i, operand in enumerate(node.operands[:count])
        ]

    def _index(self, node: Node, axis: int, at: Index, index: tuple[str, ...]) -> str:
        writer = self.writer
        if isinstance(at, Shifted):
            moved = writer.size(at.start)
            for dim, step in at.terms:
                moved = writer.add(moved, writer.multiply(index[dim], str(step)))
            return moved
        if isinstance(at, Regrouped):
            result = writer.linear([index[dim] for dim in at.dims], list(at.dim_sizes))
            if result == "0":
                return result
            if at.divisor != 1:
                result = divide(writer, "udiv", result, writer.size(at.divisor))
            if at.modulus is not None:
                result = divide(writer, "urem", result, writer.size(at.modulus))
            return result
        if isinstance(at, Lookup):
            indices = node.operands[at.operand]
            return self.checked(indices, index[: indices.type.rank], node.operands[0], axis)
        assert isinstance(at, Fixed)
        return str(at.at)

    def checked(self, indices: Value, at: tuple[str, ...], x: Value, axis: int) -> str:
        """Return an index operand's element, wrapped once; the kernel fails when it is outside."""
        writer = self.writer
        key = ("checked", indices, at, x.type.shape[axis])
        known = writer.known(key)
        if known is not None:
            return known
        found = cast(writer, self.element(indices, at), indices.type.dtype, DType.I64)
        if _is_surely_inside(indices, x.type.shape[axis]):
            return writer.remember(key, found)
        length = writer.size(x.type.shape[axis])
        negative = lower_word(writer, "lt", DType.I64, [found, "0"])
        moved = lower_word(writer, "add", DType.I64, [found, length])
        wrapped = select(writer, DType.I64, negative, moved, found)
        vector = is_vector(wrapped)
        type_ = writer.type_of("i64", vector)
        end = writer.spread(length, "i64") if vector else length
        inside = writer.write(vector, f"icmp ult {type_} {wrapped}, {end}")
        inside = all_lanes(writer, inside)
        (following,) = writer.labels("inside")
        writer.branch(inside, following, "outside")
        writer.start(following)
        self.may_fail = True
        return writer.remember(key, wrapped)

    def _fetch_next_row(self, node: Node, at: tuple[str, ...]) -> None:
        """Write hints for what a gather by the number of the step reads in the next one."""
        value, last = node.operands[0], at[-1]
        first = self.maps(node)[0][0]
        by = self.steps.get(node.operands[first.operand]) if isinstance(first, Lookup) else None
        if by is None or not isinstance(last, Lane) or any(map(varies, at[:-1])):
            return
        writer = self.writer
        at = (writer.add(at[0], str(by)), *at[1:])
        while value.op.name == "slice":
            at, value = self.read_at(value.node, 0, at), value.node.operands[0]
        last = at[-1]
        if value.op.name != "param" or not isinstance(last, Lane):
            return
        if not has_far_rows(value.type, self.in_strips):
            return
        for lane in range(0, writer.lanes, LINE // value.type.dtype.bytes):
            position = (*at[:-1], writer.add(last.origin, str(lane)))
            linear = writer.linear(list(position), list(value.type.shape))
            self.memory.fetch(self.whole(value), linear, value.type.dtype)

    # -- reads under a guard -----------------------------------------------------------------------

    def _windowed(
        self, node: Node, position: int, index: tuple[str, ...], otherwise: Callable[[], str]
    ) -> str:
        """Return the operand's element where all windows hold, something else outside."""
        conditions: list[str] = []
        at: list[str] = []
        for window in self.maps(node)[position]:
            if isinstance(window, Windowed):
                condition, inner = self._window(window, index[window.dim])
                if condition != "true":
                    conditions.append(condition)
                at.append(inner)
            else:
                assert isinstance(window, int)
                at.append(index[window])

        def read() -> str:
            return self.element(node.operands[position], tuple(at))

        if not conditions:
            return read()
        dtype = node.results[0].type.dtype
        uniform = [condition for condition in conditions if not is_vector(condition)]

        def read_inside() -> str:
            # a load that is the same for all lanes has no mask
            zero = literal(0, dtype)
            return self._branch(self._all(uniform), dtype, read, lambda: zero)

        is_mixed = 0 < len(uniform) < len(conditions)
        return self._branch(
            self._all(conditions), dtype, read_inside if is_mixed else read, otherwise
        )

    def _all(self, conditions: list[str]) -> str:
        return functools.reduce(
            lambda x, y: lower_word(self.writer, "and", DType.BOOL, [x, y]), conditions
        )

    def _concatenated(self, node: Node, position: int, index: tuple[str, ...]) -> str:
        if position == len(node.operands) - 1:
            (window,) = [w for w in self.maps(node)[position] if isinstance(w, Windowed)]
            start = self.writer.size(window.start)
            inner = self.writer.subtract(index[window.dim], start)
            at = tuple(inner if dim == window.dim else i for dim, i in enumerate(index))
            return self.element(node.operands[position], at)
        return self._windowed(
            node, position, index, lambda: self._concatenated(node, position + 1, index)
        )

    def _window(self, window: Windowed, index: str) -> tuple[str, str]:
        writer = self.writer
        distance = writer.subtract(index, writer.size(window.start))
        if window.step == 1 and isinstance(index, Lane) and index.step == "1":
            holding = self.interior.get(index.origin, ())
            if (window.start, window.size) in holding:
                return "true", distance
        size = writer.size(window.size)
        vector = varies(distance)
        type_ = writer.type_of("i64", vector)
        if vector:
            size = writer.spread(size, "i64")
        if window.step == 1:
            at = writer.index_vector(distance) if vector else distance
            return writer.write(vector, f"icmp ult {type_} {at}, {size}"), distance
        step = str(window.step)
        if vector:
            distance, step = writer.index_vector(distance), writer.spread(step, "i64")
        quotient = writer.write(vector, f"sdiv {type_} {distance}, {step}")
        rest = writer.write(vector, f"srem {type_} {distance}, {step}")
        whole = lower_word(writer, "eq", DType.I64, [rest, "0"])
        below = writer.write(vector, f"icmp ult {type_} {quotient}, {size}")
        return lower_word(writer, "and", DType.BOOL, [whole, below]), quotient

    def _branch(
        self, condition: str, dtype: DType, then: Callable[[], str], otherwise: Callable[[], str]
    ) -> str:
        """Return one of two elements; the other is not read."""
        writer = self.writer
        if is_vector(condition):
            type_ = writer.type_of("i1", True)
            opposite = writer.emit_vector(f"xor {type_} {condition}, splat (i1 true)")
            found = []
            for where, value in ((condition, then), (opposite, otherwise)):
                with writer.in_lanes(writer.lanes, writer.masked(where)):
                    found.append(value())
            return select(writer, dtype, condition, *found)
        writer.guarded_reads += 1
        vector = writer.lanes > 1
        ways = []

        def way(value: Callable[[], str]) -> None:
            # in lanes one branch may find a number and the other one for each lane
            result = writer.spread(value(), REGISTER[dtype]) if vector else value()
            ways.append(f"[ {result}, %{writer.block} ]")

        names = ("yes", "no", "joined")
        writer.either(condition, lambda: way(then), lambda: way(otherwise), names)
        type_ = writer.type_of(REGISTER[dtype], vector)
        return writer.write(vector, f"phi {type_} {', '.join(ways)}")


def _is_surely_inside(indices: Value, size: Size) -> bool:
    """Whether indices are numbers that are known now and count from 0 to less than a size."""
    if indices.op.name != "constant" or not isinstance(size, int):
        return False
    known = indices.node.attributes["value"].array
    return bool(((known >= 0) & (known < size)).all())
