"""Functions bound to instances, and what they are asked for: machine code makes and calls both.

``model.loss`` is an object of the function and the instance, and ``model.loss.grad`` one of what
the function has under that name. Until there is a first plan, and where objects do not lie in
memory as is known, Python makes and calls them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from gradc_codegen.calls.called_object import base, code_of, take_code

# CPython's number of the slot for ``__get__``, and where it lies in a class
_GET, _GET_OFFSET = 54, 272


class BoundMethod(base()):  # type: ignore[misc]
    """A function and the instance that is its first argument.

    Attributes
    ----------
    func: the function, which is called as functions of C are.
    """

    # as they lie in memory, in alphabetical order
    __slots__ = ("__self__", "__weakref__", "func")

    func: Any

    def __init__(self, function: Any, instance: Any) -> None:
        self.func = function
        self.__self__ = instance

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function with the instance first."""
        return self.func(self.__self__, *args, **kwargs)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        take_code(cls, is_method=False)


class BoundMember(BoundMethod):
    """What a method's function has under a name, with the instance first."""

    __slots__ = ()


class OfFunction:
    """A member of methods: what the function has under a name, with the instance first.

    Parameters
    ----------
    name: of what the function has.
    get: takes a method to what the member is.
    """

    __slots__ = ("get", "name")

    def __init__(self, name: str, get: Callable[[Any], Any]) -> None:
        self.name = name
        self.get = get

    def __get__(self, method: Any, owner: type | None = None) -> Any:
        """Return the member of a method."""
        return self if method is None else self.get(method)


# where these lie
SELF, FUNC, GET, NAME = 24, 32, 16, 24


class Kinds:
    """The classes of functions that bind, of their methods, and of what these have."""

    functions: type | None = None
    methods: type = BoundMethod
    members: type = BoundMember


def bind_as(functions: type, methods: type, members: type) -> None:
    """Have instances of a class bind as methods of another, whose :class:`OfFunction` are members.

    ``functions`` does it by a ``__get__`` of Python's.
    """
    Kinds.functions, Kinds.methods, Kinds.members = functions, methods, members


def go_by_code(get: int, get_member: int) -> None:
    """Have methods and their members made by machine code at these addresses from now on."""
    if Kinds.functions is None or not _are_known():
        return
    for kind, code in ((Kinds.functions, get), (OfFunction, get_member)):
        ctypes.c_uint64.from_address(id(kind) + _GET_OFFSET).value = code
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


def _are_known() -> bool:
    """Whether instances and classes lie in memory as this file says, tried on real ones."""
    if base() is object or not hasattr(ctypes.pythonapi, "PyType_GetSlot"):
        return False
    slot = ctypes.pythonapi.PyType_GetSlot
    slot.restype, slot.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_int)
    kinds = (Kinds.functions, OfFunction)
    if any(_word(kind, _GET_OFFSET) != slot(kind, _GET) for kind in kinds):
        return False
    instance = object()
    member = OfFunction("name", str)
    words = [(member, GET, member.get), (member, NAME, member.name)]
    for kind in (Kinds.methods, Kinds.members):
        method = kind(len, instance)
        if code_of(method):
            return False
        words += [(method, SELF, instance), (method, FUNC, len)]
    return all(_word(each, offset) == id(value) for each, offset, value in words)


def _word(value: object, offset: int) -> int:
    return int(ctypes.c_uint64.from_address(id(value) + offset).value)
