"""What code may change that is no variable: lists, dicts, objects, cells and arrays it can reach.

A snapshot knows what all of these hold, so that it can be told what a piece of code has changed,
and be put back as it was.
"""

from __future__ import annotations

import collections
import functools
import types
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Any

import numpy as np

from gradc.capture.held.iterators import HeldIterator
from gradc.capture.held.nests import attributes, has_attributes, set_attributes
from gradc.capture.held.stacked_list import StackedList
from gradc.tracing import Tracer
from gradc.tracing.core.tracer import root
from gradc.tracing.lens.captured_containers import is_user_class
from gradc_ir.classes.quick import dataclass

# In place of what is not there: an unbound variable, an empty cell, a missing entry.
ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "<nothing>"})()

# In place of the result of a function that has not returned yet.
NOTHING: Any = type("Nothing", (), {"__repr__": lambda self: "<no result>"})()

_LISTS = (list, collections.deque)
_DICTS = (dict, collections.OrderedDict, collections.defaultdict)
_ONLY = "contents"  # the key of what holds one thing


@dataclass(frozen=True)
class ArrayState:
    """What a traced array was: its trace, its value, and a copy where it is known."""

    trace: Any
    value: Any
    known: Any
    elements: Any
    origin: Any
    version: int
    why_fixed: str | None = None

    @classmethod
    def of(cls, array: Tracer) -> ArrayState:
        """Return the state of an array that owns its memory."""
        known = array._known
        elements = None if known is None or array._why_fixed else known.copy()
        state = array._trace, array._value, known, elements, array._origin, array._version
        return cls(*state, array._why_fixed)

    def put_back(self, array: Tracer) -> None:
        """Make the array what it was; its views read it again."""
        array._why_fixed = self.why_fixed
        if array._version == self.version and array._trace is self.trace:
            return
        array._trace, array._value, array._known = self.trace, self.value, self.known
        array._origin = self.origin
        if self.known is not None and self.elements is not None:
            self.known[...] = self.elements
        array._version += 1


@dataclass
class Held:
    """An object and what it held: by key where it is a container, else by attribute."""

    thing: Any
    path: str
    parts: dict[Any, Any]

    def now(self) -> dict[Any, Any]:
        """Return what it holds by now."""
        return parts_of(self.thing)

    def put_back(self) -> None:
        """Have it hold again what it held."""
        if not same_parts(self.now(), self.parts):
            set_parts(self.thing, self.parts)


def is_absent(value: Any) -> bool:
    """Whether a value stands in place of what is not there, or not yet."""
    return value is ABSENT or value is NOTHING


def same_parts(left: dict[Any, Any], right: dict[Any, Any]) -> bool:
    """Whether something holds the very same things."""
    if len(left) != len(right):
        return False
    pairs = zip(left.items(), right.items())
    return all(a is b and (j is k or j == k) for (j, a), (k, b) in pairs)


def parts_of(thing: Any) -> dict[Any, Any]:
    """Return what an object holds, by position, key or name."""
    kind = type(thing)
    if kind in _LISTS:
        return dict(enumerate(thing))
    if kind in _DICTS:
        return dict(thing)
    if kind is set:
        return {_ONLY: frozenset(thing)}
    if kind is types.CellType:
        try:
            return {_ONLY: thing.cell_contents}
        except ValueError:
            return {}
    if kind is np.ndarray:
        return {_ONLY: thing.tobytes()}
    if kind is types.FunctionType:
        return dict(thing.__dict__)
    if isinstance(thing, type):
        return {name: part for name, part in vars(thing).items() if name not in _OF_CLASSES}
    return attributes(thing)


def set_parts(thing: Any, parts: dict[Any, Any]) -> None:
    """Have an object hold these parts and no others."""
    kind = type(thing)
    if kind is list:
        thing[:] = parts.values()
    elif kind is collections.deque:
        thing.clear()
        thing.extend(parts.values())
    elif kind in _DICTS:
        thing.clear()
        thing.update(parts)
    elif kind is set:
        thing.clear()
        thing.update(parts[_ONLY])
    elif kind is types.CellType:
        if parts:
            thing.cell_contents = parts[_ONLY]
        else:
            del thing.cell_contents
    elif kind is np.ndarray:
        thing[...] = np.frombuffer(parts[_ONLY], thing.dtype).reshape(thing.shape)
    elif kind is types.FunctionType:
        thing.__dict__.clear()
        thing.__dict__.update(parts)
    elif isinstance(thing, type):
        now = parts_of(thing)
        for name in now.keys() - parts.keys():
            type.__delattr__(thing, name)
        for name, part in parts.items():
            if name not in now or now[name] is not part:
                type.__setattr__(thing, name, part)
    else:
        set_attributes(thing, parts)


@dataclass
class Heap:
    """A snapshot of all that can be reached from some values."""

    held: dict[int, Held] = field(default_factory=dict)
    arrays: dict[int, tuple[Tracer, ArrayState, str]] = field(default_factory=dict)
    iterators: dict[int, HeldIterator] = field(default_factory=dict)
    # from where each thing is reached: a name, or the identity of what holds it
    references: dict[int, set[Any]] = field(default_factory=dict)
    _seen: dict[int, Any] = field(default_factory=dict)

    @classmethod
    def reached(cls, roots: Iterable[tuple[str, Any]]) -> Heap:
        """Return the snapshot of what is reached from named values."""
        found = cls()
        waiting: list[tuple[str, Any, Any]] = [(path, value, path) for path, value in roots]
        while waiting:
            path, value, holder = waiting.pop()
            found.references.setdefault(id(value), set()).add(holder)
            if id(value) in found._seen:
                continue
            found._seen[id(value)] = value
            waiting += [(at, part, id(value)) for at, part in found._entered(path, value)]
        return found

    def _entered(self, path: str, value: Any) -> Iterator[tuple[str, Any]]:
        """Note a value, and yield what it holds."""
        kind = type(value)
        if kind is Tracer:
            base = root(value)
            if id(base) not in self.arrays:
                self.arrays[id(base)] = base, ArrayState.of(base), path
            return
        if kind in _SIMPLE:
            return
        if kind is StackedList:
            yield path, value.array
            return
        if isinstance(value, type):
            # one that the traced function defines; others are seen through the lens
            if is_user_class(value):
                yield from ((path, base) for base in value.__bases__)
                yield from self._held(path, value)
            return
        if kind in (tuple, frozenset):
            yield from ((f"{path}[{i}]", part) for i, part in enumerate(value))
        elif kind is types.BuiltinMethodType:
            yield path, value.__self__
        elif kind in (staticmethod, classmethod):
            yield path, value.__func__
        elif kind is property:
            yield from ((path, each) for each in (value.fget, value.fset, value.fdel) if each)
        elif kind is types.MethodType:
            yield path, value.__self__
            yield path, value.__func__
        elif kind is functools.partial:
            yield from ((path, part) for part in (value.func, *value.args))
            yield from ((path, part) for part in value.keywords.values())
        elif kind is types.FunctionType:
            yield from zip(value.__code__.co_freevars, value.__closure__ or ())
            yield from ((path, part) for part in value.__defaults__ or ())
            yield from ((path, part) for part in (value.__kwdefaults__ or {}).values())
            if value.__dict__:
                yield from self._held(path, value)
        elif kind in _LISTS or kind in _DICTS or kind is types.CellType:
            yield from self._held(path, value)
        elif kind is set or (kind is np.ndarray and _is_small(value)):
            self.held[id(value)] = Held(value, path, parts_of(value))
        elif isinstance(value, tuple):
            yield from ((f"{path}[{i}]", part) for i, part in enumerate(value))
        elif has_attributes(value):
            yield f"type({path})", kind
            yield from self._held(path, value)
        elif hasattr(kind, "__next__"):
            self.iterators[id(value)] = HeldIterator.found(path, value)

    def _held(self, path: str, value: Any) -> Iterator[tuple[str, Any]]:
        held = self.held[id(value)] = Held(value, path, parts_of(value))
        for key, part in held.parts.items():
            yield part_path(value, path, key), part

    def things(self) -> list[tuple[str, Any]]:
        """Return all that may change, by path."""
        held = [(each.path, each.thing) for each in self.held.values()]
        return [*held, *((path, array) for array, _, path in self.arrays.values())]

    def seen(self) -> Iterable[Any]:
        """Return everything that is reached."""
        return self._seen.values()

    def put_back(self) -> None:
        """Make everything what it was."""
        for held in self.held.values():
            held.put_back()
        for array, state, _ in self.arrays.values():
            state.put_back(array)

    def changed(self) -> Iterator[tuple[Held, dict[Any, Any]]]:
        """Yield what holds something else by now, with what it holds."""
        for held in self.held.values():
            now = held.now()
            if not same_parts(now, held.parts):
                yield held, now

    def taken_from(self) -> HeldIterator | None:
        """Return an iterator of which items were taken: nobody can put these back."""
        return next((each for each in self.iterators.values() if each.has_moved), None)

    def written(self) -> Iterator[Tracer]:
        """Yield the arrays that were assigned to."""
        for array, state, _ in self.arrays.values():
            if array._version != state.version:
                yield array


def part_path(thing: Any, path: str, key: Any) -> str:
    """Return how a user reaches a part of something."""
    if type(thing) is types.CellType:
        return path
    if isinstance(thing, (*_LISTS, *_DICTS)):
        return f"{path}[{key!r}]"
    return f"{path}.{key}"


_SIMPLE = (int, float, bool, str, bytes, type(None), types.ModuleType, complex)
# What classes have of their own making.
_OF_CLASSES = ("__dict__", "__weakref__")
# A larger array of NumPy's own, which no name is seen by, is taken as not changing.
_MOST_ELEMENTS = 10_000


def _is_small(array: np.ndarray[Any, Any]) -> bool:
    return array.size <= _MOST_ELEMENTS and not array.dtype.hasobject and array.flags.writeable
