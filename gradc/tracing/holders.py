"""Lists, dicts and objects outside of a traced function: what is read from them is captured.

A container that holds arrays is seen as a copy whose elements are captured by their paths; an
object of a user's class as an instance of a subclass that captures what is read from it.
"""

from __future__ import annotations

import abc
import functools
import marshal
import sys
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NoReturn

from gradc.tracing import source
from gradc_ir.errors import TraceError

if TYPE_CHECKING:
    from gradc.tracing.lens import Lens

_PLAIN = (int, float, complex, bool, str, bytes, type(None))
_ORIGIN = "__gradc_origin__"
_BASES = (object, abc.ABC, Generic)
# what Python calls while it makes and destroys instances is none of a trace's business
_UNSEEN = {"__init__", "__new__", "__del__", "__getattribute__", "__setattr__", "__delattr__"}


def is_container(value: Any) -> bool:
    """Whether a value is a list, a tuple, a namedtuple or a dict, and of no other subclass."""
    kind = type(value)
    return kind in (list, dict, tuple) or (isinstance(value, tuple) and hasattr(kind, "_fields"))


def is_plain(value: Any, depth: int = 8) -> bool:
    """Whether a container holds nothing but Python's numbers, texts and plain containers."""
    if type(value) in _PLAIN:
        return True
    if depth == 0 or type(value) not in (list, dict, tuple):
        return False
    parts = [*value, *value.values()] if type(value) is dict else value
    return all(is_plain(part, depth - 1) for part in parts)


def contents(value: Any) -> bytes:
    """Return a plain container as bytes: equal for the same types, bits and order only."""
    return marshal.dumps(value, 2)


def keys_of(value: Any) -> Any:
    """Return the keys of a dict, or the length of a sequence."""
    return tuple(value) if isinstance(value, dict) else (type(value), len(value))


def entry(fetch: Callable[[], Any], key: Any) -> Any:
    """Return an entry of a container that is read again."""
    return fetch()[key]


def is_user_object(value: Any) -> bool:
    """Whether a value is an instance of a class written by the user, with attributes of its own."""
    kind: Any = type(value)
    return _is_user_class(kind) and hasattr(value, "__dict__")


@functools.lru_cache(maxsize=512)
def _is_user_class(kind: Any) -> bool:
    if type(kind) not in (type, abc.ABCMeta) or hasattr(kind, "__gradc_trace__"):
        return False
    bases = [base for base in kind.__mro__ if base not in _BASES]
    return bool(bases) and all(_may_be_seen(base) for base in bases)


def _may_be_seen(base: type) -> bool:
    names = vars(base)
    if names.keys() & {"__init_subclass__", "__getattribute__", "__getattr__", "__del__"}:
        return False
    file = getattr(sys.modules.get(base.__module__), "__file__", None)
    return base.__module__ != "builtins" and not (file and source.is_library(file))


class Origin:
    """Where a seen object comes from: the original, what it is called, and the lens."""

    def __init__(self, original: Any, name: str, lens: Lens) -> None:
        self.original = original
        self.name = name
        self.lens = lens


def seen_object(original: Any, name: str, lens: Lens) -> Any:
    """Return an instance of a subclass that captures the attributes that are read from it."""
    kind: Any = type(original)
    copy = object.__new__(_seen_class(kind))
    own = object.__getattribute__(copy, "__dict__")
    own.update(vars(original))
    own[_ORIGIN] = Origin(original, name, lens)
    return copy


@functools.lru_cache(maxsize=512)
def _seen_class(kind: Any) -> Any:
    def get(self: Any, name: str) -> Any:
        own = object.__getattribute__(self, "__dict__")
        origin = own.get(_ORIGIN)
        if origin is None or (name.startswith("__") and name != "__class__"):
            return object.__getattribute__(self, name)
        return kind if name == "__class__" else _read(self, origin, own, name)

    def put(self: Any, name: str, value: Any) -> None:
        origin = object.__getattribute__(self, "__dict__").get(_ORIGIN)
        if origin is not None:
            _refuse(origin, name)
        kind.__setattr__(self, name, value)

    def drop(self: Any, name: str) -> None:
        origin = object.__getattribute__(self, "__dict__").get(_ORIGIN)
        if origin is not None:
            _refuse(origin, name)
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


def _special(function: Any) -> Any:
    @functools.wraps(function)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        origin = object.__getattribute__(self, "__dict__").get(_ORIGIN)
        seen = function if origin is None else origin.lens.see(function)
        return seen(self, *args, **kwargs)

    return run


def _read(self: Any, origin: Origin, own: dict[str, Any], name: str) -> Any:
    kind = type(origin.original)
    found = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
    if isinstance(found, property) and found.fget is not None:
        return origin.lens.see(found.fget)(self)
    if name not in vars(origin.original):
        if name in own or hasattr(type(found), "__get__"):
            value = object.__getattribute__(self, name)
            if type(value) is types.MethodType and value.__self__ is self:
                return types.MethodType(origin.lens.see(value.__func__), self)
            return origin.lens.see(value)
        if found is None and not hasattr(kind, name):
            return object.__getattribute__(self, name)
    value = getattr(origin.original, name)
    fetch = functools.partial(getattr, origin.original, name)
    return origin.lens.captured(value, (id(origin.original), name), f"{origin.name}.{name}", fetch)


def _refuse(origin: Origin, name: str) -> NoReturn:
    raise TraceError(
        f"the function assigns to {origin.name}.{name}, an attribute of an object outside of it",
        at=source.location(),
        help=f"return the new value of {name} from the function",
    )
