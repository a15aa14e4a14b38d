"""The methods of a compiled function that ask for a derivative: each instance has quick ones."""

from __future__ import annotations

import functools
import inspect
import operator
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from gradc.runtime.prepared import Prepared
from gradc.runtime.quick_call import Call, Door, Learner, quick_call, weak_owner
from gradc_ir.forks import loading

_Shown = TypeVar("_Shown")


class Answering(Protocol):
    """What answers what is asked of it.

    ``_doors`` are its callables, ``_learners`` their learners by name. They stand in objects of
    their own, not among its attributes: those are copied by what wraps a function.
    """

    _doors: Doors
    _learners: dict[str, Learner]

    def made_again(self) -> Callable[[], Any]:
        """Return what makes an equal one, and does not refer to this one."""


class Doors:
    """The callables of an instance by their names, each made when it is first asked for."""

    def __init__(self, instance: Any) -> None:
        self._instance = weakref.ref(instance)

    def __getattr__(self, name: str) -> Any:
        instance = self._instance()
        method = None if instance is None else vars(_of(type(instance), name)).get(name)
        if instance is None or not isinstance(method, asks):
            raise AttributeError(name)
        return vars(self).setdefault(name, method.door(instance))


def _of(kind: type, name: str) -> type:
    """Return the class that has a member of a name among a class and its bases."""
    return next((one for one in kind.__mro__ if name in vars(one)), kind)


if TYPE_CHECKING:
    from gradc.runtime.bound_call import BoundCall

    class _Member(Generic[_Shown]):
        def __init__(self, get: Any, *, doc: str | None) -> None: ...
        def __get__(self, instance: Any, owner: type | None = None) -> _Shown: ...

else:

    class _Member(property):
        def __init__(self, get, *, doc):
            super().__init__(get, doc=doc)

        def __class_getitem__(cls, _):
            return cls


class asks(_Member[_Shown]):
    """Decorate a method that answers a call, or prepares it; the call is its first parameter.

    Each instance has a callable of its own, which goes by plans (:mod:`gradc.runtime.quick_call`).
    The method returns what is returned, in a trace, or a prepared call to be run; what it is
    annotated with is what the callable is.
    """

    def __init__(self, method: Callable[..., _Shown]) -> None:
        # a getter in C: no frame of Python for each call of f.grad(x)
        super().__init__(operator.attrgetter(f"_doors.{method.__name__}"), doc=method.__doc__)
        self._method = method
        signature = inspect.signature(method)
        parameters = [
            parameter.replace(annotation=parameter.empty)
            for parameter in list(signature.parameters.values())[2:]
        ]
        self._signature = signature.replace(
            parameters=parameters, return_annotation=signature.empty
        )
        self._name = method.__name__
        self._text = inspect.getdoc(method)

    def door(self, instance: Answering) -> Door:
        """Return the callable of an instance."""
        there = weak_owner(instance, instance.made_again())
        doc = f"{self._name}{self._signature}\n--\n\n{self._text}"
        call = quick_call(instance, self._answer, instance.made_again(), self._name, doc)
        instance._learners[self._name] = call[1]

        def bind(*args: Any, **kwargs: Any) -> BoundCall[Any]:
            with loading:  # few calls are bound
                from gradc.runtime.bound_call import BoundCall

            return BoundCall(there(), functools.partial(_prepared, self._name), args, kwargs)

        return Door(call, there, bind, self._name, self._text, self._signature)

    def _answer(
        self, instance: Answering, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        found = self._method(instance, call, *args, **kwargs)
        return call.answer(found) if isinstance(found, Prepared) else found


def _prepared(name: str, instance: Answering, call: Call, /, *args: Any, **kwargs: Any) -> Any:
    """Return what the method of a name answers: a function that can be imported, for pickles."""
    asked: asks[Any] = vars(_of(type(instance), name))[name]
    return asked._method(instance, call, *args, **kwargs)
