"""What to write instead of Python's if, while and range of traced values: the user's own lines.

The statement is found in the source by the position of the running instruction, and rewritten as
long as the rewriting is certain to mean the same. Nothing is said where it is not.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Iterator, Sequence
from types import FrameType, ModuleType
from typing import TypeAlias

from gradc.tracing.advice.suggest_loop import fori_loop_text, names, while_loop_text, written
from gradc.tracing.core import source
from gradc.tracing.rewriting.rewrite import why_as_it_is

# Line, last line, column and last column, as Python has them of an instruction.
Span: TypeAlias = tuple[int | None, int | None, int | None, int | None]
_LONGEST = 300  # characters of a line that is still a help
_BEFORE_THE_CALL = "check the arguments before the call, outside of the traced function"


def instead_of_truth(several: bool) -> str:
    """Return how to write the condition that is being asked for, or no text.

    ``several`` says that it is one of an array of several elements.
    """

    def reworded(tree: ast.AST, span: Span) -> str:
        # a test comes before its parts here, whose places are its own too
        node = next((node for node in ast.walk(tree) if span in _asked(node)), None)
        return "" if node is None else _reworded(node, tree, several)

    return _instead(reworded)


def instead_of_range() -> str:
    """Return how to write the loop whose range is being asked for, or no text."""

    def reworded(tree: ast.AST, span: Span) -> str:
        for node in ast.walk(tree):
            match node:
                case ast.For(iter=ast.Call() as call) if _place(call) == span:
                    if ast.unparse(call.func) == "range":
                        return fori_loop_text(node, _function_around(tree, node))
        return ""

    return _instead(reworded)


def why_it_is_asked() -> str:
    """Return why the branches and loops of the code that runs are Python's own, or no text.

    Others are part of the graph, and ask for nothing.
    """
    frame = source.user_frame()
    why = "" if frame is None else why_as_it_is(frame.f_code)
    if frame is None or not why:
        return ""
    return f"the branches and loops of {frame.f_code.co_qualname} are Python's: {why}"


def _instead(reworded: Callable[[ast.AST, Span], str]) -> str:
    """Return what is to be written for the code that runs, in the user's words, or no text."""
    frame = source.user_frame()
    if frame is None:
        return ""
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return ""
    span = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    found = reworded(tree, span).replace("np.", f"{_name_of_numpy(frame)}.")
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


def _after(tree: ast.AST, node: ast.AST) -> Sequence[ast.stmt]:
    """Return the statements that come after one in its block."""
    for part in ast.walk(tree):
        for _, block in ast.iter_fields(part):
            if isinstance(block, list) and node in block:
                return block[block.index(node) + 1 :]
    return ()


def _asked(node: ast.AST) -> set[Span]:
    """Return the places of the instructions that ask for the truth of parts of a node."""
    match node:
        case (
            ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test)
        ):
            # of a test that is a call or a name the instruction has the place of the statement
            return {_place(node), *map(_place, _steps(test))}
        case ast.comprehension(ifs=tests):
            return {_place(step) for test in tests for step in _steps(test)}
        case ast.BoolOp() | ast.UnaryOp(op=ast.Not()) | ast.Compare(ops=[_, _, *_]):
            return {_place(step) for step in _steps(node)}
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="sort")) as call):
            return {_place(call)}
    return set()


def _steps(test: ast.expr) -> Iterator[ast.expr]:
    """Yield a test and the parts of it that Python asks for one by one."""
    yield test
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _steps(value)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _steps(test.operand)


def _place(node: ast.expr | ast.stmt) -> Span:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


# -- the rewriting -----------------------------------------------------------------------------


def _reworded(node: ast.AST, tree: ast.AST, several: bool) -> str:
    match node:
        case ast.IfExp() | ast.BoolOp() | ast.Compare() | ast.UnaryOp():
            return f"write {ast.unparse(_chosen(node))}"
        case ast.Assert() | ast.If(body=[ast.Raise(), *_]):
            return _BEFORE_THE_CALL
        case ast.If(test=test):
            value = _returned([node, *_after(tree, node)])
            lines = _assigned(node) if value is None else [f"return {ast.unparse(value)}"]
            if lines:
                return written(lines)
            asked = ast.unparse(_mask(test))
            both = f"compute both, and choose: np.where({asked}, …, …)"
            one = f"write a function for each, of which one runs: gradc.cond({asked}, …, …)"
            return both if several else f"{both}\n    or {one}"
        case ast.While(test=test):
            holds = _call("np.any", _mask(test)) if several else _mask(test)
            return while_loop_text(node, holds, _function_around(tree, node))
        case ast.comprehension(ifs=tests):
            kept = ast.unparse(_mask(_all_of(tests)))
            return f"keep all elements, and choose in what is made of them: np.where({kept}, …, 0)"
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=items), keywords=options)):
            made = ast.Call(ast.Name("sorted"), [items], options)
            return written([f"{ast.unparse(items)} = {ast.unparse(made)}"])
    return ""


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


def _assigned(node: ast.If) -> list[str]:
    """Return the assignments of both branches as one each, none when that is not certain."""
    targets: dict[str, ast.expr] = {}
    if not _collect([node], targets):
        return []
    changed = {name for target in targets.values() for name in names(ast.walk(target))}
    if len(targets) > 1 and changed & names(ast.walk(node.test)):
        return []  # the second line would ask the changed value
    return [f"{text} = {ast.unparse(_final(node, text))}" for text in targets]


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


def _final(node: ast.If, target: str) -> ast.expr:
    return _where(node.test, _value(node.body, target), _value(node.orelse, target))


def _value(block: Sequence[ast.stmt], target: str) -> ast.expr:
    """Return what a target has after a block of assignments."""
    before = ast.parse(target, mode="eval").body
    for statement in block:
        match statement:
            case ast.Assign(targets=[found], value=value) if ast.unparse(found) == target:
                return _chosen(value)
            case ast.AugAssign(target=found, op=op, value=value) if ast.unparse(found) == target:
                return ast.BinOp(left=before, op=op, right=value)
            case ast.If():
                return _final(statement, target)
    return before


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
