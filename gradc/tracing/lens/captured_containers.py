"""Lists, dicts and objects outside of a traced function: what is read from them is captured.

A container that holds arrays is seen as a copy whose elements are captured by their paths; an
object of a user's class as an instance of a subclass that captures what is read from it.
"""

from __future__ import annotations

import abc
import collections
import functools
import marshal
import sys
import types
from typing import Any, Generic, Protocol

import numpy as np

from gradc.tracing.captured.captures import Guard, SameElements, SameObject
from gradc.tracing.captured.reads import Attribute, Contents, Lacks, Member, contents, lacks
from gradc.tracing.core import opaque, source
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.state import Lens

# Containers that are seen as copies of the same kind, made by their own copy().
_COPIED = (list, dict, collections.OrderedDict, collections.defaultdict, collections.deque)
_PLAIN = (int, float, complex, bool, str, bytes, type(None))
_ORIGIN = "__gradc_origin__"
_BASES = (object, abc.ABC, Generic, Protocol)
_METACLASSES = (type, abc.ABCMeta, type(Protocol))
# what Python calls while it makes and destroys instances is none of a trace's business
_UNSEEN = {"__init__", "__new__", "__del__", "__getattribute__", "__setattr__", "__delattr__"}


def is_container(value: Any) -> bool:
    """Whether a value is a list, tuple, namedtuple, dict, set or deque, of Python's own kinds."""
    kind = type(value)
    if kind in (tuple, set, frozenset) or kind in _COPIED:
        return True
    return isinstance(value, tuple) and hasattr(kind, "_fields")


def empty_copy(value: Any) -> Any:
    """Return an empty container of the same kind, a list for tuples of all kinds."""
    if isinstance(value, tuple):
        return []
    copy = value.copy()
    copy.clear()
    return copy


def is_plain(value: Any, depth: int = 8) -> bool:
    """Whether a container holds nothing but Python's numbers, texts and plain containers."""
    if type(value) in _PLAIN:
        return True
    if depth == 0 or type(value) not in (list, dict, tuple, set, frozenset):
        return False
    parts = [*value, *value.values()] if type(value) is dict else value
    return all(is_plain(part, depth - 1) for part in parts)


def copy_of_plain(value: Any) -> Any:
    """Return a copy of a plain container, with copies of those in it."""
    return marshal.loads(contents(value))


def hand_on(copy: Any, original: Any) -> None:
    """Give the original of a plain container the contents of a copy, containers in it likewise."""
    if isinstance(copy, dict):
        kept = {key: _handed(part, original.get(key)) for key, part in copy.items()}
        original.clear()
        original.update(kept)
    elif isinstance(copy, list):
        before = [*original, *[None] * len(copy)]
        original[:] = [_handed(part, old) for part, old in zip(copy, before)]
    else:
        original.clear()
        original.update(copy)


def _handed(part: Any, old: Any) -> Any:
    if type(part) is not type(old) or not isinstance(part, dict | list | set):
        return part
    hand_on(part, old)
    return old


def is_user_object(value: Any) -> bool:
    """Whether a value is an instance of a class written by the user, with attributes of its own."""
    kind: Any = type(value)
    if kind is types.SimpleNamespace:
        return True
    return is_user_class(kind) and (hasattr(value, "__dict__") or bool(attributes_of(value)))


def attributes_of(value: Any) -> dict[str, Any]:
    """Return the attributes an instance has itself, in its dict or in slots."""
    found = dict(getattr(value, "__dict__", ()))
    for base in type(value).__mro__:
        slots = [name for name, kind in vars(base).items() if type(kind) is _Slot]
        found |= {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return found


_Slot = types.MemberDescriptorType


def is_root(kind: type) -> bool:
    """Whether a class is one that others are made from, and adds nothing of the user's."""
    return kind in _BASES


def is_user_class(kind: Any) -> bool:
    """Whether a class is written in Python, outside of Python's library, and may be derived from.

    The classes that it is made from are, or are of Python's library and written in Python too.
    """
    return _is_user_class(kind, opaque.version)


@functools.lru_cache(maxsize=512)
def _is_user_class(kind: Any, version: int) -> bool:
    if type(kind) not in _METACLASSES or hasattr(kind, "__gradc_trace__"):
        return False
    bases = [base for base in kind.__mro__ if base not in _BASES]
    return any(map(is_written, bases)) and all(map(_may_be_seen, bases))


def _may_be_seen(base: type) -> bool:
    names = vars(base)
    if names.keys() & {"__init_subclass__", "__getattribute__", "__del__"}:
        return False
    if opaque.named(base.__module__) is not None or base.__module__ == "builtins":
        return False
    return not any(getattr(part, "__objclass__", None) is base and type(part) in _COMPILED
                   for part in names.values()) and not _makes_its_own(names)  # fmt: skip


# What makes up classes that are no Python.
_COMPILED = (types.MethodDescriptorType, types.WrapperDescriptorType)


def _makes_its_own(names: Any) -> bool:
    return type(names.get("__new__")) is types.BuiltinFunctionType


def is_written(base: type) -> bool:
    """Whether a class is no one of Python's library, and of a package that is seen."""
    if base.__module__ == "__main__":
        return True  # whatever runs the user's program, or the notebook
    module = sys.modules.get(base.__module__)
    file = getattr(module, "__file__", None)
    if file:
        return not source.is_unseen(file)
    return base.__module__.partition(".")[0] not in sys.stdlib_module_names


class Origin:
    """Where a seen object comes from: the original, what it is called, and the lens."""

    def __init__(self, original: Any, name: str, lens: Lens) -> None:
        self.original = original
        self.name = name
        self.lens = lens


def seen_object(original: Any, name: str, lens: Lens) -> Any:
    """Return an instance of a subclass that captures the attributes that are read from it."""
    kind: Any = type(original)
    make = kind.__new__ if kind is types.SimpleNamespace else object.__new__
    copy = make(_seen_class(kind))
    own = object.__getattribute__(copy, "__dict__")
    own.update(attributes_of(original))
    own[_ORIGIN] = Origin(original, name, lens)
    return copy


@functools.lru_cache(maxsize=512)
def _seen_class(kind: Any) -> Any:
    def get(self: Any, name: str) -> Any:
        own = object.__getattribute__(self, "__dict__")
        origin = own.get(_ORIGIN)
        if origin is None or _is_of_python(origin.original, name):
            return object.__getattribute__(self, name)
        return origin.lens.see(kind) if name == "__class__" else _read(self, origin, own, name)

    def put(self: Any, name: str, value: Any) -> None:
        _refuse_outside(self, name)
        kind.__setattr__(self, name, value)

    def drop(self: Any, name: str) -> None:
        _refuse_outside(self, name)
        kind.__delattr__(self, name)

    names: dict[str, Any] = {
        name: _special(value)
        for base in reversed(kind.__mro__)
        if base not in _BASES
        for name, value in vars(base).items()
        if name.startswith("__") and type(value) is types.FunctionType and name not in _UNSEEN
    }
    names |= {"__getattribute__": get, "__setattr__": put, "__delattr__": drop}
    names |= {"__gradc_kind__": kind, "__module__": kind.__module__}
    names |= {"__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    return type(kind)(kind.__name__, (kind,), names)


def _is_of_python(original: Any, name: str) -> bool:
    """Whether a name is one that every object has by its class, and not one of the user's."""
    if not name.startswith("__") or name == "__class__":
        return False
    return name not in getattr(original, "__dict__", ())


def _special(function: Any) -> Any:
    @functools.wraps(function)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        origin = object.__getattribute__(self, "__dict__").get(_ORIGIN)
        seen = function if origin is None else origin.lens.see(function)
        return seen(self, *args, **kwargs)

    return run


def _read(self: Any, origin: Origin, own: dict[str, Any], name: str) -> Any:
    kind = type(origin.original)
    found = Member(kind, name)()
    is_own = name in getattr(origin.original, "__dict__", ()) or type(found) is _Slot
    if isinstance(found, property) and found.fget is not None:
        guard_member(origin.lens, kind, name, found)
        return origin.lens.see(found.fget)(self)
    if isinstance(found, functools.cached_property) and not is_own:
        guard_member(origin.lens, kind, name, found)
        if name not in own:
            own[name] = origin.lens.see(found.func)(self)
        return own[name]
    if not is_own:
        if name in own or hasattr(type(found), "__get__"):
            if found is not None:
                guard_member(origin.lens, kind, name, found)
            value = object.__getattribute__(self, name)
            if type(value) is types.MethodType and value.__self__ is self:
                return types.MethodType(origin.lens.see(value.__func__), self)
            return origin.lens.see(value)
        if found is None and not hasattr(kind, name):
            guard_absence(origin.lens, origin.original, name, origin.name)
            return object.__getattribute__(self, name)
    if type(found) is _Slot:
        guard_absence(origin.lens, origin.original, name, origin.name)  # where it is empty
    value = getattr(origin.original, name)
    fetch = Attribute(origin.original, name)
    return origin.lens.captured(value, (id(origin.original), name), f"{origin.name}.{name}", fetch)


def guard_member(lens: Lens, kind: type, name: str, found: Any) -> None:
    """Have the function traced again when a method or property of a class is another one."""
    path = f"{kind.__name__}.{name}"
    lens.guard((id(kind), name), SameObject(path, found, Member(kind, name)))


def guard_absence(lens: Lens, owner: Any, name: str, path: str) -> None:
    """Have the function traced again when there is an attribute that it has not found."""
    if lacks(owner, name):
        lens.guard((id(owner), name), Guard(f"{path}.{name}", True, Lacks(owner, name)))


def guard_attributes(lens: Lens, kind: Any) -> None:
    """Have the function traced again when what a class holds changes that stays itself.

    Such are exceptions, enumerations, and classes that cannot be derived from.
    """
    for base in filter(is_written, kind.__mro__):
        for name, part in vars(base).items():
            if name.startswith("__"):
                continue
            path, fetch = f"{kind.__name__}.{name}", Member(kind, name)
            if isinstance(part, (*_PLAIN, np.generic)):
                lens.guard((id(kind), name), Guard(path, part, fetch))
            elif isinstance(part, np.ndarray):
                lens.guard((id(kind), name), SameElements(path, part.copy(), fetch))
            elif is_plain(part):
                lens.guard((id(kind), name), Guard(path, contents(part), Contents(fetch)))


def _refuse_outside(seen: Any, name: str) -> None:
    origin = object.__getattribute__(seen, "__dict__").get(_ORIGIN)
    if origin is not None:
        path = f"{origin.name}.{name}"
        raise trace_error(
            f"the function assigns to {path}, an attribute of an object outside of it",
            help=f"return the new value of {name} from the function",
        )


def keys_same(left: Any, right: Any) -> bool:
    """Whether two dicts or lists hold the same objects, or one is still of these contents."""
    if isinstance(right, bytes):
        try:
            return contents(left) == right
        except ValueError:
            return False  # it holds something that is not plain by now
    if isinstance(left, dict):
        return list(left) == list(right) and all(left[key] is right[key] for key in left)
    return len(left) == len(right) and all(a is b for a, b in zip(left, right))
