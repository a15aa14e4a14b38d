"""The rewritten code of a function, made once; or why a function is traced as it is."""

from __future__ import annotations

import ast
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

from gradc.tracing.rewriting.asking import asks
from gradc.tracing.rewriting.expressions import THUNK, at
from gradc.tracing.rewriting.source_tree import compiled, tree_of
from gradc_ir.classes.quick import dataclass

if TYPE_CHECKING:
    from gradc.tracing.rewriting.site import Site


@dataclass(frozen=True, eq=False)
class Rewritten:
    """What has become of a function's code.

    Parameters
    ----------
    original: the code; kept, so that no other one has its place in memory.
    code: the rewritten code; the original where there is nothing to rewrite, or no way to.
    sites: its loops and branches, in the order of their code.
    note: why it is as it is, for one that has loops or branches; empty when it was rewritten.
    """

    original: CodeType
    code: CodeType
    sites: tuple[Site, ...] = ()
    note: str = ""


_NO_SOURCE = (
    "its source is not at hand, or is not that of the code that runs; define it in a file or a cell"
)
_known: dict[int, Rewritten] = {}


def rewritten(function: FunctionType) -> Rewritten:
    """Return the rewritten code of a function: a function of its code alone, found once."""
    code = function.__code__
    found = _known.get(id(code))
    if found is None or found.original is not code:
        found = _known[id(code)] = _rewrite(function)
    return found


def why_as_it_is(code: CodeType) -> str:
    """Return why running code has Python's own loops and branches, no text where it has not."""
    found = _known.get(id(code))
    return found.note if found is not None and found.original is code else ""


def rewritten_text(function: FunctionType) -> str:
    """Return the rewritten code of a function as a text, none where it is traced as it is."""
    tree = tree_of(function) if asks(function.__code__) else None
    if tree is None:
        return ""
    from gradc.tracing.rewriting.function_scope import CannotRewrite  # few have loops or branches

    try:
        made = _made(tree.node, function.__code__, {})
    except CannotRewrite:
        return ""
    return ast.unparse(ast.fix_missing_locations(made))


def _rewrite(function: FunctionType) -> Rewritten:
    code = function.__code__
    if not asks(code):
        return Rewritten(code, code)
    tree = tree_of(function)
    if tree is None:
        return Rewritten(code, code, note=_NO_SOURCE)
    from gradc.tracing.rewriting.function_scope import CannotRewrite  # few have loops or branches

    sites: dict[str, Site] = {}
    try:
        node = _made(tree.node, code, sites)
    except CannotRewrite as error:
        return Rewritten(code, code, note=f"line {error.line}: {error.why}")
    if not sites:
        return Rewritten(code, code)
    made = compiled(tree._replace(node=node), code)
    if made is None or made.co_freevars != code.co_freevars:
        return Rewritten(code, code, note="too much is in each other to be rewritten")
    return Rewritten(code, _finished(made, sites, code), tuple(sites.values()))


def _made(
    node: ast.FunctionDef | ast.Lambda, code: CodeType, sites: dict[str, Site]
) -> ast.FunctionDef | ast.Lambda:
    from gradc.tracing.rewriting.statements import Statements  # few have loops or branches

    if isinstance(node, ast.FunctionDef):
        return Statements(node, code.co_filename, sites).function(node)
    # what is made of comprehensions is defined in it: there are no statements in a lambda
    whole = ast.FunctionDef("<lambda>", node.args, [at(ast.Return(node.body), node.body)], [])
    if "type_params" in whole._fields:
        whole.type_params = []  # type: ignore[attr-defined, unused-ignore]
    made = Statements(at(whole, node), code.co_filename, sites).function(whole)
    last = made.body[-1]
    if len(made.body) > 1 or not isinstance(last, ast.Return) or last.value is None:
        return made
    node.body = last.value
    return node


def _finished(made: CodeType, sites: dict[str, Site], around: CodeType) -> CodeType:
    """Return code with sites in place of what stands for them; thunks have their owner's name."""
    constants: list[object] = []
    is_thunk = THUNK in made.co_varnames[: made.co_argcount + made.co_kwonlyargcount]
    own = around if is_thunk else made
    for constant in made.co_consts:
        if isinstance(constant, CodeType):
            constants.append(_finished(constant, sites, own))
        elif isinstance(constant, str) and constant in sites:
            constants.append(sites[constant])
        else:
            constants.append(constant)
    found = made.replace(co_consts=tuple(constants))
    if is_thunk:
        found = found.replace(co_name=around.co_name, co_qualname=around.co_qualname)
    return found
