"""A loop of Python's rewritten as one of gradc's: what it assigns to becomes the carry.

Nothing is written where it is not certain to mean the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

_INDENT = "      "
# What a body of gradc.while_loop has no place for.
_LEAVES = (
    ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Try, ast.With, ast.Global,
    ast.Nonlocal, ast.Raise, ast.FunctionDef, ast.ClassDef, ast.Delete, ast.Import, ast.ImportFrom,
    ast.NamedExpr, ast.Lambda, ast.Await, ast.Starred,
)  # fmt: skip


def while_loop_text(node: ast.While, test: ast.expr, function: ast.AST) -> str:
    """Return a ``while`` as gradc.while_loop; ``test`` is its condition as one truth value."""
    carry = _carry(node, [node.test], function)
    if not carry:
        return "a loop of a traced number of steps is gradc.while_loop(condition, body, carry)"
    names = ", ".join(carry)
    if len(carry) == 1:
        condition = f"lambda {names}: {ast.unparse(test)}"
        lines = []
    else:
        condition = "condition"
        lines = [
            "def condition(carry):",
            f"    {names} = carry",
            f"    return {ast.unparse(test)}",
        ]
    body, more = _body(node.body, carry, "")
    lines += [*more, f"{names} = gradc.while_loop({condition}, {body}, {_tuple(carry)})"]
    return _written(lines)


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
    return _written([*lines, f"{', '.join(carry)} = {call}"])


def _written(lines: Sequence[str]) -> str:
    if len(lines) == 1:
        return f"write {lines[0]}"
    return "write\n" + "\n".join(f"{_INDENT}{line}" for line in lines)


def _body(block: Sequence[ast.stmt], carry: Sequence[str], before: str) -> tuple[str, list[str]]:
    """Return what to pass as the body, and the lines that define it."""
    match block:
        case [ast.Assign(targets=[ast.Name()], value=value)] if len(carry) == 1:
            return f"lambda {before}{carry[0]}: {ast.unparse(value)}", []
        case [ast.AugAssign(target=ast.Name() as name, op=op, value=value)] if len(carry) == 1:
            new = ast.BinOp(left=ast.Name(id=name.id, ctx=ast.Load()), op=op, right=value)
            return f"lambda {before}{carry[0]}: {ast.unparse(new)}", []
    names = ", ".join(carry)
    own = [f"    {line}" for statement in block for line in ast.unparse(statement).splitlines()]
    if len(carry) == 1:
        return "body", [f"def body({before}{names}):", *own, f"    return {names}"]
    lines = [f"def body({before}carry):", f"    {names} = carry", *own, f"    return {names}"]
    return "body", lines


def _tuple(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def _carry(
    node: ast.While | ast.For, asked: Sequence[ast.expr], function: ast.AST
) -> tuple[str, ...]:
    """Return the names that go from one step to the next or out of the loop, none if not certain.

    These are what the loop assigns to and ``asked`` reads, a step reads before it assigns to it, or
    the function reads elsewhere.
    """
    if node.orelse or any(isinstance(part, _LEAVES) for one in node.body for part in ast.walk(one)):
        return ()
    assigned: dict[str, None] = {}
    for statement in node.body:
        for part in ast.walk(statement):
            if isinstance(part, ast.Expr) or _is_elsewhere(part):
                return ()  # it is there for what it does to an object
            if isinstance(part, ast.Name | ast.Subscript) and isinstance(part.ctx, ast.Store):
                assigned.setdefault(_base(part), None)
    inside = set(ast.walk(node))
    read = {name for expression in asked for name in _loads(expression)}
    read |= {name for name in _loads(function, inside)}
    read |= _read_first(node.body, set())
    return tuple(name for name in assigned if name in read)


def _is_elsewhere(part: ast.AST) -> bool:
    """Whether a node assigns to an attribute, or to an entry of anything but a name."""
    if isinstance(part, ast.Attribute):
        return isinstance(part.ctx, ast.Store)
    if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store):
        return not isinstance(part.value, ast.Name)
    return False


def _base(target: ast.Name | ast.Subscript) -> str:
    name = target.value if isinstance(target, ast.Subscript) else target
    return name.id if isinstance(name, ast.Name) else ""


def _loads(tree: ast.AST, without: set[ast.AST] | None = None) -> Iterator[str]:
    for part in ast.walk(tree):
        is_read = isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
        if isinstance(part, ast.Name) and is_read and (without is None or part not in without):
            yield part.id


def _read_first(block: Sequence[ast.stmt], known: set[str]) -> set[str]:
    """Return what a block reads before it has assigned to it; ``known`` takes what it assigns."""
    found: set[str] = set()
    for statement in block:
        inner = [part for field in ("body", "orelse") for part in getattr(statement, field, [])]
        own = set(_loads(statement)) - {name for part in inner for name in _loads(part)}
        if isinstance(statement, ast.AugAssign):
            own.add(_base(statement.target))  # type: ignore[arg-type]
        found |= own - known
        # a block inside may not run: what it assigns to counts in it alone
        found |= _read_first(inner, set(known))
        if isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign):
            stored = [part for part in ast.walk(statement) if isinstance(part, ast.Name)]
            known |= {part.id for part in stored if isinstance(part.ctx, ast.Store)}
        elif inner:
            # what it may assign to is what it was, where it does not
            found |= {
                part.id
                for part in ast.walk(statement)
                if isinstance(part, ast.Name)
                and isinstance(part.ctx, ast.Store)
                and part.id in set(_loads(ast.Module(list(block), [])))
                and part.id not in known
            }
    return found
