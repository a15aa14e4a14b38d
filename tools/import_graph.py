"""Who imports whom in the packages, and the circles that makes: of files, and of rooms.

Every import counts: on top, inside functions, under TYPE_CHECKING, by ``import_module``, and the
name of a module in a string.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

Graph = Mapping[str, Iterable[str]]


def modules(packages: Mapping[str, Path]) -> dict[str, Path]:
    """Return the files of the packages by the names of their modules."""
    return {
        ".".join((name, *path.relative_to(folder).with_suffix("").parts)).removesuffix(
            ".__init__"
        ): path
        for name, folder in packages.items()
        for path in sorted(folder.rglob("*.py"))
    }


def imported(tree: ast.AST, known: Iterable[str]) -> Iterator[str]:
    """Yield the modules, of those that are known, that a file imports or names in a string."""
    known = frozenset(known)
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from known.intersection(alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                for alias in names:
                    inner = f"{module}.{alias.name}"
                    yield from known.intersection([inner if inner in known else module])
            case ast.Call(
                func=ast.Name(id="import_module") | ast.Attribute(attr="import_module"),
                args=[ast.JoinedStr(values=[ast.Constant(value=str(start)), *_]), *_],
            ):
                # a name that is completed when it runs may be that of any module it begins
                yield from (name for name in known if name.startswith(start))
            case ast.Constant(value=str(name)) if "." in name:
                yield from known.intersection([name])


def arrows(packages: Mapping[str, Path]) -> dict[str, set[str]]:
    """Return for each module the others that it imports."""
    known = modules(packages)
    return {
        name: set(imported(ast.parse(path.read_bytes()), known)) - {name}
        for name, path in known.items()
    }


def rooms(graph: Graph) -> dict[str, dict[str, dict[str, str]]]:
    """Return for each folder the arrows between the files and folders in it, each with an example.

    The ``__init__`` of a folder is a file in it as the others are.
    """
    folders = {name.rpartition(".")[0] for name in graph}
    found: dict[str, dict[str, dict[str, str]]] = {}
    for name, others in graph.items():
        for other in others:
            one, two = _path(name, folders), _path(other, folders)
            apart = next(i for i, (a, b) in enumerate(zip(one, two)) if a != b)
            if apart:
                inside = found.setdefault(".".join(one[:apart]), {})
                inside.setdefault(one[apart], {}).setdefault(two[apart], f"{name} -> {other}")
    return found


def _path(name: str, folders: set[str]) -> list[str]:
    return [*name.split("."), *(["__init__"] if name in folders else [])]


def floors(graph: Graph) -> dict[str, int]:
    """Return how high each node of a graph without circles stands: above all that it imports."""
    found: dict[str, int] = {}

    def height(node: str) -> int:
        if node not in found:
            found[node] = 1 + max((height(below) for below in graph.get(node, ())), default=-1)
        return found[node]

    for node in graph:
        height(node)
    return found


def circles(graph: Graph) -> list[list[str]]:
    """Return the groups of nodes that reach each other (R. Tarjan, *Depth-first search*, 1972)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        number[node] = lowest[node] = len(number)
        stack.append(node)
        for below in graph.get(node, ()):
            if below not in number:
                visit(below)
                lowest[node] = min(lowest[node], lowest[below])
            elif below in stack:
                lowest[node] = min(lowest[node], number[below])
        if lowest[node] == number[node]:
            start = stack.index(node)
            circle, stack[start:] = stack[start:], []
            if len(circle) > 1:
                found.append(sorted(circle))

    for node in graph:
        if node not in number:
            visit(node)
    return found
