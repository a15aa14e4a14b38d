"""A callable that learns: the first calls of a kind go Python's way, those after them by a plan."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from gradc.runtime.prepared import Prepared
from gradc.traceback import cut
from gradc_codegen.calls import cells
from gradc_codegen.calls.called_object import base, take_code
from gradc_codegen.calls.door import Plans, door
from gradc_ir.classes.named import NamedTuple
from gradc_ir.forks import loading

_Owner = TypeVar("_Owner")

# Of so many kinds of calls it is known how often they were made.
_MOST_KINDS = 256
# So many plans of a kind are made before it is looked at whether they are of use.
_OFTEN = 8


class CalledByAttribute(base()):  # type: ignore[misc]
    """What is called by what each instance has as ``__call__``, not by a method of its class.

    So the call of an instance is the call of a function of C. A class is declared with
    ``is_method=True`` when what its instances bind to is their first argument.
    """

    __slots__ = ("__call__", "__dict__", "__weakref__")

    __call__: Callable[..., Any]

    def be_called(self, call: Callable[..., Any]) -> None:
        """Be called by a function of C."""
        _SET_CALL(self, call)

    def __init_subclass__(cls, *, is_method: bool = False) -> None:
        super().__init_subclass__()
        take_code(cls, is_method)


_SET_CALL: Any = vars(CalledByAttribute)["__call__"].__set__


class Learner:
    """Makes plans of the calls that it is told of."""

    def __init__(self) -> None:
        self.plans = Plans()
        self._met: dict[Any, int] = {}

    def learn(self, call: Call, prepared: Prepared) -> None:
        """Make a plan of a call that has just been answered.

        The first call of a kind may be the only one. A plan that calls do not go by, because what
        it hangs on keeps changing, is made anew more and more rarely.
        """
        if not self.plans.are_taken or not prepared.is_quick:
            return
        kind = (len(call.args), tuple(call.given), prepared.kind)
        try:
            times = self._met.get(kind, 0) + 1
        except TypeError:
            return  # a static argument that is equal to others, but has no hash
        if times == 1 and len(self._met) >= _MOST_KINDS:
            self._met.clear()
        self._met[kind] = times
        if times > 1 and (times <= _OFTEN or times & (times - 1) == 0):
            self.add(call, prepared)

    def add(self, call: Call, prepared: Prepared) -> None:
        """Make a plan of a call at once, where there is one."""
        if not self.plans.are_taken or not prepared.is_quick:
            return
        with loading:  # a first call may be the only one
            from gradc.runtime.fast_path import plan_of

        plan = plan_of(call.args, call.given, prepared, call.version)
        if plan is not None:
            self.plans.add(plan)

    def forget(self) -> None:
        """Forget all plans."""
        self._met.clear()
        self.plans.clear()


class Call(NamedTuple):
    """A call that is being answered.

    Parameters
    ----------
    learner: is told how; None where nobody is.
    args, given: what was passed by position and by name, options too.
    version: of what is in force, as it was before the call.
    """

    learner: Learner | None
    args: tuple[Any, ...]
    given: dict[str, Any]
    version: int

    def answer(self, prepared: Prepared) -> Any:
        """Return what a call that is prepared returns, and have it learnt."""
        found = prepared.run()
        if self.learner is not None:
            self.learner.learn(self, prepared)
        return found


# A call of which nobody learns.
UNTOLD = Call(None, (), {}, 0)


def quick_call(
    owner: _Owner,
    answer: Callable[[_Owner, Call, tuple[Any, ...], dict[str, Any]], Any],
    again: Callable[[], _Owner],
    name: str,
    doc: str | None = None,
    *,
    called: bool = False,
) -> tuple[Callable[..., Any], Learner]:
    """Return a callable whose calls go by plans as soon as one like them has been made twice.

    Parameters
    ----------
    owner: what it belongs to, which it does not keep: what is compiled goes at once with the last
        that refers to it.
    answer: takes the owner, the call, and the arguments of it, to what the call returns.
    again: makes the owner anew, for calls after it has gone.
    name, doc: of the callable.
    called: whether the owner is called by it.

    Returns the callable, and its learner.
    """
    learner = Learner()
    known = weakref.ref(owner)
    if called:
        learner.plans.called = known
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
            return answer(there(), Call(learner, args, dict(kwargs), cells.version()), args, kwargs)
        except Exception as error:
            __tracebackhide__ = True
            raise cut(error)  # noqa: B904 - it is the same error

    return door(learner.plans, run, there, name, doc), learner


class Door(CalledByAttribute):
    """A method of something compiled: called as it is, and what calls can be bound with.

    Parameters
    ----------
    call: the callable, and ``learner`` its learner.
    owner: returns what it is a method of; ``bind`` binds a call of that.
    name, doc, signature: as a function has them.
    """

    def __init__(
        self,
        call: tuple[Callable[..., Any], Learner],
        owner: Callable[[], Any],
        bind: Callable[..., Any],
        name: str,
        doc: str | None,
        signature: inspect.Signature,
    ) -> None:
        self.__call__, learner = call
        learner.plans.called = weakref.ref(self)
        self._owner = owner
        self._bind = bind
        self.__name__ = self.__qualname__ = name
        self.__doc__ = doc
        self.__signature__ = signature

    def bind(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return a function without parameters that calls this with these arguments.

        They are checked now. Arrays among them, and what the function reads from outside, are read
        at each call; one of another size then is a ShapeError. With ``out=`` the results go there.
        """
        return self._bind(*args, **kwargs)

    def __gradc_trace__(self, *args: Any, **kwargs: Any) -> Any:
        """Build the answer in the trace that calls it."""
        return self.__call__(*args, **kwargs)

    @property
    def owner(self) -> Any:
        """What it is a method of."""
        return self._owner()

    def __reduce__(self) -> Any:
        """Pickle as the method of what it belongs to."""
        return getattr, (self.owner, self.__name__)

    def __repr__(self) -> str:
        return f"<{self.__name__} of {self.owner!r}>"


def weak_owner(owner: _Owner, again: Callable[[], _Owner]) -> Callable[[], _Owner]:
    """Return what returns an object without keeping it, or one made anew when it is gone."""
    known = weakref.ref(owner)
    anew = functools.cache(again)

    def there() -> _Owner:
        found = known()
        return anew() if found is None else found

    return there
