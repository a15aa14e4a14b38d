"""How far the ends of an axis reach into what a step of a loop makes, and what is read of it.

Where a loop runs over a window of an axis alone, what lies beside the window is missing at its
borders, and each step spoils some more elements there: as many as it reads to a side. An axis is
followed through the body from op to op, each of which has to treat all elements alike: it may read
neighbours and have some few elements at either end that are made in another way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.sizes import Expr, Size, maximum, substitute
from gradc_ir.graphs.rearrange import scalar_constant

Place: TypeAlias = tuple[Value, int]  # an axis of a value

# Elements at an end of an axis that may be made in another way than the rest.
_FEW = 16
# An axis is large where it is longer than this, beside all that happens at its ends.
LARGE = 8 * _FEW
_NEVER = -(1 << 40)
_REDUCTIONS = ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min")
_WINDOWS = ("slice", "pad", "set_slice")


class Unfit(Exception):
    """An axis whose elements a body does not treat alike."""


class Spoilt(NamedTuple):
    """How many elements at one end are spoilt: ``max(before + more, least)``.

    ``before`` is how many of the carries are when a step begins.
    """

    more: int = _NEVER
    least: int = 0

    def shifted(self, by: int) -> Spoilt:
        """Return what is spoilt after elements were put before the end, or taken from it."""
        return Spoilt(self.more + by, max(self.least + by, 0))

    def after(self, steps: Size) -> Size:
        """Return how many elements of the carries, whose step this is, are spoilt after steps."""
        first, rise = max(self.more, self.least), max(self.more, 0)
        return first + (steps - 1) * rise

    def within(self, before: Size) -> Size:
        """Return how many elements are spoilt where so many of the carries were."""
        return self.least if self.more < _NEVER // 2 else maximum(before + self.more, self.least)


def _most(found: Iterable[Spoilt]) -> Spoilt:
    every = [Spoilt(), *found]
    return Spoilt(max(one.more for one in every), max(one.least for one in every))


class Ends(NamedTuple):
    """What is spoilt at the low end and at the high end."""

    low: Spoilt = Spoilt()
    high: Spoilt = Spoilt()

    def shifted(self, low: int, high: int) -> Ends:
        """Return the ends after elements were put before them, or taken from them."""
        return Ends(self.low.shifted(low), self.high.shifted(high))


def most(found: Iterable[Ends]) -> Ends:
    """Return what is spoilt where one of several is."""
    every = list(found)
    return Ends(_most(ends.low for ends in every), _most(ends.high for ends in every))


class Some(NamedTuple):
    """Elements of a value, from ``start`` to before ``stop``, that a node takes or puts there."""

    node: Node
    value: Value
    start: Size
    stop: Size


class AxisOfBody:
    """One axis of a loop's carries, as it goes through the body.

    Raises Unfit where an op of the body does not treat its elements alike.

    Attributes
    ----------
    axes: for each value that has the axis, which of its axes it is.
    ends: for each of these, what is spoilt of it in a step.
    taken: what is read of the values in the body and may lie anywhere.
    put: what becomes a part of the values and may lie anywhere: it has to be there.
    sides: for what else is taken or put, few elements, at which end they are, "low" or "high".
        What is taken is as good as what it is put to, at the same end.
    """

    def __init__(self, body: Function, consts: int, carries: int, carry: int, axis: int) -> None:
        self.body = body
        self._first, self._carries = consts, carries
        self._users: dict[Value, list[Node]] = {}
        for node in body.nodes:
            for operand in node.operands:
                self._users.setdefault(operand, []).append(node)
        first = body.params[consts + carry]
        self.whole = first.type.shape[axis]
        self._symbol = _symbol_of(self.whole)
        self.axes: dict[Value, int] = {}
        self._follow((first, axis))
        self.taken: list[Some] = []
        self.put: list[Some] = []
        self.sides: dict[Node, str] = {}
        self.ends: dict[Value, Ends] = {}
        for node in body.nodes:
            for value in node.results:
                if value in self.axes:
                    self.ends[value] = self._ends_of(node, value, self.axes[value])
        self._find_taken()

    @property
    def carried(self) -> list[int]:
        """Which carries have the axis."""
        params = self.body.params[self._first : self._first + self._carries]
        return [k for k, param in enumerate(params) if param in self.axes]

    @property
    def step(self) -> Ends:
        """What is spoilt of the carries in a step."""
        return most(self.ends[self.body.results[k]] for k in self.carried)

    def size(self, value: Value) -> Size:
        """Return the size of the axis in a value."""
        return value.type.shape[self.axes[value]]

    def longer(self, value: Value) -> int:
        """Return how much longer the axis is in a value than in the carries, if it is large."""
        return self._number(self.size(value) - self.whole)

    def of(self, size: Size, part: Size) -> Size:
        """Return what a size is that is made of that of the axis, for a part of the axis."""
        if self._symbol is None:
            return size - (self.whole - part)
        name, more = self._symbol
        return substitute(size, {name: part - more})

    def _number(self, size: Size) -> int:
        """Return a size as a number that holds where the axis is large."""
        if self._symbol is not None:
            name, _ = self._symbol
            size = substitute(size, {name: Expr({(name,): 1}) + LARGE})
        if not isinstance(size, int):
            raise Unfit
        return size

    def _follow(self, start: Place) -> None:
        """Find the axis in all values of the body."""
        pending = [start]
        while pending:
            value, axis = pending.pop()
            known = self.axes.setdefault(value, axis)
            if known != axis:
                raise Unfit
            pending += [(x, y) for x, y in self._beside(value, axis) if self.axes.get(x) != y]

    def _beside(self, value: Value, axis: int) -> Iterator[Place]:
        """Yield where else the axis of a value is, by the ops around it."""
        params, results = self.body.params, self.body.results
        for k in range(self._carries):
            param = params[self._first + k]
            if value is param:
                yield results[k], axis
            if value is results[k]:
                yield param, axis
        around = self._users.get(value, [])
        if value.op.name != "param" and not _is_made(value):
            around = [value.node, *around]
        for node in around:
            places = next((group for group in self._groups(node) if (value, axis) in group), None)
            if places is None:
                raise Unfit
            yield from places

    def _groups(self, node: Node) -> Iterator[list[Place]]:
        """Yield axes of operands and results that are one axis, whose elements go together."""
        name, (result, *_) = node.op.name, node.results
        if node.op.is_elementwise:
            for axis in range(result.type.rank):
                yield [(value, axis) for value in (*node.operands, *node.results)]
        elif name == "broadcast":
            for axis, place in enumerate(node.attributes["axes"]):
                yield [(node.operands[0], axis), (result, place)]
        elif name == "transpose":
            for axis, place in enumerate(node.attributes["permutation"]):
                yield [(node.operands[0], place), (result, axis)]
        elif name in _REDUCTIONS:
            yield from _beside_axes(node.operands[0], result, node.attributes["axes"])
        elif name == "concatenate":
            for axis in range(result.type.rank):
                is_along = axis == node.attributes["axis"]
                parts = self._long_part(node, axis) if is_along else node.operands
                yield [(value, axis) for value in (*parts, result)]
        elif name in _WINDOWS:
            part, whole = _part_and_whole(node)
            for axis in range(result.type.rank):
                places = [(x, axis) for x in (*node.operands, result) if x is not part]
                yield [*places, (part, axis)] if self._is_long(node, axis) else places
        elif place_of_one(node) is not None:
            part, whole = _part_and_whole(node)
            (along,) = node.attributes["axes"]
            for axis in range(whole.type.rank):
                places = [(whole, axis), *([] if name == "gather" else [(node.operands[0], axis)])]
                behind = [] if axis == along else [(part, axis - (axis > along))]
                yield [*places, *behind]

    def _long_part(self, node: Node, axis: int) -> Sequence[Value]:
        """Return of a concatenation the one part that is all but few elements, if there is one."""
        size = node.results[0].type.shape[axis]
        for part in node.operands:
            if node.operands.count(part) == 1 and self._is_few(size - part.type.shape[axis]):
                return [part]
        return []

    def _is_long(self, node: Node, axis: int) -> bool:
        """Whether a window is all but few elements, its first one not far from the low end."""
        part, whole = _part_and_whole(node)
        start, step = node.attributes["starts"][axis], node.attributes["steps"][axis]
        rest = whole.type.shape[axis] - part.type.shape[axis]
        return step == 1 and self._is_few(start) and self._is_few(rest - start)

    def _is_few(self, size: Size) -> bool:
        try:
            return 0 <= self._number(size) <= _FEW
        except Unfit:
            return False

    def _ends_of(self, node: Node, value: Value, axis: int) -> Ends:
        name = node.op.name
        if name == "param":
            index = node.attributes["index"] - self._first
            begun = Spoilt(0)
            return Ends(begun, begun) if 0 <= index < self._carries else Ends()
        have = [operand for operand in node.operands if operand in self.axes]
        if name == "slice":
            low, high = self._beside_window(node, axis)
            return self.ends[have[0]].shifted(-low, -high)
        if name == "concatenate" and node.attributes["axis"] == axis:
            return self._joined(node, axis)
        if name in ("pad", "set_slice", "scatter_set"):
            return self._put_into(node, axis)
        return most(self.ends[operand] for operand in have)

    def _beside_window(self, node: Node, axis: int) -> tuple[int, int]:
        """Return how many elements of the whole lie before and behind a window of it."""
        part, whole = _part_and_whole(node)
        low: Size = node.attributes["starts"][axis]
        return self._number(low), self._number(whole.type.shape[axis] - part.type.shape[axis] - low)

    def _joined(self, node: Node, axis: int) -> Ends:
        place = next(i for i, operand in enumerate(node.operands) if operand in self.axes)
        sizes = [
            self._number(operand.type.shape[axis])
            for i, operand in enumerate(node.operands)
            if i != place
        ]
        return self.ends[node.operands[place]].shifted(sum(sizes[:place]), sum(sizes[place:]))

    def _put_into(self, node: Node, axis: int) -> Ends:
        part, whole = _part_and_whole(node)
        found = [self.ends[x] for x in node.operands if x in self.axes and x is not part]
        if part in self.axes:
            low, high = (0, 0) if node.op.name == "scatter_set" else self._beside_window(node, axis)
            return most([*found, self.ends[part].shifted(low, high)])
        some = self.some(node, axis)
        side = self._side(some, whole.type.shape[axis])
        if side is None:
            self.put.append(some)
            return most(found)
        self.sides[node] = side
        if side == "low":
            return most([*found, Ends(low=Spoilt(least=self._number(some.stop)))])
        high = self._number(whole.type.shape[axis] - some.start)
        return most([*found, Ends(high=Spoilt(least=high))])

    def some(self, node: Node, axis: int) -> Some:
        """Return what a node takes of a value, or puts into one, along an axis."""
        part, whole = _part_and_whole(node)
        if node.op.name in _WINDOWS:
            start, step = node.attributes["starts"][axis], node.attributes["steps"][axis]
            last = start + (part.type.shape[axis] - 1) * step
            low, high = (start, last) if step > 0 else (last, start)
            return Some(node, whole, low, high + 1)
        place = place_of_one(node)
        if place is None or node.attributes["axes"] != (axis,):
            return Some(node, whole, 0, whole.type.shape[axis])
        start = place if place >= 0 else whole.type.shape[axis] + place
        return Some(node, whole, start, start + 1)

    def _side(self, some: Some, size: Size) -> str | None:
        """Return at which end of an axis of this size few elements are, "low" or "high"."""
        if isinstance(some.stop, int) and some.stop <= _FEW:
            return "low"
        is_high = self._is_few(size - some.start) and self._is_few(some.stop - some.start)
        return "high" if is_high else None

    def _find_taken(self) -> None:
        """Find what is taken of values, and what of it only goes to the end that it is of."""
        made_of: dict[Value, frozenset[Node]] = {}
        free: dict[Node, None] = {}

        def release(value: Value, end: str | None = None) -> None:
            taken = made_of.get(value, ())
            free.update((x, None) for x in taken if end is None or self.sides.get(x) != end)

        for node in self.body.nodes:
            has_axis = [result for result in node.results if result in self.axes]
            if has_axis:
                for operand in node.operands:
                    release(operand, self._put_at(node, operand, self.axes[has_axis[0]]))
                continue
            found = frozenset[Node]().union(*(made_of.get(x, ()) for x in node.operands))
            if any(operand in self.axes for operand in node.operands):
                whole = _part_and_whole(node)[1]
                side = self._side(self.some(node, self.axes[whole]), self.size(whole))
                if side is not None:
                    self.sides[node] = side
                found |= {node}
            if found:
                made_of.update(dict.fromkeys(node.results, found))
        for result in self.body.results:
            release(result)
        for node in self.body.nodes:
            if node.op.name not in ("slice", "gather") or node.results[0] in self.axes:
                continue
            source = node.operands[0]
            if source in self.axes and (node in free or node not in self.sides):
                self.sides.pop(node, None)
                self.taken.append(self.some(node, self.axes[source]))

    def _put_at(self, node: Node, operand: Value, axis: int) -> str | None:
        """Return at which end an operand without the axis becomes a part of what has it."""
        if node.op.name == "concatenate" and node.attributes["axis"] == axis:
            place = next(i for i, one in enumerate(node.operands) if one in self.axes)
            sides = {"low": node.operands[:place], "high": node.operands[place + 1 :]}
            found = [side for side, parts in sides.items() if operand in parts]
            return found[0] if len(found) == 1 else None
        is_part = node in self.sides and operand is _part_and_whole(node)[0]
        return self.sides[node] if is_part and node.operands.count(operand) == 1 else None


def place_of_one(node: Node) -> int | None:
    """Return the one known place along one axis that a node takes or writes, else None."""
    if node.op.name not in ("gather", "scatter_set") or len(node.attributes["axes"]) != 1:
        return None
    index = node.operands[-1]
    place = scalar_constant(index)
    return None if place is None or index.type.rank else int(place)


def _part_and_whole(node: Node) -> tuple[Value, Value]:
    """Return of what takes or puts elements those and what they are elements of."""
    if node.op.name in ("slice", "gather"):
        return node.results[0], node.operands[0]
    return node.operands[0 if node.op.name == "pad" else 1], node.results[0]


def _beside_axes(source: Value, result: Value, axes: Sequence[int]) -> Iterator[list[Place]]:
    """Yield the axes of an operand and of a result without some of them."""
    left = [axis for axis in range(source.type.rank) if axis not in axes]
    for axis, place in enumerate(left):
        yield [(source, place), (result, axis)]


def _is_made(value: Value) -> bool:
    """Whether a value is made of nothing that has elements along any axis."""
    if value.op.name in ("constant", "iota"):
        return True
    # a gradient sums over what is repeated: in an order that must not depend on the window
    return value.op.name == "broadcast" and scalar_constant(value) is not None


def _symbol_of(size: Size) -> tuple[str, int] | None:
    """Return the symbol of a size and what it is more than that; None for a number."""
    if isinstance(size, int):
        return None
    terms = dict(size.terms)
    more = terms.pop((), 0)
    if len(terms) != 1:
        raise Unfit
    ((monomial, factor),) = terms.items()
    if factor != 1 or len(monomial) != 1 or not isinstance(monomial[0], str):
        raise Unfit
    return monomial[0], more
