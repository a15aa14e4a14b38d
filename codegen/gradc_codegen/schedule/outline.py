"""Cutting very long straight-line code into parts, each a function of its own in machine code.

LLVM needs more than linear time for one function's instructions, so a run of more than a few
thousand becomes several functions. So does one of more numbers than a small stack has room for.
Values that cross go through scratch.
"""

from __future__ import annotations

import heapq

from gradc_codegen.nest.loop_nest import Item, Loop, Part, Statement, StatementKind
from gradc_codegen.schedule.cost import joins_in_groups

MOST_OPERATIONS = 4000
# Numbers in one function that wait for their readers, and numbers it reads that others made (LLVM
# may load them long before): what finds no register is on the stack.
_MOST_WAITING = 160
_LOOP = 100
_ARRAY_STATEMENT = 6
_ELEMENT = 24  # one element of an array, with what is recomputed for it
# partials: started, reduced, joined
_GROUPED_REDUCTION = 60


def cut(body: list[Item]) -> list[Item]:
    """Return a nest in which no function has many more than 4000 operations."""
    cutter = _Cutter()
    result, _ = cutter.cut(body)
    if cutter.count:
        _number(result, 0)
    return result


class _Cutter:
    def __init__(self) -> None:
        self.count = 0

    def cut(self, body: list[Item]) -> tuple[list[Item], int]:
        """Return a body with long runs in parts, and its weight in operations."""
        weights = [self._weigh(item) for item in body]
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
            is_full = weight + more > MOST_OPERATIONS or numbers >= _MOST_WAITING
            if run and is_full and not _is_in_bundle(item):
                result.append(self._part(run))
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
        result.append(self._part(run))
        return result, len(result)

    def _part(self, run: list[Item]) -> Part:
        self.count += 1
        return Part(self.count, run)

    def _weigh(self, item: Item) -> int:
        if isinstance(item, Statement):
            if item.kind is StatementKind.WHOLE:
                return _LOOP
            if not item.dims:
                return 1
            return _ARRAY_STATEMENT if item.loops else _ELEMENT
        assert isinstance(item, Loop)
        item.body, weight = self.cut(item.body)
        grouped = sum(map(joins_in_groups, item.reductions))
        return weight + _LOOP + _GROUPED_REDUCTION * grouped


def _is_in_bundle(item: Item) -> bool:
    """Whether an item is computed with the one before it."""
    return isinstance(item, Statement) and bool(item.bundle) and item is not item.bundle[0]


def _read_by(item: Item) -> list[Statement]:
    return [producer for producer, _ in item.inputs] if isinstance(item, Statement) else []


def _last_readers(body: list[Item]) -> dict[Item, int]:
    """Return where in a body each of its statements is read last."""
    last: dict[Item, int] = {}
    for position, item in enumerate(body):
        stack = [item]
        while stack:
            inner = stack.pop()
            if isinstance(inner, Statement):
                for producer, _ in inner.inputs:
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
