"""A function cut at its reductions over rows: passes over the rows, and what comes between them.

A reduction of what no other reduction over rows leads to is done in the first pass, one of values
that hang on those in the second, and so on. What no row is part of is computed once, between the
passes, and handed to the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from gradc.row_sums.row_axes import (
    NAME,
    ROWS,
    check_rows,
    index_of_rows,
    is_number_of_row,
    over_rows,
    row_axis,
)
from gradc.row_sums.spelled import spelled
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.builder import Builder
from gradc_ir.core.graph import Function, Node, Value, topological
from gradc_ir.core.sizes import Expr, symbols
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import TraceError
from gradc_ir.graphs.subgraph import closed
from gradc_ir.meaning.reduction import GROUP

# How the parts of a reduction join, by its op.
JOINS = {
    "reduce_sum": "add",
    "contract": "add",
    "reduce_prod": "multiply",
    "reduce_max": "maximum",
    "reduce_min": "minimum",
}
# What changes no sum of elements that it is added to, of floats.
_NOTHING = {"reduce_sum": -0.0, "reduce_prod": 1.0}


class Pass(NamedTuple):
    """One pass over the rows.

    Parameters
    ----------
    rows: which row parameters of the function it reads.
    given: values without rows that it takes.
    sums: the reductions it does, values of the function.
    joins: how the parts of each join.
    counts: whether it takes the number of its first row, as its last parameter.
    part: takes arrays of some rows, what is given and perhaps that number to parts of the sums.
    few: the same for no more than 32 rows, the last of many: these are a group that is not full.
    """

    rows: tuple[int, ...]
    given: tuple[Value, ...]
    sums: tuple[Value, ...]
    joins: tuple[str, ...]
    counts: bool
    part: Function
    few: Function


class Cut(NamedTuple):
    """A function in passes.

    Parameters
    ----------
    function: the whole, whose reductions over rows stand alone.
    passes: in order.
    """

    function: Function
    passes: tuple[Pass, ...]


def cut(function: Function, rows: Collection[int]) -> Cut:
    """Return a function in passes over the rows, which some of its parameters have.

    Raises TraceError, with the user's line, where it is no sum over rows.
    """
    for number, param in enumerate(function.params):
        if number not in rows and any(NAME in _names(size) for size in param.type.shape):
            raise TraceError(f"{function.names[number]} has as many entries as there are rows")
    check_rows(function)
    function = spelled(function)
    after: dict[Value, int] = {}
    sums: list[list[Value]] = []
    for node in function.nodes:
        level = max((after[operand] for operand in node.operands), default=0)
        if over_rows(node):
            sums += [[] for _ in range(level + 1 - len(sums))]
            sums[level].append(node.results[0])
            level += 1
        after.update(dict.fromkeys(node.results, level))
    positions = {function.params[i]: i for i in sorted(rows)}
    return Cut(function, tuple(_pass(function, positions, each) for each in sums))


def between(
    function: Function, known: Collection[Value], wanted: Sequence[Value]
) -> tuple[tuple[Value, ...], Function]:
    """Return what wanted values are made of, of those that are known, and the function of it."""
    sources: dict[Value, None] = {}
    _frontier(wanted, known.__contains__, sources)
    taken = tuple(sources)
    return taken, closed(function, f"{function.name}_between", taken, wanted)


def _frontier(
    wanted: Iterable[Value], is_source: Callable[[Value], bool], found: dict[Value, None]
) -> None:
    """Enter the sources that some values are made of, in a fixed order."""
    seen: set[Value] = set()
    left = list(reversed(list(wanted)))
    while left:
        value = left.pop()
        if value in seen:
            continue
        seen.add(value)
        if is_source(value):
            found[value] = None
        else:
            left += reversed(value.node.operands)


def _names(size: int | Expr) -> tuple[str, ...]:
    return () if isinstance(size, int) else symbols(size)


def _pass(function: Function, rows: dict[Value, int], sums: Sequence[Value]) -> Pass:
    def is_given(value: Value) -> bool:
        """Whether a value has no rows, and is none of the constants that the parts have inside."""
        return row_axis(value.type) is None and value.node.op.name != "constant"

    found: dict[Value, None] = {}
    reduced = [operand for value in sums for operand in value.node.operands]
    _frontier(reduced, lambda value: value in rows or is_given(value), found)
    read = [value for value in found if value in rows]
    given = [value for value in found if value not in rows]
    inner = topological([*read, *given], sums)
    counts = any(_counts(node) for node in inner)
    parts = [
        _part(function, [*read, *given], sums, inner, counts, is_few) for is_few in (False, True)
    ]
    joins = tuple(JOINS[value.node.op.name] for value in sums)
    numbers = tuple(rows[value] for value in read)
    return Pass(numbers, tuple(given), tuple(sums), joins, counts, *parts)


def _counts(node: Node) -> bool:
    return node.op.name == "iota" and node.attributes["size"] == ROWS


def _part(
    function: Function,
    params: Sequence[Value],
    sums: Sequence[Value],
    inner: Sequence[Node],
    counts: bool,
    is_few: bool,
) -> Function:
    """Return what makes parts of sums of some rows: there the symbol is the number of these."""
    # a part may use fewer arrays than tell the number of rows, but each reduction has one
    with Builder() as builder:
        made = [builder.param(i, value.type) for i, value in enumerate(params)]
        if counts:
            made.append(builder.param(len(made), Type(DType.I64)))
        new: dict[Value, Value] = dict(zip(params, made))
        places: dict[Value, Value] = {}  # of numbers of rows: those among the rows of the part
        sources = {value.node for value in params}
        for node in inner:
            lines = function.locations.get(node, ())
            if node in sources:
                continue
            if _counts(node):
                (numbers,) = node.results
                places[numbers] = build.iota(numbers.type.dtype, ROWS)
                with builder.at(lines):
                    new[numbers] = _numbers_from(made[-1], numbers.type)
            elif is_number_of_row(node, places):
                builder.copy(node, new, lines)
                builder.copy(node, places, lines)
            elif (own := index_of_rows(node)) is not None:
                index = node.operands[own]
                here = new | {index: places[index]}
                builder.copy(node, here, lines)
                new.update((value, here[value]) for value in node.results)
            elif is_few and over_rows(node):
                with builder.at(lines):
                    new[node.results[0]] = _padded(node, [new[each] for each in node.operands])
            else:
                builder.copy(node, new, lines)
        names = [f"a{i}" for i in range(len(made))]
        ends = [new[value] for value in sums]
        return builder.function(f"{function.name}_part", made, ends, names, function.location)


def _numbers_from(start: Value, type_: Type) -> Value:
    """Return the numbers of the rows, from that of the first one on."""
    here = build.iota(DType.I64, ROWS)
    numbers = here + build.broadcast(start, here.type.shape, ())
    return numbers if type_.dtype is DType.I64 else build.cast(numbers, type_.dtype)


def _padded(node: Node, operands: Sequence[Value]) -> Value:
    """Return a reduction over rows that is grouped as that of many rows, however few there are."""
    op, attributes = node.op.name, dict(node.attributes)
    if not operands[0].type.dtype.is_float or op not in ("contract", *_NOTHING):
        return build.apply(op, *operands, **attributes)
    fills = (1.0, -0.0) if op == "contract" else (_NOTHING[op],)
    longer = [_with_more(operand, fill) for operand, fill in zip(operands, fills)]
    return build.apply(op, *longer, **attributes)


def _with_more(x: Value, fill: float) -> Value:
    axis = row_axis(x.type)
    assert axis is not None  # what is reduced over rows has some
    shape = tuple(GROUP + 1 if i == axis else size for i, size in enumerate(x.type.shape))
    return build.concatenate([x, build.full(shape, fill, x.type.dtype)], axis)
