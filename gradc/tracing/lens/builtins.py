"""Python's builtins as traced code sees them: len, sum, max, any, sorted, isinstance, import."""

from __future__ import annotations

import builtins
import importlib.util
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.tracing.array.numbers import steps_of_range
from gradc.tracing.array.orders import are_many, best, best_by_key, has_many_rows, in_order
from gradc.tracing.building.weak_numbers import as_truth
from gradc.tracing.captured import outside
from gradc.tracing.captured.top import state
from gradc.tracing.core.as_tracer import stacked
from gradc.tracing.core.selection import Selection
from gradc.tracing.core.symbolic_size import SymbolicSize, leaves_below
from gradc.tracing.core.table import TABLE, AnyFunction, call
from gradc.tracing.core.tracer import Tracer, as_weak, shape_of
from gradc.tracing.indexing import indexing
from gradc.tracing.lens import unseen
from gradc.tracing.lens.effects import acting_builtins
from gradc.tracing.lens.modules import is_seen_module, see_numpy
from gradc.tracing.lens.number_types import NUMBER_TYPES, is_instance, stands_for
from gradc.tracing.lens.sequences import SEQUENCES
from gradc.tracing.lens.user_classes import is_user_class, original_of, seen_class, seen_super


def seen_len(x: Any) -> Any:
    """Return len(x); symbolic for an array with a symbolic first axis."""
    if type(x) is Tracer and x._type.shape:
        return shape_of(x)[0]
    if type(x) is Selection:
        return x.shape[0]  # type: ignore[attr-defined]
    return len(x)


def seen_sum(values: Any, /, start: Any = 0) -> Any:
    """Return sum(values), of an array's many rows as one sum in Python's order."""
    if type(values) is Selection:
        return call("sum", values, axis=0) + start
    if type(values) is Tracer and values.type.shape and (values.symbolic or has_many_rows(values)):
        if values.type.dtype.is_float and type(start) in (int, float):
            return _added_rows(values, start)
        if values.symbolic or not values.type.dtype.is_float:
            return call("sum", values, axis=0) + start
    is_plain = type(values) in (list, tuple) and type(start) in (int, float)
    if is_plain and are_many(values) and values[0].type.dtype.is_float and not values[0].type.shape:
        return _added(values, start)
    return sum(values, start)


def _added_rows(rows: Any, start: Any) -> Any:
    """Return the sum of an array's rows, one after the other; of numbers there may be none."""
    if rows.type.rank > 1:
        leaves_below(rows.type.shape[0], 1)  # the sum of no rows is a number
    before = call("full", (1, *shape_of(rows)[1:]), start, rows.type.dtype.numpy)
    return indexing.get(call("cumsum", call("concatenate", [before, rows]), axis=0), -1)


def _added(values: Sequence[Any], start: Any) -> Any:
    """Return the sum of floats as Python adds them, one after the other."""
    rest: Any = start if start == 0 else 0
    row = stacked(values if start == 0 else [start + values[0], *values[1:]])
    found = indexing.get(call("cumsum", row), len(values) - 1)
    # of zeros that are all negative the sum with the integer is a positive one
    return as_weak(found, values[0].weak, values[0].forms) + rest


def _extreme(name: str) -> AnyFunction:
    original = getattr(builtins, name)

    def choose(*args: Any, **kwargs: Any) -> Any:
        values = args if len(args) > 1 else tuple(args[0]) if not isinstance(args[0], int) else args
        key = kwargs.get("key")
        if key is not None and len(values) > 1:
            found = best_by_key(values, key, name)
            return original(values, **kwargs) if found is None else found
        unknown = any(type(value) is Tracer and value.known is None for value in values)
        if not unknown or any(type(value) is Tracer and value.type.shape for value in values):
            # for arrays Python asks for a truth value; its error says what to write
            return original(values, **kwargs) if len(args) == 1 else original(*args, **kwargs)
        return best(values, name)

    choose.__name__ = name
    choose.__doc__ = f"Return {name}(...) of numbers, traced ones included."
    return choose


def seen_range(*bounds: Any) -> range:
    """Return range(…) of known bounds."""
    return range(*map(steps_of_range, bounds))


seen_range.__gradc_original__ = range  # type: ignore[attr-defined]


seen_min = _extreme("min")
seen_max = _extreme("max")


def _truth(name: str, join: str, decides: bool) -> AnyFunction:
    original = getattr(builtins, name)

    def answer(values: Any, /) -> Any:
        if type(values) is Tracer and values.symbolic and len(values.type.shape) == 1:
            return as_truth(TABLE[name](values))
        if type(values) in (list, tuple) and are_many(values):
            row = stacked(values)
            if row.known is None and len(row.type.shape) == 1:
                return as_truth(TABLE[name](row))
        found: Any = None
        for value in values:
            if type(value) is not Tracer or value.known is not None or value.type.shape:
                if bool(value) is decides:
                    return decides
            else:
                truth = as_truth(value)
                found = truth if found is None else as_truth(TABLE[join](found, truth))
        return (not decides) if found is None else found

    answer.__name__ = name
    answer.__doc__ = original.__doc__
    return answer


seen_any = _truth("any", "logical_or", True)
seen_all = _truth("all", "logical_and", False)


def seen_sorted(values: Any, /, *, key: Any = None, reverse: bool = False) -> list[Any]:
    """Return sorted(values); traced numbers are sorted by np.sort, other things by their keys."""
    found = list(values)
    if key is not None or not all(type(x) is Tracer and not x.type.shape for x in found):
        rows = in_order(found, key, reverse)
        # or Python's, whose error says what is missing
        return sorted(found, key=key, reverse=reverse) if rows is None else rows
    rows = list(call("sort", stacked(found)))
    return rows[::-1] if reverse else rows


def seen_isinstance(value: Any, kinds: Any, /) -> bool:
    """Return isinstance(value, kinds) with tracers taken for what they stand for."""
    kinds = _originals(kinds)
    if type(value) is Tracer:
        return is_instance(value, kinds)
    traced = _traced_kind(value)
    if traced is not None:
        return issubclass(traced, kinds)
    return isinstance(getattr(value, "__gradc_original__", value), kinds)


def _traced_kind(value: Any) -> Any:
    """Return the type of what a traced value stands for, None for all others."""
    kind = type(value)
    return stands_for(value) if kind is Tracer else _STAND_FOR.get(kind)


_STAND_FOR: dict[type, type] = {Selection: np.ndarray, SymbolicSize: int}


def seen_issubclass(kind: Any, kinds: Any, /) -> bool:
    """Return issubclass(kind, kinds) for types seen through the lens too."""
    return issubclass(_originals(kind), _originals(kinds))


class SeenType:
    """Python's ``type``: of a tracer it is the type of what it stands for."""

    __gradc_original__ = type

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return type(x), or a new class."""
        if len(args) != 1 or kwargs:
            return type(*args, **kwargs)
        traced = _traced_kind(args[0])
        if traced is not None:
            return _seen_scalar(traced)
        original = getattr(args[0], "__gradc_original__", None)
        found = getattr(type(args[0]), "__gradc_kind__", type(args[0]))
        if is_user_class(found):
            return seen_class(found)
        return _seen_scalar(found if original is None else type(original))

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        """Stand for ``type`` as the base of a class."""
        return (type,)

    def __getattr__(self, name: str) -> Any:
        return getattr(type, name)

    def __getitem__(self, item: Any) -> Any:
        return type[item]

    def __or__(self, other: Any) -> Any:
        return type | other

    __ror__ = __or__


seen_type = SeenType()


def _seen_scalar(kind: type) -> Any:
    if kind in NUMBER_TYPES:
        return NUMBER_TYPES[kind]
    return see_numpy(kind, kind.__name__) if issubclass(kind, np.generic) else kind


def seen_print(*values: Any, **options: Any) -> None:
    """Print, which happens while the function is traced, and is not kept on disk."""
    if state.top is not None:
        state.top.keep_not("it prints while it is traced")
    print(*values, **options)


def seen_hasattr(value: Any, name: str, /) -> bool:
    """Return hasattr(value, name) with tracers taken for what they stand for."""
    return hasattr(stands_for(value) if type(value) is Tracer else value, name)


def _originals(kinds: Any) -> Any:
    if isinstance(kinds, tuple):
        return tuple(_originals(kind) for kind in kinds)
    if isinstance(kinds, type) and "__gradc_kind__" in vars(kinds):
        return original_of(kinds)
    if isinstance(kinds, types.UnionType):
        return tuple(_originals(kind) for kind in kinds.__args__)
    return getattr(unseen.original_of(kinds), "__gradc_original__", unseen.original_of(kinds))


# name -> (Python's own, the one traced code sees)
BUILTINS: dict[str, tuple[Any, Any]] = {
    "len": (len, seen_len),
    "sum": (sum, seen_sum),
    "range": (range, seen_range),
    "min": (min, seen_min),
    "max": (max, seen_max),
    "type": (type, seen_type),
    "hasattr": (hasattr, seen_hasattr),
    "print": (print, seen_print),
    "isinstance": (isinstance, seen_isinstance),
    "issubclass": (issubclass, seen_issubclass),
    "any": (any, seen_any),
    "all": (all, seen_all),
    "sorted": (sorted, seen_sorted),
    "super": (super, seen_super),
    **{kind.__name__: (kind, seen) for kind, seen in NUMBER_TYPES.items()},
}


def _note_import(
    name: str, globals: Any = None, locals: Any = None, names: Any = (), level: int = 0
) -> None:
    """Note which modules are imported while tracing that are seen, by their full names."""
    trace = state.top
    if trace is None:
        return
    package = (globals or {}).get("__package__") or ""
    full = importlib.util.resolve_name("." * level + name, package) if level else name
    for each in (full, *(f"{full}.{inner}" for inner in names or ())):
        module = sys.modules.get(each)
        if module is not None and (is_seen_module(module) or outside.is_recorded(each)):
            trace.root.imports[each] = None


def seen_builtins(see: Callable[[Any], Any], captures: bool) -> dict[str, Any]:
    """Return the builtins of a trace.

    Parameters
    ----------
    see: what imported modules are passed through.
    captures: whether loops over them may become one operation.
    """

    def seen_import(*args: Any, **kwargs: Any) -> Any:
        try:
            found = builtins.__import__(*args, **kwargs)
        except ImportError:
            if state.top is not None:
                state.top.keep_not(f"it imports {args[0]}, which is not there")
            raise
        _note_import(*args, **kwargs)
        return see(found)

    own = dict(vars(builtins))
    own.update({name: replaced for name, (_, replaced) in BUILTINS.items()})
    if captures:
        own.update({name: replaced for name, (_, replaced) in SEQUENCES.items()})
        own.update(acting_builtins(own))
    own["__import__"] = seen_import
    return own
