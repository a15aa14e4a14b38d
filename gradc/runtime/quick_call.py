"""A callable that learns: the first calls of a kind go Python's way, those after them by a plan."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from gradc.calls.results import Answer
from gradc.calls.signature import Bound
from gradc.runtime.fast_path import plan_of
from gradc.runtime.specialize import Specialization
from gradc.traceback import cut
from gradc_codegen.calls.door import Plans, door

_Owner = TypeVar("_Owner")

# Of so many kinds of calls it is known how often they were made.
_MOST_KINDS = 256


class CalledByAttribute:
    """What is called by what each instance has as ``__call__``, not by a method of its class.

    So the call of an instance is the call of a function of C.
    """

    __slots__ = ("__call__", "__dict__", "__weakref__")

    __call__: Callable[..., Any]


class Learner:
    """Makes plans of the calls that it is told of."""

    def __init__(self) -> None:
        self.plans = Plans()
        self._met: dict[Any, int] = {}

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
        if not self.plans.are_taken:
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
                self.plans.add(plan)

    def forget(self) -> None:
        """Forget all plans."""
        self._met.clear()
        self.plans.clear()


# So many plans of a kind are made before it is looked at whether they are of use.
_OFTEN = 8


def quick_call(
    owner: _Owner,
    answer: Callable[[_Owner, tuple[Any, ...], dict[str, Any], Learner], Any],
    again: Callable[[], _Owner],
    name: str,
    doc: str | None = None,
) -> tuple[Callable[..., Any], Learner]:
    """Return a callable whose calls go by plans as soon as one like them has been made twice.

    Parameters
    ----------
    owner: what it belongs to, which it does not keep: what is compiled goes at once with the last
        that refers to it.
    answer: takes the owner, the arguments of a call and the learner, which it tells how, to what
        the call returns.
    again: makes the owner anew, for calls after it has gone.
    name, doc: of the callable.

    Returns the callable, and its learner.
    """
    learner = Learner()
    known = weakref.ref(owner)
    anew: list[_Owner] = []

    def there() -> _Owner:
        found = known()
        if found is None:
            if not anew:
                anew.append(again())
            found = anew[0]
        return found

    def run(_: Any, /, *args: Any, **kwargs: Any) -> Any:
        try:
            return answer(there(), args, kwargs, learner)
        except Exception as error:
            __tracebackhide__ = True
            raise cut(error)  # noqa: B904 - it is the same error

    return door(learner.plans, run, there, name, doc), learner
