"""A trace that goes on after an error: what a function does that is not supported, all of it.

A call, an operator or a truth value that cannot be recorded is noted; then NumPy runs it on sample
values of its operands, and what comes out is a fresh input of the trace.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any, TypeAlias

import numpy as np

from gradc.tracing.array.members import MEMBERS
from gradc.tracing.captured.captures import Capture
from gradc.tracing.captured.top import state
from gradc.tracing.core import source
from gradc.tracing.core.selection import Selection
from gradc.tracing.core.state import Trace, running
from gradc.tracing.core.symbolic_size import SymbolicSize
from gradc.tracing.core.tracer import Tracer, make, read, write
from gradc.tracing.drawing import refused
from gradc.tracing.lens import lens, math_module, modules
from gradc.tracing.masked import selected
from gradc.tracing.record import trace as trace  # attaches what is replaced here
from gradc.tracing.registry.dispatch import Mapped
from gradc_ir.core import sizes
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.types import _FROM_NUMPY as _SUPPORTED
from gradc_ir.core.types import Array, Type, dtype_of
from gradc_ir.errors import GradcError
from gradc_ir.forks import Depth, lock_across_forks
from gradc_ir.interpreter.interpret import evaluate
from gradc_ir.location import Location

# Python's protocols that want a number or an array of Python's side, not a tracer.
_NUMBERS = {"__bool__", "__int__", "__float__", "__index__", "__contains__", "__len__", "__array__"}
# A loop that asks a sample value more often than this may never end.
_MOST_ANSWERS = 200


class _OfSamples(Capture):
    """What stands for what the program would compute: its elements decide nothing."""

    @property
    def decides(self) -> bool:
        """No elements are known."""
        return False


class SurveyEnds(BaseException):
    """The survey cannot go on; not an Exception, which the user's function might swallow."""

    def __init__(self, why: str, at: Location | None) -> None:
        self.why = why
        self.at = at
        super().__init__(why)


class Survey:
    """What one survey found, and the sample values it goes on with.

    Parameters
    ----------
    samples: the arrays of the leaves of the arguments, empty to have them drawn by type.
    size: the number that the first symbolic size takes; each further one takes the next.
    """

    def __init__(self, samples: Sequence[Array] = (), size: int = 4) -> None:
        self.problems: list[GradcError] = []
        self.assumed: list[Location] = []
        self._samples = list(samples)
        self._size = size
        self._numbers: dict[str, int] = {}
        self._values: dict[Value, Array] = {}
        self._seen: set[Any] = set()
        self._answers: dict[Any, int] = {}
        self._random = np.random.default_rng(0)
        self._depth = 0
        self._imitating = 0

    def number(self, name: str) -> int:
        """Return the number a symbolic size takes."""
        return self._numbers.setdefault(name, self._size + len(self._numbers))

    def note(self, error: GradcError) -> None:
        """Keep an error, once for each place."""
        key = (error.at, error.at and error.at.caret, error.what)
        if key not in self._seen and not self._imitating:
            self._seen.add(key)
            self.problems.append(error)

    def attempt(self, run: Callable[[], Any], imitate: Callable[[], Any]) -> Any:
        """Record an operation; when that fails, note it and return what NumPy makes of samples."""
        if self._depth:  # part of an operation that is tried as a whole
            return run()
        self._depth += 1
        try:
            return run()
        except GradcError as error:
            refused = error
        finally:
            self._depth -= 1
        self.note(refused)
        self._imitating += 1  # what NumPy or SciPy calls then is a part of the same problem
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return imitate()
        except (GradcError, SurveyEnds):
            raise
        except Exception as error:
            raise SurveyEnds(f"{type(error).__name__}: {error}", source.location()) from None
        finally:
            self._imitating -= 1

    def answer(self, value: Any) -> Any:
        """Return a number Python asked for; a truth value decides on a branch."""
        here = source.location()
        if isinstance(value, bool) and here is not None:
            key = here, here.caret
            self._answers[key] = self._answers.get(key, 0) + 1
            if self._answers[key] > _MOST_ANSWERS:
                raise SurveyEnds("a loop does not end for the sample values", here)
            if self._answers[key] == 1:
                self.assumed.append(here)
        return value

    # -- sample values -------------------------------------------------------------------------

    def plain(self, nest: Any) -> Any:
        """Return a nest with tracers and symbolic sizes replaced by what they are for samples."""
        if isinstance(nest, Tracer):
            array = nest.known if nest.known is not None else self._value(read(nest))
            if nest.weak is not None:
                return array.item()
            return array[()] if nest.scalar else array.copy()
        if isinstance(nest, Selection):
            return self.plain(nest.full)[(slice(None),) * nest.place + (self.plain(nest.mask),)]
        if isinstance(nest, SymbolicSize):
            return self._size_of(nest.expr)
        if type(nest) in (tuple, list):
            return type(nest)(self.plain(part) for part in nest)
        if type(nest) is dict:
            return {key: self.plain(part) for key, part in nest.items()}
        if type(nest) is slice:
            return slice(self.plain(nest.start), self.plain(nest.stop), self.plain(nest.step))
        original = getattr(nest, "__gradc_original__", None)
        return nest if original is None else original

    def stand_in(self, result: Any, name: str) -> Any:
        """Return what NumPy made as fresh inputs of the trace, where gradc has such values."""
        if isinstance(result, np.ndarray | np.generic) and result.dtype in _SUPPORTED:
            array = np.array(result)
            trace = running()
            type_ = Type(dtype_of(array.dtype), array.shape)
            value = trace.root.hidden_input(_OfSamples(name, type_, lambda: array))
            self._values[value] = array
            tracer = make(trace, trace.lift(value, trace.root))
            tracer.scalar = isinstance(result, np.generic)
            return tracer
        if isinstance(result, tuple) and hasattr(result, "_fields"):
            return type(result)(*(self.stand_in(part, name) for part in result))
        if type(result) in (tuple, list):
            return type(result)(self.stand_in(part, name) for part in result)
        return result

    def _value(self, value: Value) -> Array:
        """Return the sample value, computing what it needs that is not there yet."""
        waiting = [value]
        while waiting:
            node = waiting[-1].node
            missing = [operand for operand in node.operands if operand not in self._values]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            if node.results[0] not in self._values:
                operands = [self._values[operand] for operand in node.operands]
                self._values.update(zip(node.results, self._results(node, operands)))
        return self._values[value]

    def _results(self, node: Node, operands: list[Array]) -> Sequence[Array]:
        if node.op.name == "param":
            return [self._parameter(node.results[0])]
        assert state.top is not None
        symbols = {
            name: self.number(name)
            for param in state.top.root.params
            for name in param.type.symbols
        }
        with np.errstate(all="ignore"):
            return evaluate(node, operands, symbols)

    def _parameter(self, value: Value) -> Array:
        trace: Trace | None = state.top
        while trace is not None and value not in trace.params:
            trace = trace.outer
        if trace is not None and trace.outer is not None:
            for outer, inner in trace.lifted.items():
                if inner is value:
                    return self._value(outer)
        shape = tuple(self._size_of(size) for size in value.type.shape)
        if trace is not None and trace.outer is None:
            position = trace.params.index(value)
            if position < len(self._samples) and self._samples[position].shape == shape:
                return self._samples[position]
            hidden = position - (len(trace.params) - len(trace.captures))
            if hidden >= 0:
                return trace.captures[hidden].read()
        if value.type.dtype.is_float:
            # positive, so that logarithms and roots have values
            return np.asarray(self._random.uniform(0.5, 1.5, shape), value.type.dtype.numpy)
        return np.ones(shape, value.type.dtype.numpy)

    def _size_of(self, size: sizes.Size) -> int:
        if isinstance(size, int):
            return size
        return sizes.evaluate(size, {name: self.number(name) for name in sizes.symbols(size)})


# -- the places where traced code meets gradc ------------------------------------------------------


class _Running(threading.local):
    survey: Survey | None = None


_running = _Running()
_lock = lock_across_forks(Depth.SURVEY)


@contextmanager
def surveying(survey: Survey) -> Iterator[None]:
    """Trace with a survey: what traced code calls is replaced in gradc's own classes meanwhile.

    Other threads that trace at the same time go through the replacements, which do nothing there.
    """
    with _lock, ExitStack() as undone:
        for owner, name, imitate in _PLACES:
            own = vars(owner)[name]
            undone.callback(setattr, owner, name, own)
            setattr(owner, name, _replaced(own, imitate))
        undone.callback(setattr, _running, "survey", None)
        _running.survey = survey
        yield


# (survey, the arguments, and the samples for those given by position and by name) -> the result
Imitation: TypeAlias = Callable[[Survey, tuple[Any, ...], list[Any], dict[str, Any]], Any]


def _replaced(own: Any, imitate: Imitation) -> Any:
    """Return a function, method or property that is tried, and imitated where it cannot be."""
    if isinstance(own, property):
        return property(_replaced(own.fget, imitate))

    @wraps(own)
    def run(*args: Any, **kwargs: Any) -> Any:
        survey = _running.survey
        if survey is None or state.top is None:
            return own(*args, **kwargs)
        return survey.attempt(
            lambda: own(*args, **kwargs),
            lambda: imitate(survey, args, survey.plain(list(args)), survey.plain(kwargs)),
        )

    return run


def _member(name: str) -> Imitation:
    """Imitate a method or a property of the tracer, or of what a mask selects."""

    def imitate(survey: Survey, args: Any, samples: list[Any], named: dict[str, Any]) -> Any:
        array, *given = samples
        if name == "__getattr__":
            return _attribute(survey, args[0], array, *given)
        if name == "__array_function__":
            function, _, given, named = given
            return _named_after(function, survey, function(*given, **named))
        if name == "__array_ufunc__":
            function = getattr(*given[:2])
            return _named_after(function, survey, function(*given[2:], **named))
        found = getattr(array, name)
        if not callable(found):
            return survey.stand_in(found, f"x.{name}")
        result = found(*given, **named)
        if name == "__setitem__":
            return _assign(survey, args[0], array)
        if result is NotImplemented:
            raise TypeError(f"{name} of {type(array).__name__} and {args[1:]}")
        return survey.answer(result) if name in _NUMBERS else survey.stand_in(result, f"x.{name}")

    return imitate


def _named_after(function: Any, survey: Survey, result: Any) -> Any:
    return survey.stand_in(result, getattr(function, "__name__", "a function"))


def _assign(survey: Survey, target: Tracer | Selection, array: Array) -> None:
    """Give a traced array the elements it has after an assignment that was not recorded."""
    if isinstance(target, Selection):
        return
    try:
        write(target, read(survey.stand_in(array, "an assignment")))
    except GradcError as error:
        survey.note(error)


def _attribute(survey: Survey, self: Tracer | Selection, array: Any, name: str) -> Any:
    found = getattr(array, name)
    if not callable(found):
        return survey.stand_in(found, f"x.{name}")

    def method(*args: Any, **kwargs: Any) -> Any:
        result = found(*survey.plain(args), **survey.plain(kwargs))
        if result is None:  # in place, as sort is
            return _assign(survey, self, array)
        return survey.stand_in(result, f"x.{name}")

    return method


def _function(survey: Survey, args: Any, samples: list[Any], named: dict[str, Any]) -> Any:
    """Call the function of NumPy or SciPy that something stands for."""
    seen, (function, *given) = args[0], samples
    result = function(*given, **named)
    return survey.stand_in(result, getattr(seen, "title", seen.__name__))


def _random(survey: Survey, args: Any, samples: list[Any], named: dict[str, Any]) -> Any:
    """Draw from a source of randomness."""
    name = args[0]._name.rpartition(".")[2]
    function = getattr(np.random.default_rng(0), name, None) or getattr(np.random, name)
    return survey.stand_in(function(*samples[1:], **named), "noise")


def _math(survey: Survey, args: Any, samples: list[Any], named: dict[str, Any]) -> Any:
    """Call the function of ``math`` that something stands for."""
    return survey.answer(samples[0](*samples[1:], **named))


# What is replaced: its owner, its name, and how it is imitated.
_PLACES: list[tuple[Any, str, Imitation]] = [
    *((Tracer, name, _member(name)) for name, member in MEMBERS.items() if callable(member)),
    *((Tracer, name, _member(name)) for name in ("T", "mT", "flat")),
    *((Selection, name, _member(name)) for name in selected.MEMBERS),
    (Mapped, "__call__", _function),
    (modules.CastingType, "__call__", _function),
    (refused.Random, "__call__", _random),
    (math_module, "call_math", _math),
    (lens, "refuse_stores", lambda *_: None),
]
