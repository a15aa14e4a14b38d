"""Checks: what a traced function asserts or raises on conditions that only the program knows.

They are hidden results of a trace: a number that says which check failed first, and the numbers of
its message. As values of the graph they go through branches, loops, derivatives and batching like
any others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeAlias

from gradc.tracing.core.state import Trace, running
from gradc_ir import build
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import Array, DType, Type
from gradc_ir.errors import TraceError
from gradc_ir.location import Location

# Which check, and which number of its message; of POINT, which level of gradc.vmap.
Key: TypeAlias = tuple[int, int]
# In place of a check: the number of the point that failed, from 1 on, 0 where none of a vmap's has.
POINT = -1


@dataclass(frozen=True)
class Check:
    """One check.

    Parameters
    ----------
    at: where it stands.
    make: makes its exception of the numbers of its message.
    title: its exception and its message, without these numbers.
    """

    at: Location | None
    make: Callable[[Sequence[Array]], BaseException]
    title: str


@dataclass(frozen=True)
class Failure:
    """What has failed so far.

    Parameters
    ----------
    code: 0, or one more than the number of the check that failed first; an i64 scalar.
    numbers: those of the messages; each means something where its check has failed.
    """

    code: Value
    numbers: Mapping[Key, Value] = field(default_factory=dict)

    @property
    def values(self) -> list[Value]:
        """The code and the numbers, in a fixed order."""
        return [self.code, *self.numbers.values()]

    def value(self, key: Key | None) -> Value | None:
        """Return the code, by None, or a number; None for one that it does not have."""
        return self.code if key is None else self.numbers.get(key)

    def of(self, values: Sequence[Value]) -> Failure:
        """Return the same failure with other values."""
        code, *numbers = values
        return Failure(code, dict(zip(self.numbers, numbers, strict=True)))


def failure_in(trace: Trace) -> Failure | None:
    """Return what has failed so far in a trace, as values of it."""
    step: Trace | None = trace
    while step is not None:
        if step.failure is not None:
            found: Failure = step.failure
            return found.of([trace.lift(value, step) for value in found.values])
        step = step.outer if step.adopt is not None else None
    return None


def has_not_failed(trace: Trace) -> Value | None:
    """Return whether nothing has failed so far, None where nothing can have."""
    found = failure_in(trace)
    return None if found is None else build.eq(found.code, 0)


@dataclass(frozen=True, eq=False)
class Checks:
    """The checks of a traced function.

    Parameters
    ----------
    function: takes the parameters to the results, then the code and the numbers of the messages.
    checks: what the code is one more than the number of.
    keys: which number of which check each of the numbers is.
    """

    function: Function
    checks: tuple[Check, ...]
    keys: tuple[Key, ...]

    @property
    def hidden(self) -> int:
        """How many results a user does not see."""
        return 1 + len(self.keys)

    def position(self, function: Function) -> int:
        """Return which result of a function that ends with the hidden ones is the code."""
        return len(function.results) - self.hidden

    def error(self, hidden: Sequence[Array]) -> BaseException | None:
        """Return what is to be raised for the hidden results of a call, None where nothing is."""
        code = int(hidden[0])
        if code == 0:
            return None
        numbers = [array for (of, _), array in zip(self.keys, hidden[1:]) if of == code - 1]
        error = self.checks[code - 1].make(numbers)
        for (of, _), array in zip(self.keys, hidden[1:]):
            if of == POINT and array:
                error.add_note(f"at point {int(array) - 1} of gradc.vmap")
        return error


def check(holds: Value | None, make: Check, numbers: Sequence[Value]) -> None:
    """Have the function fail here unless a condition holds; without one it fails.

    What failed before stays the first failure.
    """
    trace = running()
    position = _position(trace.root.checks, make, numbers)
    before = failure_in(trace)
    this = build.constant(position + 1, DType.I64)
    code = this if holds is None else build.select(holds, _none(), this)
    found = {(position, i): value for i, value in enumerate(numbers)}
    if before is None:
        trace.failure = Failure(code, found)
        return
    fine = build.eq(before.code, 0)
    kept = dict(before.numbers)
    for key, value in found.items():
        have = kept.get(key)
        if have is not None:
            value = build.select(build.broadcast_to(fine, value.type.shape), value, have)
        kept[key] = value
    trace.failure = Failure(build.select(fine, code, before.code), kept)


def _position(known: list[tuple[Any, Check]], make: Check, numbers: Sequence[Value]) -> int:
    """Return the number of a check, the same one for the same check of another step."""
    key = make.at, make.title, tuple(value.type for value in numbers)
    for position, (other, _) in enumerate(known):
        if other == key:
            known[position] = key, make
            return position
    known.append((key, make))
    return len(known) - 1


def of_points(failure: Failure, values: Sequence[Value], size: Size) -> Failure:
    """Return what has failed of many points, each with its own values: at the first that has."""
    none = build.size_value(size)
    numbers = build.iota(DType.I64, size)
    failing = build.select(build.ne(values[0], 0), numbers, build.broadcast_to(none, (size,)))
    index = build.minimum(build.reduce_min(failing, (0,)), none)
    chosen = []
    for value in values:
        end = build.full((1, *value.type.shape[1:]), 0, value.type.dtype)
        chosen.append(build.gather(build.concatenate([value, end], 0), [index], (0,)))
    made = failure.of(chosen)
    levels = sum(of == POINT for of, _ in failure.numbers)
    point = build.select(build.lt(index, none), build.add(index, 1), _none())
    return Failure(made.code, {**made.numbers, (POINT, levels): point})


def join(first: Failure | None, then: Failure) -> Failure:
    """Return what has failed of two failures one after the other, in one trace."""
    if first is None:
        return then
    fine = build.eq(first.code, 0)
    numbers = dict(first.numbers)
    for key, value in then.numbers.items():
        have = numbers.get(key)
        if have is not None:
            value = build.select(build.broadcast_to(fine, value.type.shape), value, have)
        numbers[key] = value
    return Failure(build.select(fine, then.code, first.code), numbers)


def _none() -> Value:
    return build.constant(0, DType.I64)


def blank(type_: Type) -> Value:
    """Return numbers of a type that mean nothing."""
    return build.full(type_.shape, 0, type_.dtype)


def refused(place: str, help: str) -> TraceError:
    """Return the error for a check in a function that has no place for it."""
    _, last = running().root.checks[-1]
    return TraceError(
        f"an assert or a raise on a traced condition inside of {place}", at=last.at, help=help
    )


def refuse_in_rule() -> None:
    """Raise TraceError when the running trace, of a rule for gradients, may fail."""
    if running().failure is not None:
        raise refused("a rule for gradients: it is a part of other graphs", "check in the function")
