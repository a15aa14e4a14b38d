"""Arrays that change places from step to step: two buffers, of which each step fills one.

Such variables are handed on by value. What each of the arrays holds after the loop, and which of
them a variable is a name for, is told by the number of steps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from gradc.capture.held.heap import Heap
from gradc.tracing import Tracer
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import MAY_BE, make, read, root, write
from gradc_ir import build
from gradc_ir.core.graph import Value


class Exchange:
    """Variables that hold the arrays of each other after every step.

    Parameters
    ----------
    after: by variable, the one whose array it holds after a step.
    """

    def __init__(self, after: Mapping[str, str]) -> None:
        self.after = dict(after)
        self._places = [{name: name for name in after}]
        while len(self._places) == 1 or self._places[-1] != self._places[0]:
            last = self._places[-1]
            self._places.append({name: last[after[name]] for name in after})
        self._places.pop()

    def hand_back(
        self, start: Mapping[str, Any], results: Mapping[str, Tracer], steps: int | Value
    ) -> dict[str, Tracer]:
        """Give the arrays what they hold after the loop; return the variables.

        Parameters
        ----------
        start: the arrays before the loop, by variable.
        results: what each variable holds after it.
        steps: how many there were.
        """
        if isinstance(steps, int):
            places = self._places[steps % len(self._places)]
            values = {name: read(results[name]) for name in places}
            for name, place in places.items():
                write(start[place], values[name])
            return {name: start[place] for name, place in places.items()}
        running()
        turn = build.remainder(steps, build.size_value(len(self._places)))
        found: dict[str, Value] = {}
        for at, places in enumerate(self._places):
            for name, place in places.items():
                value = read(results[name])
                if place in found:
                    shape = value.type.shape
                    is_it = build.broadcast_to(build.eq(turn, build.size_value(at)), shape)
                    value = build.select(is_it, value, found[place])
                found[place] = value
        variables = {}
        for name, value in found.items():
            write(start[name], value)
            variables[name] = make(running(), read(results[name]))
            for one in (start[name], variables[name]):
                one._why_fixed = MAY_BE
        return variables


def exchanged(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, str]:
    """Return which variables hold arrays of each other by now, by variable of whom."""
    names: dict[int, list[str]] = {}
    for name, value in before.items():
        if type(value) is Tracer and value.type.shape and value._parent is None:
            names.setdefault(id(value), []).append(name)
    after = {}
    for name, value in now.items():
        if len(names.get(id(before[name]), ())) != 1 or len(names.get(id(value), ())) != 1:
            continue
        if value is not before[name]:
            after[name] = names[id(value)][0]
    while after.keys() != set(after.values()):
        # who takes the array of one that is given no other of them has no part in an exchange
        kept = after.keys() & set(after.values())
        after = {name: of for name, of in after.items() if name in kept and of in kept}
    return after


def of_cycles(after: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Return the part of an exchange that some variables take part in."""
    found: dict[str, str] = {}
    for name in names:
        while name not in found:
            found[name] = name = after[name]
    return {name: after[name] for name in found}


def is_unseen(heap: Heap, names: Collection[str], variables: Mapping[str, Any]) -> bool:
    """Whether a step reaches arrays by their variables alone, and may assign to them as to one.

    Parameters
    ----------
    heap: all that it reaches.
    names, variables: the variables, and what they and others hold.
    """
    arrays = {id(variables[name]): variables[name] for name in names}
    if len(arrays) < len(names):
        return False
    for array in arrays.values():
        owns = type(array) is Tracer and array._parent is None and array._why_fixed is None
        if not owns or not heap.references.get(id(array), set()) <= set(names):
            return False
    if len({array.type for array in arrays.values()}) > 1:
        return False
    return not any(
        type(one) is Tracer and id(root(one)) in arrays and id(one) not in arrays
        for one in heap.seen()
    )
