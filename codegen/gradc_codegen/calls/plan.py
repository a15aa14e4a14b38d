"""The plan of a call as it is written: steps as words, with what must live as long as they."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc_codegen.calls import cells
from gradc_codegen.calls.result_memory import keep_results
from gradc_codegen.calls.steps import (
    LARGE_RESULT,
    MOST_HELD,
    MOST_REGISTERS,
    MOST_SLOTS,
    Form,
    Head,
    Output,
    Step,
)
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.types import Array, Type


class NoPlan(Exception):
    """A call that is larger than a plan may be, or has parts that no step reads."""


class CallLayout(NamedTuple):
    """What it takes to call a kernel's uniform form with arguments of certain shapes.

    Attributes
    ----------
    address: of the uniform form.
    sizes: its size symbols, in order.
    outputs: the types and shapes of its outputs.
    scratch: in bytes.
    is_long: whether other threads should run meanwhile.
    """

    address: int
    sizes: tuple[int, ...]
    outputs: tuple[tuple[Type, tuple[int, ...]], ...]
    scratch: int
    is_long: bool


class Plan:
    """A plan that is being written; :meth:`words` is the whole.

    Parameters
    ----------
    positional: how many arguments a call gives by position.
    names: those it gives by name, in the order of the call.
    version: of what is in force in the process.
    """

    def __init__(self, positional: int, names: Sequence[str], version: int) -> None:
        self._words = [0] * Head.NAMES
        self._words[Head.VERSION] = version
        self._words[Head.POSITIONAL] = positional
        self._words[Head.NAMED] = len(names)
        self._kept: list[Any] = []
        self._words += [self._object(name) for name in names]
        self._registers = positional + len(names)
        self._inputs = 0
        self._bytes: list[int] = []  # of the inputs that are arrays
        self._targets: dict[int, int] = {}
        self._held = 0
        self._check()

    # -- conditions --------------------------------------------------------------------------------

    def same(self, register: int, value: Any) -> None:
        """Go on if a register is this very object."""
        self._step(Step.SAME, register, self._object(value))

    def kind(self, register: int, kind: type) -> None:
        """Go on if a register is of this very class."""
        self._step(Step.KIND, register, self._object(kind))

    def entry_is(self, holder: dict[Any, Any], key: Any, value: Any) -> None:
        """Go on if an entry of a dict is this very object."""
        self._step(Step.ENTRY_IS, *map(self._object, (holder, key, value)))

    def code_is(self, function: Any, code: Any) -> None:
        """Go on if a function has this code."""
        self._step(Step.CODE_IS, self._object(function), self._object(code))

    def attribute_is(self, owner: Any, name: str, value: Any) -> None:
        """Go on if an attribute of an object is this very object."""
        self._step(Step.ATTRIBUTE_IS, *map(self._object, (owner, name, value)))

    def member_is(self, kind: type, name: str, value: Any) -> None:
        """Go on if a class, or what it is made from, has this very object under a name."""
        self._step(Step.MEMBER_IS, *map(self._object, (kind, name, value)))

    def variable_is(self, variable: Any, value: Any) -> None:
        """Go on if a context variable is this very object."""
        self._step(Step.VARIABLE_IS, self._object(variable), self._object(value))

    def equal(self, register: int, value: Any) -> None:
        """Go on if a register is of the class of an object, and equals it."""
        self._step(Step.EQUAL, register, self._object(value))

    def alike(self, one: int, other: int, *, same: bool) -> None:
        """Go on if two registers are one object, or if they are not."""
        self._step(Step.ALIKE if same else Step.UNLIKE, one, other)

    def same_elements(self, register: int, elements: Array) -> None:
        """Go on if a register is a contiguous array with the bytes of another, and its shape."""
        dtype, shape = self._object(elements.dtype), elements.shape
        address = self._numbers(elements)
        self._step(
            Step.SAME_ELEMENTS, register, address, dtype, len(shape), elements.nbytes, *shape
        )

    def is_true(self, function: Any) -> None:
        """Go on if a function without parameters returns True."""
        self._step(Step.IS_TRUE, self._object(function))

    # -- parts -------------------------------------------------------------------------------------

    def dict_items(self, register: int, keys: Sequence[Any]) -> dict[Any, int]:
        """Return the registers of the values of a dict, by its keys, which stand in order."""
        parts = {key: self._register() for key in keys}
        words = [word for key, part in parts.items() for word in (self._object(key), part)]
        self._step(Step.DICT_ITEMS, register, len(keys), *words)
        return parts

    def list_items(self, register: int, count: int) -> list[int]:
        """Return the registers of the items of a list."""
        self._step(Step.LENGTH_OF_LIST, register, count)
        return [self._part(Step.LIST_ITEM, register, i) for i in range(count)]

    def tuple_items(self, register: int, kind: type, count: int) -> list[int]:
        """Return the registers of the items of a tuple of a class."""
        self.kind(register, kind)
        self._step(Step.LENGTH_OF_TUPLE, register, count)
        return [self._part(Step.TUPLE_ITEM, register, i) for i in range(count)]

    def attributes(self, register: int, kind: type, names: Sequence[str]) -> list[int]:
        """Return the registers of the attributes of an instance of a class."""
        self.kind(register, kind)
        self._hold(len(names))
        return [self._part(Step.ATTRIBUTE, register, self._object(name)) for name in names]

    def read_entry(self, holder: dict[Any, Any], key: Any) -> int:
        """Return the register of an entry of a dict."""
        register = self._register()
        self._step(Step.READ_ENTRY, self._object(holder), self._object(key), register)
        return register

    def read_attribute(self, owner: Any, name: str) -> int:
        """Return the register of an attribute of an object."""
        self._hold()
        register = self._register()
        self._step(Step.READ_ATTRIBUTE, self._object(owner), self._object(name), register)
        return register

    def read(self, function: Any) -> int:
        """Return the register of what a function without parameters returns."""
        self._hold()
        register = self._register()
        self._step(Step.READ, self._object(function), register)
        return register

    def object(self, value: Any) -> int:
        """Return the register of an object that is known."""
        register = self._register()
        self._step(Step.OBJECT, register, self._object(value))
        return register

    def state(self, position: int) -> int:
        """Return the register of a part of what tells whose the callable is."""
        register = self._register()
        self._step(Step.STATE, position, register)
        return register

    # -- inputs ------------------------------------------------------------------------------------

    def array(self, register: int, type_: Type, shape: Sequence[int]) -> None:
        """Make the next input an array of a dtype and a shape: its own memory."""
        dtype = self._object(type_.dtype.numpy)
        self._step(
            Step.ARRAY, register, self._input(_bytes(type_, shape)), dtype, len(shape), *shape
        )

    def number(self, register: int, type_: Type, forms: Form) -> None:
        """Make the next input a number that is given in one of some forms."""
        dtype = type_.dtype
        scalars, descr = self._object(dtype.numpy.type), self._object(dtype.numpy)
        self._step(Step.NUMBER, register, self._input(), int(forms), scalars, descr, dtype.bytes)

    def known_number(self, number: Array) -> None:
        """Make the next input a number that never changes."""
        self._step(Step.ADDRESS, self._input(), self._numbers(number))

    # -- arrays for outputs ------------------------------------------------------------------------

    def target(self, register: int, output: int, layout: CallLayout) -> None:
        """Have an output written into an array, which is checked; the inputs are known by now."""
        type_, shape = layout.outputs[output]
        self._targets[output] = register
        sizes = [_bytes(*one) if i in self._targets else 0 for i, one in enumerate(layout.outputs)]
        self._step(
            Step.TARGET, register, output, self._object(type_.dtype.numpy), len(shape),
            _bytes(type_, shape), self._inputs, self._numbers(self._bytes), self._numbers(sizes),
            *shape,
        )  # fmt: skip

    # -- the call and its results ------------------------------------------------------------------

    def call(
        self,
        layout: CallLayout,
        owner: Any,
        *,
        numbers: bool = True,
        hidden: Sequence[int] = (),
        zero: int | None = None,
        gives_back: bool = False,
    ) -> None:
        """Call a kernel, which ``owner`` keeps.

        Parameters
        ----------
        numbers: whether outputs without axes are scalars of NumPy, not arrays.
        hidden: the outputs that are no results.
        zero: one of them, without axes; this is another call than expected if it is not 0.
        gives_back: whether all outputs have targets, which :meth:`give` returns.
        """
        count = len(layout.outputs)
        if count > MOST_SLOTS:
            raise NoPlan
        self._kept.append(owner)
        words: list[int] = []
        for i, (type_, shape) in enumerate(layout.outputs):
            dtype = type_.dtype.numpy
            target = self._targets.get(i)
            if i in hidden and not shape:
                words += [Output.HIDDEN, 0, 0, 0, 0, 0]
            elif shape or not numbers or target is not None:
                words += [Output.ARRAY, dtype.num, len(shape), self._numbers(shape)]
                words += [0 if target is None else 1 + target, _bytes(type_, shape)]
            elif dtype.kind == "b":
                words += [Output.BOOL, 0, 0, 0, 0, 0]
            else:
                words += [Output.SCALAR, self._object(dtype.type), 0, 0, 0, 0]
        sizes, is_long = self._numbers(layout.sizes), int(layout.is_long)
        self._step(
            Step.CALL, layout.address, sizes, is_long, layout.scratch, int(gives_back), count,
            int(bool(self._targets) or Output.BOOL in words[::6]), *words,
        )  # fmt: skip
        if zero is not None:
            self._step(Step.ZERO, zero, count)
        for i in hidden:
            if layout.outputs[i][1]:
                self._step(Step.DROP, i)
        cells.keep_scratch(layout.scratch)
        if any(_bytes(type_, shape) >= LARGE_RESULT for type_, shape in layout.outputs):
            keep_results()

    def push(self, output: int) -> None:
        """Put an output on the stack of results."""
        self._step(Step.PUSH, output)

    def none(self) -> None:
        """Put None on the stack."""
        self._step(Step.NONE)

    def make_tuple(self, count: int) -> None:
        """Put a tuple in the place of the last results."""
        self._step(Step.TUPLE, count)

    def make_list(self, count: int) -> None:
        """Put a list in the place of the last results."""
        self._step(Step.LIST, count)

    def make_dict(self, keys: Sequence[Any]) -> None:
        """Put a dict of these keys in the place of the last results, its values."""
        self._step(Step.DICT, len(keys), *map(self._object, keys))

    def apply(self, function: Any) -> None:
        """Put what a function makes of the last result in its place."""
        self._step(Step.APPLY, self._object(function))

    def give(self, register: int) -> None:
        """Put an object on the stack."""
        self._step(Step.GIVE, register)

    def make_door(self, definition: int, function: Any, state: tuple[Any, ...], count: int) -> None:
        """Put a callable in the place of the last results, which it has after its state."""
        self._step(Step.DOOR, definition, self._object(function), self._object(state), count)

    def words(self) -> tuple[Array, list[Any]]:
        """Return the words, and what must live as long as they do."""
        self._step(Step.RETURN)
        return np.array(self._words, np.int64), self._kept

    # -- words -------------------------------------------------------------------------------------

    def _step(self, step: Step, *operands: int) -> None:
        self._words += [int(step), *map(int, operands)]

    def _object(self, value: Any) -> int:
        self._kept.append(value)
        return id(value)

    def _numbers(self, values: Sequence[int] | Array) -> int:
        array = np.array(values) if isinstance(values, np.ndarray) else np.array(values, np.int64)
        self._kept.append(array)
        return int(array.ctypes.data)

    def _part(self, step: Step, register: int, place: int) -> int:
        part = self._register()
        self._step(step, register, place, part)
        return part

    def _register(self) -> int:
        self._registers += 1
        self._check()
        return self._registers - 1

    def _input(self, size: int = 0) -> int:
        self._inputs += 1
        self._bytes.append(size)
        self._check()
        return self._inputs - 1

    def _hold(self, count: int = 1) -> None:
        self._held += count
        self._check()

    def _check(self) -> None:
        if self._registers > MOST_REGISTERS or self._inputs > MOST_SLOTS or self._held > MOST_HELD:
            raise NoPlan


def _bytes(type_: Type, shape: Sequence[int]) -> int:
    return math.prod(shape) * type_.dtype.bytes
