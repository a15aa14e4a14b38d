"""Cutting very long straight-line code into parts, each a function of its own in machine code.

LLVM needs more than linear time for one function's instructions, so a run of more than a few
thousand becomes several functions; values that cross go through scratch.
"""

from __future__ import annotations

from gradc_codegen.loops import Item, Loop, Part, Statement
from gradc_codegen.phases import joins_in_groups

MOST_OPERATIONS = 4000
_LOOP = 100
_ARRAY_STATEMENT = 6
# partials: started, folded, joined
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
        if total <= MOST_OPERATIONS:
            return body, total
        result: list[Item] = []
        run: list[Item] = []
        weight = 0
        for item, own in zip(body, weights):
            if run and weight + own > MOST_OPERATIONS:
                result.append(self._part(run))
                run, weight = [], 0
            run.append(item)
            weight += own
        result.append(self._part(run))
        return result, len(result)

    def _part(self, run: list[Item]) -> Part:
        self.count += 1
        return Part(self.count, run)

    def _weigh(self, item: Item) -> int:
        if isinstance(item, Statement):
            return _ARRAY_STATEMENT if item.dims else 1
        assert isinstance(item, Loop)
        item.body, weight = self.cut(item.body)
        grouped = sum(map(joins_in_groups, item.reductions))
        return weight + _LOOP + _GROUPED_REDUCTION * grouped


def _number(body: list[Item], part: int) -> None:
    for item in body:
        if isinstance(item, Statement):
            item.part = part
        elif isinstance(item, Loop):
            item.part = part
            _number(item.body, part)
        else:
            _number(item.body, item.number)
