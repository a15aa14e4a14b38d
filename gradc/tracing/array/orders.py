"""Python's sorted, min and max of what is traced: numbers, arrays and tuples of them, by keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.arguments import pytree
from gradc.tracing.array.operators import operate
from gradc.tracing.core.as_tracer import as_tracer, stacked
from gradc.tracing.core.table import call
from gradc.tracing.core.tracer import Tracer, as_weak
from gradc.tracing.indexing import indexing

_NUMBERS = (Tracer, np.ndarray, np.generic, int, float)
_COMPARED = {"max": "greater", "min": "less"}
# Of more numbers the extreme is looked for in an array: each would be an operation or two.
_MANY = 17


def in_order(items: Sequence[Any], key: Callable[[Any], Any] | None, reverse: bool) -> Any:
    """Return what sorted(items) does, where what they are sorted by is traced; else None."""
    columns = _columns_of_keys([item if key is None else key(item) for item in items])
    if columns is None:
        return None
    # as Python has it, what is equal stays in its order, also where the greatest comes first
    order = as_tracer(np.arange(len(items))[:: -1 if reverse else 1])
    for column in reversed(columns):
        order = indexing.get(order, call("argsort", indexing.get(column, order), kind="stable"))
    return _taken(items, indexing.get(order, np.s_[::-1]) if reverse else order)


def best_by_key(items: Sequence[Any], key: Callable[[Any], Any], name: str) -> Any:
    """Return what max(items, key=key) or min(…) does, where keys are traced; else None."""
    columns = _columns_of_keys([key(item) for item in items])
    if columns is None or len(columns) > 1:
        return None
    found = _taken(items, call("expand_dims", place_of_best(columns[0], name), 0))
    return found and found[0]


def best(values: Sequence[Any], name: str) -> Any:
    """Return max or min of numbers: ``b if b > a else a``, nan and signed zeros included."""
    if len(values) >= _MANY and are_alike(values) and values[0].type.dtype.is_float:
        row = stacked(values)
        found = indexing.get(row, place_of_best(row, name))
        return as_weak(found, values[0].weak, values[0].forms)
    chosen = values[0]
    for value in values[1:]:
        chosen = call("where", operate(_COMPARED[name], value, chosen), value, chosen)
    return chosen


def place_of_best(row: Any, name: str) -> Any:
    """Return where the first of the best is; nan is only if it is the first of all."""
    if not as_tracer(row).type.dtype.is_float:
        return call(f"arg{name}", row)
    worst = -np.inf if name == "max" else np.inf
    loses = call("logical_and", call("isnan", row), np.arange(row.shape[0]) > 0)
    return call(f"arg{name}", call("where", loses, worst, row))


def are_alike(values: Sequence[Any]) -> bool:
    """Whether values are traced numbers of one dtype, all of them Python's, or none."""
    if any(type(value) is not Tracer for value in values):
        return False
    return len({(value.type, value.weak) for value in values}) == 1


def are_many(values: Sequence[Any]) -> bool:
    """Whether values are so many traced numbers that an array of them is less to compute."""
    return len(values) >= _MANY and are_alike(values)


def has_many_rows(x: Tracer) -> bool:
    """Whether an array of known size has so many rows that each by itself is more to compute."""
    size = x.type.shape[0]
    return isinstance(size, int) and size >= _MANY


def _columns_of_keys(keys: Sequence[Any]) -> list[Any] | None:
    """Return the arrays that are sorted by, the first one first; None where nothing is traced."""
    rows = [key if type(key) is tuple else (key,) for key in keys]
    parts = [part for row in rows for part in row]
    if not any(type(part) is Tracer and part.known is None for part in parts):
        return None
    if len({len(row) for row in rows}) > 1:
        return None
    if not all(isinstance(part, _NUMBERS) and not as_tracer(part).type.shape for part in parts):
        return None
    return [stacked(column) for column in zip(*rows)]


def _taken(items: Sequence[Any], order: Any) -> list[Any] | None:
    """Return items at traced places; None where they are not alike."""
    flat = [pytree.flatten(item) for item in items]
    structure = flat[0][1]
    if any(other != structure for _, other in flat):
        return None
    columns = []
    for column in zip(*(leaves for leaves, _ in flat)):
        if not all(isinstance(leaf, _NUMBERS) for leaf in column):
            return None
        if len({as_tracer(leaf).type.shape for leaf in column}) > 1:
            return None
        rows = list(indexing.get(stacked(column), order))
        if are_alike(column):
            rows = [as_weak(row, column[0].weak, column[0].forms) for row in rows]
        columns.append(rows)
    return [pytree.unflatten(structure, leaves) for leaves in zip(*columns)]
