"""The plan of a call like one that has been made: for calls to come, machine code all the way."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from gradc.arguments import pytree
from gradc.calls.results import Answer
from gradc.calls.signature import Bound
from gradc.runtime.specialize import Specialization
from gradc.scopes import changed_by_blocks
from gradc.tracing.core.state import Capture, Guard, SameElements
from gradc.tracing.lens.reads import Attribute, CodeOf, Entry, Member
from gradc_codegen.calls.plan import NoPlan, Plan
from gradc_codegen.calls.steps import Form
from gradc_ir.core.types import Array, Type

# The forms of a number by the kind of its leaf; None is what NumPy has a dtype for.
_FORMS: dict[Any, Form] = {
    float: Form.FLOAT,
    int: Form.INT,
    bool: Form.BOOL,
    None: Form.SCALAR | Form.ARRAY,
}


def plan_of(
    names: Sequence[str],
    args: Sequence[Any],
    given: Mapping[str, Any],
    bound: Bound,
    made: Specialization,
    answer: Answer,
    version: int,
) -> Plan | None:
    """Return the plan for calls like one that has just been answered, None where there is none.

    Parameters
    ----------
    names: the parameters that were passed by position.
    args, given: what was passed by position and by name, options too.
    bound: the same, as it was bound to the function's parameters.
    made, answer: what was called, and what its results are.
    version: of what is in force, as it was before the call.
    """
    executable = made.executables[0]
    if made.traced.prints is not None or executable.kernel is None:
        return None
    try:
        plan = Plan(len(args), tuple(given), version)
        _read_arguments(plan, _registers(names, args, given), given, bound, made)
        captured = [_read_capture(plan, capture) for capture in made.traced.captures]
        for guard in made.traced.guards:
            _guard(plan, guard)
        for variable, value in changed_by_blocks():
            plan.variable_is(variable, value)
        shapes = tuple([array.shape for array in (*bound.leaves, *captured)])
        layout = executable.kernel.layout_of(shapes)
        if layout is None:
            return None
        plan.call(layout, executable.kernel.compiled, numbers=True)
        _make_results(plan, answer, len(layout.outputs) - executable.hidden)
    except NoPlan:
        return None
    return plan


# -- arguments -------------------------------------------------------------------------------------


def _registers(
    names: Sequence[str], args: Sequence[Any], given: Mapping[str, Any]
) -> dict[str, tuple[int, Any]]:
    """Return the register and the value of each parameter of a call, by its name."""
    found = {name: (i, value) for i, (name, value) in enumerate(zip(names, args, strict=True))}
    later = {name: (len(args) + i, value) for i, (name, value) in enumerate(given.items())}
    return found | later


def _read_arguments(
    plan: Plan,
    registers: Mapping[str, tuple[int, Any]],
    given: Mapping[str, Any],
    bound: Bound,
    made: Specialization,
) -> None:
    """Make the leaves of the arguments the first inputs; all else must be the same again."""
    types_ = iter(made.traced.function.param_types)
    leaves, numbers = iter(bound.leaves), iter(bound.numbers)
    for name, structure in zip(bound.names, bound.structure, strict=True):
        if name not in registers:
            raise NoPlan  # an array that is a default value
        register, value = registers[name]
        if structure is None:
            parts = [(register, value)]
        else:
            parts = list(_parts(plan, register, value))
            flat = pytree.flatten(value)[0]
            if len(flat) != len(parts) or any(a is not b for a, (_, b) in zip(flat, parts)):
                raise NoPlan  # another order of leaves
        for (part, leaf), type_ in zip(parts, types_):
            _read_leaf(plan, part, leaf, next(leaves), next(numbers), type_)
    static = {name for name, _ in bound.static}
    for name in {*given} - {*bound.names} - static:
        if not _stays(registers[name][1]):
            raise NoPlan
        plan.same(*registers[name])
    for name in static & {*registers}:
        plan.same(*registers[name])


def _stays(option: Any) -> bool:
    """Whether an option is what it is as long as it is the same object: no list, say."""
    if type(option) is tuple:
        return all(map(_stays, option))
    return option is None or type(option) in (int, str, bool)


def _parts(plan: Plan, register: int, value: Any) -> Iterator[tuple[int, Any]]:
    """Yield the leaves of a nest and their registers, in the order of flattening."""
    kind = type(value)
    if value is None:
        plan.same(register, None)
        return
    if kind is dict:
        try:
            keys = sorted(value)
        except TypeError:
            raise NoPlan from None  # keys of several kinds
        registers = plan.dict_items(register, list(value))
        found = zip([registers[key] for key in keys], [value[key] for key in keys])
    elif kind is list:
        found = zip(plan.list_items(register, len(value)), value)
    elif kind is tuple or (isinstance(value, tuple) and hasattr(kind, "_fields")):
        found = zip(plan.tuple_items(register, kind, len(value)), value)
    elif is_dataclass(value) and not hasattr(value, "__gradc_leaf__"):
        names = [field.name for field in fields(value)]
        parts = [getattr(value, name) for name in names]
        found = zip(plan.attributes(register, kind, names), parts)
    else:
        yield register, value
        return
    for part, inside in found:
        yield from _parts(plan, part, inside)


def _read_leaf(
    plan: Plan, register: int, leaf: Any, array: Array, number: Any, type_: Type
) -> None:
    if type_.rank:
        _read_array(plan, register, leaf, type_)
        if leaf is not array:
            raise NoPlan  # it was copied
    elif number in _FORMS and array.dtype is type_.dtype.numpy:
        plan.number(register, type_, _FORMS[number])
    else:
        raise NoPlan


def _read_array(plan: Plan, register: int, value: Any, type_: Type) -> None:
    fits = type(value) is np.ndarray and value.dtype is type_.dtype.numpy
    if not fits or not (value.flags.c_contiguous and value.flags.aligned):
        raise NoPlan
    plan.array(register, type_, value.shape)


# -- what is read from outside ---------------------------------------------------------------------


def _read_capture(plan: Plan, capture: Capture) -> Array:
    value = capture.fetch()
    match capture.fetch:
        case Entry() as read:
            register = plan.read_entry(read.holder, read.key)
        case Attribute() as read:
            register = plan.read_attribute(read.owner, read.name)
        case read:
            register = plan.read(read)
    if capture.type.rank:
        _read_array(plan, register, value, capture.type)
    elif type(value) in (np.ndarray, capture.type.dtype.numpy.type):
        plan.number(register, capture.type, Form.SCALAR | Form.ARRAY)
    else:
        raise NoPlan
    return np.asarray(value)


def _guard(plan: Plan, guard: Guard) -> None:
    """Have the plan hold as long as a guard does, or shorter."""
    fetch = guard.fetch
    if type(fetch) is CodeOf and type(fetch.function) is types.FunctionType:
        plan.code_is(fetch.function, guard.value)
        return
    if isinstance(guard, SameElements):
        plan.is_true(guard.holds)
        return
    value = fetch()
    if not guard.accepts(value):
        raise NoPlan  # it has just changed
    if fetch() is not value:
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


class _Mark:
    """Stands for an output in the nest of the results."""

    __slots__ = ("place",)

    def __init__(self, place: int) -> None:
        self.place = place


def _make_results(plan: Plan, answer: Answer, count: int) -> None:
    marks = [_Mark(i) for i in range(count)]
    whole = answer.nest(marks)
    if sorted(mark.place for mark in _marks(whole)) == list(range(count)):
        _make(plan, whole)
        return
    # in a nest of other classes, or one that leaves outputs out
    for mark in marks:
        plan.push(mark.place)
    plan.make_list(count)
    plan.apply(answer.nest)


def _marks(nest: Any) -> Iterator[_Mark]:
    """Yield the outputs of a nest of tuples, lists and dicts; one too many for others."""
    if type(nest) is _Mark:
        yield nest
    elif type(nest) in (tuple, list):
        for part in nest:
            yield from _marks(part)
    elif type(nest) is dict:
        for part in nest.values():
            yield from _marks(part)
    elif nest is not None:
        yield _Mark(-1)


def _make(plan: Plan, nest: Any) -> None:
    if type(nest) is _Mark:
        plan.push(nest.place)
    elif nest is None:
        plan.none()
    elif type(nest) is dict:
        for part in nest.values():
            _make(plan, part)
        plan.make_dict(list(nest))
    else:
        for part in nest:
            _make(plan, part)
        (plan.make_tuple if type(nest) is tuple else plan.make_list)(len(nest))
