"""Pickles of functions: by name where another process can import them, else by value.

By value the user's code travels, with what it reads from outside: arrays, numbers, helpers that
cannot be imported either. That is cloudpickle's work. What arrives twice in a process is one
function, so that it is compiled once; its machine code comes from the cache.
"""

from __future__ import annotations

import pickle
import sys
import threading
from collections import OrderedDict
from hashlib import sha256
from typing import Any, Self, TypeVar
from weakref import WeakValueDictionary

from gradc_ir.errors import PickleError
from gradc_ir.forks import lock_across_forks

_Kind = TypeVar("_Kind")


class _State(threading.local):
    inside = False  # whether a value is being written of which this is a part


_state = _State()

# What has arrived, by a hash of its bytes. The last few stay, also where nobody holds them: workers
# let go of a function after each task.
_arrived: WeakValueDictionary[bytes, Any] = WeakValueDictionary()
_latest: OrderedDict[bytes, Any] = OrderedDict()
_MOST_LATEST = 8
_arriving = lock_across_forks()


class Travels:
    """A function of gradc's kinds: pickled by its name or by value, and as a copy itself."""

    __slots__ = ()

    def __gradc_pickled__(self) -> Any:
        """Return what it is made of, which ``__setstate__`` takes."""
        raise NotImplementedError

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Pickle by the name it can be imported by, or by value where it has none.

        Raises PickleError where something that the function reads cannot be pickled.
        """
        name = _name_of(self)
        if name:
            return name
        if _state.inside:
            # parts come after the object, since code may refer to the function it belongs to
            return _empty, (type(self),), self.__gradc_pickled__()
        return _arrive, (_written(self),)

    def __copy__(self) -> Self:
        """Return itself, as a function does."""
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        """Return itself, as a function does."""
        return self


def _name_of(value: Any) -> str:
    """Return by which name another process can import an object, nothing where it cannot."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module == "__main__":
        return ""  # each process has a __main__ of its own
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return name if found is value else ""


def _written(value: Any) -> bytes:
    import cloudpickle  # few functions travel

    _state.inside = True
    try:
        found: bytes = cloudpickle.dumps(value)
    except PickleError:
        raise
    except (TypeError, AttributeError, pickle.PicklingError, ValueError, RecursionError) as error:
        raise PickleError(
            f"{getattr(value, '__name__', value)} cannot be sent to another process",
            found=str(error),
            help="what it reads from outside goes with it: pass what cannot be pickled as an "
            "argument, or make it where it is needed",
        ) from error
    finally:
        _state.inside = False
    return found


def _empty(kind: type[_Kind]) -> _Kind:
    return object.__new__(kind)


def _arrive(data: bytes) -> Any:
    key = sha256(data).digest()
    found = _arrived.get(key)
    if found is None:
        made = pickle.loads(data)
        with _arriving:
            found = _arrived.setdefault(key, made)
    with _arriving:
        _latest[key] = found
        _latest.move_to_end(key)
        while len(_latest) > _MOST_LATEST:
            _latest.popitem(last=False)
    return found


class Kept:
    """Something that a function carries and that does not travel with it: it is made anew.

    Attributes
    ----------
    value: the thing, None in another process.
    """

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as empty."""
        return Kept, ()

    def __copy__(self) -> Kept:
        """Return an empty one."""
        return Kept()

    def __deepcopy__(self, memo: Any) -> Kept:
        """Return an empty one."""
        return Kept()
