"""The plan of a call like one that has been made: for calls to come, machine code all the way."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import combinations
from typing import Any

import numpy as np

from gradc.arguments import flags, pytree
from gradc.calls.outputs import Place
from gradc.runtime.prepared import Part, Prepared
from gradc.scopes import changed_by_blocks
from gradc.tracing.captured.captures import MISSING, Capture, Guard, SameElements
from gradc.tracing.captured.reads import (
    Attribute,
    CodeOf,
    Contents,
    Entry,
    Member,
    contents,
    is_frozen,
)
from gradc_codegen.calls.plan import CallLayout, NoPlan, Plan
from gradc_codegen.calls.steps import Form
from gradc_ir.core.types import Array, DType, Type

# The forms of a number by the kind of its leaf; None is what NumPy has a dtype for.
_FORMS: dict[Any, Form] = {
    float: Form.FLOAT,
    int: Form.INT,
    np.integer: Form.SCALAR | Form.ARRAY,
    None: Form.SCALAR | Form.ARRAY,
}
# Those of a number of which it does not count whether it is Python's.
_EVERY_FORM = {DType.F64: Form.FLOAT, DType.I64: Form.INT}
# Arrays that may be one are compared pair by pair: of more there is no plan.
_MOST_COMPARED = 8


def plan_of(
    args: Sequence[Any], given: Mapping[str, Any], prepared: Prepared, version: int
) -> Plan | None:
    """Return the plan for calls like one that is prepared, None where there is none.

    Parameters
    ----------
    args, given: what was passed by position and by name, options too.
    version: of what is in force, as it was before the call.
    """
    executable, made = prepared.executable, prepared.made
    if executable.kernel is None or (made is not None and made.traced.prints is not None):
        return None
    try:
        plan = Plan(len(args), tuple(given), version)
        places = _Places(plan, args, given)
        types_ = list(executable.function.param_types)
        deciding = frozenset[int]() if made is None else made.traced.deciding
        registers = _read_parts(plan, places, prepared.inputs, types_, deciding)
        count = len(registers)
        _compare(plan, registers, *prepared.groups)
        captured = []
        if made is not None:
            captured = [_read_capture(plan, capture) for capture in made.traced.captures]
            for guard in made.traced.guards:
                _guard(plan, guard)
        for variable, value in changed_by_blocks():
            plan.variable_is(variable, value)
        first = count + len(captured)
        _read_parts(plan, places, prepared.pushed, types_[first:], frozenset())
        for path, value in prepared.others:
            _stay(plan, places.register(path), value)
        parts = [array for part in prepared.inputs for array in part.arrays]
        pushed = [array for part in prepared.pushed for array in part.arrays]
        shapes = tuple([array.shape for array in (*parts, *captured, *pushed)])
        layout = executable.kernel.layout_of(shapes)
        if layout is None:
            return None
        _call(plan, places, prepared, layout)
    except NoPlan:
        return None
    return plan


# -- arguments -------------------------------------------------------------------------------------


class _Places:
    """The registers of what a call passes, and of the entries of tuples that it passes."""

    def __init__(self, plan: Plan, args: Sequence[Any], given: Mapping[str, Any]) -> None:
        self._plan = plan
        self._values: dict[Any, Any] = dict(enumerate(args)) | dict(given)
        self._registers = {key: i for i, key in enumerate(self._values)}
        self._entries: dict[Any, list[int]] = {}

    def register(self, path: tuple[Any, ...]) -> int:
        """Return the register of what lies at a path."""
        if path[0] == "state":
            return self._plan.state(path[1])
        if len(path) == 1:
            return self._registers[path[0]]
        whole = path[:-1]
        found = self._entries.get(whole)
        if found is None:
            value = self._values[path[0]]
            for position in path[1:-1]:
                value = value[position]
            read = self.register(whole)
            if type(value) is list:
                found = self._plan.list_items(read, len(value))
            elif type(value) is tuple:
                found = self._plan.tuple_items(read, tuple, len(value))
            else:
                raise NoPlan
            self._entries[whole] = found
        register: int = found[path[-1]]
        return register


def _read_parts(
    plan: Plan,
    places: _Places,
    parts: Sequence[Part],
    types_: Sequence[Type],
    deciding: frozenset[int],
) -> list[int]:
    """Make the leaves of parts the next inputs; returns their registers."""
    found: list[int] = []
    for part in parts:
        if not part.path and not part.is_known:
            raise NoPlan  # an array that is a default value
        if part.is_known and not isinstance(part.value, np.ndarray):
            plan.known_number(part.arrays[0])
            found.append(-1)
            continue
        register = plan.object(part.value) if part.is_known else places.register(part.path)
        leaves = [(0, register, part.value)]
        if part.structure is not None:
            count = part.structure.leaves
            marks = pytree.unflatten(part.structure, [Place(i) for i in range(count)])
            leaves = sorted(_leaves(plan, register, part.value, marks), key=lambda leaf: leaf[0])
            if len(leaves) != count:
                raise NoPlan
        for (_, read, leaf), array, number in zip(leaves, part.arrays, part.numbers, strict=True):
            any_form = len(found) not in deciding
            _read_leaf(plan, read, leaf, array, number, types_[len(found)], any_form)
            found.append(read)
    return found


def _leaves(plan: Plan, register: int, value: Any, marks: Any) -> Iterator[tuple[int, int, Any]]:
    """Yield the leaves of a nest: their numbers, as ``marks`` in the same nest say, and registers.

    What is no leaf is checked to be as it is.
    """
    kind = type(value)
    if isinstance(marks, Place):
        yield marks.number, register, value
        return
    if value is None or isinstance(marks, flags.Static):
        _stay(plan, register, value)
        return
    if kind is dict:
        registers = plan.dict_items(register, list(value))
        parts = [(registers[key], value[key], marks[key]) for key in value]
    elif kind is list:
        parts = list(zip(plan.list_items(register, len(value)), value, marks))
    elif kind is tuple or (isinstance(value, tuple) and hasattr(kind, "_fields")):
        parts = list(zip(plan.tuple_items(register, kind, len(value)), value, marks))
    elif is_dataclass(value) and type(marks) is kind:
        names = [field.name for field in fields(value)]
        read = plan.attributes(register, kind, names)
        parts = [
            (one, getattr(value, name), getattr(marks, name)) for one, name in zip(read, names)
        ]
    else:
        raise NoPlan
    for one, part, mark in parts:
        yield from _leaves(plan, one, part, mark)


def _stay(plan: Plan, register: int, value: Any) -> None:
    """Have a plan for calls in which something is what it is now."""
    if type(value) in (str, int) or isinstance(value, np.integer):
        plan.equal(register, value)
    elif type(value) in (list, dict, set, bytearray):
        raise NoPlan  # the same one may be another by then
    elif type(value) is tuple and not all(map(_stays, value)):
        raise NoPlan
    else:
        plan.same(register, value)


def _stays(option: Any) -> bool:
    """Whether an option is what it is as long as it is the same object: no list, say."""
    if type(option) is tuple:
        return all(map(_stays, option))
    return option is None or type(option) in (int, str, bool)


def _compare(
    plan: Plan, registers: Sequence[int], leaves: Sequence[int], groups: Sequence[int]
) -> None:
    """Have a plan for calls in which the same leaves are one array, which ``groups`` tells."""
    if len(leaves) > _MOST_COMPARED:
        raise NoPlan
    for i, j in combinations(range(len(leaves)), 2):
        same = groups[i] == groups[j]
        plan.alike(registers[leaves[i]], registers[leaves[j]], same=same)


def _read_leaf(
    plan: Plan, register: int, leaf: Any, array: Array, number: Any, type_: Type, any_form: bool
) -> None:
    if type_.rank:
        _read_array(plan, register, leaf, type_)
        if leaf is not array:
            raise NoPlan  # it was copied
    elif number in _FORMS and array.dtype == type_.dtype.numpy:
        if number in (int, float) and _FORMS[number] is not _EVERY_FORM.get(type_.dtype):
            raise NoPlan  # it was cast
        forms = _FORMS[number]
        if any_form and type_.dtype in _EVERY_FORM:
            forms = Form.SCALAR | Form.ARRAY | _EVERY_FORM[type_.dtype]
        plan.number(register, type_, forms)
    else:
        raise NoPlan


def _read_array(plan: Plan, register: int, value: Any, type_: Type) -> None:
    if not _is_plain(value) or value.dtype != type_.dtype.numpy:
        raise NoPlan
    plan.array(register, type_, value.shape)


def _is_plain(value: Any) -> bool:
    """Whether it is an array of NumPy's own class whose memory is read as it lies there."""
    return type(value) is np.ndarray and value.flags.c_contiguous and value.flags.aligned


# -- what is read from outside ---------------------------------------------------------------------


def _fetched(fetch: Callable[[], Any]) -> Any:
    """Return what is read from outside; there is no plan where another thread has taken it away."""
    try:
        return fetch()
    except MISSING:
        raise NoPlan from None


def _read_capture(plan: Plan, capture: Capture) -> Array:
    value = _fetched(capture.fetch)
    register = _read(plan, capture.fetch)
    if capture.type.rank:
        _read_array(plan, register, value, capture.type)
    elif type(value) in (np.ndarray, capture.type.dtype.numpy.type):
        plan.number(register, capture.type, Form.SCALAR | Form.ARRAY)
    else:
        raise NoPlan
    return np.asarray(value)


def _read(plan: Plan, fetch: Callable[[], Any]) -> int:
    """Return the register of what is read from outside."""
    match fetch:
        case Entry():
            return plan.read_entry(fetch.holder, fetch.key)
        case Attribute():
            return plan.read_attribute(fetch.owner, fetch.name)
    return plan.read(fetch)


def _guard(plan: Plan, guard: Guard) -> None:
    """Have the plan hold as long as a guard does, or shorter."""
    fetch = guard.fetch
    if type(fetch) is CodeOf and type(fetch.function) is types.FunctionType:
        plan.code_is(fetch.function, guard.value)
        return
    if type(guard) is SameElements:
        value, wanted = _fetched(fetch), guard.value.copy()
        if _is_plain(value) and value.dtype == wanted.dtype and wanted.dtype.kind in "ib":
            plan.same_elements(_read(plan, fetch), wanted)
            return
    if isinstance(guard, SameElements):
        plan.is_true(guard.holds)
        return
    held = _fetched(fetch.fetch) if isinstance(fetch, Contents) else None
    value = _fetched(fetch if held is None else lambda: contents(held))
    if not guard.accepts(value):
        raise NoPlan  # it has just changed
    if isinstance(fetch, Contents) and is_frozen(held):
        fetch, value = fetch.fetch, held  # as long as it is this very object it holds the same
    if _fetched(fetch) is not value:
        plan.is_true(guard.holds)  # it is made anew each time
        return
    match fetch:
        case Entry():
            plan.entry_is(fetch.holder, fetch.key, value)
        case Attribute():
            plan.attribute_is(fetch.owner, fetch.name, value)
        case Member() if value is not None:
            plan.member_is(fetch.kind, fetch.name, value)
        case _:
            plan.is_true(guard.holds)


# -- results ---------------------------------------------------------------------------------------


def _call(plan: Plan, places: _Places, prepared: Prepared, layout: CallLayout) -> None:
    """Call the kernel, and make what the call returns."""
    results, out = prepared.results, prepared.out
    owner = prepared.executable.kernel and prepared.executable.kernel.compiled
    # what is checked comes last: the kernel's status says whether to read it
    count = len(layout.outputs) - prepared.executable.hidden
    there = count - results.counts
    gives_back = False
    register = -1
    if out is not None:
        if results.second is not None:
            raise NoPlan
        register = places.register(("out",)) if not out.is_known else plan.object(out.given)
        marks = pytree.unflatten(out.structure, [Place(i) for i in out.places])
        if out.is_known:
            found = enumerate(out.targets)
            targets = [(i, plan.object(one)) for i, one in found if one is not None]
        else:
            targets = sorted(_targets(plan, register, out.given, marks))
        for place, target in targets:
            plan.target(target, place, layout)
        gives_back = len(out.places) == there and all(
            one is not None for one in out.targets[:there]
        )
    zero = count - 1 if results.counts else None
    plan.call(
        layout, owner, hidden=range(there, len(layout.outputs)), zero=zero, gives_back=gives_back
    )
    if gives_back:
        plan.give(register)
        return
    shown = [Place(i) for i in range(count)]
    if results.second is not None:
        _make(plan, results.second.value(shown[: results.numbers]))
        for part in shown[results.numbers :]:
            plan.push(part.number)
        results.second.make_door(plan, layout, count - results.numbers)
        plan.make_tuple(2)
        return
    whole = results.nest(shown)[0] if results.counts else results.nest(shown)
    if sorted(place.number for place in _marks(whole)) == list(range(there)):
        _make(plan, whole)
        return
    if results.counts or out is not None:
        raise NoPlan
    # in a nest of other classes, or one that leaves outputs out
    for part in shown:
        plan.push(part.number)
    plan.make_list(count)
    plan.apply(results.nest)


def _targets(plan: Plan, register: int, given: Any, marks: Any) -> Iterator[tuple[int, int]]:
    """Yield the outputs that have an array of ``out=``, and its register."""
    for number, read, array in _leaves(plan, register, given, marks):
        if array is None:
            plan.same(read, None)
        elif type(array) is np.ndarray:
            yield number, read
        else:
            raise NoPlan


def _marks(nest: Any) -> Iterator[Place]:
    """Yield the outputs of a nest of tuples, lists and dicts; one too many for others."""
    if type(nest) is Place:
        yield nest
    elif type(nest) in (tuple, list):
        for part in nest:
            yield from _marks(part)
    elif type(nest) is dict:
        for part in nest.values():
            yield from _marks(part)
    elif nest is not None:
        yield Place(-1)


def _make(plan: Plan, nest: Any) -> None:
    if type(nest) is Place:
        plan.push(nest.number)
    elif nest is None:
        plan.none()
    elif type(nest) is dict:
        for part in nest.values():
            _make(plan, part)
        plan.make_dict(list(nest))
    elif type(nest) in (tuple, list):
        for part in nest:
            _make(plan, part)
        (plan.make_tuple if type(nest) is tuple else plan.make_list)(len(nest))
    else:
        raise NoPlan
