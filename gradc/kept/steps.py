"""Steps from something known to something in it: how what a trace has looked at is found again.

A *look* is one step and what was found there. The looks of a trace are a list, in which each begins
at one before it, or at a root: the function, a static argument, a class of the arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from importlib import import_module
from typing import Any

from gradc.kept.code import absent_names, class_content, source_content
from gradc.kept.content import array_content, capture_content, content
from gradc.kept.plain import digest_of, plain
from gradc.kept.reached import reached_content, unseen_code
from gradc.tracing.captured.reads import (
    Attribute,
    CodeOf,
    Entry,
    Member,
    Part,
    ValueOf,
    contents,
    lacks,
    type_of,
)
from gradc_ir.classes.named import NamedTuple


class Step(IntEnum):
    """How the next thing is found from one that is known, and a key."""

    ROOT = 0  # the key counts the roots
    MODULE = 1  # the key is its name
    GLOBALS = 2  # of a function, or a module
    ENTRY = 3  # of a dict of names
    CELL = 4  # of a function's closure
    ATTRIBUTE = 5
    MEMBER = 6  # of a class, or one that it is made from
    RAW = 7  # in the dict of one of these: which, the name, an attribute of what stands there
    ITEM = 8
    TYPE = 9
    CODE = 10
    VALUE = 11  # of a variable
    ITSELF = 12  # of which something else is asked


class Check(IntEnum):
    """What must be as it was about what is found."""

    NOTHING = 0
    SAME = 1  # its content
    CLASS = 2  # a class whose methods are seen when they are called
    WHOLE = 3  # a class, or a function, with all it reaches, since it runs unseen
    PLAIN = 4
    CONTENTS = 5
    KEYS = 6
    ELEMENTS = 7
    CAPTURE = 8
    ABSENT = 9  # names that a function uses and does not find
    TYPE = 10
    LACKS = 11  # an attribute
    SOURCE = 12  # the text that loops and branches of a function are recorded from


class Look(NamedTuple):
    """One look: the step, where it begins and its key; what was asked, and the answer's hash.

    ``same_as`` is the first look that has found the same object, -1 where that does not count.
    """

    step: Step
    parent: int
    key: Any
    check: Check
    digest: bytes
    same_as: int


def found_by(step: Step, parent: Any, key: Any) -> Any:
    """Return what a step finds; raises what looking raises where nothing is there."""
    return _FIND[step](parent, key)


def _globals(owner: Any, _: Any) -> Any:
    names = getattr(owner, "__globals__", None)
    return vars(owner) if names is None else names


def _raw(kind: Any, key: Any) -> Any:
    place, name, attribute = key
    part = vars(kind.__mro__[place])[name]
    return getattr(part, attribute) if attribute else part


_FIND: dict[Step, Callable[[Any, Any], Any]] = {
    Step.MODULE: lambda _, name: import_module(name),
    Step.GLOBALS: _globals,
    Step.ENTRY: lambda names, key: names[key],
    Step.CELL: lambda function, place: function.__closure__[place],
    Step.ATTRIBUTE: getattr,
    Step.MEMBER: lambda kind, name: Member(kind, name)(),
    Step.RAW: _raw,
    Step.ITEM: lambda container, key: container[key],
    Step.TYPE: lambda value, _: type(value),
    Step.CODE: lambda function, _: function.__code__,
    Step.VALUE: lambda variable, _: variable.read(),
    Step.ITSELF: lambda value, _: value,
}


def answer(check: Check, value: Any, key: Any) -> bytes:
    """Return the hash of what a check asks; raises Unkept where that cannot be told."""
    return b"" if check is Check.NOTHING else digest_of(_ASK[check](value, key))


_ASK: dict[Check, Callable[[Any, Any], Any]] = {
    Check.SAME: lambda value, _: content(value),
    Check.CLASS: lambda value, _: (class_content(value), unseen_code(value, all_of_it=False)),
    Check.WHOLE: lambda value, _: reached_content(value),
    Check.PLAIN: lambda value, _: plain(value),
    Check.CONTENTS: lambda value, _: contents(value),
    # elements of a set in the order in which they come
    Check.KEYS: lambda value, _: (
        type(value).__name__,
        len(value),
        plain(tuple(value)) if isinstance(value, dict | set | frozenset) else None,
    ),
    Check.ELEMENTS: lambda value, _: array_content(value),
    Check.CAPTURE: lambda value, _: capture_content(value),
    Check.ABSENT: lambda function, names: absent_names(function, names),
    Check.TYPE: lambda value, _: type_of(value),
    Check.LACKS: lacks,
    Check.SOURCE: lambda function, _: source_content(function),
}


def fetch_of(step: Step, parent: Any, key: Any, fetch: Callable[[], Any]) -> Callable[[], Any]:
    """Return what reads again, at every call, what a step has found.

    ``fetch`` reads again what it begins at, where that is a container.
    """
    match step:
        case Step.ENTRY:
            return Entry(parent, key)
        case Step.ATTRIBUTE:
            return Attribute(parent, key)
        case Step.MEMBER:
            return Member(parent, key)
        case Step.ITEM:
            return Part(fetch, key)
        case Step.CODE:
            return CodeOf(parent)
        case Step.VALUE:
            return ValueOf(parent)
    raise ValueError(f"{step.name} is no step to what is read at a call")
