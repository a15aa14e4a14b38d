"""What the user calls a value: the variable that their line assigns it to.

Names are found when a function is printed, in the source of the user's lines, and are no part of
what a value is. A helper's ``return`` has the name of what its call is assigned to, or of the
helper itself.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from typing import TypeAlias

from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Value
from gradc_ir.location import Lines, Location

# Lines and columns as a code object has them: first line, last line, first column, last column.
_Span: TypeAlias = tuple[int, int, int, int]
# One variable, or those that several results are assigned to.
_Names: TypeAlias = str | tuple[str | None, ...]


class _Assigned(NamedTuple):
    """What the expressions of a file are assigned to, and which are returned."""

    names: dict[_Span, _Names]
    returned: frozenset[_Span]


def names_of_values(function: Function) -> dict[Value, str]:
    """Return the names of the values that a variable of the user's names, not yet distinct."""
    found: dict[Value, str] = {}
    for node in function.body:
        lines = function.locations.get(node)
        if not lines:
            continue
        name = _name_of_lines(lines)
        if isinstance(name, str):
            found[node.results[0]] = name
        elif name is not None and len(name) == len(node.results):
            found.update((value, one) for value, one in zip(node.results, name) if one)
    return found


def is_derived(lines: Lines) -> bool:
    """Whether differentiation made what is at these lines."""
    return bool(lines) and bool(lines[0].derived)


def _name_of_lines(lines: Lines) -> _Names | None:
    # what the user wrote names a value before what differentiation made of it does
    for line in sorted(lines, key=lambda line: len(line.derived)):
        if line.is_whole:
            name = line.named or _name(line)
            if isinstance(name, str):
                return line.derived + name
            if name is not None:
                return tuple([one and line.derived + one for one in name])
    return None


def _name(line: Location) -> _Names | None:
    """Return what is assigned at a place, in the function or where it was called."""
    at: Location | None = line
    while at is not None:
        if at.instruction is None:
            return None
        span = _span(at)
        assigned = _assigned(at.file)
        if span not in assigned.returned:
            return assigned.names.get(span) if span is not None else None
        if at.caller is None:
            break
        at = at.caller
    name = (line if at is None else at).function.rpartition(".")[2]
    return name if name.isidentifier() else None


_spans: dict[int, tuple[object, list[_Span | None]]] = {}


def _span(line: Location) -> _Span | None:
    assert line.instruction is not None
    code, position = line.instruction
    known = _spans.get(id(code))
    if known is None:
        spans: list[_Span | None] = []
        for start, end, column, end_column in code.co_positions():
            if start is None or end is None or column is None or end_column is None:
                spans.append(None)
            else:
                spans.append((start, end, column, end_column))
        known = _spans[id(code)] = code, spans  # the code is held, so that its id stays its own
    return known[1][position // 2]


_files: dict[str, tuple[list[str], _Assigned]] = {}


def _assigned(file: str) -> _Assigned:
    """Return what a file assigns, as its text is now."""
    text = linecache.getlines(file)
    known = _files.get(file)
    if known is None or known[0] is not text:
        try:
            tree = ast.parse("".join(text))
        except (SyntaxError, ValueError):
            tree = ast.parse("")
        known = _files[file] = text, _read(tree)
    return known[1]


def _read(tree: ast.AST) -> _Assigned:
    names: dict[_Span, _Names] = {}
    returned: set[_Span] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in reversed(targets):  # the first one names the value
                    names.update(_pairs(target, value))
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                names.update(_pairs(target, value))
            case ast.NamedExpr(target=target, value=value):
                names.update(_pairs(target, value))
            case ast.AugAssign(target=target):
                names.update(_pairs(target, node))
            case ast.Return(value=ast.expr() as value):
                returned.add(_span_of(value))
            case ast.Lambda(body=value):
                returned.add(_span_of(value))
    return _Assigned(names, frozenset(returned))


def _pairs(target: ast.expr, value: ast.AST) -> Iterator[tuple[_Span, _Names]]:
    """Yield where a value, or a part of it with a target of its own, is assigned to what."""
    name = _target(target)
    if isinstance(target, ast.Tuple | ast.List):
        parts = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        starred = any(isinstance(each, ast.Starred) for each in (*target.elts, *parts))
        if len(parts) == len(target.elts) and not starred:
            for each, part in zip(target.elts, parts):
                yield from _pairs(each, part)
            return
        if starred:
            return
    if name is not None:
        yield _span_of(value), name
        # what takes a value apart, or puts one into an array, stands at the target
        yield _span_of(target), name


def _target(target: ast.expr) -> _Names | None:
    match target:
        case ast.Name(id=name):
            return name if name.strip("_") else None
        case ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return _target(value)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            names = [_target(part) for part in parts]
            return tuple([name if isinstance(name, str) else None for name in names])
    return None


def _span_of(node: ast.AST) -> _Span:
    assert isinstance(node, ast.expr | ast.stmt)
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def unique(name: str, taken: set[str], mark: str) -> str:
    """Return a name that is not taken, with a number behind a mark where it is; takes it."""
    found, count = name, 1
    while found in taken:
        count += 1
        found = f"{name}{mark}{count}"
    taken.add(found)
    return found
