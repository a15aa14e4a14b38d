"""Expressions that ask for truth: and, or, not, conditional expressions, chains of comparisons."""

from __future__ import annotations

import builtins
import operator
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from gradc.capture.choices import Choice
from gradc.capture.held.joining import Unlike
from gradc.capture.held.truth import as_bool, truth, truth_value
from gradc.tracing import Tracer
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.state import running
from gradc.tracing.lens.builtins import BUILTINS
from gradc.tracing.rewriting.site import Site
from gradc_ir import build

Thunk = Callable[[], Any]


def both(left: Any, right: Thunk, site: Site) -> Any:
    """Return ``left and right``."""
    holds = truth(left)
    if holds is not None:
        return right() if holds else left
    return _chosen(sys._getframe(1), site, left, right, lambda: left)


def either(left: Any, right: Thunk, site: Site) -> Any:
    """Return ``left or right``."""
    holds = truth(left)
    if holds is not None:
        return left if holds else right()
    return _chosen(sys._getframe(1), site, left, lambda: left, right)


def both_hold(left: Any, right: Thunk, site: Site) -> Any:
    """Return the truth of ``left and right``."""
    holds = truth(left)
    if holds is not None:
        return asked(right()) if holds else False
    return _chosen(sys._getframe(1), site, left, lambda: asked(right()), lambda: False)


def either_holds(left: Any, right: Thunk, site: Site) -> Any:
    """Return the truth of ``left or right``."""
    holds = truth(left)
    if holds is not None:
        return True if holds else asked(right())
    return _chosen(sys._getframe(1), site, left, lambda: True, lambda: asked(right()))


def negated(value: Any) -> Any:
    """Return ``not value``."""
    holds = truth(value)
    if holds is not None:
        return not holds
    return as_bool(build.logical_not(truth_value(value)))


def chosen(test: Any, left: Thunk, right: Thunk, site: Site) -> Any:
    """Return ``left if test else right``."""
    holds = truth(test)
    if holds is not None:
        return left() if holds else right()
    return _chosen(sys._getframe(1), site, test, left, right)


def chain(names: str, first: Any, *rest: Any) -> Any:
    """Return ``first < second < third``; all but the first are thunks, the last is the site."""
    *thunks, site = rest
    return _chain(sys._getframe(1), names.split(), first, thunks, site)


def _chain(frame: FrameType, names: list[str], first: Any, thunks: list[Thunk], site: Site) -> Any:
    second = thunks[0]()
    holds = _OPERATORS[names[0]](first, second)
    if len(thunks) == 1:
        return holds
    known = truth(holds)
    if known is False:
        return holds

    def others() -> Any:
        return _chain(frame, names[1:], second, thunks[1:], site)

    if known:
        return others()
    return _chosen(frame, site, holds, others, lambda: holds)


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Is": operator.is_,
    "IsNot": operator.is_not,
    "In": lambda left, right: left in right,
    "NotIn": lambda left, right: left not in right,
}


def goes_on(*flags: Any) -> Any:
    """Return whether no flag is set."""
    found: Any = True
    for flag in flags:
        known = truth(flag)
        if known:
            return False
        if known is None:
            clear = build.logical_not(truth_value(flag))
            found = clear if found is True else build.logical_and(found, clear)
    return found if found is True else as_bool(found)


def returned(flag: Any, value: Any, site: Site) -> Any:
    """Return what a function returns, whose returns were made flags."""
    known = truth(flag)
    if known is None:
        raise trace_error(
            f"{site.function} returns a value in some cases, and comes to its end in others",
            help="end it with a return of the same nest, shapes and dtypes",
        )
    return value if known else None


def known(value: Any) -> bool:
    """Return the truth of what says whether a list gets an item, which has to be known."""
    return bool(value)


def decides(value: Any, answer: bool) -> bool:
    """Whether a value is known to decide what any() or all() returns."""
    return type(value) is not Tracer and bool(value) is answer


def is_builtin(function: Any, name: str) -> bool:
    """Whether a function is one of Python's builtins, as it is or as traced code sees it."""
    return any(function is each for each in BUILTINS.get(name, (getattr(builtins, name),)))


def asked(value: Any) -> Any:
    """Return the truth of a value, of a traced one as a traced truth value."""
    known = truth(value)
    return as_bool(truth_value(value)) if known is None else known


def _chosen(frame: FrameType, site: Site, test: Any, left: Thunk, right: Thunk) -> Any:
    """Return what one of two thunks returns, which the running program chooses."""
    choice = Choice(frame, site, truth_value(test))
    values = []
    for side, thunk in ((True, left), (False, right)):
        choice.begin(side)
        try:
            values.append(thunk())
        except BaseException:
            choice.abandon(side)
            raise
        choice.end(side)
    try:
        return choice.value(*values)
    except Unlike as unlike:
        running()
        raise trace_error(
            "the two sides of this expression are of different kinds",
            found=unlike.why,
            help="have both sides be of one shape and dtype",
        ) from None
