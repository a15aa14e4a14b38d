"""Branches of a step that write: one write of what the branch taken has, at the place it has.

Where one branch only adds something, the other one adds zero there. Where one puts something that
the other does not, what is put is chosen beside what stands there. So what is left of a branch are
numbers and places, and none of what is handed from step to step.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from gradc.autodiff.parameters import parameters
from gradc.autodiff.terms.updates import Move, Write, as_it_was, hangs_on, updates
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.builder import rebuilt
from gradc_ir.core.graph import Function, Node, Value, topological
from gradc_ir.core.types import DType
from gradc_ir.core.walk import nested

# what a branch with another op does must not be done for a step that does not take it
_REFUSED = frozenset(("while", "call", "external"))


Pair: TypeAlias = tuple[Write | None, Write | None]


class _Result(NamedTuple):
    """What branches do for one result of theirs.

    Parameters
    ----------
    base: the operand that both write into; None where they write into none.
    pairs: the writes of both, of which one may have none; all add, or all put.
    """

    base: int | None
    pairs: tuple[Pair, ...] = ()


class _Side(NamedTuple):
    """A branch, and the other one: of equal parameters."""

    own: Function
    other: Function


def without_branches(body: Function, places: Iterable[int]) -> Function:
    """Return a body with those branches as writes that write into some of its parameters."""
    handed_on = [body.params[place] for place in places]
    found: dict[Node, tuple[_Side, list[_Result]]] = {}
    for node in body.nodes:
        if node.op.name == "cond" and _touches(node, handed_on):
            seen = _seen(node, handed_on)
            if seen is not None:
                found[node] = seen
    if not found:
        return body

    def make(node: Node, operands: list[Value]) -> Sequence[Value]:
        side, results = found[node]
        return _as_writes(side, results, operands)

    return rebuilt(body, found.__contains__, make)


def _touches(node: Node, handed_on: Sequence[Value]) -> bool:
    return any(hangs_on(operand, one) for operand in node.operands[1:] for one in handed_on)


def _seen(node: Node, handed_on: Sequence[Value]) -> tuple[_Side, list[_Result]] | None:
    """Return the branches and what they do; None where that is more than to write."""
    _, *operands = node.operands
    bases = [
        i for i, operand in enumerate(operands) if any(hangs_on(operand, one) for one in handed_on)
    ]
    then, otherwise = (
        without_branches(node.attributes[name], bases) for name in ("then", "otherwise")
    )
    if not all(map(_may_run, (then, otherwise))):
        return None
    results = []
    for x, y in zip(then.results, otherwise.results):
        result = _result(then, otherwise, x, y, bases)
        if result is None:
            return None
        results.append(result)
    return _Side(then, otherwise), results


def _may_run(branch: Function) -> bool:
    """Whether a branch can be run for steps that do not take it, with indices that are 0."""
    for _, node in nested(branch):
        if node.op.name in _REFUSED:
            return False
        if node.op.family == "index" and "axes" in node.attributes:
            shape = node.operands[0].type.shape
            sizes = [shape[axis] for axis in node.attributes["axes"]]
            if not all(isinstance(size, int) and size > 0 for size in sizes):
                return False
    return True


def _result(
    then: Function, otherwise: Function, x: Value, y: Value, bases: Sequence[int]
) -> _Result | None:
    """Return what branches do for a result, None where the writes of both are no pairs."""
    reads = False
    for base in bases:
        mine, others = then.params[base], otherwise.params[base]
        reads = reads or hangs_on(x, mine) or hangs_on(y, others)
        if mine.type != x.type:
            continue
        one, other = updates(x, mine), updates(y, others)
        if one is None or other is None:
            continue
        pairs: list[Pair]
        if all(write.adds for write in (*one, *other)):
            pairs = [*((write, None) for write in one), *((None, write) for write in other)]
        elif not any(write.adds for write in (*one, *other)):
            pairs = list(itertools.zip_longest(one, other))
            if not all(_has_one_place(_Side(then, otherwise), pair) for pair in pairs):
                return None
        else:
            return None
        return _Result(base, tuple(pairs))
    return None if reads else _Result(None)


def _is_chosen(pair: Pair) -> bool:
    """Whether what branches put is chosen beside what stands there."""
    return not _adds(pair) and any(write is None or write.when is not None for write in pair)


def _has_one_place(sides: _Side, pair: Pair) -> bool:
    """Whether it is known without the branches where they put something, if that is chosen."""
    if not _is_chosen(pair):
        return True
    with Builder():
        given = parameters(sides.own.param_types)
        found = [
            _outside(side, write, given)
            for side, write in zip((sides.own, sides.other), pair)
            if write is not None
        ]
    first = found[0]
    return first is not None and all(write is not None and write.is_at(first) for write in found)


def _outside(side: Function, write: Write, given: Sequence[Value]) -> Write | None:
    """Return a write with indices built here, of a branch's operands; None if it makes them."""
    for node in topological((), write.indices):
        if node.op.name not in ("param", "constant") and not node.op.is_elementwise:
            return None
    if not write.indices or any(index.type.rank for index in write.indices):
        return None
    found = _copied(side, dict(zip(side.params, given)), write.indices)
    return write._replace(indices=tuple(found))


def _chosen(
    sides: _Side, pair: Pair, given: Sequence[Value], whole: Value, part: Value, when: Value
) -> Value:
    """Return an array with what the branches put there, where they do."""
    write, side = next(
        (write, side) for write, side in zip(pair, (sides.own, sides.other)) if write is not None
    )
    place = _outside(side, write, given)
    assert place is not None  # else these were no writes
    have = next((one.part for one in _earlier(whole) if one.is_at(place)), None)
    have = place.read(whole) if have is None else have
    part, when = (build.reshape(x, have.type.shape) for x in (part, when))
    return place.put(whole, build.select(when, part, have))


def _as_writes(
    sides: _Side, results: Sequence[_Result], operands: Sequence[Value]
) -> Sequence[Value]:
    """Return the results of branches, of a predicate and their operands."""
    predicate, *given = operands
    then, otherwise = (
        _written(sides, results, 0),
        _written(_Side(sides.other, sides.own), results, 1),
    )
    kept = [
        i
        for i, (one, other) in enumerate(zip(then.params, otherwise.params))
        if _is_read(then, one) or _is_read(otherwise, other)
    ]
    given_to = [given[i] for i in kept]
    made = iter(build.cond(predicate, _of_some(then, kept), _of_some(otherwise, kept), given_to))
    found = []
    for result in results:
        if result.base is None:
            found.append(next(made))
            continue
        whole = given[result.base]
        for pair in result.pairs:
            part, there = next(made), next(made)
            if _is_chosen(pair):
                whole = _chosen(sides, pair, given, whole, part, there)
                continue
            write = _at_known_place(sides, pair, given, whole)
            if write is None:
                write = Write(_adds(pair), part, (Move((whole.type.count,)),), (there,), (0,))
            update = build.scatter_add if write.adds else build.scatter_set
            part = build.reshape(part, write.part.type.shape)
            made_flat = update(write.moves[0].of(whole), part, write.indices, write.axes)
            whole = build.reshape(made_flat, whole.type.shape)
        found.append(whole)
    return found


def _adds(pair: Pair) -> bool:
    return any(write is not None and write.adds for write in pair)


def _at_known_place(sides: _Side, pair: Pair, given: Sequence[Value], whole: Value) -> Write | None:
    """Return what a branch adds as it was written before to that place, whatever branch is taken.

    So both are seen to be one.
    """
    one, other = pair
    write, side = (one, sides.own) if one is not None else (other, sides.other)
    if write is None or not write.adds:
        return None
    for node in topological((), write.indices):
        if node.op.name not in ("param", "constant") and not node.op.is_elementwise:
            return None
    new = dict(zip(side.params, given))
    _copied(side, new, write.indices)
    numbers = build.iota(DType.I64, whole.type.count)
    place = as_it_was(write.places(numbers, new))
    for earlier in _earlier(whole):
        same = {index: index for index in earlier.indices}
        is_same = earlier.part.type.count == write.part.type.count
        if is_same and as_it_was(earlier.places(numbers, same)) is place:
            return earlier._replace(adds=True)
    return None


def _earlier(whole: Value) -> Iterator[Write]:
    """Yield what was written at indices to make an array, the last one first."""
    while (whole := as_it_was(whole)).op.name in ("scatter_set", "scatter_add"):
        have, part, *indices = whole.operands
        yield Write(
            False, part, (Move(have.type.shape),), tuple(indices), whole.node.attributes["axes"]
        )
        whole = have


def _written(side: _Side, results: Sequence[_Result], which: int) -> Function:
    """Return of a branch its results, or what it writes for them and where.

    Of what the other one adds the places, and zeros; of what is chosen whether it is put.
    """
    own, other = side
    with Builder() as builder:
        params = parameters(own.param_types)
        mine, others = dict(zip(own.params, params)), dict(zip(other.params, params))
        made: list[Value] = []
        for place, result in enumerate(results):
            if result.base is None:
                made += _copied(own, mine, [own.results[place]])
                continue
            numbers = build.iota(DType.I64, own.params[result.base].type.count)
            for pair in result.pairs:
                write = pair[which]
                if write is not None:
                    _copied(own, mine, write.values)
                    part = write.written(mine)
                    if _is_chosen(pair):
                        there = True if write.when is None else mine[write.when]
                    else:
                        there = write.places(numbers, mine)
                else:
                    write = pair[1 - which]
                    assert write is not None  # one of both there is
                    type_ = write.part.type
                    part = build.full(type_.shape, 0, type_.dtype)
                    if _is_chosen(pair):
                        there = False
                    else:
                        _copied(other, others, write.indices)
                        there = write.places(numbers, others)
                if isinstance(there, bool):
                    there = build.full(part.type.shape, there, DType.BOOL)
                made += [build.reshape(x, (x.type.count,)) for x in (part, there)]
        return builder.function(own.name, params, made, location=own.location)


def _copied(function: Function, new: dict[Value, Value], values: Sequence[Value]) -> list[Value]:
    """Build what some values of a function need, and return what they are here."""
    for node in topological((), values):
        if node.op.name != "param" and node.results[0] not in new:
            build.active().copy(node, new, function.locations.get(node, ()))
    return [new[value] for value in values]


def _is_read(function: Function, param: Value) -> bool:
    needed = topological((), function.results)
    return any(param in node.operands for node in needed) or param in function.results


def _of_some(function: Function, kept: Sequence[int]) -> Function:
    """Return the function of some of its parameters, which are all that it reads."""
    with Builder() as builder:
        own = [function.params[i] for i in kept]
        params = parameters([param.type for param in own])
        made = _copied(function, dict(zip(own, params)), function.results)
        return builder.function(function.name, params, made, location=function.location)
