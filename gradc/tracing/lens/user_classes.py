"""The user's classes in traced code: subclasses whose methods are seen through the lens.

Such a class is made once; a method of it asks the running trace for its lens when it is called.
Instances that a trace makes or is given are of this class, and results of the user's own again.
"""

from __future__ import annotations

import abc
import functools
import sys
import threading
import types
from typing import Any

from gradc.arguments import pytree
from gradc.tracing.captured.reads import Attribute
from gradc.tracing.captured.top import state
from gradc.tracing.core import opaque, source
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.table import AnyFunction
from gradc.tracing.lens import captured_containers

# Python's own business, or made by dataclass and the like for the class itself.
_UNSEEN = {
    "__new__", "__del__", "__getattribute__", "__init_subclass__", "__class_getitem__", "__hash__",
    "__repr__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__setattr__",
    "__delattr__", "__dir__",
}  # fmt: skip


_MADE = "__gradc_made__"


class _Asked(threading.local):
    def __init__(self) -> None:
        self.kinds: list[Any] = []


# The classes that are being asked for their subclasses.
_asked = _Asked()


class _SeenMeta(abc.ABCMeta):
    """The metaclass: instances of the user's class are instances of the seen one too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.__dict__["__gradc_kind__"])

    def __subclasscheck__(cls, subclass: Any) -> bool:
        kind = cls.__dict__["__gradc_kind__"]
        if kind in _asked.kinds:
            # an abstract class asks all that are derived from it, and this one asks it back
            return cls in getattr(subclass, "__mro__", ())
        _asked.kinds.append(kind)
        try:
            return issubclass(original_of(subclass), kind)
        finally:
            _asked.kinds.pop()

    def __getattr__(cls, name: str) -> Any:
        """Tell of what the user's class has not; Python asks when it finds nothing."""
        kind = cls.__dict__.get("__gradc_kind__")
        if kind is not None and state.top is not None and not name.startswith("__"):
            captured_containers.guard_absence(state.top.root.lens, kind, name, kind.__name__)
        raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")

    def __subclasses__(cls) -> list[Any]:
        """Return what is derived from the user's class, as traced code sees it."""
        derived = type.__subclasses__(cls.__dict__["__gradc_kind__"])
        own = [kind for kind in derived if "__gradc_kind__" not in vars(kind)]
        return [seen_class(kind) if is_user_class(kind) else kind for kind in own]

    def __getitem__(cls, item: Any) -> Any:
        """Return the class: the types of a Generic are nothing to a trace."""
        cls.__dict__["__gradc_kind__"][item]
        return cls

    def __setattr__(cls, name: str, value: Any) -> None:
        # what Python itself sets while it makes the class comes before the mark
        if state.top is not None and _MADE in cls.__dict__ and not name.startswith("__"):
            raise trace_error(
                f"the function assigns to {cls.__name__}.{name}, an attribute of a class outside",
                help=f"return the new value of {name} from the function",
            )
        super().__setattr__(name, value)


def original_of(kind: Any) -> Any:
    """Return the user's class of a seen one, anything else as it is."""
    return vars(kind).get("__gradc_kind__", kind) if isinstance(kind, type) else kind


def is_user_class(kind: Any) -> bool:
    """Whether a value is a class written by the user, of no metaclass but Python's own."""
    if not isinstance(kind, type):
        return False
    return captured_containers.is_user_class(kind) or _has_methods(kind)


def _has_methods(kind: Any) -> bool:
    """Whether a class is a namedtuple to which the user has added methods."""
    if opaque.named(getattr(kind, "__module__", None)) is not None:
        return False
    return _is_with_methods(kind)


@functools.lru_cache(maxsize=512)
def _is_with_methods(kind: Any) -> bool:
    if type(kind) is not type or not issubclass(kind, tuple) or not hasattr(kind, "_fields"):
        return False
    parts = [part for base in kind.__mro__ if base is not tuple for part in vars(base).values()]
    own = [getattr(part, "fget", getattr(part, "__func__", part)) for part in parts]
    codes = [part.__code__ for part in own if type(part) is types.FunctionType]
    written = [code for code in codes if not code.co_filename.startswith("<string>")]
    return any(not source.is_unseen(code.co_filename) for code in written)


def seen_class(kind: Any) -> Any:
    """Return the class as traced code sees it: a subclass, the same one until a method changes."""
    entries: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if not captured_containers.is_root(base) and base is not tuple:
            entries.update(vars(base))
    return _made(kind, tuple((name, _Same(value)) for name, value in entries.items()))


class _Same:
    """An entry of a class, equal to the same object only; attributes are read when needed."""

    def __init__(self, value: Any) -> None:
        self.value = value
        is_read = not callable(value) and not hasattr(type(value), "__get__")
        self._key = type(value) if is_read else value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._key is other._key

    def __hash__(self) -> int:
        return id(self._key)


@functools.lru_cache(maxsize=512)
def _made(kind: Any, entries: tuple[tuple[str, _Same], ...]) -> Any:
    names: dict[str, Any] = {}
    for name, entry in entries:
        seen = _member(kind, name, entry.value)
        if seen is not None:
            names[name] = seen
    names |= {"__gradc_kind__": kind, "__module__": kind.__module__, "__slots__": ()}
    names |= {"__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    meta: Any = type(kind)
    made = _meta_of(meta)(kind.__name__, (kind,), names)
    setattr(made, _MADE, True)
    if issubclass(kind, tuple):
        pytree.register_named_tuple(made, kind)
    return made


@functools.cache
def _meta_of(meta: Any) -> Any:
    if issubclass(_SeenMeta, meta):
        return _SeenMeta
    return type("_SeenMeta", (_SeenMeta, meta), {})  # of a Protocol


def _member(kind: Any, name: str, value: Any) -> Any:
    found = type(value)
    if found is types.FunctionType:
        return None if name in _UNSEEN else _method(kind, name, value, value)
    if found in (staticmethod, classmethod) and type(value.__func__) is types.FunctionType:
        return found(_method(kind, name, value, value.__func__))
    if found is property:
        fget, fset, fdel = (
            part and _method(kind, name, value, part)
            for part in (value.fget, value.fset, value.fdel)
        )
        return property(fget, fset, fdel)
    if isinstance(value, functools.partialmethod) and type(value.func) is types.FunctionType:
        run = _method(kind, name, value, value.func)
        return functools.partialmethod(run, *value.args, **value.keywords)
    if isinstance(value, functools.cached_property):
        return functools.cached_property(_method(kind, name, value, value.func))
    if name.startswith("__") or (hasattr(found, "__get__") and not is_user_class(value)):
        return None
    return _ClassValue(kind, name)


def _method(kind: Any, name: str, entry: Any, function: Any) -> AnyFunction:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        trace = state.top
        if trace is None:
            return function(*args, **kwargs)
        captured_containers.guard_member(trace.root.lens, kind, name, entry)
        return trace.root.lens.see(function)(*args, **kwargs)

    return run


class _ClassValue:
    """An attribute of a class: captured when it is read, as a global name is."""

    def __init__(self, kind: Any, name: str) -> None:
        self._kind = kind
        self._name = name

    def __get__(self, instance: Any, owner: Any) -> Any:
        value = getattr(self._kind, self._name)
        trace = state.top
        if trace is None:
            return value
        return trace.root.lens.captured(
            value,
            (id(self._kind), self._name),
            f"{self._kind.__name__}.{self._name}",
            Attribute(self._kind, self._name),
        )


class _Super:
    """What ``super()`` is in traced code: its methods are seen through the lens."""

    def __init__(self, original: Any) -> None:
        object.__setattr__(self, "_original", original)

    def __getattribute__(self, name: str) -> Any:
        found = getattr(object.__getattribute__(self, "_original"), name)
        trace = state.top
        if trace is None or type(found) is not types.MethodType:
            return found
        return types.MethodType(trace.root.lens.see(found.__func__), found.__self__)


def seen_super(*args: Any) -> Any:
    """Return super(...) with methods seen through the lens."""
    if not args:
        frame = sys._getframe(1)
        names = frame.f_locals
        args = names["__class__"], names[frame.f_code.co_varnames[0]]
    return _Super(super(*map(original_of, args[:1]), *args[1:]))


def see_named_tuples(value: Any) -> Any:
    """Return a nest of arguments with namedtuples that have methods seen through the lens."""
    kind: Any = type(value)
    if kind in (list, dict):
        for key, part in list(value.items() if kind is dict else enumerate(value)):
            seen = see_named_tuples(part)
            if seen is not part:
                value[key] = seen
        return value
    if kind is tuple:
        return tuple(see_named_tuples(part) for part in value)
    if not isinstance(value, tuple) or not hasattr(kind, "_fields"):
        return value
    parts = [see_named_tuples(part) for part in value]
    return seen_class(kind)._make(parts) if _has_methods(kind) else kind(*parts)


def _class_of_instances(kind: Any) -> Any:
    """Return the class of an instance that is put together again from its fields."""
    return seen_class(kind) if state.top is not None and is_user_class(kind) else kind


pytree.class_of_instances = _class_of_instances
