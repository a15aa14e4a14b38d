"""A callable that learns: the first calls of a kind go Python's way, those after them by a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gradc.calls.results import Answer
from gradc.calls.signature import Bound
from gradc.runtime.fast_path import plan_of
from gradc.runtime.specialize import Specialization
from gradc.traceback import cut
from gradc_codegen.calls.door import Door

# Of so many kinds of calls it is known how often they were made.
_MOST_KINDS = 256


class CalledByAttribute:
    """What is called by what each instance has as ``__call__``, not by a method of its class.

    So the call of an instance is the call of a function of C.
    """

    __slots__ = ("__call__", "__dict__", "__weakref__")

    __call__: Callable[..., Any]


class QuickCall:
    """A callable whose calls go by plans as soon as one like them has been made twice.

    Parameters
    ----------
    answer: takes the arguments of a call, and this object, to what the call returns; it tells
        :meth:`learn` how.
    owner, name, doc: as of :class:`~gradc_codegen.calls.door.Door`.

    Attributes
    ----------
    call: the callable.
    """

    def __init__(
        self,
        answer: Callable[[tuple[Any, ...], dict[str, Any], QuickCall], Any],
        owner: Any,
        name: str,
        doc: str | None = None,
    ) -> None:

        def run(_: Any, /, *args: Any, **kwargs: Any) -> Any:
            try:
                return answer(args, kwargs, self)
            except Exception as error:
                __tracebackhide__ = True
                raise cut(error)  # noqa: B904 - it is the same error

        self._door = Door(run, owner, name, doc)
        self._met: dict[Any, int] = {}
        self.call = self._door.call

    def learn(
        self,
        names: Sequence[str],
        args: Sequence[Any],
        given: Mapping[str, Any],
        bound: Bound,
        made: Specialization,
        answer: Answer,
        version: int,
    ) -> None:
        """Make a plan of a call that has just been answered, as :func:`plan_of` says.

        The first call of a kind may be the only one. A plan that calls do not go by, because what
        it hangs on keeps changing, is made anew more and more rarely.
        """
        if not self._door.takes_plans:
            return
        kind = (tuple(names), tuple(given), bound.shapes, bound.numbers, bound.static)
        try:
            times = self._met.get(kind, 0) + 1
        except TypeError:
            return  # a static argument that is equal to others, but has no hash
        if times == 1 and len(self._met) >= _MOST_KINDS:
            self._met.clear()
        self._met[kind] = times
        if times > 1 and (times <= _OFTEN or times & (times - 1) == 0):
            plan = plan_of(names, args, given, bound, made, answer, version)
            if plan is not None:
                self._door.add(plan)

    @property
    def plans(self) -> int:
        """How many plans there are."""
        return self._door.plans

    def forget(self) -> None:
        """Forget all plans."""
        self._met.clear()
        self._door.clear()


# So many plans of a kind are made before it is looked at whether they are of use.
_OFTEN = 8
