"""What something is, by content: plain data that is equal in two processes for what acts alike.

What a class holds counts whole; what an object holds is looked at piece by piece, where a trace has
read it.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
import types
from enum import Enum
from hashlib import sha256
from typing import Any

import numpy as np

from gradc.kept.code import MEMBERS, class_content, function_content, member_content
from gradc.kept.plain import Unkept, is_plain, plain, refuse
from gradc.tracing.captured import outside
from gradc.tracing.core import opaque

CACHED = type(functools.lru_cache(maxsize=1)(lambda: None))
_TYPING = ("typing", "types", "collections.abc", "typing_extensions")


def content(value: Any) -> Any:
    """Return what a value is; of objects without what is in them, which is looked at by itself.

    Raises Unkept for what is known by nothing but itself.
    """
    kind: Any = type(value)
    if is_plain(value):
        return plain(value)
    if kind is types.FunctionType:
        return function_content(value)
    if isinstance(value, type):
        return class_content(value)
    if isinstance(value, Enum):
        return "enum", class_content(kind), value.name, content(value.value)
    if kind is types.ModuleType or isinstance(value, types.ModuleType):
        return "module", value.__name__
    if kind in MEMBERS:
        return member_content(value)
    if kind is types.MethodType:
        return ("method",)
    if isinstance(value, functools.partial) and not hasattr(kind, "__gradc_parts__"):
        return "partial", kind.__name__, len(value.args), *value.keywords
    if kind is CACHED:
        return ("cached",)
    if hasattr(kind, "__gradc_parts__"):
        return _of_gradc(value)
    if kind.__module__.partition(".")[0] in ("gradc", "gradc_ir"):
        return _data(value)
    if isinstance(value, np.ndarray):
        return array_content(value)
    if isinstance(value, np.ufunc) or kind in BUILTIN:
        return _of_library(value)
    if kind.__module__ in _TYPING or kind in (types.UnionType, types.GenericAlias):
        return "typing", repr(value)
    return _of_other(value)


BUILTIN = (
    types.BuiltinFunctionType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)


def array_content(array: Any) -> Any:
    """Return the dtype, the shape and the elements of an array."""
    if array.dtype.hasobject or type(array) is not np.ndarray:
        raise Unkept(f"an array of {array.dtype} is not known by its content")
    whole = np.ascontiguousarray(array).tobytes()
    return "array", array.dtype.str, array.shape, sha256(whole).digest()[:16]


def capture_content(array: Any) -> Any:
    """Return what a trace sees of an array that is read at every call."""
    if type(array) is not np.ndarray:
        raise Unkept(f"a {type(array).__name__} is not known by its content")
    return "capture", array.dtype.str, array.shape


def _of_gradc(value: Any) -> Any:
    """Return the content of an object of gradc's: those of its parts that are plain data."""
    kind = type(value)
    parts = ((name, getattr(value, name)) for name in kind.__gradc_parts__)
    return (
        "gradc",
        f"{kind.__module__}.{kind.__qualname__}",
        *((name, is_plain(part) and plain(part)) for name, part in parts),
    )


def _data(value: Any) -> Any:
    """Return the content of plain data of gradc's: a named tuple, or a frozen dataclass."""
    kind = type(value)
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        names = kind._fields
    elif dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        names = tuple(field.name for field in dataclasses.fields(kind))
    else:
        raise Unkept(f"a {kind.__name__} of gradc's is not known by its content")
    return kind.__qualname__, *(_part_of_data(getattr(value, name)) for name in names)


def _part_of_data(part: Any) -> Any:
    if type(part) is tuple:
        return "tuple", *map(_part_of_data, part)
    return content(part)


def _of_library(value: Any) -> Any:
    """Return the content of a function of Python's, NumPy's or SciPy's that is no Python."""
    name = getattr(value, "__qualname__", getattr(value, "__name__", ""))
    if isinstance(value, np.ufunc):
        # those of NumPy, and of the modules of SciPy that have been loaded
        for module in ("numpy", "scipy.special"):
            if getattr(sys.modules.get(module), name, None) is value:
                return "library", module, name
        raise Unkept(f"the ufunc {name} is neither NumPy's nor SciPy's")
    owner = getattr(value, "__self__", None)
    module = value.__module__ if getattr(value, "__module__", None) else "builtins"
    package = module.partition(".")[0]
    if owner is not None and not isinstance(owner, type | types.ModuleType):
        raise Unkept(f"{name} belongs to an object that is not seen")
    if package not in ("numpy", "scipy") and package not in sys.stdlib_module_names:
        raise Unkept(f"{module}.{name} is not seen")
    refuse(outside.of_module(module))
    return "library", module, name


def _of_other(value: Any) -> Any:
    """Return the content of an object of a user's class, or of one that a library has by name."""
    kind = type(value)
    package = kind.__module__.partition(".")[0]
    if package in ("numpy", "scipy"):
        name = _name_in_library(value)
        if name:
            return "library", name
        raise Unkept(f"a {kind.__module__}.{kind.__qualname__} is not known by its content")
    if package in sys.stdlib_module_names and kind is not types.SimpleNamespace:
        name = "" if outside.of_module(kind.__module__) else _name_in(kind.__module__, value)
        if name:
            return "library", name
        raise Unkept(f"a {kind.__module__}.{kind.__qualname__} is not known by its content")
    if opaque.named(kind.__module__) is not None:
        raise Unkept(f"{kind.__module__} is opaque")
    if isinstance(value, BaseException) or hasattr(kind, "__get__"):
        raise Unkept(f"a {kind.__qualname__} is not seen")
    own = getattr(value, "__dict__", None)
    names = () if own is None else tuple(own)
    return "object", class_content(kind), names


def _name_in_library(value: Any) -> str:
    """Return by which name a public module of SciPy, or NumPy, has an object."""
    module, own = getattr(value, "__module__", ""), getattr(value, "__name__", "")
    if isinstance(own, str) and getattr(sys.modules.get(module), own, None) is value:
        return f"{module}.{own}"
    places = ("scipy.stats", "scipy.special", "scipy.linalg", "numpy")
    return next(filter(None, (_name_in(place, value) for place in places)), "")


def _name_in(module: str, value: Any) -> str:
    """Return by which name a module has an object, nothing where it is not there or not loaded."""
    names = vars(sys.modules.get(module, types.ModuleType("")))
    return next((f"{module}.{name}" for name, found in names.items() if found is value), "")
