"""The text of a graph as Python: a function that people read, and that runs."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from typing import TypeAlias

from gradc.reading.python_functions import reserved
from gradc.reading.python_terms import PythonTerms, keys_text, tuple_text
from gradc.reading.statements import Assign, Block, Branch, Loop, Put, Statement, statements
from gradc.reading.terms import Term, meaning
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function

_WIDTH = 110
_INDENT = "    "


def python_text(function: Function, heading: str = "", width: int = _WIDTH) -> str:
    """Return a function as a Python function, below the imports it needs."""
    text = statements(function, set(reserved(function)))
    writer = StatementWriter(width, brief=False)
    body = [line for statement in text.block for line in writer.statement(statement, 1)]
    body += writer.line("return ", writer.results(text.results), 1)
    sizes = [
        f"{_INDENT}{size} = {name}.shape[{axis}]"
        for size, (name, axis) in text.sizes.items()
        if size in writer.sizes
    ]
    params = ", ".join(name for name, _ in text.params)
    types = ", ".join(f"{name}: {type_}" for name, type_ in text.params)
    lines = [f"# {heading}"] if heading else []
    lines += writer.imports()
    lines += wrapped("# ", types, width, "#     ") if types else []
    lines += wrapped(f"def {_identifier(text.name)}(", f"{params}):", width, _INDENT * 2)
    return "\n".join([*lines, *sizes, *body]) + "\n"


def _identifier(name: str) -> str:
    found = re.sub(r"\W+", "_", name)
    return f"f{found}" if not found or found[0].isdigit() else found


class Written(NamedTuple):
    """A statement as lines, and what it means, in whatever order things are added."""

    lines: tuple[str, ...]
    meaning: Hashable


Statements: TypeAlias = dict[str, Written]


def python_statements(
    function: Function, width: int = _WIDTH, *, brief: bool = False
) -> Statements:
    """Return the statements of a function by what they assign, its results last.

    What is ``brief`` is not to be run: ops that NumPy lacks stand without their operands.
    """
    text = statements(function, set(reserved(function)))
    writer = StatementWriter(width, brief)
    found: Statements = {}
    numbered: dict[str, str] = {}
    for statement in text.block:
        lines = tuple(writer.statement(statement, 0))
        if isinstance(statement, Assign):
            names = ", ".join(statement.names)
            of = meaning(statement.term, numbered)
            if re.fullmatch(r"t\d*(_\d+)?", names):
                names = ""
                numbered[statement.names[0]] = of
            found[", ".join(statement.names)] = Written(lines, (names, of))
        else:
            found[lines[0].partition(" = ")[0]] = Written(lines, lines)
    results = writer.line("return ", writer.results(text.results), 0)
    ends = tuple([meaning(term, numbered) for term in text.results])
    found["return"] = Written(tuple(results), ("return", ends))
    return found


class StatementWriter(PythonTerms):
    """Writes statements in lines of some width."""

    def __init__(self, width: int = _WIDTH, brief: bool = True) -> None:
        super().__init__(brief)
        self.width = width

    def results(self, terms: Sequence[Term]) -> str:
        """Return what a function returns."""
        return ", ".join(self.text(term) for term in terms) or "()"

    def imports(self) -> list[str]:
        """Return the lines that import what was written."""
        lines = []
        for module, names in sorted(self.needed.items(), key=lambda item: item[0] != "numpy"):
            lines += wrapped(
                f"from {module} import ", ", ".join(sorted(names)), self.width, _INDENT
            )
        return lines

    def line(self, start: str, text: str, depth: int) -> list[str]:
        """Return a statement as lines."""
        return wrapped(f"{_INDENT * depth}{start}", text, self.width, _INDENT * (depth + 1))

    def statement(self, statement: Statement, depth: int) -> Iterator[str]:
        """Yield the lines of a statement."""
        match statement:
            case Assign(names=names, term=term):
                yield from self.line(f"{', '.join(names)} = ", self.text(term), depth)
            case Put():
                yield from self._put(statement, depth)
            case Loop():
                yield from self._loop(statement, depth)
            case Branch():
                yield from self._branch(statement, depth)

    def _block(self, block: Block, depth: int) -> Iterator[str]:
        for statement in block:
            yield from self.statement(statement, depth)

    def _put(self, put: Put, depth: int) -> Iterator[str]:
        part = self.bound(put.part, tuple(range(put.rank)))[0]
        copy = array = self.text(put.array)
        if put.array.head != "full":
            copy = f"{self.use('array')}({array}{', float' if put.dtype.is_float else ''})"
        yield from self.line(f"{put.name} = ", copy, depth)
        if put.window:
            yield from self.line(f"{put.name}[{keys_text(put.window, self)}] = ", part, depth)
            return
        indices = [self.text(index) for index in put.indices]
        target = put.name
        if put.axes != tuple(range(len(put.axes))):
            rest = [axis for axis in range(len(put.array.axes)) if axis not in put.axes]
            order = tuple_text(map(str, (*put.axes, *rest)))
            target = f"{self.use('transpose')}({put.name}, {order})"
        if put.is_sum:
            start = f"{self.use('add')}.at("
            yield from self.line(start, f"{target}, {tuple_text(indices)}, {part})", depth)
        else:
            yield from self.line(f"{target}[{', '.join(indices)}] = ", part, depth)

    def _loop(self, loop: Loop, depth: int) -> Iterator[str]:
        for name, start in loop.carries:
            yield from self.line(f"{name} = ", self.text(start), depth)
        listed = [name for name, type_ in loop.stacked if "_tape" in str(type_)]
        for name, type_ in loop.stacked:
            zeros = "[]" if name in listed else self.full(0, type_.shape, type_.dtype)
            yield from self.line(f"{name} = ", zeros, depth)
        inside = depth + 1
        if loop.condition is not None:
            yield f"{_INDENT * depth}{loop.counter} = 0"
            test = self.text(loop.condition)
            if loop.before:
                yield f"{_INDENT * depth}while True:"
                yield from self._block(loop.before, inside)
                yield from self.line("if not ", f"({test}):", inside)
                yield f"{_INDENT * (inside + 1)}break"
            else:
                yield from self.line("while ", f"{test}:", depth)
        else:
            assert loop.count is not None
            steps = f"range({self.text(loop.count)})"
            steps = f"reversed({steps})" if loop.reverse else steps
            yield f"{_INDENT * depth}for {loop.counter} in {steps}:"
        body = list(self._block(loop.body, inside))
        yield from body
        for (name, _), row in zip(loop.stacked, loop.rows):
            text = self.text(row)
            if name in listed:
                yield from self.line(f"{name}.append(", f"{text})", inside)
            else:
                yield from self.line(f"{name}[{loop.counter}] = ", text, inside)
        names = [name for name, _ in loop.carries]
        changed = [
            (name, self.text(term)) for name, term in zip(names, loop.after)
        ]  # fmt: skip
        changed = [(name, text) for name, text in changed if name != text]
        if changed:
            left = ", ".join(name for name, _ in changed)
            yield from self.line(f"{left} = ", ", ".join(text for _, text in changed), inside)
        if loop.condition is not None:
            yield f"{_INDENT * inside}{loop.counter} += 1"
        elif not (body or loop.rows or changed):
            yield f"{_INDENT * inside}pass"
        for name in listed:
            yield f"{_INDENT * depth}{name} = {self.use('array')}({name})"

    def _branch(self, branch: Branch, depth: int) -> Iterator[str]:
        yield from self.line("if ", f"{self.text(branch.condition)}:", depth)
        for number, (block, values) in enumerate(zip(branch.blocks, branch.values)):
            if number:
                yield f"{_INDENT * depth}else:"
            yield from self._block(block, depth + 1)
            yield from self.line(
                f"{', '.join(branch.names)} = ",
                ", ".join(self.text(value) for value in values),
                depth + 1,
            )


_BREAK = re.compile(r"(?<=,) | (?=(?:[-+*/@|&^]|\*\*|[<=!]=?) )")


def wrapped(start: str, text: str, width: int, indent: str) -> list[str]:
    """Return a statement as lines, cut behind commas and before operators, in brackets.

    Comments and lists have none.
    """
    if len(start) + len(text) <= width:
        return [start + text]
    if not start.startswith(("#", "-")) and not start.endswith("(") and not _is_bracketed(text):
        start, text = f"{start}(", f"{text})"
    lines, rest = [start], text
    while len(lines[-1]) + len(rest) > width:
        cut = _cut(rest, width - len(lines[-1]))
        if cut is None:
            break
        lines[-1] += rest[:cut].rstrip()
        rest = rest[cut:].lstrip()
        lines.append(indent)
    lines[-1] += rest
    return lines


def _cut(text: str, room: int) -> int | None:
    """Return where to cut a text: inside as few brackets as can be, and late."""
    places = [found.start() for found in _BREAK.finditer(text)]
    fit = [place for place in places if place <= room] or places[:1]
    late = [place for place in fit if 2 * place > room] or fit
    return min(late, key=lambda place: (_depth(text[:place]), -place), default=None)


def _depth(text: str) -> int:
    return sum(text.count(letter) for letter in "([") - sum(text.count(c) for c in ")]")


def _is_bracketed(text: str) -> bool:
    """Whether all of a text but a name in front stands in one pair of brackets."""
    body = re.sub(r"^[\w.]*", "", text.rstrip(":"))
    if not body.startswith(("(", "[")):
        return False
    depth = 0
    for i, letter in enumerate(body):
        depth += (letter in "([") - (letter in ")]")
        if depth == 0:
            return i == len(body) - 1
    return False
