"""The methods of a compiled function that ask for a derivative: each instance has quick ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Protocol

from gradc.calls.derivation import Derivation
from gradc.runtime.quick_call import Learner, quick_call

Asked = tuple[Derivation, tuple[Any, ...], dict[str, Any]]


class Answering(Protocol):
    """What answers what is asked of it.

    ``_asking`` are its callables by their names, ``_learners`` their learners. They stand in tables
    of its own, not among its attributes: those are copied by what wraps a function.
    """

    _asking: dict[str, Callable[..., Any]]
    _learners: dict[str, Learner]

    def answered(self, asked: Asked, given: dict[str, Any], learner: Learner | None) -> Any:
        """Return a derivative at arguments."""

    def made_again(self) -> Callable[[], Any]:
        """Return what makes an equal one, and does not refer to this one."""


class asks:
    """Decorate a method that returns what is asked: calling it returns the answer.

    Each instance has a callable of its own, which goes by plans (:mod:`gradc.runtime.quick_call`).
    """

    def __init__(self, method: Callable[..., Asked]) -> None:
        self.__doc__ = method.__doc__
        self.__wrapped__ = method
        self._method = method
        signature = inspect.signature(method)
        parameters = [
            parameter.replace(annotation=parameter.empty)
            for parameter in list(signature.parameters.values())[1:]
        ]
        shown = signature.replace(parameters=parameters, return_annotation=signature.empty)
        self._name = method.__name__
        self._doc = f"{self._name}{shown}\n--\n\n{inspect.getdoc(method)}"

    def __get__(self, instance: Answering | None, owner: type | None = None) -> Any:
        if instance is None:
            return self._method
        found = instance._asking.get(self._name)
        if found is None:
            call, learner = quick_call(
                instance, self._answer, instance.made_again(), self._name, self._doc
            )
            instance._learners[self._name] = learner
            found = instance._asking.setdefault(self._name, call)
        return found

    def _answer(
        self, instance: Answering, args: tuple[Any, ...], kwargs: dict[str, Any], learner: Learner
    ) -> Any:
        return instance.answered(self._method(instance, *args, **kwargs), kwargs, learner)
