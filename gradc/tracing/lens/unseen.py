"""What the lens cannot see into: opaque packages, compiled code, classes it cannot derive from.

Such an object is not frozen at the values it has while tracing. A stand-in takes its place, which
knows how the object is found again: what is read of it, and what its functions return, is a capture
like any other, asked for again at every call.
"""

from __future__ import annotations

import functools
import operator
import sys
import types
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

import numpy as np

from gradc.tracing.captured.captures import Guard
from gradc.tracing.captured.reads import Member
from gradc.tracing.captured.top import state
from gradc.tracing.core import opaque, source
from gradc.tracing.core.as_tracer import contains_unknown, plain_nest
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.state import Lens
from gradc.tracing.core.table import TABLE, AnyFunction, package_of
from gradc.tracing.core.tracer import Tracer
from gradc.tracing.lens import captured_containers
from gradc.tracing.lens.code_names import refuse_stores
from gradc.tracing.lens.scipy_module import has_recording, see_captured
from gradc_ir.errors import TraceError

# Objects of Python's own whose contents change.
_CHANGING = {
    ("array", "array"), ("builtins", "bytearray"), ("builtins", "memoryview"),
    ("builtins", "mappingproxy"), ("_contextvars", "ContextVar"), ("_thread", "_local"),
    ("collections", "UserDict"), ("collections", "UserList"), ("collections", "Counter"),
    ("collections", "ChainMap"), ("builtins", "dict_items"), ("builtins", "dict_values"),
    ("builtins", "dict_keys"), ("weakref", "ReferenceType"),
}  # fmt: skip
_KNOWN_PACKAGES = {"numpy", "scipy", "gradc", "gradc_ir", "gradc_codegen"}
# What stays itself: ``is`` compares it, or ``except``.
_LEFT = (BaseException, Enum, np.ndarray, np.generic, np.dtype)
_GENERATED = (int, float, complex, bool, str, bytes, type(None), np.generic)


def is_unseen(value: Any) -> bool:
    """Whether the lens cannot see into a value whose contents, or results, may change."""
    kind: Any = type(value)
    if kind is types.FunctionType:
        return opaque.named(value.__globals__.get("__name__")) is not None
    if isinstance(value, type):
        return not issubclass(value, _LEFT) and opaque.named(value.__module__) is not None
    if kind is types.BuiltinFunctionType:
        return bool(package_of(value)) and not _is_known_package(package_of(value))
    if kind is types.MethodType:
        return False  # its function and its object are
    return _is_of_unseen(kind, opaque.version)


@functools.lru_cache(maxsize=512)
def _is_of_unseen(kind: Any, version: int) -> bool:
    if issubclass(kind, _LEFT) or any(hasattr(kind, name) for name in _PROTOCOLS):
        return False
    module = str(kind.__module__)
    if (module, kind.__name__) in _CHANGING:
        return True
    if issubclass(kind, tuple | types.ModuleType) or captured_containers.is_user_class(kind):
        return False
    return not _is_known_package(module.partition(".")[0])


def is_library_object(value: Any) -> bool:
    """Whether a value is an object of NumPy or SciPy that has attributes, and no recording.

    Such are splines, polynomials and transformations.
    """
    kind: Any = type(value)
    if str(kind.__module__).partition(".")[0] not in ("numpy", "scipy"):
        return False
    if isinstance(value, (*_LEFT, type)) or not captured_containers.attributes_of(value):
        return False
    if callable(value) and hasattr(value, "__wrapped__"):
        return False
    return TABLE.object(value) is None and TABLE.object(kind) is None and not has_recording(value)


# What gradc's own objects have, which traced code sees in their own way.
_PROTOCOLS = ("__gradc_trace__", "__gradc_seen__", "__gradc_kind__", "__gradc_original__")


def _is_known_package(package: str) -> bool:
    return package in _KNOWN_PACKAGES or package in sys.stdlib_module_names or package == "builtins"


class Unseen:
    """Stands for an object that the lens cannot see into.

    Parameters
    ----------
    original: the object.
    name: how the program reaches it.
    fetch: finds it again.
    lens: what traced code sees of what is read from it.
    """

    __slots__ = ("__weakref__", "_fetch", "_lens", "_name", "_original")
    __array_priority__ = 1000.0
    __array_ufunc__ = None

    def __init__(self, original: Any, name: str, fetch: Callable[[], Any], lens: Lens) -> None:
        for key, value in zip(Unseen.__slots__[1:], (fetch, lens, name, original)):
            object.__setattr__(self, key, value)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The class of the object, which isinstance asks for."""
        return type(self._original)

    def __getattr__(self, name: str) -> Any:
        kind = type(self._original)
        found = Member(kind, name)()
        if isinstance(found, property) and _may_be_seen(found.fget):
            return self._lens.see(found.fget)(self)
        value = getattr(self._original, name)
        is_own = type(value) is types.MethodType and value.__self__ is self._original
        if is_own and _may_be_seen(value.__func__):
            return types.MethodType(self._lens.see(value.__func__), self)
        fetch = functools.partial(_attribute, self._fetch, name)
        identity = id(self._original), name
        return handed(self._lens, value, f"{self._name}.{name}", fetch, identity)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the object as Python does; what it returns is asked for again at every call."""
        run = getattr(type(self._original), "__call__", None)  # noqa: B004 - itself is wanted
        if type(run) is types.FunctionType and _may_be_seen(run):
            return self._lens.see(run)(self, *args, **kwargs)
        if state.top is None:
            return self._original(*args, **kwargs)
        state.top.keep_not(f"it calls {self._name}, into which gradc cannot see")
        package = _package_of(self._original)
        is_traced = any(map(_holds_unknown, (*args, *kwargs.values())))
        if package is not None and is_traced:
            raise trace_error(
                f"{self._name} takes a traced value, and {package} is opaque",
                found="what it reads would keep the values it has while tracing",
                help=opaque.cure(package, self._name),
            )
        if package is None and (is_traced or not all(map(_is_plain, (args, kwargs)))):
            if is_traced and type(self._original) is types.FunctionType:
                refuse_stores(self._original)
            # compiled code that moves values; the code it calls is seen, or refused
            run = self._original
            if is_library_object(run):
                run = self._lens.see(run)
            return run(*args, **kwargs)
        return self._computed(f"{self._name}(…)", _called, args, kwargs)

    def _computed(self, name: str, compute: AnyFunction, *operands: Any) -> Any:
        """Return what is computed of the object and of operands that are all known."""
        if state.top is not None:
            state.top.keep_not(f"it asks {self._name}, into which gradc cannot see")
        plain = [_plain(operand) for operand in operands]
        given = [_copied(operand) for operand in plain]
        found = compute(self._original, *plain)
        if found is NotImplemented:
            return found
        if not all(map(_same, plain, given)):
            raise trace_error(
                f"{name} changes an argument, which gradc does not see",
                help="call it outside of the function and pass the result in",
            )
        fetch = functools.partial(_computed_again, self._fetch, compute, given)
        return handed(self._lens, found, name, fetch)

    def __getitem__(self, key: Any) -> Any:
        if contains_unknown(key):
            raise self.__gradc_refuse__()
        return self._computed(f"{self._name}[{key!r:.40}]", operator.getitem, key)

    def __iter__(self) -> Iterator[Any]:
        for place, part in enumerate(list(self._original)):
            read = functools.partial(_element, self._fetch, place)
            yield handed(self._lens, part, f"{self._name}[{place}]", read)

    def __len__(self) -> int:
        return int(self._computed(f"len({self._name})", len))

    def __bool__(self) -> bool:
        return bool(self._computed(f"bool({self._name})", bool))

    def __contains__(self, key: Any) -> bool:
        return bool(self._computed(f"in {self._name}", operator.contains, key))

    def __hash__(self) -> int:
        return hash(self._original)

    def __repr__(self) -> str:
        return repr(self._original)

    def __str__(self) -> str:
        return str(self._original)

    def __enter__(self) -> Any:
        entered = self._original.__enter__()
        return self if entered is self._original else entered

    def __exit__(self, *exception: Any) -> Any:
        return self._original.__exit__(*exception)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        """Stand for a class as the base of another."""
        return (self._original,)

    def __setattr__(self, name: str, value: Any) -> None:
        raise _assigned(f"{self._name}.{name}")

    def __delattr__(self, name: str) -> None:
        raise _assigned(f"{self._name}.{name}")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise _assigned(f"{self._name}[{key!r:.40}]")

    def __delitem__(self, key: Any) -> None:
        raise _assigned(f"{self._name}[{key!r:.40}]")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """Return the array an object is outside of a trace; inside it would be frozen."""
        if state.top is not None:
            raise self.__gradc_refuse__()
        return np.asarray(self._original, dtype)

    def __gradc_refuse__(self) -> TraceError:
        """Return the error for where a number or an array is needed."""
        kind = type(self._original)
        return trace_error(
            f"{self._name} is a {kind.__module__}.{kind.__name__}, into which gradc cannot see",
            found="its numbers would keep the values they have while tracing",
            help="make an array of it outside, np.asarray(...), and pass that as an argument",
        )


def _operator(name: str) -> tuple[AnyFunction, AnyFunction]:
    compute = getattr(operator, name)

    def reversed_compute(right: Any, left: Any) -> Any:
        return compute(left, right)

    def forward(self: Unseen, other: Any) -> Any:
        if contains_unknown(other):
            raise self.__gradc_refuse__()
        return self._computed(self._name, compute, other)

    def reflected(self: Unseen, other: Any) -> Any:
        if contains_unknown(other):
            raise self.__gradc_refuse__()
        return self._computed(self._name, reversed_compute, other)

    return forward, reflected


_BINARY = "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift"
for _name in _BINARY.split():
    _forward, _reflected = _operator(_name)
    setattr(Unseen, f"__{_name.strip('_')}__", _forward)
    setattr(Unseen, f"__r{_name.strip('_')}__", _reflected)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Unseen, f"__{_name}__", _operator(_name)[0])
for _name in ("neg", "pos", "abs", "invert", "index"):
    _one = getattr(operator, _name)
    setattr(Unseen, f"__{_name}__", lambda self, _one=_one: self._computed(self._name, _one))
for _kind in (int, float):
    setattr(
        Unseen, f"__{_kind.__name__}__", lambda self, _kind=_kind: self._computed(self._name, _kind)
    )


def original_of(value: Any) -> Any:
    """Return what a stand-in stands for, anything else as it is."""
    return value._original if type(value) is Unseen else value


def handed(
    lens: Lens,
    value: Any,
    name: str,
    fetch: Callable[[], Any],
    identity: tuple[int, str] | None = None,
) -> Any:
    """Return what traced code sees of something that code gradc cannot see has made."""
    kind: Any = type(value)
    if isinstance(value, (*_GENERATED, np.ndarray)) or captured_containers.is_container(value):
        # without an identity of its own each reading is one: the capture keeps ``fetch`` alive
        return lens.captured(value, identity or (id(fetch), name), name, fetch)
    if isinstance(value, _LEFT) or (kind is types.FunctionType and _may_be_seen(value)):
        return lens.see(value)
    if kind is types.ModuleType and opaque.named(value.__name__) is None:
        return lens.see(value)
    # what is read of it is guarded by itself; that it is None at another call is not
    lens.guard(identity or (id(fetch), name), Guard(name, kind, functools.partial(_type_of, fetch)))
    if callable(value) or is_unseen(value):
        return Unseen(value, name, fetch, lens)
    whole = see_captured(value, name, fetch, lambda: Unseen(value, name, fetch, lens), lens)
    return lens.see(value) if whole is None else whole


def _type_of(fetch: Callable[[], Any]) -> type:
    return type(fetch())


def _may_be_seen(function: Any) -> bool:
    """Whether a function is Python code that the lens sees through."""
    function = getattr(function, "__func__", function)
    if type(function) is not types.FunctionType or is_unseen(function):
        return False
    return not source.is_unseen(function.__code__.co_filename)


def _package_of(value: Any) -> str | None:
    """Return the opaque package that an object is from."""
    owner = getattr(value, "__self__", value)
    named = getattr(value, "__module__", None) or getattr(type(owner), "__module__", None)
    return opaque.named(named)


# where the classes of iterators of Python's own are
_ITERATED = ("builtins", "itertools")


def refuse_iterator(value: Any, name: str) -> None:
    """Raise TraceError for an iterator from outside, which gives another thing each time."""
    if type(value).__module__ in _ITERATED and hasattr(type(value), "__next__"):
        raise TraceError(
            f"{name} is a {type(value).__name__} outside of the function: what it gives next would "
            "be taken once, while tracing",
            help=f"take what is needed of {name} outside and pass it as an argument",
        )


def _assigned(path: str) -> TraceError:
    return trace_error(
        f"the function assigns to {path}, an attribute of an object outside of it",
        help="return the new value from the function",
    )


def _plain(value: Any) -> Any:
    """Return an operand as code that is not seen takes it: arrays for tracers, no stand-ins."""
    if type(value) in (list, tuple):
        return type(value)(map(_plain, value))
    if type(value) is dict:
        return {key: _plain(part) for key, part in value.items()}
    return original_of(plain_nest(value))


def _copied(value: Any) -> Any:
    """Return an operand with arrays and containers that nobody changes later."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if type(value) in (list, tuple, set):
        return type(value)(map(_copied, value))
    if type(value) is dict:
        return {key: _copied(part) for key, part in value.items()}
    return value


def _same(left: Any, right: Any) -> bool:
    """Whether an operand is still what its copy is."""
    if isinstance(left, np.ndarray):
        return bool(left.shape == right.shape and left.tobytes() == right.tobytes())
    if type(left) in (list, tuple, set):
        return len(left) == len(right) and all(map(_same, left, right))
    if type(left) is dict:
        return list(left) == list(right) and all(map(_same, left.values(), right.values()))
    return left is right


def _holds_unknown(value: Any) -> bool:
    """Whether a value, or a part of a list, tuple or dict, is not known while tracing."""
    if type(value) is dict:
        return any(map(_holds_unknown, value.values()))
    if type(value) in (list, tuple):
        return any(map(_holds_unknown, value))
    return contains_unknown(value)


def _is_plain(value: Any) -> bool:
    """Whether a value is made of numbers, texts and arrays, or comes from code that is not seen."""
    if type(value) is dict:
        return all(map(_is_plain, value.values()))
    if type(value) in (list, tuple, set):
        return all(map(_is_plain, value))
    return isinstance(value, (*_GENERATED, np.ndarray)) or type(value) in (Tracer, Unseen)


def _attribute(fetch: Callable[[], Any], name: str) -> Any:
    return getattr(fetch(), name)


def _element(fetch: Callable[[], Any], place: int) -> Any:
    return list(fetch())[place]


def _computed_again(fetch: Callable[[], Any], compute: AnyFunction, operands: list[Any]) -> Any:
    return compute(fetch(), *map(_copied, operands))


def _called(function: AnyFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return function(*args, **kwargs)
