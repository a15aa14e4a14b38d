"""Cutting very long straight-line code into parts, each a function of its own in machine code.

LLVM needs more than linear time for one function's instructions, so a run of more than a few
thousand becomes several functions; in lanes, where each value is a few vectors, one of some
hundreds. So does one of more numbers than a small stack has room for. Values that cross go through
scratch: in lanes a block of them, so that a long body is as wide as a short one.
"""

from __future__ import annotations

import heapq
from itertools import groupby

from gradc_codegen.nest.loop_nest import Item, Loop, Part, Statement, StatementKind, statements_of
from gradc_codegen.scalar.lower_scalar import is_function
from gradc_codegen.schedule.cost import joins_in_groups
from gradc_codegen.schedule.formulas import formula_of, operations_of
from gradc_codegen.schedule.lanes import OUTER, narrowest

MOST_OPERATIONS = 4000
# A body in lanes that is longer is cut into parts, whose code is found in the cache of instructions
# again for each strip of a block, and which compile in a third of the time.
_MOST_UNCUT = 3500
MOST_IN_LANES = 400
# Beside loops, a run of statements in lanes that is longer goes in strips of one vector: of a block
# at once it would be four times the code, and its values would be on the stack.
_MOST_AT_ONCE = 400
# Numbers in one function that wait for their readers, and numbers it reads that others made (LLVM
# may load them long before): what finds no register is on the stack.
_MOST_WAITING = 160
_LOOP = 100
_ARRAY_STATEMENT = 6
_STACKED = 2  # one element of a row, transposed with its neighbours
_FUNCTION = 30
_ELEMENT = 24  # one element of an array, with what is recomputed for it
# partials: started, reduced, joined
_GROUPED_REDUCTION = 60
_VECTOR_BYTES = 64


def cut(body: list[Item]) -> list[Item]:
    """Return a nest in which no function has many more operations than LLVM is quick with."""
    cutter = _Cutter()
    result, _ = cutter.cut(body, 1, MOST_OPERATIONS)
    if cutter.count:
        _number(result, 0)
    return result


class _Cutter:
    def __init__(self) -> None:
        self.count = 0

    def cut(
        self, body: list[Item], block: int, most: int, strip: int = 0
    ) -> tuple[list[Item], int]:
        """Return a body with long runs in parts, and its weight in operations.

        Parameters
        ----------
        block: how many iterations run at once.
        most: how much a part may weigh.
        strip: how many a part runs at once in place of a block.
        """
        weights = [self._weigh(item, block) for item in body]
        total = sum(weights)
        last = _last_readers(body) if len(body) > _MOST_WAITING else {}
        result: list[Item] = []
        run: list[Item] = []
        weight = 0
        waiting: list[int] = []  # for each number of the run where its last reader is
        own: set[Item] = set()
        foreign: set[Item] = set()
        for position, (item, more) in enumerate(zip(body, weights)):
            while waiting and waiting[0] <= position:
                heapq.heappop(waiting)
            numbers = max(len(waiting), len(foreign))
            is_full = weight + more > most or numbers >= _MOST_WAITING
            if run and is_full and not (_continues(run[-1], item) or _is_in_bundle(item)):
                result.append(self._part(run, strip))
                run, weight, waiting, own, foreign = [], 0, [], set(), set()
            run.append(item)
            weight += more
            if last:
                own.add(item)
                foreign.update(number for number in _read_by(item) if number not in own)
                if last.get(item, position) > position:
                    heapq.heappush(waiting, last[item])
        if not result:
            return body, total
        result.append(self._part(run, strip))
        return result, len(result)

    def _part(self, run: list[Item], strip: int) -> Part:
        self.count += 1
        return Part(self.count, run, strip)

    def _weigh(self, item: Item, block: int) -> int:
        if isinstance(item, Statement):
            return _weight(item, block)
        if isinstance(item, Part):
            return _LOOP
        if item.block > 1 and all(isinstance(inner, Statement) for inner in item.body):
            weight = self._cut_lanes(item)
        else:
            if item.block > 1:
                item.body = self._in_strips(item)
            item.body, weight = self.cut(item.body, max(block, item.block), MOST_OPERATIONS)
        grouped = sum(map(joins_in_groups, item.reductions))
        return weight + _LOOP + _GROUPED_REDUCTION * grouped

    def _cut_lanes(self, loop: Loop) -> int:
        """Have a long body in lanes go through blocks part by part, each in strips of a vector."""
        whole = sum(_weight(item, loop.block) for item in statements_of(loop.body))
        if whole <= _MOST_UNCUT:
            return whole
        strip = min(narrowest(loop), loop.block)
        loop.body, weight = self.cut(loop.body, strip, MOST_IN_LANES, strip)
        if not isinstance(loop.size, int) or loop.size > OUTER:
            loop.block = OUTER
        return weight

    def _in_strips(self, loop: Loop) -> list[Item]:
        """Return a body with loops in it whose long runs of statements go in strips of a vector."""
        strip = narrowest(loop)
        result: list[Item] = []
        for is_run, items in groupby(loop.body, key=lambda item: isinstance(item, Statement)):
            run = list(items)
            whole = sum(_weight(item, loop.block) for item in run if isinstance(item, Statement))
            if not is_run or strip >= loop.block or whole <= _MOST_AT_ONCE:
                result += run
                continue
            parts, _ = self.cut(run, strip, MOST_IN_LANES, strip)
            result += parts if isinstance(parts[0], Part) else [self._part(run, strip)]
        return result


def _weight(statement: Statement, block: int) -> int:
    """Return about how many operations a statement is, of vectors of a block."""
    if statement.kind is StatementKind.WHOLE:
        return _LOOP
    if not statement.dims:
        return 1
    if not statement.loops:
        return _ELEMENT
    own = _STACKED if statement.node.op.name == "stack" else _ARRAY_STATEMENT
    if statement.node.op.family == "unbounded":
        own += operations_of(statement.node)
    elif block > 1 and is_function(statement.node):
        own = _FUNCTION
    return own * max(1, block * statement.value.type.dtype.bytes // _VECTOR_BYTES)


def _continues(item: Item, other: Item) -> bool:
    """Whether what is computed for an item is the other one's too."""
    if not isinstance(item, Statement) or not isinstance(other, Statement):
        return False
    formula = formula_of(item.node)
    return formula is not None and formula == formula_of(other.node)


def _is_in_bundle(item: Item) -> bool:
    """Whether an item is computed with the one before it."""
    return isinstance(item, Statement) and bool(item.bundle) and item is not item.bundle[0]


def _read_by(item: Item) -> list[Statement]:
    return [producer for producer, _, _ in item.inputs] if isinstance(item, Statement) else []


def _last_readers(body: list[Item]) -> dict[Item, int]:
    """Return where in a body each of its statements is read last."""
    last: dict[Item, int] = {}
    for position, item in enumerate(body):
        stack = [item]
        while stack:
            inner = stack.pop()
            if isinstance(inner, Statement):
                for producer, _, _ in inner.inputs:
                    last[producer] = position
            else:
                stack += inner.body
    return last


def _number(body: list[Item], part: int) -> None:
    for item in body:
        if isinstance(item, Statement):
            item.part = part
        elif isinstance(item, Loop):
            item.part = part
            _number(item.body, part)
        else:
            _number(item.body, item.number)
