"""Loops and branches as statements that ask the runtime; break, continue and return as flags.

A body stays where it is, in the frame of its function: Python's rules for names hold as they did.
The runtime decides how often it runs, and what its variables are then::

    for i in xs:                    _loop_1 = runtime.loop(xs, site)
        total += i                  while _loop_1.goes():
                                        if _loop_1.sets: total, i = _loop_1.state; …
                                        try: i = _loop_1.item; total += i
                                        except: if _loop_1.failed(): raise
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from gradc.tracing.rewriting.comprehensions import Comprehension, given, listed, summed
from gradc.tracing.rewriting.expressions import at, load, runtime, runtime_name
from gradc.tracing.rewriting.function_scope import CannotRewrite, FunctionScope
from gradc.tracing.rewriting.inner_functions import InnerFunctions
from gradc.tracing.rewriting.matches import as_branches
from gradc.tracing.rewriting.names import (
    appended_only,
    handles_errors,
    has_jump,
    has_return,
    indexed,
    mentions,
    own_nodes,
    suspends,
)
from gradc.tracing.rewriting.runs import answer_of, assign, part_of, running
from gradc.tracing.rewriting.site import Site
from gradc_ir.classes.quick import dataclass


@dataclass(frozen=True)
class _Place:
    """Where a statement stands.

    Parameters
    ----------
    loop: the flags of break and continue of the rewritten loop around it, None in none.
    native: whether a loop around it, or the next one, stays Python's.
    inside: whether it is inside of something that is rewritten.
    handled: the line of the innermost ``try`` with handlers around it.
    depth: how many blocks of Python's, of those it counts, are around it.
    """

    loop: tuple[str, str] | None = None
    native: bool = False
    inside: bool = False
    handled: int | None = None
    depth: int = 0

    def within(self, blocks: int = 2) -> _Place:
        """Return the place inside of something that is rewritten."""
        return replace(self, inside=True, depth=self.depth + blocks)


# Python compiles no more blocks in each other than 20; what is rewritten takes two.
_MOST_BLOCKS = 17


class Statements:
    """Rewrites the statements of one function.

    ``sites`` takes what the constants stand for that mark loops and branches; ``around`` is the
    function in which a lambda or a comprehension stands.
    """

    def __init__(
        self,
        node: ast.FunctionDef | ast.Lambda,
        file: str,
        sites: dict[str, Site],
        around: Statements | None = None,
    ) -> None:
        self._scope = FunctionScope(node, file, sites)
        self._sites = sites
        self._file = file
        self._handled: int | None = None
        self._expressions = InnerFunctions(self)
        self._comprehensions: list[ast.stmt] = []
        # where functions are defined: there are no statements in a lambda
        self._home: Statements | None = self
        # variables of its own that are not at home
        self._own: frozenset[str] = frozenset()
        if isinstance(node, ast.Lambda):
            self._home = None if around is None else around._home
            names = {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)}
            self._own = frozenset(names if around is None else names | around._own)
            if any(isinstance(part, ast.NamedExpr) for part in own_nodes([node.body])):
                self._home = None
        elif around is not None:
            self._scope.name = around._scope.name

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Return the function rewritten, its decorators and defaults included.

        Raises CannotRewrite for what would mean something else.
        """
        body = node.body
        for part in own_nodes(body):
            if isinstance(part, ast.Name) and part.id in ("locals", "vars", "eval", "exec"):
                raise CannotRewrite(f"it asks for its variables by {part.id}()", part.lineno)
        if any(map(self._returns_inside, body)):
            self._scope.returned = self._scope.new_flag("returned", node.lineno)
            self._scope.result = self._scope.new_name("result", node.lineno)
        made, _ = self._block(body, _Place())
        returned, result = self._scope.returned, self._scope.result
        has_text = ast.get_docstring(node, clean=False) is not None
        if returned is not None and result is not None:
            start: list[ast.stmt] = [
                assign(returned, ast.Constant(False)),
                assign(result, runtime_name("nothing")),
            ]
            site, _ = self._scope.site("if", node, Counter())
            answer = runtime("returned", load(returned), load(result), site)
            end = ast.Return(answer)
            made[has_text:has_text] = [at(each, body[0]) for each in start]
            made.append(at(end, body[-1]))
        made[has_text:has_text] = self._comprehensions
        node.body = made
        return node

    def lambda_(self, node: ast.Lambda) -> ast.Lambda:
        """Return a lambda rewritten."""
        node.body = self._expressions.visit(node.body)
        return node

    def mark(self, node: ast.expr) -> ast.expr:
        """Return the constant for an expression."""
        inside = mentions([node])
        return self._scope.site("expression", node, inside, handled=self._handled)[0]

    def inner_lambda(self, node: ast.Lambda) -> ast.expr:
        """Return a lambda in this function, rewritten."""
        return Statements(node, self._file, self._sites, self).lambda_(node)

    def call_of(
        self, node: Comprehension, taker: str, rest: Sequence[ast.expr] = ()
    ) -> ast.expr | None:
        """Return the call of a function made of a comprehension; None where there can be none.

        ``taker`` is what takes its items at once; the ``rest`` is the start of a sum.
        """
        home = self._home
        if home is None:
            return None
        first, new = node.generators[0].iter, home._scope.new_name
        names = sorted(self._own & mentions([node]).keys())
        made = summed(node, new) if taker == "sum" else listed(node, new, taker)
        given(made, names)
        inner = Statements(made, self._file, self._sites, home)
        home._comprehensions.append(inner.function(made))
        arguments = [self._expressions.visit(each) for each in (first, *rest)]
        keywords = [ast.keyword(name, load(name)) for name in names]
        return at(ast.Call(load(made.name), arguments, keywords), node)

    # -- blocks: what may be left early is followed by what asks whether it was ------------------

    def _block(
        self, block: Sequence[ast.stmt], place: _Place
    ) -> tuple[list[ast.stmt], tuple[str, ...]]:
        """Return a block rewritten, and the flags that it may set to leave it."""
        made: list[ast.stmt] = []
        for position, statement in enumerate(block):
            new, flags = self._statement(statement, place)
            made += new
            rest = block[position + 1 :]
            if flags and rest:
                inside = mentions(rest)
                body, more = self._block(rest, place.within())
                made += self._guarded(flags, rest[0], inside, body, place)
                return made, tuple(dict.fromkeys((*flags, *more)))
            if flags:
                return made, flags
        return made, ()

    def _guarded(
        self,
        flags: Sequence[str],
        first: ast.stmt,
        inside: Counter[str],
        body: list[ast.stmt],
        place: _Place,
    ) -> list[ast.stmt]:
        """Return statements that run a block unless a flag is set."""
        test = at(runtime("goes_on", *map(load, flags)), first)
        if place.depth > _MOST_BLOCKS:
            return [at(ast.If(test, body, []), first)]
        return self._branch("rest", first, test, inside, body, [], place, flags)

    def _branch(
        self,
        kind: str,
        node: ast.stmt,
        test: ast.expr,
        inside: Counter[str],
        body: list[ast.stmt],
        orelse: list[ast.stmt],
        place: _Place,
        implied: Sequence[str] = (),
    ) -> list[ast.stmt]:
        """Return a branch; ``implied`` are flags that its test says something of."""
        name = self._scope.new_object("branch", node.lineno)
        made = [*body, *orelse, *(ast.Name(flag, ast.Store()) for flag in implied)]
        mark, site = self._scope.site(kind, node, inside, made=made, handled=place.handled)
        chosen = ast.If(ast.Attribute(load(name), "side", ast.Load()), body, orelse)
        begun = at(runtime("branch", test, mark), test)
        return [at(assign(name, begun), node), running(name, [chosen], site, node)]

    # -- statements ------------------------------------------------------------------------------

    def _statement(self, node: ast.stmt, place: _Place) -> tuple[list[ast.stmt], tuple[str, ...]]:
        before, self._handled = self._handled, place.handled
        try:
            return self._rewritten(node, place)
        finally:
            self._handled = before

    def _rewritten(self, node: ast.stmt, place: _Place) -> tuple[list[ast.stmt], tuple[str, ...]]:
        scope = self._scope
        match node:
            case ast.If() if self._may_branch(node, place):
                return self._if(node, place)
            case ast.For() | ast.While() if self._may_loop(node, place):
                return self._loop(node, place)
            case ast.Assert(test=test):
                return self._assert(node, test, place), ()
            case ast.Break() | ast.Continue() if place.loop is not None and not place.native:
                flag = place.loop[isinstance(node, ast.Continue)]
                return [at(assign(flag, ast.Constant(True)), node)], (flag,)
            case ast.Return() if place.inside and not place.native and scope.returned is not None:
                value = node.value or at(ast.Constant(None), node)
                assert scope.result is not None
                return [
                    at(assign(scope.result, self._expressions.visit(value)), node),
                    at(assign(scope.returned, ast.Constant(True)), node),
                ], (scope.returned,)
            case ast.FunctionDef():
                self._definition(node)
                return [node], ()
            case ast.AsyncFunctionDef():
                return [node], ()
            case ast.ClassDef():
                self._class(node)
                return [node], ()
            case ast.Try() | ast.TryStar():
                return self._try(node, place)
            case ast.With():
                node.items = [self._expressions.visit(item) for item in node.items]
                node.body, flags = self._block(node.body, replace(place, depth=place.depth + 1))
                return [node], flags
            case ast.Match() if (made := as_branches(node, scope.new_name)) is not None:
                return self._block(made, place)
            case ast.Match():
                node.subject = self._expressions.visit(node.subject)
                found: list[str] = []
                for case in node.cases:
                    case.body, flags = self._block(case.body, place)
                    found += flags
                return [node], tuple(dict.fromkeys(found))
            case ast.If() | ast.For() | ast.While():
                return self._native(node, place)
            case ast.AsyncFor() | ast.AsyncWith():
                return [node], ()
        return [self._expressions.visit(node)], ()

    def _may_branch(self, node: ast.If, place: _Place) -> bool:
        """Whether a branch is rewritten: Python's own loops are left by Python's own statements."""
        if suspends([*node.body, *node.orelse]) or place.depth > _MOST_BLOCKS:
            return False
        parts = [*node.body, *node.orelse]
        return not (place.native and (has_jump(parts) or has_return(parts)))

    def _may_loop(self, node: ast.For | ast.While, place: _Place) -> bool:
        """Whether a loop is rewritten."""
        return not suspends([node]) and not (
            place.native and (has_jump([node]) or has_return([node]))
        )

    def _if(self, node: ast.If, place: _Place) -> tuple[list[ast.stmt], tuple[str, ...]]:
        inner = place.within()
        inside = mentions([*node.body, *node.orelse])
        before, test = self._test(node.test, node, place)
        body, flags = self._block(node.body, inner)
        orelse, more = self._block(node.orelse, inner)
        made = [*before, *self._branch("if", node, test, inside, body, orelse, place)]
        return made, tuple(dict.fromkeys((*flags, *more)))

    def _test(
        self, test: ast.expr, node: ast.stmt, place: _Place
    ) -> tuple[list[ast.stmt], ast.expr]:
        """Return the condition of a branch, and what is to be done before it is asked.

        Operands of ``and`` and ``or`` that assign to names become branches of their own.
        """
        if not isinstance(test, ast.BoolOp) or not _assigns(test.values[1:]):
            return [], self._expressions.test(test)
        name = self._scope.new_name("asked", test.lineno)
        made: list[ast.stmt] = []
        for position, value in enumerate(test.values):
            inside = mentions([value])
            inner = place if position == 0 else place.within()
            before, asked = self._test(value, node, inner)
            turn = [*before, at(assign(name, at(runtime("asked", asked), value)), value)]
            if position == 0:
                made += turn
                continue
            so_far: ast.expr = at(load(name), value)
            if isinstance(test.op, ast.Or):
                so_far = at(runtime("negated", so_far), value)
            made += self._branch("if", node, so_far, inside, turn, [], place)
        return made, at(load(name), test)

    def _assert(self, node: ast.Assert, test: ast.expr, place: _Place) -> list[ast.stmt]:
        inside = mentions([node])
        asked = self._expressions.test(test)
        message = node.msg and self._expressions.visit(node.msg)
        failing = at(ast.Assert(at(ast.Constant(False), node), message), node)
        holds = at(ast.Pass(), node)
        return self._branch("assert", node, asked, inside, [holds], [failing], place)

    def _loop(
        self, node: ast.For | ast.While, place: _Place
    ) -> tuple[list[ast.stmt], tuple[str, ...]]:
        scope, line = self._scope, node.lineno
        if place.depth > _MOST_BLOCKS:
            raise CannotRewrite("too many loops and branches are in each other", line)
        name = scope.new_object("loop", line)
        broken, continued = "", ""
        if has_jump(node.body):
            broken, continued = scope.new_flag("broken", line), scope.new_flag("continued", line)
        inner = replace(place.within(), loop=(broken, continued), native=False)
        heads = [node.target] if isinstance(node, ast.For) else [node.test]
        inside, in_rest = mentions([*heads, *node.body]), mentions(node.orelse)
        appended, handles = appended_only([*heads, *node.body]), handles_errors(node.body)
        by_index = indexed([*heads, *node.body])
        if isinstance(node, ast.For):
            visited = self._expressions.visit(node.iter)
        else:
            asked = self._expressions.test(node.test)
        body, flags = self._block(node.body, inner)
        if continued in flags:
            body.insert(0, at(assign(continued, ast.Constant(False)), node))
        out = tuple(flag for flag in flags if flag not in (broken, continued))
        leaving = [flag for flag in (broken, *out) if flag in flags]
        site_of = partial(
            scope.site,
            leaving=leaving,
            handled=place.handled,
            handles=handles,
            appended=appended,
            indexed=by_index,
        )
        if isinstance(node, ast.For):
            item = at(part_of(name, "item"), node.iter)
            body.insert(0, at(ast.Assign([node.target], item), node.target))
            target = node.target.id if isinstance(node.target, ast.Name) else None
            mark, site = site_of("for", node, inside, made=body, target=target)
            begun = at(runtime("loop", visited, mark), node.iter)
        else:
            holds = answer_of(name, "holds", asked)
            body = [at(ast.If(at(holds, node.test), body, []), node)]
            mark, site = site_of("while", node, inside, made=body)
            begun = at(runtime("loop_while", mark), node)
        start = [at(assign(broken, ast.Constant(False)), node)] if broken else []
        run = running(name, body, site, node, leaving)
        made = [*start, at(assign(name, begun), node), run]
        if not node.orelse:
            return made, out
        rest, more = self._block(node.orelse, place.within())
        if leaving:
            rest = self._guarded(leaving, node.orelse[0], in_rest, rest, place)
        return [*made, *rest], tuple(dict.fromkeys((*out, *more)))

    def _native(
        self, node: ast.If | ast.For | ast.While, place: _Place
    ) -> tuple[list[ast.stmt], tuple[str, ...]]:
        """Return a statement that stays Python's, with what stands in it rewritten."""
        if isinstance(node, ast.For):
            node.iter = self._expressions.visit(node.iter)
        else:
            node.test = self._expressions.visit(node.test)
        if not isinstance(node, ast.If):
            place = replace(place, native=True, depth=place.depth + 1)
        node.body, flags = self._block(node.body, place)
        node.orelse, more = self._block(node.orelse, place)
        return [node], tuple(dict.fromkeys((*flags, *more)))

    def _try(
        self, node: ast.Try | ast.TryStar, place: _Place
    ) -> tuple[list[ast.stmt], tuple[str, ...]]:
        if has_return(node.finalbody) or has_jump(node.finalbody):
            raise CannotRewrite("it is left from a finally", node.finalbody[0].lineno)
        place = replace(place, depth=place.depth + 1 + bool(node.finalbody))
        inner = replace(place, handled=node.lineno) if node.handlers else place
        body, flags = self._block(node.body, inner)
        found = [*flags]
        for handler in node.handlers:
            handler.type = handler.type and self._expressions.visit(handler.type)
            handler.body, more = self._block(handler.body, place)
            found += more
        if node.orelse:
            first, inside = node.orelse[0], mentions(node.orelse)
            rest, more = self._block(node.orelse, place.within() if flags else place)
            found += more
            node.orelse = self._guarded(flags, first, inside, rest, place) if flags else rest
        node.body = body
        node.finalbody, _ = self._block(node.finalbody, place)
        return [node], tuple(dict.fromkeys(found))

    def _returns_inside(self, node: ast.stmt) -> bool:
        """Whether a statement holds something rewritten that holds a return."""
        return not isinstance(node, ast.Return) and has_return([node])

    def _definition(self, node: ast.FunctionDef) -> None:
        node.args = self._expressions.visit(node.args)
        node.decorator_list = [self._expressions.visit(each) for each in node.decorator_list]
        Statements(node, self._file, self._sites).function(node)

    def _class(self, node: ast.ClassDef) -> None:
        """Rewrite the methods of a class; its own statements run where names mean other things."""
        for part in node.body:
            if isinstance(part, ast.FunctionDef):
                Statements(part, self._file, self._sites).function(part)
            elif isinstance(part, ast.ClassDef):
                self._class(part)


def _assigns(parts: Sequence[ast.expr]) -> bool:
    return any(isinstance(node, ast.NamedExpr) for part in parts for node in ast.walk(part))
