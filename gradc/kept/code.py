"""What functions and classes are: by what their code does, not by where it stands.

Code counts with the place of each piece in its function, not with its file or its first line: who
moves a function, or writes another above it, changes nothing.
"""

from __future__ import annotations

import abc
import functools
import sys
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from gradc.kept.plain import Unkept, is_plain, plain, refuse
from gradc.tracing.captured import outside
from gradc.tracing.core import opaque, source
from gradc.tracing.rewriting.asking import asks
from gradc.tracing.rewriting.source_tree import lines_of

# What gradc itself, and what wraps functions, puts among a function's attributes.
_OWN_ATTRIBUTES = ("__gradc_", "__wrapped__", "__signature__", "__annotations__", "__type_params__")


def code_content(code: types.CodeType) -> Any:
    """Return all that a code object does and says, without its file and its first line."""
    return (
        "code",
        code.co_name,
        code.co_qualname,
        code.co_code,
        code.co_linetable,
        code.co_exceptiontable,
        (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags),
        (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars),
        tuple(map(_constant, code.co_consts)),
    )


def _constant(value: Any) -> Any:
    if isinstance(value, types.CodeType):
        return code_content(value)
    if type(value) is tuple:
        return "tuple", *map(_constant, value)
    return plain(value)


def source_content(function: types.FunctionType) -> Any:
    """Return the lines that a function's code comes from, as its loops are recorded from them.

    None of a function without loops and branches, and where they are not at hand.
    """
    code = function.__code__
    if not asks(code):
        return None
    return tuple(lines_of(function)[code.co_firstlineno - 1 : _last_line(code)])


def _last_line(code: types.CodeType) -> int:
    inner = [_last_line(each) for each in code.co_consts if isinstance(each, types.CodeType)]
    return max([*inner, *(end for _, end, _, _ in code.co_positions() if end is not None)])


def is_library(function: types.FunctionType) -> bool:
    """Whether Python's library, NumPy, SciPy or gradc has a function by its name."""
    if not source.is_unseen(function.__code__.co_filename):
        return False
    if not function.__closure__:
        return True
    # a decorator's, perhaps, of something of the library's
    module = sys.modules.get(function.__module__)
    return getattr(module, function.__qualname__, None) is function


def function_content(function: types.FunctionType) -> Any:
    """Return what a function is: its code and its attributes, not what it reads by its names."""
    module = str(function.__module__)
    if is_library(function):
        refuse(outside.of_module(module))
        return "library", module, function.__qualname__
    attributes = {
        name: part
        for name, part in function.__dict__.items()
        if not name.startswith(_OWN_ATTRIBUTES)
    }
    return (
        "function",
        module,
        function.__qualname__,
        code_content(function.__code__),
        # how the lens takes it
        source.is_unseen(function.__code__.co_filename),
        source.is_installed(function.__code__.co_filename),
        opaque.named(module),
        len(function.__defaults__ or ()),
        tuple(function.__kwdefaults__ or ()),
        plain(attributes),
    )


def absent_names(function: types.FunctionType, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names that a function uses and does not find in its module."""
    return tuple(name for name in names if name not in function.__globals__)


def class_content(kind: Any) -> Any:
    """Return what a class is: its names and its code, and those of the classes it is made from."""
    return "class", *(base_content(base) for base in kind.__mro__), _registered(kind)


def _registered(kind: Any) -> Any:
    """Return what was said to be of an abstract class, and is not made from it."""
    if not isinstance(kind, abc.ABCMeta):
        return None
    try:
        registry = abc._get_dump(kind)[0]  # type: ignore[attr-defined]
    except AttributeError:
        raise Unkept(f"{kind.__qualname__} does not tell which classes it was given") from None
    found = filter(None, (reference() for reference in registry))
    return sorted(f"{each.__module__}.{each.__qualname__}" for each in found)


def base_content(base: Any) -> Any:
    """Return what a class is by itself; a text where a library has it by its name."""
    name = f"{base.__module__}.{base.__qualname__}"
    package = base.__module__.partition(".")[0]
    is_stdlib = package in sys.stdlib_module_names and base.__module__ != "__main__"
    if is_stdlib or package in ("numpy", "scipy", "gradc", "gradc_ir", "optree"):
        refuse(outside.of_module(base.__module__))
        return name
    if opaque.named(base.__module__) is not None:
        raise Unkept(f"{base.__module__} is opaque")
    # by name: a class that came in a pickle has them in another order
    members = (
        (key, _member(key, part))
        for key, part in sorted(vars(base).items())
        if key not in NOTHING or type(part) is types.FunctionType
    )
    meta = type(base)
    return name, f"{meta.__module__}.{meta.__qualname__}", *members


# What Python writes into classes, some of it when it is first asked for: a trace does not read it.
NOTHING = frozenset({
    "__doc__", "__module__", "__dict__", "__weakref__", "__firstlineno__", "__static_attributes__",
    "__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__",
    "__abstractmethods__", "_abc_impl", "__parameters__", "__orig_bases__",
    "__slotnames__", "__classcell__",
})  # fmt: skip
_STRUCTURE = frozenset({
    "_fields", "__slots__", "__match_args__", "_field_defaults", "_member_names_",
})  # fmt: skip


def _member(key: str, part: Any) -> Any:
    """Return what a name in a class stands for; values that a trace reads are looked at by it."""
    if key == "__dataclass_fields__":
        return tuple(
            (field.name, str(field._field_type), field.init, field.compare)
            for field in part.values()
        )
    # what has a name like Python's own is read without being seen
    is_special = key.startswith("__") and key.endswith("__")
    if (key in _STRUCTURE or is_special) and is_plain(part):
        return plain(part)
    if type(part) is types.FunctionType:
        return _code_of(part)
    if isinstance(part, MEMBERS):
        return member_content(part)
    if is_special and (type(part) in (list, dict, tuple, set) or isinstance(part, np.ndarray)):
        raise Unkept(f"{key} of a class is not known by its content")
    return type(part).__module__, type(part).__qualname__


# What Python makes of functions in classes.
MEMBERS = (staticmethod, classmethod, property, functools.cached_property)


def member_content(part: Any) -> Any:
    """Return the code of a static method, a class method or a property."""
    return type(part).__name__, *map(_code_of, functions_of(part))


def functions_of(part: Any) -> list[Any]:
    """Return the functions that a member of a class is made of, None for those it lacks."""
    if isinstance(part, property):
        return [part.fget, part.fset, part.fdel]
    return [getattr(part, "__func__", getattr(part, "func", part))]


def _code_of(function: Any) -> Any:
    if type(function) is not types.FunctionType:
        return type(function).__qualname__
    defaults = function.__defaults__ or ()
    named = function.__kwdefaults__ or {}
    return (
        code_content(function.__code__),
        *(is_plain(each) and plain(each) for each in defaults),
        *((name, is_plain(each) and plain(each)) for name, each in named.items()),
    )
