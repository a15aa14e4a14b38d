"""A loop of Python's rewritten as one of gradc's: what it assigns to becomes the carry.

Nothing is written where it is not certain to mean the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

_INDENT = "      "
# What a body of gradc.while_loop has no place for; an Expr is there for what it does to an object.
_LEAVES = (
    ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Try, ast.With, ast.Global,
    ast.Nonlocal, ast.Raise, ast.FunctionDef, ast.ClassDef, ast.Delete, ast.Import, ast.ImportFrom,
    ast.NamedExpr, ast.Lambda, ast.Await, ast.Starred, ast.Expr,
)  # fmt: skip


def while_loop_text(node: ast.While, test: ast.expr, function: ast.AST) -> str:
    """Return a ``while`` as gradc.while_loop; ``test`` is its condition as one truth value."""
    carry = _carry(node, [node.test], function)
    if not carry:
        return "a loop of a traced number of steps is gradc.while_loop(condition, body, carry)"
    condition, lines = f"lambda {carry[0]}: {ast.unparse(test)}", []
    if len(carry) > 1:
        condition = "condition"
        lines = _definition("condition(", carry, [f"return {ast.unparse(test)}"])
    body, more = _body(node.body, carry, "")
    call = f"gradc.while_loop({condition}, {body}, {_tuple(carry)})"
    return written([*lines, *more, f"{', '.join(carry)} = {call}"])


def fori_loop_text(node: ast.For, function: ast.AST) -> str:
    """Return a ``for`` over a range as gradc.fori_loop."""
    general = "a loop of a traced number of steps is gradc.fori_loop(lower, upper, body, carry)"
    match node:
        case ast.For(target=ast.Name(id=number), iter=ast.Call(args=[*bounds], keywords=[])):
            pass
        case _:
            return general
    carry = _carry(node, [], function)
    if not carry or number in carry or not 1 <= len(bounds) <= 2:
        return general
    texts = [ast.unparse(bound) for bound in bounds]
    between = ", ".join(texts if len(texts) == 2 else ["0", *texts])
    body, lines = _body(node.body, carry, f"{number}, ")
    call = f"gradc.fori_loop({between}, {body}, {_tuple(carry)})"
    return written([*lines, f"{', '.join(carry)} = {call}"])


def written(lines: Sequence[str]) -> str:
    """Return the advice to write these lines."""
    if len(lines) == 1:
        return f"write {lines[0]}"
    return "write\n" + "\n".join(f"{_INDENT}{line}" for line in lines)


def _body(block: Sequence[ast.stmt], carry: Sequence[str], before: str) -> tuple[str, list[str]]:
    """Return what to pass as the body, and the lines that define it."""
    if len(carry) == 1:
        match block:
            case [ast.Assign(targets=[ast.Name()], value=value)]:
                return f"lambda {before}{carry[0]}: {ast.unparse(value)}", []
            case [ast.AugAssign(target=ast.Name() as name, op=op, value=value)]:
                new = ast.BinOp(left=name, op=op, right=value)
                return f"lambda {before}{carry[0]}: {ast.unparse(new)}", []
    own = [line for statement in block for line in ast.unparse(statement).splitlines()]
    return "body", _definition(f"body({before}", carry, [*own, f"return {', '.join(carry)}"])


def _definition(head: str, carry: Sequence[str], lines: Sequence[str]) -> list[str]:
    """Return the lines of a function of the carry, which they have by the names of its parts."""
    if len(carry) == 1:
        return [f"def {head}{carry[0]}):", *(f"    {line}" for line in lines)]
    named = f"{', '.join(carry)} = carry"
    return [f"def {head}carry):", *(f"    {line}" for line in (named, *lines))]


def _tuple(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def _carry(
    node: ast.While | ast.For, asked: Sequence[ast.expr], function: ast.AST
) -> tuple[str, ...]:
    """Return the names that go from one step to the next or out of the loop, none if not certain.

    These are what the loop assigns to and ``asked`` reads, a step reads before it assigns to it, or
    the function reads elsewhere.
    """
    parts = [part for statement in node.body for part in ast.walk(statement)]
    if node.orelse or any(isinstance(part, _LEAVES) for part in parts):
        return ()
    assigned: dict[str, None] = {}
    for part in parts:
        match part:
            case ast.Name(id=name, ctx=ast.Store()):
                assigned[name] = None
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                assigned[name] = None
            case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                return ()
    read = {name for expression in asked for name in names(ast.walk(expression), ast.Load)}
    read |= names(set(ast.walk(function)) - set(ast.walk(node)), ast.Load)
    read |= _read_first(node.body, set())
    return tuple(name for name in assigned if name in read)


def names(parts: Iterable[ast.AST], context: type[ast.AST] = ast.AST) -> set[str]:
    """Return the names among some nodes: all, those that are read, or those assigned to."""
    return {
        part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, context)
    }


def _read_first(block: Sequence[ast.stmt], known: set[str]) -> set[str]:
    """Return what a block reads before it has assigned to it; ``known`` takes what it assigns."""
    found: set[str] = set()
    for statement in block:
        inner = [part for field in ("body", "orelse") for part in getattr(statement, field, [])]
        stored = names(ast.walk(statement), ast.Store)
        own = names(ast.walk(statement), ast.Load)
        own -= {name for part in inner for name in names(ast.walk(part), ast.Load)}
        if isinstance(statement, ast.AugAssign):
            own |= stored  # it reads what it changes
        found |= own - known
        # a block inside may not run: what it assigns to counts in it alone
        found |= _read_first(inner, set(known))
        if isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign):
            known |= stored
        elif inner:
            # what it may assign to is what it was, where it does not
            read = {name for one in block for name in names(ast.walk(one), ast.Load)}
            found |= (stored & read) - known
    return found
