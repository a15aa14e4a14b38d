"""The syntax tree of a function, from the file it was compiled from, and code from such a tree.

A file may have been edited since, or what Python ran may have been rewritten on its way from the
file. So a tree counts as that of a function only if compiling it gives the function's own code.
"""

from __future__ import annotations
import __future__

import ast
import copy
import linecache
import warnings
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_
from types import CodeType, FunctionType, ModuleType

from gradc.tracing.rewriting.names import own_nodes
from gradc.tracing.rewriting.same_code import same_code
from gradc_ir.classes.named import NamedTuple

_FUTURE = reduce(or_, (getattr(__future__, n).compiler_flag for n in __future__.all_feature_names))
_FACTORY = "_gradc_factory"


class SourceTree(NamedTuple):
    """The tree of a function, without what is evaluated around it, and the imports of its file.

    A call of what is imported is compiled otherwise than that of a method.
    """

    node: ast.FunctionDef | ast.Lambda
    imported: frozenset[str]


def tree_of(function: FunctionType) -> SourceTree | None:
    """Return the syntax tree that a function was compiled from, None when it is not at hand."""
    code = function.__code__
    lines = lines_of(function)
    if not lines or code.co_firstlineno > len(lines):
        return None
    modules = {
        name for name in _names_in(code) if isinstance(function.__globals__.get(name), ModuleType)
    }
    names = frozenset(modules)
    for node in _candidates(code, lines):
        plain = _without_surroundings(node)
        made = compiled(SourceTree(plain, names), code)
        if made is None:
            continue
        if not same_code(made, code):
            names = _imported(lines)
            made = compiled(SourceTree(plain, names), code)
        if made is not None and same_code(made, code):
            return SourceTree(plain, names)
    return None


def lines_of(function: FunctionType) -> list[str]:
    """Return the lines of the file that a function comes from, as it is by now."""
    file = function.__code__.co_filename
    linecache.checkcache(file)
    return linecache.getlines(file, function.__globals__)


def _names_in(code: CodeType) -> set[str]:
    return {*code.co_names, *(name for each in _inside(code) for name in each.co_names)}


def _imported(lines: Sequence[str]) -> frozenset[str]:
    """Return the names that a file imports outside of functions."""
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()
    imports = [node for node in own_nodes(tree.body) if isinstance(node, ast.alias)]
    return frozenset((node.asname or node.name).partition(".")[0] for node in imports)


def compiled(tree: SourceTree, like: CodeType) -> CodeType | None:
    """Return the code of a function's tree, where it stands as ``like`` did; None when it has none.

    The names that ``like`` has from around it are names around it again.
    """
    node = tree.node
    free = [name for name in like.co_freevars if name != "__class__"]
    statement = node if isinstance(node, ast.FunctionDef) else ast.Return(copy.copy(node))
    body: list[ast.stmt] = [statement]
    class_name, is_method = _class_around(like.co_qualname)
    if "__class__" in like.co_freevars and not is_method:
        # super() in a function within a method: the method has the name of the class
        body = [_function("_gradc_method", body)]
    if class_name is not None:
        body = [ast.ClassDef(class_name, [], [], body, [])]
    # what it is called is no name around it, unless it was
    own = {class_name or like.co_name} - {"<lambda>", *free}
    bound: list[ast.stmt] = [ast.Global([name]) for name in own]
    bound += [ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)) for name in free]
    imports = [ast.Import([ast.alias(name)]) for name in sorted(tree.imported)]
    module = ast.Module([*imports, _function(_FACTORY, [*bound, *body])], [])
    ast.fix_missing_locations(module)
    flags = like.co_flags & _FUTURE
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            whole = compile(module, like.co_filename, "exec", flags=flags, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return None
    made = next((code for code in _inside(whole) if code.co_name == like.co_name), None)
    return made and _named(made, made.co_qualname, like.co_qualname)


def _named(code: CodeType, before: str, after: str) -> CodeType:
    """Return code with another beginning of the qualified names in it.

    A class keeps its own as a constant, too.
    """

    def renamed(name: str) -> str:
        return after + name.removeprefix(before) if name.startswith(before) else name

    constants: list[object] = []
    own = code.co_qualname if "__qualname__" in code.co_names else None
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            constants.append(_named(constant, before, after))
        else:
            is_own = own is not None and type(constant) is str and constant == own
            constants.append(renamed(own) if is_own and own is not None else constant)
    return code.replace(co_consts=tuple(constants), co_qualname=renamed(code.co_qualname))


def _function(name: str, body: list[ast.stmt]) -> ast.FunctionDef:
    return ast.FunctionDef(name, ast.arguments([], [], None, [], [], None, []), body, [])


def _inside(code: CodeType) -> Iterator[CodeType]:
    """Yield the code objects in one, from the outside to the inside."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    yield from inner
    for each in inner:
        yield from _inside(each)


def _class_around(qualname: str) -> tuple[str | None, bool]:
    """Return the innermost class that a function stands in, and whether it is its method."""
    parts = qualname.split(".")
    for position in range(len(parts) - 2, -1, -1):
        if parts[position] != "<locals>" and parts[position + 1] != "<locals>":
            return parts[position], position == len(parts) - 2
    return None, False


def _without_surroundings(
    node: ast.FunctionDef | ast.Lambda,
) -> ast.FunctionDef | ast.Lambda:
    """Return a function without what is evaluated around it."""
    args = node.args
    plain = ast.arguments(
        args.posonlyargs, args.args, args.vararg, args.kwonlyargs, [*map(_none, args.kwonlyargs)],
        args.kwarg, [],
    )  # fmt: skip
    for arg in ast.walk(plain):
        if isinstance(arg, ast.arg):
            arg.annotation = None
    node.args = plain
    if isinstance(node, ast.FunctionDef):
        node.decorator_list, node.returns = [], None
        if hasattr(node, "type_params"):
            node.type_params = []
    return node


def _none(argument: ast.arg) -> ast.expr | None:
    return None


def _candidates(code: CodeType, lines: list[str]) -> Iterator[ast.FunctionDef | ast.Lambda]:
    """Yield the functions in a file that may be that of a code object."""
    if code.co_name != "<lambda>":
        definition = _definition(code, lines)
        if definition is not None:
            yield definition
            return
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return
    places = list(code.co_positions())
    found: list[ast.FunctionDef | ast.Lambda] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            if code.co_name == "<lambda>" and node.lineno == code.co_firstlineno:
                found.append(node)
        elif isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if first == code.co_firstlineno:
                found.append(node)
    # of several lambdas in a line, the one at the column
    yield from sorted(found, key=lambda node: not _stands_at(node, places))


def _stands_at(node: ast.FunctionDef | ast.Lambda, places: Sequence[object]) -> bool:
    body = node.body if isinstance(node, ast.Lambda) else node.body[0]
    return (body.lineno, body.end_lineno, body.col_offset, body.end_col_offset) in places


def _definition(code: CodeType, lines: list[str]) -> ast.FunctionDef | None:
    """Return the definition that begins at a code object's first line, from its lines alone."""
    first = code.co_firstlineno - 1
    indent = len(lines[first]) - len(lines[first].lstrip())
    last = max((end for _, end, _, _ in code.co_positions() if end is not None), default=first + 1)
    for end in range(last, len(lines) + 1):
        after = lines[end] if end < len(lines) else ""
        if end < len(lines) and (not after.strip() or len(after) - len(after.lstrip()) > indent):
            continue
        # an indented block needs something to stand in; columns and lines stay what they are
        text = "".join(lines[first:end])
        before = "if 1:\n" if indent else "\n"
        try:
            tree = ast.parse(before + text)
        except (SyntaxError, ValueError, RecursionError):
            if end - last > _MOST_LINES_AFTER:
                return None
            continue
        ast.increment_lineno(tree, first - 1)
        block = tree.body[0].body if isinstance(tree.body[0], ast.If) else tree.body
        found = block[0] if block else None
        return found if isinstance(found, ast.FunctionDef) else None
    return None


# Where the end of a definition is looked for, after the last line that its code tells of.
_MOST_LINES_AFTER = 200
