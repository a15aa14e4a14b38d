"""Numbers to try a kernel with: arguments that C can make too, and what Python makes of them."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradc.runtime.export import Choices, Entry
from gradc_codegen.abi import Status
from gradc_codegen.compile_function import Compilation
from gradc_codegen.interface.python_kernel import KernelStatus
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.binding import Least, bind_sizes
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import evaluate, symbols
from gradc_ir.core.types import Array, DType, Type
from gradc_ir.errors import ShapeError
from gradc_ir.interpreter import tape

# Symbolic sizes are these numbers, each another one, so that no two are mistaken for each other.
_FIRST_SIZE = 3
# What is larger is no example any more, and its numbers would be most of the file.
MOST_ELEMENTS = 4096


class Sample(NamedTuple):
    """One call of a kernel, all in C's order.

    Parameters
    ----------
    sizes: the numbers of the sizes, but for that of a tape.
    inputs: the arguments.
    made: whether an argument is made by :func:`element`, rather than the user's.
    status: what the kernel returns.
    outputs: what it writes; empty where the status is not OK.
    """

    sizes: Mapping[str, int]
    inputs: tuple[Array, ...]
    made: tuple[bool, ...]
    status: int
    outputs: tuple[Array, ...]


def element(index: int, position: int, dtype: DType) -> Any:
    """Return an element of the argument at a position: exact in every dtype, and near 1."""
    number = (37 * index + 11 * position + 5) % 101
    if dtype is DType.BOOL:
        return number % 2 == 0
    return number / 64 + 0.25 if dtype.is_float else number % 2


def sample(entry: Entry, given: Mapping[str, Any], choices: Choices) -> Sample | None:
    """Return a call of a function; None where its arguments would be too large for an example.

    ``given`` are arguments of the user's by the names of the parameters; others are made.
    """
    function = entry.function
    sizes = _sizes(function, given, entry.least)
    if sizes is None:
        return None
    order = entry.order
    places = order.inputs if order else range(len(function.params))
    arrays: dict[int, Array] = {}
    made: dict[int, bool] = {}
    for position, place in enumerate(places):
        type_, name = function.param_types[place], function.names[place]
        shape = tuple(evaluate(size, sizes) for size in type_.shape)
        made[place] = name not in given or np.shape(given[name]) != shape
        arrays[place] = (
            _made(type_, shape, position)
            if made[place]
            else np.asarray(given[name], type_.dtype.numpy, order="C")
        )
    kernel = Compilation(function, splits=choices.fma == "split").kernel()
    status, results = 0, []
    try:
        results = kernel([arrays[place] for place in range(len(function.params))])
    except KernelStatus as error:
        status = int(error.status)
    if status == Status.LIMIT or sum(result.size for result in results) > MOST_ELEMENTS:
        return None
    outputs = order.outputs if order else range(len(results))
    return Sample(
        {name: size for name, size in sizes.items() if name != tape.NAME},
        tuple(arrays[place] for place in places),
        tuple(made[place] for place in places),
        status,
        tuple(results[place] for place in outputs) if results else (),
    )


def _sizes(function: Function, given: Mapping[str, Any], least: Least) -> dict[str, int] | None:
    """Return numbers of the sizes: those of what is given, and small ones."""
    chosen = {
        name: _FIRST_SIZE + number
        for number, name in enumerate(name for name in function.size_symbols if name != tape.NAME)
    }
    for size, number in least:
        while evaluate(size, chosen) < number:
            chosen |= {name: chosen[name] + 1 for name in symbols(size)}
    known = [i for i, name in enumerate(function.names) if name in given]
    if known:
        types = [function.param_types[i] for i in known]
        shapes = [np.shape(given[function.names[i]]) for i in known]
        # those of one point do not fit where the kernel is of many
        with contextlib.suppress(ShapeError):
            chosen |= bind_sizes(types, shapes)
    chosen[tape.NAME] = 64
    types = [*function.param_types, *function.result_types]
    shapes = [tuple(evaluate(size, chosen) for size in type_.shape) for type_ in types]
    if any(size < 0 for shape in shapes for size in shape):
        return None
    if sum(math.prod(shape) for shape in shapes) > MOST_ELEMENTS:
        return None
    return chosen


def _made(type_: Type, shape: Sequence[int], position: int) -> Array:
    count = math.prod(shape)
    flat = [element(index, position, type_.dtype) for index in range(count)]
    return np.array(flat, type_.dtype.numpy).reshape(shape)
