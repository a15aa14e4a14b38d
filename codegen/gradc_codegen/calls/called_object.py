"""Objects that are called as functions of C are: their class has a place for the code to run.

CPython calls what has such a place by its *vectorcall* protocol, without a tuple of arguments. The
class is made by ``PyType_FromSpec``, as an extension would make it; classes of Python that derive
from it are told apart by flags, which CPython sets for classes of extensions alone.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from gradc_codegen.calls import layout

# where the address of the code lies in an object, and the flags in a class
CODE, _CLASS_FLAGS = 16, 168
_HAS_CODE, _IS_METHOD, _MAY_BE_BASE, _DEFAULT = 1 << 11, 1 << 17, 1 << 10, 1 << 18
# numbers of CPython's slots and types of members
_CALL, _MEMBERS, _SIZE, _READ_ONLY = 50, 72, 19, 1


class _Member(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Slot(ctypes.Structure):
    _fields_ = (("number", ctypes.c_int), ("value", ctypes.c_void_p))


class _Spec(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("size", ctypes.c_int),
        ("size_of_items", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.c_void_p),
    )


@functools.cache
def _spec() -> tuple[Any, ...]:
    """Return what the class is made of; it is read as long as the class is there."""
    members = (_Member * 2)(_Member(b"__vectorcalloffset__", _SIZE, CODE, _READ_ONLY, None))
    call = ctypes.cast(ctypes.pythonapi.PyVectorcall_Call, ctypes.c_void_p).value
    slots = (_Slot * 3)(_Slot(_MEMBERS, ctypes.addressof(members)), _Slot(_CALL, call))
    flags = _DEFAULT | _MAY_BE_BASE | _HAS_CODE
    spec = _Spec(b"gradc_codegen.Called", CODE + 8, 0, flags, ctypes.addressof(slots))
    return spec, slots, members


@functools.cache
def base() -> Any:
    """Return the class to derive from, whose first slot is ``__call__``; ``object`` without one."""
    if not layout.is_known() or not hasattr(ctypes.pythonapi, "PyVectorcall_Call"):
        return object
    make = ctypes.pythonapi.PyType_FromSpec
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p,)
    made = make(ctypes.addressof(_spec()[0]))
    return made if _fits(made) else object


def _fits(made: Any) -> bool:
    """Whether classes and instances lie in memory as this file says, tried on real ones."""

    class Tried(made):  # type: ignore[misc]
        __slots__ = ("__call__", "__dict__", "__weakref__")

    probe = Tried()
    called: Any = str.join
    called = called.__get__("")
    probe.__call__ = called
    return (
        ctypes.c_uint64.from_address(id(probe) + CODE).value == 0
        and ctypes.c_int64.from_address(id(probe) + layout.CALLED).value == id(called)
        and ctypes.c_uint64.from_address(id(Tried) + _CLASS_FLAGS).value == Tried.__flags__
    )


def take_code(kind: type, is_method: bool) -> None:
    """Have instances of a class, derived from :func:`base`, called by their code.

    ``is_method``: to bind one to an instance and call that is to call it with the instance first,
    so that no method is made.
    """
    if base() is object or not issubclass(kind, base()):
        return
    flags = ctypes.c_uint64.from_address(id(kind) + _CLASS_FLAGS)
    flags.value |= _HAS_CODE | (_IS_METHOD if is_method else 0)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


def set_code(called: Any, address: int) -> None:
    """Have an instance called by the code at an address, which finds ``__call__`` in it."""
    if base() is not object and isinstance(called, base()):
        ctypes.c_uint64.from_address(id(called) + CODE).value = address


def code_of(called: Any) -> int:
    """Return the address of the code that an instance is called by, 0 where Python calls it."""
    return int(ctypes.c_uint64.from_address(id(called) + CODE).value)
