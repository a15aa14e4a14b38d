"""Functions of single numbers side by side: those that do not wait for each other are lanes of one.

A sine takes as long as eight of them in a vector. So straight-line code computes functions of one
kind in bundles, as soon as the operands of all are there; those that share what they are made of,
the sine and the cosine of a number, are one bundle. No bit of a result depends on its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from gradc_codegen.math.functions import is_emitted
from gradc_codegen.nest.loop_nest import Item, Statement, StatementKind
from gradc_ir.core.types import DType

# As many bytes of numbers are computed at once.
_BYTES = 64
# The words that are made of the same, by one of them.
_MADE_OF = {"math.cos": "math.sin", "math.sin": "math.sin"}

# How many functions are behind a number, what they are made of, and of which dtype.
_Key: TypeAlias = tuple[int, str, DType]


def bundled(body: list[Item]) -> list[Item]:
    """Return the items with functions of numbers next to each other, in bundles."""
    made: list[Item] = []
    run: list[Statement] = []
    for item in body:
        if isinstance(item, Statement) and _is_number(item):
            run.append(item)
        else:
            made += _bundled_run(run)
            run = []
            made.append(item)
    made += _bundled_run(run)
    return made


def _is_number(item: Statement) -> bool:
    return item.kind is StatementKind.MAP and not item.dims


def may_be_lane(item: Statement) -> bool:
    """Whether a statement of a number is a function that lanes of a bundle may compute."""
    op = item.node.op
    if item.node.attributes:
        return False  # what they change of the function is not a matter of its word
    return op.is_elementwise and is_emitted(op.scalar or "") and item.value.type.dtype.is_float


def _bundled_run(run: list[Statement]) -> Sequence[Item]:
    """Return statements in an order in which the members of each bundle follow each other."""
    if sum(map(may_be_lane, run)) < 2:
        return run
    for bundle in _bundles(run):
        for statement in bundle:
            statement.bundle = bundle
    return _in_order(run)


def _bundles(run: list[Statement]) -> Iterator[tuple[Statement, ...]]:
    """Yield what may be computed at once: as many functions are behind all of a bundle."""
    depth: dict[Statement, int] = {}
    groups: dict[_Key, list[Statement]] = {}
    for statement in run:
        own = 0
        for producer, _, _ in statement.inputs:
            own = max(own, depth.get(producer, 0))
        if may_be_lane(statement):
            word = statement.node.op.scalar or ""
            key = own, _MADE_OF.get(word, word), statement.value.type.dtype
            groups.setdefault(key, []).append(statement)
            own += 1
        depth[statement] = own
    for (_, _, dtype), group in groups.items():
        if len(group) < 2:
            continue
        lanes = _BYTES // dtype.bytes
        of: dict[tuple[object, ...], list[Statement]] = {}
        for statement in group:
            of.setdefault(statement.node.operands, []).append(statement)
        each = list(of.values())
        count = -(-len(each) // lanes)
        for i in range(count):
            share = each[i * len(each) // count : (i + 1) * len(each) // count]
            bundle = tuple(statement for members in share for statement in members)
            if len(bundle) > 1:
                yield bundle


def _in_order(run: list[Statement]) -> list[Statement]:
    """Return statements, the operands of all members before a bundle; no recursion."""
    inside = set(run)
    made: dict[Statement, None] = {}
    for first in run:
        stack = [first]
        while stack:
            statement = stack[-1]
            members = statement.bundle or (statement,)
            if statement in made:
                stack.pop()
                continue
            missing = [
                producer
                for member in members
                for producer, _, _ in member.inputs
                if producer in inside and producer not in made
            ]
            if missing:
                stack += reversed(missing)
                continue
            made.update(dict.fromkeys(members))
            stack.pop()
    return list(made)
