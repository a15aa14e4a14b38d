"""The methods of a compiled function that ask for a derivative: each instance has quick ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar, cast

from gradc.runtime.bound_call import BoundCall
from gradc.runtime.prepared import Prepared
from gradc.runtime.quick_call import Call, Door, Learner, quick_call, weak_owner

_Shown = TypeVar("_Shown")


class Answering(Protocol):
    """What answers what is asked of it.

    ``_asking`` are its callables by their names, ``_learners`` their learners. They stand in tables
    of its own, not among its attributes: those are copied by what wraps a function.
    """

    _asking: dict[str, Any]
    _learners: dict[str, Learner]

    def made_again(self) -> Callable[[], Any]:
        """Return what makes an equal one, and does not refer to this one."""


class asks(Generic[_Shown]):
    """Decorate a method that answers a call, or prepares it; the call is its first parameter.

    Each instance has a callable of its own, which goes by plans (:mod:`gradc.runtime.quick_call`).
    The method returns what is returned, in a trace, or a prepared call to be run; what it is
    annotated with is what the callable is.
    """

    def __init__(self, method: Callable[..., _Shown]) -> None:
        self.__doc__ = method.__doc__
        self.__wrapped__ = method
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
        self._doc = inspect.getdoc(method)

    def __get__(self, instance: Any, owner: type | None = None) -> _Shown:
        if instance is None:
            return cast(_Shown, self._method)
        return cast(_Shown, self._of(instance))

    def _of(self, instance: Answering) -> Any:
        found = instance._asking.get(self._name)
        if found is None:
            there = weak_owner(instance, instance.made_again())
            doc = f"{self._name}{self._signature}\n--\n\n{self._doc}"
            call = quick_call(instance, self._answer, instance.made_again(), self._name, doc)
            instance._learners[self._name] = call[1]

            def bind(*args: Any, **kwargs: Any) -> BoundCall[Any]:
                return BoundCall(there(), self._method, args, kwargs)

            door = Door(call, there, bind, self._name, self._doc, self._signature)
            found = instance._asking.setdefault(self._name, door)
        return found

    def _answer(
        self, instance: Answering, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        found = self._method(instance, call, *args, **kwargs)
        return call.answer(found) if isinstance(found, Prepared) else found
