"""A ``match`` as branches: what it compares with is asked for one case after the other.

Patterns of values, ``_``, names, alternatives, ``as``, and tuples of these where the subject is
written as a tuple mean an ``if`` each. What asks for the structure of its subject stays Python's.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence

from gradc.tracing.rewriting.expressions import at, load
from gradc.tracing.rewriting.runs import assign
from gradc_ir.classes.quick import dataclass

# A subject: the name of what is compared, or those of the elements of a tuple as it is written.
_Subject = str | tuple["_Subject", ...]


@dataclass(frozen=True)
class _Asked:
    """What a pattern asks: ``tests`` that all have to hold, and what it gives names to."""

    tests: tuple[ast.expr, ...] = ()
    given: tuple[tuple[str, ast.expr], ...] = ()
    never: bool = False


class _IsStructural(Exception):
    """A pattern that is none of comparisons alone."""


def as_branches(node: ast.Match, new_name: Callable[[str, int], str]) -> list[ast.stmt] | None:
    """Return statements with the meaning of a ``match``; None where it has to stay as it is."""
    made: list[ast.stmt] = []
    try:
        names = _named(node.subject, new_name, made)
        made += _cases(node.cases, names)
    except _IsStructural:
        return None
    return made


def _named(
    subject: ast.expr, new_name: Callable[[str, int], str], made: list[ast.stmt]
) -> _Subject:
    """Have a subject be evaluated once; return by which names it is asked for."""
    if isinstance(subject, ast.Tuple):
        if any(isinstance(each, ast.Starred) for each in subject.elts):
            raise _IsStructural
        return tuple(_named(each, new_name, made) for each in subject.elts)
    name = new_name("subject", subject.lineno)
    made.append(at(assign(name, subject), subject))
    return name


def _cases(cases: Sequence[ast.match_case], subject: _Subject) -> list[ast.stmt]:
    if not cases:
        return []
    case, rest = cases[0], cases[1:]
    asked = _asked(case.pattern, subject)
    if asked.never:
        return _cases(rest, subject)
    given: list[ast.stmt] = [at(assign(name, value), case.pattern) for name, value in asked.given]
    guards = [] if case.guard is None else [case.guard]
    if guards and given and asked.tests:
        # the names are given before the guard is asked, and only where the pattern holds
        raise _IsStructural
    if not guards and not asked.tests:
        return [*given, *case.body]
    test = _all_of([*asked.tests, *guards], case.pattern)
    if guards:
        return [*given, at(ast.If(test, case.body, _cases(rest, subject)), case.pattern)]
    return [at(ast.If(test, [*given, *case.body], _cases(rest, subject)), case.pattern)]


def _asked(pattern: ast.pattern, subject: _Subject) -> _Asked:
    """Return what a pattern asks of a subject. Raises _IsStructural where it asks for more."""
    match pattern:
        case ast.MatchAs(pattern=None, name=None):
            return _Asked()
        case ast.MatchAs(pattern=inner, name=str(name)):
            found = _Asked() if inner is None else _asked(inner, subject)
            return _Asked(found.tests, (*found.given, (name, _value(subject))), found.never)
        case ast.MatchOr(patterns=patterns):
            each = [found for one in patterns if not (found := _asked(one, subject)).never]
            if any(found.given for found in each):
                raise _IsStructural
            if not each or any(not found.tests for found in each):
                return _Asked(never=not each)
            tests = [_all_of(found.tests, pattern) for found in each]
            return _Asked((tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), tests),))
        case ast.MatchValue(value=value) if isinstance(subject, str):
            return _Asked((ast.Compare(load(subject), [ast.Eq()], [value]),))
        case ast.MatchSingleton(value=value) if isinstance(subject, str):
            return _Asked((ast.Compare(load(subject), [ast.Is()], [ast.Constant(value)]),))
        case ast.MatchSequence(patterns=patterns) if isinstance(subject, tuple):
            if any(isinstance(each, ast.MatchStar) for each in patterns):
                raise _IsStructural
            if len(patterns) != len(subject):
                return _Asked(never=True)
            return _together(_asked(*both) for both in zip(patterns, subject))
    raise _IsStructural


def _together(parts: Iterable[_Asked]) -> _Asked:
    found = _Asked()
    for part in parts:
        never = found.never or part.never
        found = _Asked((*found.tests, *part.tests), (*found.given, *part.given), never)
    return found


def _value(subject: _Subject) -> ast.expr:
    if isinstance(subject, str):
        return load(subject)
    return ast.Tuple([_value(each) for each in subject], ast.Load())


def _all_of(tests: Sequence[ast.expr], place: ast.AST) -> ast.expr:
    found = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), list(tests))
    return at(found, place)
