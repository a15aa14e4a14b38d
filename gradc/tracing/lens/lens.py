"""The lens: a user's function as a copy that sees NumPy, captured arrays and helpers through gradc.

Nothing is patched. The copy has globals of its own, a copy of the dict in which the names the code
uses are replaced, builtins of its own, and closure cells of its own. Functions it defines when it
runs have these globals too, so they are seen through already.
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc import on_need
from gradc.tracing.captured.captures import Capture, Guard, SameElements, SameObject
from gradc.tracing.captured.reads import (
    Attribute,
    CodeOf,
    Contents,
    Entry,
    KeysOf,
    Part,
    TypeOf,
    contents,
    is_empty,
    keys_of,
    type_of,
)
from gradc.tracing.core import source
from gradc.tracing.core.state import Trace
from gradc.tracing.core.table import TABLE
from gradc.tracing.core.tracer import Tracer, hide_type, make_hidden
from gradc.tracing.drawing.refused import DRAWING, Random, is_random
from gradc.tracing.drawing.seeded import made_from_seeds
from gradc.tracing.lens import captured_containers
from gradc.tracing.lens.builtins import BUILTINS, seen_builtins, seen_type
from gradc.tracing.lens.captured_arrays import Origin, is_capturable
from gradc.tracing.lens.code_names import refuse_stores, used_names
from gradc.tracing.lens.effects import Acting, acts
from gradc.tracing.lens.inlined import Inlined
from gradc.tracing.lens.math_module import see_math
from gradc.tracing.lens.modules import (
    belongs_to_numpy,
    is_seen_module,
    name_in_numpy,
    see_module,
    see_numpy,
)
from gradc.tracing.lens.scipy_module import (
    belongs_to_scipy,
    is_object_of_scipy,
    see_captured,
    see_scipy,
)
from gradc.tracing.lens.unseen import Unseen, is_library_object, is_unseen, refuse_iterator
from gradc.tracing.lens.user_classes import is_user_class, original_of, seen_class
from gradc.tracing.rewriting.expressions import RUNTIME
from gradc.tracing.rewriting.rewrite import rewritten
from gradc_ir.core.types import Type, dtype_of
from gradc_ir.errors import TraceError

_CAPTURED = "it is captured from outside; pass it as an argument and return the new one"
_CACHED = type(functools.lru_cache(maxsize=1)(lambda: None))
_PLAIN = (int, float, complex, str, bytes, type(None), np.generic)


class Lens:
    """What one trace sees. Copies are remembered, so that a shared helper stays one function."""

    def __init__(self, *, captures: bool = True) -> None:
        self.trace: Trace | None = None
        self._captures = captures  # whether loops and branches are
        self._copies: dict[int, tuple[Any, Any]] = {}
        self._globals: dict[int, tuple[dict[str, Any], dict[str, Any], set[str]]] = {}
        self._cells: dict[int, tuple[Any, Any]] = {}
        self._arrays: dict[tuple[int, str], tuple[Any, Tracer]] = {}
        self.variables: dict[int, Tracer] = {}
        self._holders: list[tuple[str, Any, Any]] = []
        self._builtins = seen_builtins(self.see, captures)

    def see(self, value: Any) -> Any:
        """Return a value as traced code sees it; arrays, nameless here, stay as they are."""
        kind = type(value)
        if kind in (Tracer, int, float, str, bool, tuple, list, dict) or value is None:
            return value
        acting = acts(value) if self._captures else None
        if acting is not None:
            seen = see_module(value, self) if kind is types.ModuleType else value
            return Acting(seen, acting)
        if kind is types.FunctionType:
            return self._function(value)
        maker = made_from_seeds(value)
        if maker is not None:
            return maker
        if is_unseen(value):
            return self._unseen(value, _name_of(value), lambda: value)
        if kind is types.MethodType:
            owner = value.__self__
            if not isinstance(owner, type) and belongs_to_scipy(owner):
                return getattr(self.see(owner), value.__name__)
            return types.MethodType(self.see(value.__func__), self._instance(value.__self__))
        if kind is types.ModuleType:
            return see_module(value, self)
        if isinstance(value, functools.partial) and not hasattr(kind, "__gradc_trace__"):
            if type(value.func) is types.MethodType and _is_ours(value.func):
                return value  # made by gradc, of its own objects
            return functools.partial(
                self.see(value.func),
                *[self._part(value, "args", i, f"args[{i}]") for i in range(len(value.args))],
                **{key: self._part(value, "keywords", key, key) for key in value.keywords},
            )
        if isinstance(value, _CACHED):
            return self.see(value.__wrapped__)
        if kind is np.vectorize:
            return TABLE.object(kind).seen(value, self.see)
        if is_random(value):
            return Random(getattr(value, "__name__", "a random generator"))
        if hasattr(kind, "__gradc_seen__"):
            return value.__gradc_seen__(self, kind.__name__.lower())
        if not isinstance(value, type) and hasattr(kind, "__gradc_trace__"):
            return Inlined(value, self.see(value.__gradc_trace__))
        run = getattr(kind, "__call__", None)  # noqa: B004 - the method itself is wanted
        if type(run) is types.FunctionType and not source.is_unseen(run.__code__.co_filename):
            seen = self._instance(value)
            return Inlined(seen, types.MethodType(self.see(run), seen))
        if captured_containers.is_user_object(value):
            return self._object(value, type(value).__name__)
        if kind is types.BuiltinFunctionType:
            replaced = BUILTINS.get(getattr(value, "__name__", ""))
            if replaced is not None and replaced[0] is value:
                return replaced[1]
            if getattr(math, value.__name__, None) is value:
                return see_math(value)
        if is_user_class(value):
            return seen_class(value)
        if belongs_to_scipy(value):
            return see_scipy(value)
        if callable(value) and belongs_to_numpy(value):
            return see_numpy(value, name_in_numpy(value))
        recorded = None if isinstance(value, _PLAIN) else TABLE.object(value)
        return value if recorded is None else recorded

    def _instance(self, value: Any) -> Any:
        if is_unseen(value):
            return self._unseen(value, "self", lambda: value)
        return self._object(value, "self") if captured_containers.is_user_object(value) else value

    def _unseen(self, value: Any, name: str, fetch: Callable[[], Any]) -> Any:
        found = self._copies.get(id(value))
        if found is None:
            if self.trace is not None:
                self.trace.keep_not(f"it reads {name}, into which gradc cannot see")
            found = self._copies[id(value)] = value, Unseen(value, name, fetch, self)
        return found[1]

    def _whole(self, value: Any, name: str, fetch: Callable[[], Any]) -> Any:
        """Return what stands for an object of SciPy whose arrays are hidden inputs, or None."""
        if not is_object_of_scipy(value):
            return None
        if id(value) not in self._copies:
            made = see_captured(value, name, fetch, lambda: Unseen(value, name, fetch, self), self)
            if made is None:
                return None
            self._copies[id(value)] = value, made
        return self._copies[id(value)][1]

    def see_named(self, value: Any, holder: dict[str, Any], key: str, name: str) -> Any:
        """Return a value found under a name that can be read again."""
        return self.captured(value, (id(holder), key), name, Entry(holder, key))

    def captured(
        self, value: Any, identity: tuple[int, str], name: str, fetch: Callable[[], Any]
    ) -> Any:
        """Return what traced code sees of a value that ``fetch`` reads again at every call."""
        if isinstance(value, np.ndarray) and is_capturable(value):
            found = self._arrays.get(identity)
            if found is None:
                assert self.trace is not None
                type_ = Type(dtype_of(value.dtype), value.shape)
                origin = Origin(Capture(name, type_, fetch))
                tracer = make_hidden(self.trace, type_, origin, _CAPTURED)
                hide_type(tracer)
                found = self._arrays[identity] = (value, tracer)
            return found[1]
        if isinstance(value, _PLAIN):
            self.guard(identity, Guard(name, value, fetch))
        elif captured_containers.is_container(value):
            return self._container(value, identity, name, fetch)
        elif isinstance(value, np.ndarray):
            self.guard(identity, SameElements(name, value.copy(), fetch))
        else:
            if type(value) is not types.ModuleType or is_seen_module(value):
                self.guard(identity, SameObject(name, value, fetch))
            if hasattr(type(value), "__gradc_seen__"):
                return value.__gradc_seen__(self, name)
            if made_from_seeds(value) is not None:
                return self.see(value)
            whole = self._whole(value, name, fetch)
            if whole is not None:
                return whole
            if is_unseen(value) or is_library_object(value):
                return self._unseen(value, name, fetch)
            refuse_iterator(value, name)
            if isinstance(value, type) and not is_user_class(value):
                captured_containers.guard_attributes(self, value)
            if captured_containers.is_user_object(value):
                return self._object(value, name)
        return self.see(value)

    def _part(self, owner: Any, attribute: str, key: Any, name: str) -> Any:
        """Return what traced code sees of an entry of an object's own tuple or dict."""
        parts = Attribute(owner, attribute)
        read = Part(parts, key)
        return self.captured(read(), (id(owner), f"{attribute}[{key!r}]"), name, read)

    def guard(self, identity: tuple[int, str], guard: Guard) -> None:
        """Have the function traced again when the guard no longer holds."""
        if self.trace is not None:
            self.trace.guards[identity] = guard

    def guard_types(self) -> None:
        """Guard the types of arrays that were asked for theirs and never read; those are inputs."""
        for identity, (value, tracer) in self._arrays.items():
            origin: Origin = tracer._origin
            if origin.has_told and tracer._value is None:
                capture = origin.capture
                guard = Guard(capture.name, type_of(value), TypeOf(capture.fetch))
                self.guard(identity, guard)

    def _container(
        self, value: Any, identity: tuple[int, str], name: str, fetch: Callable[[], Any]
    ) -> Any:
        """Return a copy of a container with its entries captured."""
        found = self._copies.get(id(value))
        kind = type(value)
        if captured_containers.is_plain(value):
            before = contents(value)
            self.guard(identity, Guard(name, before, Contents(fetch)))
            if kind in (tuple, frozenset) and all(type(part) in _PLAIN for part in value):
                return value
            if found is None:
                found = self._copies[id(value)] = value, captured_containers.copy_of_plain(value)
                self._holders.append((name, found[1], before))
            return found[1]
        if found is not None:
            # reached by another name before, by which its entries are read again
            self.guard(identity, SameObject(name, value, fetch))
            return found[1]
        self.guard(identity, Guard(name, keys_of(value), KeysOf(fetch)))
        if kind in (set, frozenset):
            return value  # of objects that are their own keys
        copy = captured_containers.empty_copy(value)
        if not isinstance(value, tuple):
            self._copies[id(value)] = value, copy  # it may hold itself
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            path = f"{name}[{key!r}]"
            read = Part(fetch, key)
            seen = self.captured(part, (id(value), repr(key)), path, read)
            if isinstance(value, dict):
                copy[key] = seen
            else:
                copy.append(seen)
        if isinstance(value, tuple):
            copy = kind(copy) if kind is tuple else self.see(kind)(*copy)
        else:
            self._holders.append((name, copy, copy.copy()))
        self._copies[id(value)] = value, copy
        return copy

    def _object(self, value: Any, name: str) -> Any:
        found = self._copies.get(id(value))
        if found is None:
            copy = captured_containers.seen_object(value, name, self)
            found = self._copies[id(value)] = (value, copy)
        return found[1]

    def check_holders(self) -> None:
        """Hand on what the function did to plain containers outside of it; refuse all else.

        The next call finds such a container changed, and is traced again: what the function does to
        it happens at every call.
        """
        changed = [
            entry
            for entry in self._holders
            if not captured_containers.keys_same(entry[1], entry[2])
        ]
        for name, copy, before in changed:
            if not isinstance(before, bytes) or not captured_containers.is_plain(copy):
                raise TraceError(
                    f"the function changes {name}, which is outside of it",
                    help="return what is new from the function",
                )
        originals = {id(copy): original for original, copy in self._copies.values()}
        for name, copy, _ in changed:
            if self.trace is not None:
                self.trace.keep_not(f"it changes {name}, which is outside of it")
            captured_containers.hand_on(copy, originals[id(copy)])

    def close(self) -> None:
        """Let go of the user's functions and arrays, when the trace is over.

        All of this is a circle: what is seen refers to it through its builtins, and so does the
        trace. They would stay until Python looks for circles, however large they are.
        """
        for held in (self._copies, self._globals, self._cells, self._arrays, self._holders):
            held.clear()
        if self.trace is not None:
            self.trace.captures.clear()
            self.trace.guards.clear()
            self.trace.rewritten.clear()
            self.trace.partial.clear()

    def _function(self, function: types.FunctionType) -> Any:
        found = self._copies.get(id(function))
        if found is not None:
            return found[1]
        if source.MARK in function.__globals__:
            return function
        if isinstance(getattr(function, "registry", None), types.MappingProxyType):
            return self._dispatched(function)
        if is_unseen(function):
            return self._unseen(function, function.__name__, lambda: function)
        if function.__module__ in DRAWING and source.is_unseen(function.__code__.co_filename):
            return Random(f"{function.__module__}.{function.__name__}")
        code = function.__code__
        if belongs_to_numpy(function):
            return see_numpy(function, function.__name__)
        if belongs_to_scipy(function):
            return see_scipy(function)
        if source.is_unseen(code.co_filename) and not _wraps_seen(function):
            return function
        try:
            refuse_stores(function)
        except TraceError:
            if not source.is_installed(code.co_filename):
                raise
            # a cache of its own, say: it runs as Python, and is asked again
            return self._unseen(function, function.__name__, lambda: function)
        # tools that reload modules put new code into the functions there are
        own = SameObject(function.__name__, code, CodeOf(function))
        self.guard((id(function), "__code__"), own)
        copy = types.FunctionType(
            self._rewritten(function) if self._captures else code,
            self._seen_globals(function),
            function.__name__,
            closure=self._seen_closure(function),
        )
        # known before its cells are looked at: a recursive function is in one of them
        self._copies[id(function)] = (function, copy)
        self._copies[id(copy)] = (copy, copy)
        self._fill_closure(function)
        if function.__defaults__:
            name = f"{function.__name__}.__defaults__"
            copy.__defaults__ = tuple(
                self._part(function, "__defaults__", i, f"{name}[{i}]")
                for i in range(len(function.__defaults__))
            )
        if function.__kwdefaults__:
            copy.__kwdefaults__ = {
                key: self._part(function, "__kwdefaults__", key, key)
                for key in function.__kwdefaults__
            }
        copy.__qualname__ = function.__qualname__
        copy.__module__ = function.__module__
        copy.__doc__ = function.__doc__
        copy.__dict__.update(function.__dict__)
        return copy

    def _rewritten(self, function: types.FunctionType) -> types.CodeType:
        """Return the code of a function with its loops and branches asked for, if they can be."""
        found = rewritten(function)
        if found.note and self.trace is not None:
            place = source.definition(function.__code__)
            self.trace.note(f"{place}: its loops and branches are Python's: {found.note}")
        if found.sites and self.trace is not None:
            self.trace.rewritten.append(function)
        return found.code

    def _dispatched(self, function: Any) -> Inlined:
        """Return what functools.singledispatch made; it asks for the type that a tracer shows."""

        def run(*args: Any, **kwargs: Any) -> Any:
            shown = getattr(seen_type(args[0]), "__gradc_original__", seen_type(args[0]))
            return self.see(function.dispatch(original_of(shown)))(*args, **kwargs)

        return Inlined(function, run)

    def _seen_globals(self, function: types.FunctionType) -> dict[str, Any]:
        original = function.__globals__
        found = self._globals.get(id(original))
        if found is None:
            copy = dict(original)
            copy[source.MARK] = True
            copy["__builtins__"] = self._builtins
            if self._captures:
                copy[RUNTIME] = _runtime()
            found = self._globals[id(original)] = (original, copy, set())
        _, copy, seen = found
        for name in used_names(function.__code__):
            if name in original and name not in seen:
                seen.add(name)
                copy[name] = self.see_named(original[name], original, name, name)
        return copy

    def _seen_closure(self, function: types.FunctionType) -> tuple[types.CellType, ...] | None:
        if function.__closure__ is None:
            return None
        return tuple(
            self._cells.setdefault(id(cell), (cell, types.CellType()))[1]
            for cell in function.__closure__
        )

    def _fill_closure(self, function: types.FunctionType) -> None:
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            copy = self._cells[id(cell)][1]
            if name == "__class__":
                copy.cell_contents = cell.cell_contents  # what super() begins at
            elif is_empty(copy) and not is_empty(cell):
                read = Attribute(cell, "cell_contents")
                copy.cell_contents = self.captured(read(), (id(cell), name), name, read)


def _runtime() -> types.ModuleType:
    return next(on_need.loaded(on_need.CAPTURE))


def _wraps_seen(function: types.FunctionType) -> bool:
    """Whether a function of Python's library, as contextlib makes, calls one that is seen."""
    cells = [cell for cell in function.__closure__ or () if not is_empty(cell)]
    held = [cell.cell_contents for cell in cells]
    codes = [part.__code__ for part in held if type(part) is types.FunctionType]
    return any(not source.is_unseen(code.co_filename) for code in codes)


def _is_ours(function: Any) -> bool:
    """Whether a function is gradc's own, whose arguments are none of the user's names."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return code is not None and source.is_ours(code.co_filename)


def _name_of(value: Any) -> str:
    return str(getattr(value, "__name__", type(value).__name__))
