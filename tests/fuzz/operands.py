"""A program taken apart: its last operation, and a program of what that is done to."""

from __future__ import annotations

import ast
import re


class _Opened(ast.NodeTransformer):
    """Puts entries of dicts in the place where they are read."""

    def __init__(self) -> None:
        self._dicts: dict[str, dict[str, ast.expr]] = {}

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        if isinstance(node.value, ast.Dict):
            keys = [ast.unparse(key) for key in node.value.keys if key is not None]
            name = ast.unparse(node.targets[0])
            self._dicts[name] = dict(zip(keys, node.value.values, strict=True))
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        found = self._dicts.get(ast.unparse(node.value), {})
        return found.get(ast.unparse(node.slice), node)


def operands_of(text: str) -> tuple[str, list[str], str] | None:
    """Return a program of the operands of another's last operation, their names, and what is left.

    ``text`` has one result. None where what is last is no operation on operands.
    """
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    *steps, end = _Opened().visit(function).body
    if not isinstance(end, ast.Return) or not isinstance(end.value, ast.Tuple):
        return None
    (result,) = map(ast.unparse, end.value.elts)
    while steps and result not in _targets(steps[-1]):
        steps.pop()
    if not steps:
        return None
    last = steps[-1]
    params = ast.unparse(function.args)
    if not isinstance(last, ast.Assign) or not isinstance(last.targets[0], ast.Name):
        return _split(params, steps, result)
    made: dict[str, ast.expr | None] = {}

    def named(each: ast.expr) -> ast.expr:
        if isinstance(each, ast.Constant):
            return each
        name = each.id if isinstance(each, ast.Name) else f"o{len(made)}"
        made[name] = None if isinstance(each, ast.Name) else each
        return ast.Name(name)

    match last.value:
        case ast.BinOp():
            last.value.left, last.value.right = named(last.value.left), named(last.value.right)
        case ast.UnaryOp():
            last.value.operand = named(last.value.operand)
        case ast.Compare():
            last.value.left = named(last.value.left)
            last.value.comparators = [named(each) for each in last.value.comparators]
        case ast.Call():
            last.value.args = [named(each) for each in last.value.args]
        case _:
            return None
    if not made:
        return None
    lines = [line for step in steps[:-1] for line in ast.unparse(step).splitlines()]
    lines += [f"{name} = {ast.unparse(each)}" for name, each in made.items() if each is not None]
    return _program(params, lines, list(made)), list(made), f"return {ast.unparse(last.value)},"


def _split(params: str, steps: list[ast.stmt], result: str) -> tuple[str, list[str], str] | None:
    """Return a program of what the last statements read, and these, where several make a result."""
    start = len(steps)
    while start and _targets(steps[start - 1]) == {result}:
        start -= 1
    found = [
        node for step in steps[start:] for node in ast.walk(step) if isinstance(node, ast.Name)
    ]
    read = {node.id for node in found if isinstance(node.ctx, ast.Load)}
    read -= {result, *(node.id for node in found if not isinstance(node.ctx, ast.Load))}
    names = sorted(name for name in read if re.fullmatch(r"[av]\d+", name))
    if not names:
        return None
    before, last = (
        [line for step in part for line in ast.unparse(step).splitlines()]
        for part in (steps[:start], steps[start:])
    )
    return _program(params, before, names), names, "\n    ".join([*last, f"return {result},"])


def _program(params: str, lines: list[str], results: list[str]) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"def f({params}):\n{body}    return {', '.join(results)},\n"


def _targets(step: ast.stmt) -> set[str]:
    """Return what a statement changes, and the arrays of which it changes elements."""
    found = set()
    for node in ast.walk(step):
        if isinstance(node, ast.Assign | ast.AugAssign):
            for each in node.targets if isinstance(node, ast.Assign) else [node.target]:
                found.add(ast.unparse(each.value if isinstance(each, ast.Subscript) else each))
    return found
