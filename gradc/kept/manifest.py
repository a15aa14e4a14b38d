"""The manifest of a trace: all it has looked at, and how calls read it again, as plain data.

It is written from what the trace captured and guards. What cannot be reached by steps from the
roots, or is known by nothing but itself, makes the trace one that is not kept.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from gradc.kept.code import MEMBERS, absent_names, is_library
from gradc.kept.content import CACHED
from gradc.kept.places import REWRITTEN, CodePlace
from gradc.kept.plain import Unkept, is_plain
from gradc.kept.reached import check_names
from gradc.kept.steps import Check, Look, Step, answer
from gradc.tracing.captured import outside
from gradc.tracing.captured.captures import Capture, Guard, SameElements, SameObject
from gradc.tracing.captured.reads import (
    Attribute,
    CodeOf,
    Contents,
    Entry,
    KeysOf,
    Lacks,
    Member,
    Part,
    TypeOf,
    ValueOf,
    is_empty,
)
from gradc.tracing.core import source
from gradc.tracing.lens.captured_containers import is_container, is_user_object
from gradc.tracing.lens.code_names import used_names
from gradc.tracing.lens.user_classes import is_user_class
from gradc.tracing.rewriting.asking import asks
from gradc.tracing.rewriting.rewrite import rewritten
from gradc_ir.classes.named import NamedTuple


class Manifest(NamedTuple):
    """What a trace has looked at.

    Parameters
    ----------
    looks: in an order in which each begins at one before it.
    guards: the name of each, and its look; the look's check says of which kind it is.
    captures: the name of each, its look, its dtype and shape; whether it is a variable's.
    """

    looks: tuple[tuple[Any, ...], ...]
    guards: tuple[tuple[str, int], ...]
    captures: tuple[tuple[str, int, str, tuple[int, ...], bool], ...]


class Writer:
    """Writes the manifest of a trace.

    Parameters
    ----------
    roots: what looks begin at; classes among them are those of the arguments' nests.
    imports: the modules that the traced code imports itself, by their names.
    captures: whether loops and branches may have been recorded.
    """

    def __init__(self, roots: Sequence[Any], imports: Sequence[str], captures: bool) -> None:
        self._looks: list[Look] = []
        self._found: list[Any] = []  # what each look has found: kept, so that ids stay theirs
        self._places: dict[tuple[Step, int, Any], int] = {}
        self._first: dict[int, int] = {}
        # what has not been looked at, and from where it can be: by ids
        self._near: dict[int, tuple[Any, Step, int, Any]] = {}
        self._functions: list[tuple[int, types.FunctionType]] = []
        self._of_libraries: set[tuple[int, str]] = set()
        self._imports = imports
        self._captures = captures
        for place, root in enumerate(roots):
            self._look(Step.ROOT, -1, place, root, check_of(root))

    def manifest(self, captures: Sequence[Capture], guards: Sequence[Guard]) -> Manifest:
        """Return the manifest of what a trace captured and guards; raises Unkept."""
        for name in self._imports:
            place = self._look(Step.MODULE, -1, name, sys.modules[name], Check.SAME)
            if outside.is_recorded(name):
                for _, function in tuple(self._functions):
                    self._library(place, sys.modules[name], used_names(function.__code__))
        kept = [(guard.name, self._guard(guard)) for guard in guards]
        read = [self._capture(capture) for capture in captures]
        looks = tuple(
            (int(step), parent, key, int(check), digest, same_as)
            for step, parent, key, check, digest, same_as in self._looks
        )
        return Manifest(looks, tuple(kept), tuple(read))

    def codes(self) -> list[tuple[CodePlace, types.CodeType]]:
        """Return the code of each function that was looked at, and what it was traced as."""
        found: list[tuple[CodePlace, types.CodeType]] = [
            ((place, ()), function.__code__) for place, function in self._functions
        ]
        if self._captures:
            found += [
                ((place, (REWRITTEN,)), rewritten(function).code)
                for place, function in self._functions
            ]
        return found

    def place_of(self, value: Any) -> int:
        """Return the look that has found an object; raises Unkept."""
        found = self._first.get(id(value))
        if found is None:
            near = self._near.get(id(value))
            if near is None:
                raise Unkept(f"{_called(value)} is reached in a way that has no name")
            found = self._look(*near[1:], value, check_of(value))
        return found

    # -- what a trace has noted --------------------------------------------------------------------

    def _guard(self, guard: Guard) -> int:
        fetch: Any = guard.fetch
        if not guard.holds():
            raise Unkept(f"{guard.name} has changed meanwhile")
        if isinstance(fetch, Contents):
            return self._read(fetch.fetch, Check.CONTENTS)
        if isinstance(fetch, KeysOf):
            return self._read(fetch.fetch, Check.KEYS)
        if isinstance(fetch, TypeOf):
            return self._read(fetch.fetch, Check.TYPE)
        if isinstance(fetch, Lacks):
            place = self.place_of(fetch.owner)
            return self._look(Step.ITSELF, place, fetch.name, fetch.owner, Check.LACKS)
        if isinstance(fetch, CodeOf):
            return self._read(fetch, Check.NOTHING)
        if isinstance(guard, SameElements):
            return self._read(fetch, Check.ELEMENTS)
        if not isinstance(guard, SameObject):
            return self._read(fetch, Check.PLAIN)
        return self._read(fetch, check_of(guard.value))

    def _capture(self, capture: Capture) -> tuple[str, int, str, tuple[int, ...], bool]:
        place = self._read(capture.fetch, Check.CAPTURE)
        shape: Any = capture.type.shape  # whose sizes are all numbers
        is_variable = capture.variable is not None
        return capture.name, place, capture.type.dtype.value, shape, is_variable

    def _read(self, fetch: Callable[[], Any], check: Check) -> int:
        match fetch:
            case Entry(holder=holder, key=key):
                return self._look(Step.ENTRY, self.place_of(holder), key, fetch(), check)
            case Attribute(owner=owner, name=name):
                place = self.place_of(owner)
                return self._look(Step.ATTRIBUTE, place, name, fetch(), check)
            case Member(kind=kind, name=name):
                return self._look(Step.MEMBER, self.place_of(kind), name, fetch(), check)
            case CodeOf(function=function):
                return self._look(Step.CODE, self.place_of(function), None, fetch(), check)
            case ValueOf(variable=variable):
                return self._look(Step.VALUE, self.place_of(variable), None, fetch(), check)
            case Part(fetch=inner, key=key):
                if not is_plain(key):
                    raise Unkept(f"a key of a container is a {type(key).__name__}")
                place = self._read(inner, Check.NOTHING)
                return self._look(Step.ITEM, place, key, fetch(), check)
        raise Unkept("it asks at every call what gradc cannot see into")

    # -- looks -------------------------------------------------------------------------------------

    def _look(self, step: Step, parent: int, key: Any, value: Any, check: Check) -> int:
        """Note a look, and what is near to what it finds; returns its place."""
        place = self._places.get((step, parent, key))
        if place is not None and (check is Check.NOTHING or self._looks[place].check is check):
            return place
        digest = answer(check, value, key)
        if place is not None and self._looks[place].check is Check.NOTHING:
            self._looks[place] = self._looks[place]._replace(check=check, digest=digest)
            self._near_to(place, value, check)
            return place
        place = len(self._looks)
        same_as = -1
        if has_identity(value):
            same_as = self._first.setdefault(id(value), place)
        self._places.setdefault((step, parent, key), place)
        self._looks.append(Look(step, parent, key, check, digest, same_as))
        self._found.append(value)
        if same_as == place or same_as == -1:
            self._near_to(place, value, check)
        return place

    def _near_to(self, place: int, value: Any, check: Check) -> None:
        """Look at what is a part of something, or note from where it can be looked at."""
        kind = type(value)
        if kind is types.FunctionType:
            self._near_function(place, value)
        elif kind is types.MethodType:
            for name in ("__func__", "__self__"):
                self._part(place, name, getattr(value, name))
        elif hasattr(kind, "__gradc_parts__"):
            for name in kind.__gradc_parts__:
                self._part(place, name, getattr(value, name))
        elif isinstance(value, functools.partial):
            self._part(place, "func", value.func)
        elif kind is CACHED:
            self._part(place, "__wrapped__", value.__wrapped__)
        elif isinstance(value, type):
            self._near_class(place, value)
        elif isinstance(value, types.ModuleType):
            self._note(vars(value), Step.GLOBALS, place, None)
        elif isinstance(value, MEMBERS):
            for name in ("fget", "fset", "fdel", "__func__", "func"):
                self._note(getattr(value, name, None), Step.ATTRIBUTE, place, name)
        elif isinstance(value, Enum) or (check is Check.SAME and is_user_object(value)):
            self._look(Step.TYPE, place, None, kind, check_of(kind))
        elif check is Check.SAME and not _is_known(value):
            raise Unkept(f"{_called(value)} is not seen")

    def _near_function(self, place: int, function: types.FunctionType) -> None:
        if is_library(function):
            return
        check_names(function)
        self._functions.append((place, function))
        globals_ = self._look(Step.GLOBALS, place, None, function.__globals__, Check.NOTHING)
        names = used_names(function.__code__)
        self._look(Step.ITSELF, place, absent_names(function, names), function, Check.ABSENT)
        if self._captures and asks(function.__code__):
            self._look(Step.ITSELF, place, "source", function, Check.SOURCE)
        for name in names:
            found = function.__globals__.get(name)
            if isinstance(found, types.ModuleType) and outside.is_recorded(found.__name__):
                module = self._look(Step.ENTRY, globals_, name, found, Check.SAME)
                self._library(module, found, names)
        runs_unseen = source.is_unseen(function.__code__.co_filename)
        for i, cell in enumerate(function.__closure__ or ()):
            inside = self._look(Step.CELL, place, i, cell, Check.NOTHING)
            name = function.__code__.co_freevars[i]
            if not is_empty(cell) and (runs_unseen or name == "__class__"):
                self._part(inside, "cell_contents", cell.cell_contents)

    def _library(self, place: int, module: types.ModuleType, names: Sequence[str]) -> None:
        """Look at what names stand for in a library's module, lest something was put there."""
        entries = self._look(Step.GLOBALS, place, None, vars(module), Check.NOTHING)
        for name in names:
            value = vars(module).get(name)
            # by the module, not by the way to it: modules import each other
            if value is None or (id(module), name) in self._of_libraries:
                continue
            self._of_libraries.add((id(module), name))
            try:
                found = self._look(Step.ENTRY, entries, name, value, check_of(value))
            except Unkept:
                continue  # the name is that of something else, or why it is not kept is told
            if isinstance(value, types.ModuleType) and outside.is_recorded(value.__name__):
                self._library(found, value, names)

    def _near_class(self, place: int, kind: Any) -> None:
        for i, base in enumerate(kind.__mro__):
            for name, part in vars(base).items():
                if type(part) is types.FunctionType:
                    self._note(part, Step.RAW, place, (i, name, ""))
                elif isinstance(part, MEMBERS):
                    for each in ("fget", "fset", "fdel", "__func__", "func"):
                        inner = getattr(part, each, None)
                        if inner is not None:
                            self._note(inner, Step.RAW, place, (i, name, each))

    def _part(self, place: int, name: str, value: Any) -> None:
        """Look at an attribute of something, with all that is in it if it is a container."""
        self._whole(Step.ATTRIBUTE, place, name, value)

    def _whole(self, step: Step, parent: int, key: Any, value: Any) -> None:
        if type(value) not in (tuple, list, dict) or is_plain(value):
            check = check_of(value)
            if check is Check.NOTHING:
                raise Unkept(f"{_called(value)} is not seen")
            self._look(step, parent, key, value, check)
            return
        inside = self._look(step, parent, key, value, Check.KEYS)
        for name, each in value.items() if type(value) is dict else enumerate(value):
            self._whole(Step.ITEM, inside, name, each)

    def _note(self, value: Any, step: Step, place: int, key: Any) -> None:
        if id(value) not in self._near:
            self._near[id(value)] = value, step, place, key


def check_of(value: Any) -> Check:
    """Return how something is checked that was reached, and not read as a number or an array."""
    if is_plain(value):
        return Check.PLAIN
    if isinstance(value, type):
        return Check.CLASS if is_user_class(value) else Check.WHOLE
    if type(value).__module__.partition(".")[0] in ("gradc", "gradc_ir"):
        return Check.SAME
    if type(value) in (dict, types.CellType, types.CodeType) or is_container(value):
        return Check.NOTHING  # its entries are looked at each by itself
    return Check.SAME


def has_identity(value: Any) -> bool:
    """Whether it counts which object something is, not only what it is like."""
    return type(value) is not types.CodeType and not is_plain(value)


def _is_known(value: Any) -> bool:
    """Whether nothing of a value is read that its content does not tell."""
    kind: Any = type(value)
    package = kind.__module__.partition(".")[0]
    return package in _KNOWN or package in sys.stdlib_module_names


# and Python's library, of whose objects only those have a content that it has by a name
_KNOWN = ("gradc", "gradc_ir", "numpy", "scipy")


def _called(value: Any) -> str:
    name = getattr(value, "__qualname__", None)
    return str(name) if isinstance(name, str) else f"a {type(value).__qualname__}"
