"""A graph as statements: the user's variables, what is used more than once, loops and branches."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from gradc.reading.cutting import is_cut, name_by_line, names_of, uses_of, weight
from gradc.reading.terms import ZERO, Term, number
from gradc.reading.values import read, whole, window_key
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType, Type
from gradc_ir.graphs.control_flow import Roles
from gradc_ir.location import Lines
from gradc_ir.text.variables import is_derived, unique

Block: TypeAlias = "list[Statement]"


@dataclass(frozen=True)
class Assign:
    """Variables of some types are what a term is: one, or one for each result of an op."""

    names: tuple[str, ...]
    term: Term
    types: tuple[Type, ...]
    lines: Lines = ()


@dataclass(frozen=True)
class Put:
    """A variable is an array of which a part is replaced, or added to.

    Parameters
    ----------
    window: the keys of a window, as of an index.
    axes, indices: else the axes that arrays of integers choose along, and these.
    rank: how many axes the part has.
    is_sum: whether the part is added.
    """

    name: str
    array: Term
    part: Term
    rank: int
    dtype: DType
    window: tuple[object, ...] = ()
    axes: tuple[int, ...] = ()
    indices: tuple[Term, ...] = ()
    is_sum: bool = False
    lines: Lines = ()


@dataclass(frozen=True)
class Loop:
    """A loop over the rows of arrays, or with a condition.

    Parameters
    ----------
    counter: the number of the step.
    count: how many steps; None where the condition ends it.
    before, condition: what is computed to know whether there is a step, and whether there is.
    carries: variables, each with what it is at first.
    stacked: variables that get a row in each step, with the types of the whole arrays.
    body: the statements of a step.
    after: the carries after a step.
    rows: the rows of a step.
    """

    counter: str
    count: Term | None
    reverse: bool
    carries: tuple[tuple[str, Term], ...]
    stacked: tuple[tuple[str, Type], ...]
    body: Block
    after: tuple[Term, ...]
    rows: tuple[Term, ...]
    before: Block = field(default_factory=list)
    condition: Term | None = None
    lines: Lines = ()


@dataclass(frozen=True)
class Branch:
    """Variables are what one of two blocks makes them."""

    condition: Term
    names: tuple[str, ...]
    blocks: tuple[Block, Block]
    values: tuple[tuple[Term, ...], tuple[Term, ...]]
    lines: Lines = ()


Statement: TypeAlias = Assign | Put | Loop | Branch


@dataclass(frozen=True)
class Text:
    """A function as statements: its parameters, and the sizes that they tell."""

    name: str
    params: tuple[tuple[str, Type], ...]
    sizes: Mapping[str, tuple[str, int]]
    block: Block
    results: tuple[Term, ...]


def statements(function: Function, reserved: Iterable[str] = ()) -> Text:
    """Return a function as statements, in which no name is one of the reserved ones."""
    reading = _Reading({*reserved, *function.size_symbols, *keyword.kwlist})
    names = [reading.name(name) for name in function.names]
    given = [_param(name, param.type) for name, param in zip(names, function.params)]
    block: Block = []
    results = reading.run(function, given, block)
    sizes: dict[str, tuple[str, int]] = {}
    for name, param in zip(names, function.params):
        for axis, size in enumerate(param.type.shape):
            if str(size).isidentifier():
                sizes.setdefault(str(size), (name, axis))
    types = [result.type for result in function.results]
    ends = tuple([whole(term, type_) for term, type_ in zip(results, types)])
    typed = tuple(zip(names, function.param_types))
    return Text(function.name, typed, sizes, block, ends)


def _param(name: str, type_: Type) -> Term:
    """Return an array of the user's without its axes of size 1."""
    term = Term("name", detail=name, axes=tuple(range(type_.rank)))
    if 1 not in type_.shape:
        return term
    keys = tuple([("at", 0) if size == 1 else ":" for size in type_.shape])
    kept = tuple([axis for axis, size in enumerate(type_.shape) if size != 1])
    return Term("index", (term,), keys, kept)


class _Reading:
    """One function being read; inner functions share its names."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken

    def name(self, name: str) -> str:
        """Return a name of Python's that nothing else has."""
        plain = re.sub(r"\W+", "_", name).strip("_") or "x"
        plain = f"x{plain}" if plain[0].isdigit() else plain
        return unique(plain, self.taken, "_")

    def run(self, function: Function, given: Sequence[Term], block: Block) -> list[Term]:
        """Add the statements of a function of these operands; return its results."""
        known: dict[Value, Term] = dict(zip(function.params, given))
        names = names_of(function)
        uses, ends = uses_of(function), set(function.results)
        cut: dict[Term, Term] = {}
        for node in function.body:
            operands = [known[operand] for operand in node.operands]
            lines = function.locations.get(node, ())
            if self._has_statement(node):
                made = self._stated(node, operands, names, lines, block)
                known.update(zip(node.results, made, strict=True))
                continue
            (value,) = node.results
            term = read(node, operands)
            if term in cut:
                term = cut[term]
            elif (uses[value] > 1 or value not in ends) and is_cut(
                value, term, names.get(value), is_derived(lines), uses[value]
            ):
                name = self.name(names.get(value) or name_by_line(lines))
                block.append(Assign((name,), term, (value.type,), lines))
                term = cut[term] = Term("name", detail=name, axes=term.axes)
            known[value] = term
        return [known[result] for result in function.results]

    # -- what is no formula ------------------------------------------------------------------------

    def _has_statement(self, node: Node) -> bool:
        return node.op.family == "control" or len(node.results) > 1 or node.op.name in _PUTS

    def _stated(
        self,
        node: Node,
        operands: list[Term],
        names: Mapping[Value, str],
        lines: Lines,
        block: Block,
    ) -> list[Term]:
        match node.op.name:
            case "call" | "checkpoint":
                return self.run(node.attributes["body"], operands, block)
            case "scan":
                return self._scan(node, operands, names, lines, block)
            case "while":
                return self._while(node, operands, names, lines, block)
            case "cond":
                return self._branch(node, operands, names, lines, block)
        if node.op.name in _PUTS:
            name = self.name(names.get(node.results[0]) or name_by_line(lines))
            block.append(_put(name, node, operands, lines))
            return [_named(name, node.results[0].type)]
        given = [self.name(names.get(value) or name_by_line(lines)) for value in node.results]
        types = [operand.type for operand in node.operands]
        parts = tuple([whole(x, type_) for x, type_ in zip(operands, types)])
        detail = (node.op.name, tuple(node.attributes.items()))
        made = tuple([value.type for value in node.results])
        block.append(Assign(tuple(given), Term("op", parts, detail), made, lines))
        return [_named(name, type_) for name, type_ in zip(given, made)]

    def _named_all(
        self, node: Node, names: Mapping[Value, str], body: Function, consts: int, carries: int
    ) -> list[str]:
        """Return a name for each result: the user's, or what the body calls it."""
        inner = names_of(body)
        made = []
        for i, (value, result) in enumerate(zip(node.results, body.results)):
            name = names.get(value)
            if name is None and i < carries:
                param = body.names[consts + i]
                name = inner.get(result, "carry") if _is_number(param) else param
            elif name is None:
                name = f"{inner[result]}_rows" if result in inner else "rows"
            made.append(self.name(name))
        return made

    def _atoms(
        self, operands: Sequence[Term], types: Sequence[Type], lines: Lines, block: Block
    ) -> list[Term]:
        """Return operands that a body reads again and again as names, where they are formulas."""
        made = []
        for term, type_ in zip(operands, types):
            if weight(term) > 2:
                name = self.name(name_by_line(lines))
                block.append(Assign((name,), whole(term, type_), (type_,), lines))
                term = _named(name, type_)
            made.append(term)
        return made

    def _scan(
        self,
        node: Node,
        operands: list[Term],
        names: Mapping[Value, str],
        lines: Lines,
        block: Block,
    ) -> list[Term]:
        roles = Roles.of(node)
        assert roles is not None
        (body,) = roles.bodies
        types = [operand.type for operand in node.operands]
        first = roles.first
        consts = self._atoms(operands[first : first + roles.consts], types[first:], lines, block)
        start = first + roles.consts
        made = self._named_all(node, names, body, roles.consts, roles.carries)
        carries, stacked = made[: roles.carries], made[roles.carries :]
        inits = [
            whole(operands[start + i], types[start + i]) for i in range(roles.carries)
        ]  # fmt: skip
        arrays = self._atoms(
            operands[start + roles.carries :], types[start + roles.carries :], lines, block
        )
        counter = self.name("i")
        given = [
            *consts,
            *[_named(name, type_) for name, type_ in zip(carries, types[start:])],
            *[_row(array, counter) for array in arrays],
        ]
        inner: Block = []
        results = self.run(body, given, inner)
        ends = [whole(x, value.type) for x, value in zip(results, body.results)]
        length = node.attributes["length"]
        count = operands[0] if first else _length(length)
        block.append(
            Loop(
                counter,
                count,
                node.attributes["reverse"],
                tuple(zip(carries, inits)),
                tuple((name, v.type) for name, v in zip(stacked, node.results[roles.carries :])),
                inner,
                tuple(ends[: roles.carries]),
                tuple(ends[roles.carries :]),
                lines=lines,
            )
        )
        return [_named(name, value.type) for name, value in zip(made, node.results)]

    def _while(
        self,
        node: Node,
        operands: list[Term],
        names: Mapping[Value, str],
        lines: Lines,
        block: Block,
    ) -> list[Term]:
        roles = Roles.of(node)
        assert roles is not None
        (body,) = roles.bodies
        condition: Function = node.attributes["condition"]
        types = [operand.type for operand in node.operands]
        consts = self._atoms(operands[: roles.first + roles.consts], types, lines, block)
        start = roles.first + roles.consts
        made = self._named_all(node, names, body, roles.consts, roles.carries)
        counter = self.name("steps")
        carries = made[: roles.carries]
        inits = [whole(x, type_) for x, type_ in zip(operands[start:], types[start:])]
        now = [_named(name, type_) for name, type_ in zip(carries, types[start:])]
        before: Block = []
        (holds,) = self.run(condition, [*consts[: roles.first], *now], before)
        inner: Block = []
        results = self.run(body, [*consts[roles.first :], *now], inner)
        ends = [whole(x, value.type) for x, value in zip(results, body.results)]
        rows = node.results[roles.carries : -1]
        block.append(
            Loop(
                counter,
                None,
                False,
                tuple(zip(carries, inits)),
                tuple((name, v.type) for name, v in zip(made[roles.carries :], rows)),
                inner,
                tuple(ends[: roles.carries]),
                tuple(ends[roles.carries :]),
                before,
                holds,
                lines,
            )
        )
        return [_named(name, x.type) for name, x in zip([*made, counter], node.results)]

    def _branch(
        self,
        node: Node,
        operands: list[Term],
        names: Mapping[Value, str],
        lines: Lines,
        block: Block,
    ) -> list[Term]:
        types = [operand.type for operand in node.operands]
        condition, *rest = operands
        rest = self._atoms(rest, types[1:], lines, block)
        made = [self.name(names.get(value) or "chosen") for value in node.results]
        blocks: list[Block] = []
        values = []
        for body in (node.attributes["then"], node.attributes["otherwise"]):
            inner: Block = []
            results = self.run(body, rest, inner)
            blocks.append(inner)
            values.append(tuple([whole(x, v.type) for x, v in zip(results, body.results)]))
        block.append(
            Branch(condition, tuple(made), (blocks[0], blocks[1]), (values[0], values[1]), lines)
        )
        return [_named(name, value.type) for name, value in zip(made, node.results)]


_PUTS = frozenset({"pad", "set_slice", "scatter_set", "scatter_add"})


def _put(name: str, node: Node, operands: list[Term], lines: Lines) -> Put:
    types = [operand.type for operand in node.operands]
    given = [whole(x, type_) for x, type_ in zip(operands, types)]
    made, rank = node.results[0].type, node.results[0].type.rank
    if node.op.name in ("scatter_set", "scatter_add"):
        return Put(
            name,
            given[0],
            operands[1],
            types[1].rank,
            made.dtype,
            axes=tuple(node.attributes["axes"]),
            indices=tuple(given[2:]),
            is_sum=node.op.name == "scatter_add",
            lines=lines,
        )
    array, shape = given[0], types[-1].shape
    if node.op.name == "pad":
        array = Term("full", (ZERO,), (made.shape, made.dtype), tuple(range(rank)))
    starts, steps = node.attributes["starts"], node.attributes["steps"]
    window = map(window_key, starts, shape, steps, made.shape)
    return Put(name, array, operands[-1], rank, made.dtype, tuple(window), lines=lines)


def _named(name: str, type_: Type) -> Term:
    """Return a variable that holds a whole array, read without its axes of size 1."""
    return _param(name, type_)


def _row(array: Term, counter: str) -> Term:
    """Return the row of a step."""
    if 0 not in array.axes:
        return array.with_axes(tuple([axis - 1 for axis in array.axes]))
    keys = (("at", counter), *[":"] * (len(array.axes) - 1))
    return Term("index", (array,), keys, tuple([axis - 1 for axis in array.axes[1:]]))


def _length(length: Size | None) -> Term | None:
    if isinstance(length, int):
        return number(length)
    return None if length is None else Term("size", detail=length)


def _is_number(name: str) -> bool:
    """Whether a parameter has no name but its number."""
    return re.fullmatch(r"[cp]\d+", name) is not None
