"""Comprehensions as functions with loops, which are rewritten as all loops are.

A comprehension has names of its own, as a function has. What is made of one is defined where the
function around it begins, and sees the variables there are when it is called::

    ys = [f(x, k) for k in ks]      def _items_1(_first_1):
                                        _found_1 = []
                                        for k in _first_1:
                                            _found_1.append(f(x, k))
                                        return _found_1
                                    ys = _items_1(ks)

What a generator gives to ``sum``, ``max`` and the like is taken at once, and is the same.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Sequence

from gradc.tracing.rewriting.expressions import OF_THE_FRAME, THUNK, at, load, runtime

Comprehension = ast.ListComp | ast.GeneratorExp
NewName = Callable[[str, int], str]

# Builtins that take all that a generator gives before they return.
_TAKE_ALL = frozenset({"sum", "min", "max", "any", "all", "list", "tuple", "sorted"})
# Those that ask for no more where a truth value decides.
_DECIDED_BY = {"any": True, "all": False}


def may_be_loop(node: Comprehension) -> bool:
    """Whether a comprehension means the same as a function with loops."""
    for part in ast.walk(node):
        match part:
            case ast.NamedExpr() | ast.Yield() | ast.YieldFrom() | ast.Await():
                return False
            case ast.comprehension(is_async=is_async) if is_async:
                return False
            case ast.Name(id=name) if name in OF_THE_FRAME:
                return False
    return True


def taken_at_once(node: ast.Call) -> tuple[str, Comprehension] | None:
    """Return the builtin that a call may be of, and the comprehension of which it takes all."""
    if any(isinstance(each, ast.Starred) for each in node.args):
        return None
    match node:
        case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp() as inner, *_]):
            return (name, inner) if name in _TAKE_ALL else None
        case ast.Call(func=ast.Name(id="sum"), args=[ast.ListComp() as inner, *_]):
            return "sum", inner
    return None


def listed(node: Comprehension, new: NewName, taker: str) -> ast.FunctionDef:
    """Return a function of the first iterable that returns a list of all items.

    ``taker`` is what takes them at once.
    """
    found = new("items", node.lineno)
    add = ast.Call(ast.Attribute(load(found), "append", ast.Load()), [node.elt], [])
    inner: list[ast.stmt] = [ast.Expr(add)]
    if taker in _DECIDED_BY:
        item = new("item", node.lineno)
        add.args = [load(item)]
        decides = runtime("decides", load(item), ast.Constant(_DECIDED_BY[taker]))
        leaves = ast.If(decides, [ast.Return(load(found))], [])
        inner = [ast.Assign([ast.Name(item, ast.Store())], node.elt), *inner, leaves]
    # how many items there are has to be known
    generators = [copy.copy(each) for each in node.generators]
    for each in generators:
        each.ifs = [at(runtime("known", condition), condition) for condition in each.ifs]
    start = ast.Assign([ast.Name(found, ast.Store())], ast.List([], ast.Load()))
    return _function(node, generators, new, [start], inner, found)


def summed(node: Comprehension, new: NewName) -> ast.FunctionDef:
    """Return a function of the first iterable and a start that returns the sum of all items."""
    total = new("sum", node.lineno)
    add = ast.BinOp(load(total), ast.Add(), node.elt)
    inner: list[ast.stmt] = [ast.Assign([ast.Name(total, ast.Store())], add)]
    made = _function(node, node.generators, new, [], inner, total)
    made.args.args.insert(1, at(ast.arg(total), node))
    made.args.defaults.insert(0, at(ast.Constant(0), node))
    return made


def _function(
    node: Comprehension,
    generators: Sequence[ast.comprehension],
    new: NewName,
    start: Sequence[ast.stmt],
    inner: list[ast.stmt],
    result: str,
) -> ast.FunctionDef:
    first = new("first", node.lineno)
    for position, each in reversed(list(enumerate(generators))):
        for condition in reversed(each.ifs):
            inner = [at(ast.If(condition, inner, []), condition)]
        visited = each.iter if position else load(first)
        inner = [at(ast.For(each.target, visited, inner, []), each.target)]
    body = [*start, *inner, ast.Return(load(result))]
    parameters = [ast.arg(first), ast.arg(THUNK)]
    arguments = ast.arguments([], parameters, None, [], [], None, [ast.Constant(None)])
    made = ast.FunctionDef(new("of", node.lineno), arguments, body, [])
    if "type_params" in made._fields:
        made.type_params = []  # type: ignore[attr-defined, unused-ignore]
    return at(made, node)


def named_for_a_user(text: str) -> str:
    """Return a text in which what a comprehension makes is called by no name of ours."""
    return _OURS.sub(r"its \1", text)


_OURS = re.compile(r"\b_(items|item|sum)_\d+_*\b")


def given(made: ast.FunctionDef, names: Sequence[str]) -> None:
    """Have a function take variables by name, which are not around it where it is defined."""
    made.args.kwonlyargs = [at(ast.arg(name), made) for name in names]
    made.args.kw_defaults = [None] * len(names)
