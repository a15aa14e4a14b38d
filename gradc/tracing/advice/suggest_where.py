"""What to write instead of Python's if, while and range of traced values: the user's own lines.

The statement is found in the source by the position of the running instruction, and rewritten as
long as the rewriting is certain to mean the same. Nothing is said where it is not.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Sequence
from types import FrameType, ModuleType
from typing import TypeAlias

from gradc.tracing.advice.suggest_loop import fori_loop_text, while_loop_text
from gradc.tracing.core import source

Span: TypeAlias = tuple[int, int, int, int]
_LONGEST = 300  # characters of a line that is still a help


def instead_of_truth(several: bool) -> str:
    """Return how to write the condition that is being asked for, or no text.

    ``several`` says that it is one of an array of several elements.
    """
    asked = _asked_here()
    if asked is None:
        return ""
    frame, span, tree = asked
    for node, rest in _conditions(tree):
        if span in _asked(node):
            lines = _reworded(node, rest, _function_around(tree, node), several)
            return _in_their_words(lines, frame)
    return ""


def instead_of_range() -> str:
    """Return how to write the loop whose range is being asked for, or no text."""
    asked = _asked_here()
    if asked is None:
        return ""
    frame, span, tree = asked
    for node in ast.walk(tree):
        if isinstance(node, ast.For) and _place(node.iter) == span and _is_range(node.iter):
            return _in_their_words(fori_loop_text(node, _function_around(tree, node)), frame)
    return ""


def _is_range(iterated: ast.expr) -> bool:
    return isinstance(iterated, ast.Call) and ast.unparse(iterated.func) == "range"


def _in_their_words(lines: str, frame: FrameType) -> str:
    found = lines.replace("np.", f"{_name_of_numpy(frame)}.")
    return "" if any(len(line) > _LONGEST for line in found.splitlines()) else found


def _function_around(tree: ast.AST, node: ast.AST) -> ast.AST:
    """Return the innermost function that a node stands in, the whole file when in none."""
    found = tree
    for part in ast.walk(tree):  # from the outside to the inside
        if isinstance(part, ast.FunctionDef) and node in ast.walk(part):
            found = part
    return found


def _name_of_numpy(frame: FrameType) -> str:
    """Return what the user calls NumPy; where that is not np, no np of theirs is in the text."""
    names = [name for name, value in frame.f_globals.items() if _is_numpy(value)]
    return "np" if "np" in names or not names else names[0]


def _is_numpy(value: object) -> bool:
    return isinstance(value, ModuleType) and value.__name__ == "numpy"


def _asked_here() -> tuple[FrameType, Span, ast.AST] | None:
    """Return the user's frame, the span that runs in it, and its file; None where not all are."""
    frame = source.user_frame()
    if frame is None:
        return None
    span, tree = _span_of(frame), _tree_of(frame)
    return None if span is None or tree is None else (frame, span, tree)


def _span_of(frame: FrameType) -> Span | None:
    for index, span in enumerate(frame.f_code.co_positions()):
        if index == frame.f_lasti // 2:
            line, end_line, column, end_column = span
            if line is None or end_line is None or column is None or end_column is None:
                return None
            return line, column, end_line, end_column
    return None


def _tree_of(frame: FrameType) -> ast.AST | None:
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    try:
        return ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return None


def _conditions(tree: ast.AST) -> Iterator[tuple[ast.AST, Sequence[ast.stmt]]]:
    """Yield all nodes that ask for a truth value, each with the statements that come after it."""
    after: dict[ast.AST, Sequence[ast.stmt]] = {}
    inside: set[ast.AST] = set()
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                after |= {one: block[at + 1 :] for at, one in enumerate(block)}
        if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
            inside.update(_steps(node.test))
        elif isinstance(node, ast.comprehension):
            inside.update(step for test in node.ifs for step in _steps(test))
        elif not isinstance(node, ast.BoolOp | ast.UnaryOp | ast.Compare) or node in inside:
            continue
        yield node, after.get(node, ())


def _steps(test: ast.expr) -> Iterator[ast.expr]:
    """Yield a test and the parts of it that Python asks for one by one."""
    yield test
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _steps(value)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _steps(test.operand)


def _asked(node: ast.AST) -> set[Span]:
    """Return the places of the instructions that ask for the truth of parts of a node."""
    if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
        # of a test that is a call or a name the instruction has the place of the statement
        return {_place(node), *map(_place, _steps(node.test))}
    if isinstance(node, ast.comprehension):
        return {_place(step) for test in node.ifs for step in _steps(test)}
    if isinstance(node, ast.BoolOp):
        return {_place(step) for step in _steps(node)}
    if isinstance(node, ast.Compare):
        return {_place(node)} if len(node.ops) > 1 else set()
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return {_place(step) for step in _steps(node)}
    return set()


def _place(node: ast.expr | ast.stmt) -> Span:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


# -- the rewriting -----------------------------------------------------------------------------


def _reworded(node: ast.AST, rest: Sequence[ast.stmt], function: ast.AST, several: bool) -> str:
    match node:
        case ast.IfExp() | ast.BoolOp() | ast.Compare() | ast.UnaryOp():
            return f"write {ast.unparse(_chosen(node))}"
        case ast.If(test=test, body=body):
            if isinstance(body[0], ast.Raise):
                return "check the arguments before the call, outside of the traced function"
            found = _statements(node, rest)
            if found:
                return _written(found)
            asked = ast.unparse(_mask(test))
            both = f"compute both, and choose: np.where({asked}, …, …)"
            one = f"write a function for each, of which one runs: gradc.cond({asked}, …, …)"
            return both if several else f"{both}\n    or {one}"
        case ast.While(test=test):
            holds = _call("np.any", _mask(test)) if several else _mask(test)
            return while_loop_text(node, holds, function)
        case ast.Assert():
            return "check the arguments before the call, outside of the traced function"
        case ast.comprehension(ifs=tests):
            kept = ast.unparse(_mask(_all_of(tests)))
            return f"keep all elements, and choose in what is made of them: np.where({kept}, …, 0)"
    return ""


def _written(statements: Sequence[ast.stmt]) -> str:
    texts = [ast.unparse(ast.fix_missing_locations(one)) for one in statements]
    if len(texts) == 1:
        return f"write {texts[0]}"
    return "write\n" + "\n".join(f"      {text}" for text in texts)


def _statements(node: ast.If, rest: Sequence[ast.stmt]) -> list[ast.stmt]:
    value = _returned([node, *rest])
    return [ast.Return(value=value)] if value is not None else _assigned(node)


def _returned(block: Sequence[ast.stmt]) -> ast.expr | None:
    """Return what a block returns as one expression, None when it does more than that."""
    match block:
        case [ast.Return(value=ast.expr() as value), *_]:
            return _chosen(value)
        case [ast.If(test=test, body=body, orelse=orelse), *rest]:
            taken = _returned(body)
            other = _returned([*orelse, *rest])
            if taken is not None and other is not None:
                return _where(test, taken, other)
    return None


def _assigned(node: ast.If) -> list[ast.stmt]:
    """Return the assignments of both branches as one each, none when that is not certain."""
    targets: dict[str, ast.expr] = {}
    if not _collect([node], targets):
        return []
    names = {name for target in targets.values() for name in _names(target)}
    if len(targets) > 1 and names & set(_names(node.test)):
        return []  # the second line would ask the changed value
    found: list[ast.stmt] = []
    for target in targets.values():
        value = _final(node, target)
        if value is None:
            return []
        found.append(ast.Assign(targets=[target], value=value, lineno=0))
    return found


def _collect(block: Sequence[ast.stmt], targets: dict[str, ast.expr]) -> bool:
    """Gather the targets of a block's assignments; whether there is nothing else in it."""
    seen: set[str] = set()
    for statement in block:
        match statement:
            case ast.Assign(targets=[ast.Name() | ast.Subscript() as target]):
                pass
            case ast.AugAssign(target=ast.Name() | ast.Subscript() as target):
                pass
            case ast.Pass():
                continue
            case ast.If(body=body, orelse=orelse) if len(block) == 1:
                return _collect(body, targets) and _collect(orelse, targets)
            case _:
                return False
        text = ast.unparse(target)
        if text in seen:
            return False
        seen.add(text)
        targets.setdefault(text, target)
    return True


def _final(node: ast.If, target: ast.expr) -> ast.expr | None:
    return _where(node.test, _value(node.body, target), _value(node.orelse, target))


def _value(block: Sequence[ast.stmt], target: ast.expr) -> ast.expr:
    text = ast.unparse(target)
    for statement in block:
        match statement:
            case ast.Assign(targets=[found], value=value) if ast.unparse(found) == text:
                return _chosen(value)
            case ast.AugAssign(target=found, op=op, value=value) if ast.unparse(found) == text:
                return ast.BinOp(left=ast.parse(text, mode="eval").body, op=op, right=value)
            case ast.If():
                return _final(statement, target) or target
    return ast.parse(text, mode="eval").body


def _names(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id


def _chosen(expression: ast.AST) -> ast.expr:
    """Return an expression with what asks for a truth value at its top rewritten."""
    assert isinstance(expression, ast.expr)
    match expression:
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _where(test, _chosen(body), _chosen(orelse))
        case ast.BoolOp(op=op, values=[*before, last]) if not all(map(_is_truth, [*before, last])):
            found = _chosen(last)
            for value in reversed(before):
                parts = (found, value) if isinstance(op, ast.And) else (value, found)
                found = _where(value, *parts)
            return found
        case ast.BoolOp() | ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return _mask(expression)
    return expression


def _is_truth(expression: ast.expr) -> bool:
    match expression:
        case ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.BoolOp(values=values):
            return all(map(_is_truth, values))
    return False


def _mask(test: ast.expr) -> ast.expr:
    """Return a test as an array of truth values: ``&``, ``|`` and np.logical_not."""
    match test:
        case ast.BoolOp(op=op, values=values):
            joined = _mask(values[0])
            for value in values[1:]:
                how: ast.operator = ast.BitAnd() if isinstance(op, ast.And) else ast.BitOr()
                joined = ast.BinOp(left=joined, op=how, right=_mask(value))
            return joined
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _call("np.logical_not", _mask(operand))
        case ast.Compare(left=left, ops=ops, comparators=comparators) if len(ops) > 1:
            ends = [left, *comparators]
            pairs: list[ast.expr] = [
                ast.Compare(left=a, ops=[op], comparators=[b])
                for a, op, b in zip(ends, ops, ends[1:])
            ]
            return _mask(_all_of(pairs))
        case ast.Call(func=ast.Name(id="bool"), args=[operand]):
            return _mask(operand)
    return test


def _all_of(tests: Sequence[ast.expr]) -> ast.expr:
    return tests[0] if len(tests) == 1 else ast.BoolOp(op=ast.And(), values=list(tests))


def _where(test: ast.expr, taken: ast.expr, other: ast.expr) -> ast.expr:
    return _call("np.where", _mask(test), taken, other)


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(func=ast.parse(name, mode="eval").body, args=list(arguments), keywords=[])
