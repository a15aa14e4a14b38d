"""The statements by which the runtime has a body run, and variables set before it."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradc.tracing.rewriting.expressions import at, load
from gradc.tracing.rewriting.site import Site


def assign(name: str, value: ast.expr) -> ast.Assign:
    """Return the assignment to a name."""
    return ast.Assign([ast.Name(name, ast.Store())], value)


def running(
    name: str, body: list[ast.stmt], site: Site, node: ast.stmt, flags: Sequence[str] = ()
) -> ast.While:
    """Return the loop in which the runtime has a body run."""
    failed = ast.If(answer_of(name, "failed"), [ast.Raise()], [])
    handler = ast.ExceptHandler(None, None, [failed])
    run = ast.Try([*body], [handler], [], [])
    test = answer_of(name, "goes", *map(load, flags))
    return at(ast.While(test, [_taken(name, site.names), run], []), node)


def answer_of(name: str, method: str, *arguments: ast.expr) -> ast.Call:
    """Return the call of a method of an object of the runtime."""
    return ast.Call(part_of(name, method), list(arguments), [])


def part_of(name: str, part: str) -> ast.Attribute:
    """Return what an object of the runtime says."""
    return ast.Attribute(load(name), part, ast.Load())


def _taken(name: str, names: Sequence[str]) -> ast.stmt:
    """Return the statement that gives variables the values that the runtime says."""
    ends = ast.If(part_of(name, "ends"), [ast.Break()], [])
    if not names:
        return ends
    targets = ast.Tuple([ast.Name(each, ast.Store()) for each in names], ast.Store())
    deleted: list[ast.stmt] = [
        ast.If(
            ast.Compare(load(each), [ast.Is()], [part_of(name, "unbound")]),
            [ast.Delete([ast.Name(each, ast.Del())])],
            [],
        )
        for each in names
    ]
    taken = ast.Assign([targets], part_of(name, "state"))
    return ast.If(part_of(name, "sets"), [taken, *deleted, ends], [])
