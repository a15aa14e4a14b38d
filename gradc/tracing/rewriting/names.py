"""The names in a block of code: what it assigns to, what it mentions, what Python keeps apart."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

# Each has names of its own; only what is evaluated around it belongs to the block.
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def assigned(block: Iterable[ast.AST]) -> tuple[str, ...]:
    """Return the names that a block binds or deletes in the function it is in, each once."""
    found: dict[str, None] = {}
    for node in block:
        _collect(node, found)
    return tuple(found)


def _collect(node: ast.AST, found: dict[str, None]) -> None:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            found[name] = None
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            found[name] = None
            for part in around(node):
                _collect(part, found)
            return
        case ast.Lambda():
            for part in around(node):
                _collect(part, found)
            return
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            # its own names are none of the block's; a walrus in it assigns outside
            for part in ast.walk(node):
                if isinstance(part, ast.NamedExpr):
                    found[part.target.id] = None
            return
        case ast.ExceptHandler(name=str(name)):
            found[name] = None
        case ast.alias():
            found[(node.asname or node.name).partition(".")[0]] = None
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            found[name] = None
        case ast.MatchMapping(rest=str(name)):
            found[name] = None
    for child in ast.iter_child_nodes(node):
        _collect(child, found)


def around(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a function or class that are evaluated where it is defined."""
    if isinstance(node, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef):
        yield from node.args.defaults
        yield from (default for default in node.args.kw_defaults if default is not None)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield from node.decorator_list
    if isinstance(node, ast.ClassDef):
        yield from node.bases
        yield from (keyword.value for keyword in node.keywords)


def mentions(block: Iterable[ast.AST]) -> Counter[str]:
    """Return how often names are read or deleted in a block, by functions it defines too."""
    found: Counter[str] = Counter()
    for node in block:
        for part in ast.walk(node):
            match part:
                case ast.Name(id=name, ctx=ast.Load() | ast.Del()):
                    found[name] += 1
                case ast.AugAssign(target=ast.Name(id=name)):
                    found[name] += 1
    return found


def appended_only(block: Sequence[ast.AST]) -> frozenset[str]:
    """Return the names of which a block does nothing but append, and read the last elements.

    That is ``x.append(…)``, ``x[-1]``, ``x[-3:]``, or ``x[k - 1]``, which may be one of these.
    """
    allowed: Counter[str] = Counter()
    every: Counter[str] = Counter()
    for part in (part for node in block for part in ast.walk(node)):
        match part:
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=name), attr="append"),
                    args=[argument],
                    keywords=[],
                )
            ) if not isinstance(argument, ast.Starred):
                allowed[name] += 1
            case ast.Subscript(
                value=ast.Name(id=name),
                slice=index,
                ctx=ast.Load(),
            ) if is_from_the_end(index) or not is_constant_index(index):
                allowed[name] += 1
            case ast.Name(id=name):
                every[name] += 1
            case ast.AugAssign(target=ast.Name(id=name)):
                every[name] += 1
    return frozenset(name for name, count in allowed.items() if count == every[name])


def is_from_the_end(index: ast.expr) -> bool:
    """Whether an index is a constant that counts from the end, or a slice that begins at one."""
    if isinstance(index, ast.Slice) and index.lower is not None:
        index = index.lower
    match index:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int())):
            return True
    return False


def is_constant_index(index: ast.expr) -> bool:
    """Whether an index has nothing to do with what a program computes, or is none of a list."""
    if isinstance(index, ast.UnaryOp):
        index = index.operand
    return isinstance(index, ast.Constant | ast.Slice | ast.Tuple)


def indexed(block: Iterable[ast.AST]) -> frozenset[str]:
    """Return the names that a block subscripts by what is no constant, what they hold included."""
    found = set()
    for part in (part for node in block for part in ast.walk(node)):
        match part:
            case ast.Subscript(value=inner, slice=index) if not isinstance(
                index, ast.Constant | ast.Slice | ast.Tuple
            ):
                while isinstance(inner, ast.Subscript):
                    inner = inner.value
                if isinstance(inner, ast.Name):
                    found.add(inner.id)
    return frozenset(found)


def variables(node: ast.FunctionDef | ast.Lambda) -> frozenset[str]:
    """Return the variables of a function, its parameters included."""
    body = node.body if isinstance(node.body, list) else [node.body]
    elsewhere = {
        name
        for part in own_nodes(body)
        if isinstance(part, ast.Global | ast.Nonlocal)
        for name in part.names
    }
    parameters = {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)}
    return frozenset({*parameters, *assigned(body)} - elsewhere)


def own_nodes(block: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes of a block that run in the function it is in.

    The insides of functions, classes and comprehensions are left out.
    """
    for node in block:
        yield node
        if isinstance(node, SCOPES):
            yield from own_nodes(around(node))
        elif isinstance(node, COMPREHENSIONS):
            yield from own_nodes([node.generators[0].iter])
        else:
            yield from own_nodes(ast.iter_child_nodes(node))


def handles_errors(block: Sequence[ast.AST]) -> bool:
    """Whether a block has a ``try`` with handlers."""
    tries = [node for node in own_nodes(block) if isinstance(node, ast.Try | ast.TryStar)]
    return any(node.handlers for node in tries)


def suspends(block: Sequence[ast.AST]) -> bool:
    """Whether running a block may hand control to another one in between: it yields or awaits."""
    kinds = ast.Yield | ast.YieldFrom | ast.Await | ast.AsyncFor | ast.AsyncWith
    return any(isinstance(node, kinds) for node in own_nodes(block))


def has_jump(block: Iterable[ast.AST]) -> bool:
    """Whether a block has a break or continue of a loop around it."""
    for node in block:
        if isinstance(node, ast.Break | ast.Continue):
            return True
        if isinstance(node, ast.For | ast.While | ast.AsyncFor):
            inner: Iterable[ast.AST] = node.orelse  # which belongs to the loop around
        elif isinstance(node, (ast.expr, *SCOPES)):
            continue
        else:
            inner = ast.iter_child_nodes(node)
        if has_jump(inner):
            return True
    return False


def has_return(block: Sequence[ast.AST]) -> bool:
    """Whether a block may return from the function it is in."""
    return any(isinstance(node, ast.Return) for node in own_nodes(block))
