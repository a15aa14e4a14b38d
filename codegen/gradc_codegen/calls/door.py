"""A callable that goes by plans: machine code finds the one for a call, Python takes the rest.

A door is a function of C from the start, so that who has taken hold of it need not ask for it
again. What it runs is CPython's own way of calling until there is a first plan, and from then on
the walk of plans.
"""

from __future__ import annotations

import ctypes
import functools
import types
from collections import deque
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from gradc_codegen.calls import layout
from gradc_codegen.calls.called_object import set_code
from gradc_codegen.calls.cells import CELLS
from gradc_codegen.calls.plan import Plan
from gradc_codegen.calls.steps import Head
from gradc_ir.core.types import Array
from gradc_ir.forks import Depth, lock_across_forks

# Calls of more sizes and forms than this by turns go by plans that are made anew.
MOST_PLANS = 16


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_METH_FASTCALL_AND_KEYWORDS = 0x0080 | 0x0002

# Of threads that come at once one makes the code of the walk, by whose address all calls go, and no
# child is made while it is half loaded.
_making = lock_across_forks(Depth.KERNEL)


class Plans:
    """The plans of a callable, the latest first.

    It does not refer to the callable, so that neither keeps the other.

    Attributes
    ----------
    are_taken: whether there may be any.
    called: returns the object that goes by them, if it is one.
    """

    def __init__(self, *, quick: bool = True) -> None:
        self.are_taken = quick and layout.is_known()
        self._plans: deque[tuple[Array, list[Any]]] = deque()
        self._left: list[tuple[Array, list[Any]]] = []
        self.called: Callable[[], Any] = lambda: None
        if self.are_taken:
            tables = layout.addresses().ctypes.data, CELLS.ctypes.data
            self.words: Array = np.array([0, *tables], np.int64)

    def __len__(self) -> int:
        return len(self._plans)

    def add(self, plan: Plan) -> None:
        """Try a plan first, from now on."""
        _walk()
        called = self.called()
        if called is not None:
            set_code(called, _walk_of_objects())
        words, kept = plan.words()
        words[Head.NEXT] = self.words[0]
        self._plans.appendleft((words, kept))
        self.words[0] = words.ctypes.data
        if len(self._plans) > MOST_PLANS:
            oldest = self._plans.pop()
            self._plans[-1][0][Head.NEXT] = 0
            self._left.append(oldest)
        self._forget_left()

    def clear(self) -> None:
        """Forget all plans."""
        if self.are_taken:
            self.words[0] = 0
        for words, _ in self._plans:
            words[Head.NEXT] = 0  # a call that is in one goes on to none that is freed
        self._left += self._plans
        self._plans.clear()
        self._forget_left()

    def _forget_left(self) -> None:
        # a call may be in one: it runs Python, or lets other threads run
        self._left[:] = [one for one in self._left if one[0][Head.RUNNING]]


class _State(tuple[Any, ...]):
    """What the walk is given: the words, the plans, and what tells whose the callable is."""

    __slots__ = ()

    def __reduce__(self) -> Any:
        """Pickle as the owner: a function of C is pickled as an attribute of its self."""
        return _Pickled, (self[2](),)


class _Run(functools.partial[Any]):
    """Runs the calls that no plan is for; in a pickle the owner stands for it, too.

    It is called without a frame of its own, which a traceback would show.
    """

    def owned_by(self, owner: Callable[[], Any]) -> _Run:
        """Return it, with what returns the owner."""
        self.__name__ = "run"
        self._owner = owner
        return self

    def __reduce__(self) -> Any:
        """Pickle as the owner: cloudpickle takes methods apart."""
        return _Pickled, (self._owner(),)


class _Pickled:
    """Stands for the parts of a callable in a pickle: what it is an attribute of has its names."""

    def __init__(self, run: Any) -> None:
        self.run = run

    def __getattr__(self, name: str) -> Any:
        if name == "run":
            raise AttributeError(name)
        return getattr(self.run, name)

    def __call__(self, state: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call what it is an attribute of."""
        return self.run(*args, **kwargs)


def door(
    plans: Plans,
    run: Callable[..., Any],
    owner: Callable[[], Any],
    name: str,
    doc: str | None = None,
    state: tuple[Any, ...] = (),
) -> Callable[..., Any]:
    """Return a callable that goes by plans, where it takes any.

    Parameters
    ----------
    run: a function of this name, which takes the calls that no plan is for. Their arguments come
        after the callable's state, a tuple.
    owner: returns what the callable is an attribute of, for pickles.
    name, doc: of the callable; a doc may begin with its signature, as those of CPython's functions.
    state: what the callable's state ends with.
    """
    whole = state_of(plans, owner, *state)
    if not plans.are_taken:
        return functools.partial(run, whole)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    bound = types.MethodType(_Run(run).owned_by(owner), whole)
    made: Callable[..., Any] = make(definition(name, doc), bound, None)
    return made


def state_of(plans: Plans, owner: Callable[[], Any], *rest: Any) -> tuple[Any, ...]:
    """Return the state of a callable that goes by plans; what is its own begins at OWN_STATE."""
    return _State((plans.words if plans.are_taken else None, plans, owner, *rest))


OWN_STATE = 3


def definition(name: str, doc: str | None = None) -> int:
    """Return the address of the definition of a function of C that goes by plans."""
    return ctypes.addressof(_definition(name, doc))


# Functions of C read their definition as long as they are there: each is made once.
_definitions: dict[tuple[str, str | None], _MethodDef] = {}


def _definition(name: str, doc: str | None) -> _MethodDef:
    found = _definitions.get((name, doc))
    if found is None:
        found = _MethodDef(
            name.encode(),
            ctypes.cast(ctypes.pythonapi.PyObject_Vectorcall, ctypes.c_void_p).value,
            _METH_FASTCALL_AND_KEYWORDS,
            None if doc is None else doc.encode(),
        )
        if _walk.cache_info().currsize:
            found.function = _walk()
        found = _definitions.setdefault((name, doc), found)
    return found


@functools.cache
def _walk() -> int:
    """Return the address of the walk, by which all doors go from now on."""
    with _making:
        address = int(import_module("gradc_codegen.calls.walk_code").address())
        for definition in list(_definitions.values()):
            definition.function = address
        return address


@functools.cache
def _walk_of_objects() -> int:
    with _making:
        return int(import_module("gradc_codegen.calls.walk_code").address_for_objects())
