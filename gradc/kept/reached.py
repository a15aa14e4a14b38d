"""What code is with all that it reaches by names: for code that runs while tracing, unseen."""

from __future__ import annotations

import functools
import sys
import types
from enum import Enum
from typing import Any

import numpy as np

from gradc.kept.code import (
    MEMBERS,
    NOTHING,
    absent_names,
    base_content,
    class_content,
    function_content,
    functions_of,
    is_library,
)
from gradc.kept.content import BUILTIN, array_content, content
from gradc.kept.plain import Unkept, is_plain, plain
from gradc.tracing.captured import outside
from gradc.tracing.captured.reads import is_empty
from gradc.tracing.core import source
from gradc.tracing.lens.code_names import global_names, used_names


def reached_content(value: Any, known: dict[int, int] | None = None) -> Any:
    """Return what a value is with all that its code may reach by names.

    For code that runs while tracing, or while rules are applied, without being seen. Raises Unkept
    for what reaches anything but functions, classes, arrays, numbers and texts.
    """
    known = {} if known is None else known
    if is_plain(value):
        return plain(value)
    if id(value) in known:
        return "again", known[id(value)]
    known[id(value)] = len(known)
    kind = type(value)
    if isinstance(value, type):
        return class_content(value), *unseen_code(value, all_of_it=True, known=known)
    if kind is types.MethodType:
        parts = (value.__func__, value.__self__)
        return "method", *(reached_content(part, known) for part in parts)
    if kind is functools.partial:
        bound = (value.func, value.args, value.keywords)
        return "partial", *(reached_content(part, known) for part in bound)
    if kind in (tuple, list):
        return kind.__name__, *(reached_content(part, known) for part in value)
    if kind is dict:
        return "dict", *((plain(key), reached_content(part, known)) for key, part in value.items())
    if kind is types.FunctionType and not is_library(value):
        return _reached_by(value, known)
    if kind is types.ModuleType:
        package = value.__name__.partition(".")[0]
        if package in sys.stdlib_module_names or package in ("numpy", "scipy", "gradc"):
            why = outside.of_module(value.__name__)
            if not why:
                return content(value)
        raise Unkept(f"code that gradc does not see reads {value.__name__}")
    if kind is types.FunctionType or kind in BUILTIN or isinstance(value, Enum | np.ufunc):
        return content(value)
    if type(value) is np.ndarray:
        return array_content(value)
    raise Unkept(f"code that gradc does not see reads a {kind.__name__}")


def _reached_by(function: types.FunctionType, known: dict[int, int]) -> Any:
    check_names(function)
    names = used_names(function.__code__)
    found = {name: function.__globals__[name] for name in names if name in function.__globals__}
    cells = [cell.cell_contents for cell in function.__closure__ or () if not is_empty(cell)]
    named = function.__kwdefaults__ or {}
    return (
        function_content(function),
        absent_names(function, names),
        *((name, reached_content(part, known)) for name, part in found.items()),
        *(reached_content(part, known) for part in (*cells, *(function.__defaults__ or ()))),
        *((name, reached_content(part, known)) for name, part in named.items()),
    )


# Methods that Python calls and the lens leaves alone.
_LEFT_ALONE = frozenset({
    "__new__", "__getattribute__", "__init_subclass__", "__class_getitem__", "__hash__",
    "__repr__", "__setattr__", "__delattr__", "__dir__", "__set_name__", "__format__",
})  # fmt: skip


def unseen_code(
    kind: Any, *, all_of_it: bool, known: dict[int, int] | None = None
) -> tuple[Any, ...]:
    """Return what the code of a class is, with all it reaches, as far as the lens leaves it alone.

    That is all of it, or the methods that Python itself calls.
    """
    known = {} if known is None else known
    found: list[Any] = []
    for base in kind.__mro__:
        if type(base_content(base)) is str:
            continue
        for name, part in sorted(vars(base).items()):
            if name in NOTHING or not (all_of_it or name in _LEFT_ALONE):
                continue
            if all_of_it and not name.startswith("__"):
                found.append((name, _value_in_class(base, name, part)))
            for each in functions_of(part):
                if type(each) is not types.FunctionType:
                    continue
                file = each.__code__.co_filename
                # what Python's library writes reaches nothing of the user's
                if file != "<string>" and not source.is_unseen(file):
                    found.append((name, reached_content(each, known)))
        if type(base).__module__.partition(".")[0] not in sys.stdlib_module_names:
            found.append(reached_content(type(base), known))
    return tuple(found)


def _value_in_class(base: Any, name: str, part: Any) -> Any:
    """Return the content of what a class holds that is no code, as far as it can be told."""
    if is_plain(part):
        return plain(part)
    if isinstance(part, np.ndarray):
        return array_content(part)
    if type(part) is types.FunctionType or isinstance(part, MEMBERS):
        return None
    if issubclass(base, Enum):
        member = base.__members__.get(name)
        return None if member is None else reached_content(member.value)
    if type(part).__module__ in ("builtins", "_collections", "functools", "abc", "_abc"):
        return None  # a slot, a field of a named tuple
    raise Unkept(f"code that gradc does not see reads {base.__name__}.{name}")


def check_names(function: types.FunctionType) -> None:
    """Raise Unkept for a function whose code names what looks outside of its program, or unseen."""
    names = used_names(function.__code__)
    for name in names:
        if name in outside.HIDDEN:
            raise Unkept(f"{function.__name__} reads {name}")
    asked = [name for name in absent_names(function, names) if outside.of_builtin(name)]
    if asked:
        for name in global_names(function.__code__):
            if name in asked:
                raise Unkept(outside.of_builtin(name))
