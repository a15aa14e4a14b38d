"""Kernels stay in their buffers, read nothing they have not written, and use little stack."""

from __future__ import annotations

import ctypes
import itertools
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradc_codegen.abi import Signature
from gradc_codegen.lower.lower import lower
from gradc_codegen.machine.jit import compile_module
from gradc_codegen.machine.machine_code import machine_code
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from tests.codegen.compiled import function_of
from tests.codegen.guarded import C_TYPES, Guarded
from tests.comparing import assert_same_bits
from tests.programs import arrays_for, programs

n = symbol("n")
MOST_STACK = 2048


def assert_stays_inside(
    function: Function,
    arrays: Sequence[npt.NDArray[Any]],
    size: int,
    level: int,
    compare: Callable[[Any, Any], None] = assert_same_bits,
    blas: bool = False,
) -> None:
    """Call a kernel with guarded buffers of exactly the right lengths, and odd scratch.

    Each combination of outputs that are not wanted is tried, with different rubbish in what the
    kernel is to write.
    """
    signature = Signature.of(function)
    code = compile_module(lower(function, "test", blas), level=level)
    types = [C_TYPES[argument.llvm] for argument in signature.arguments]
    kernel = ctypes.CFUNCTYPE(ctypes.c_int32, *types)(code.address("test"))
    values = dict.fromkeys(function.size_symbols, size)
    numbers = [ctypes.c_int64] * len(values)
    worksize = ctypes.CFUNCTYPE(ctypes.c_int64, *numbers)(code.address("test_worksize"))
    length = worksize(*values.values())
    wanted = interpret(function, arrays)
    for mask, at_end in itertools.product(
        itertools.product((True, False), repeat=len(wanted)), (True, False)
    ):
        fill = 0xFF if at_end else 0x7F
        inputs = [Guarded.of(array, at_end) for array in arrays]
        before = [guarded.bytes.copy() for guarded in inputs]
        outputs = [
            Guarded(want.nbytes, at_end, fill) if is_wanted else None
            for want, is_wanted in zip(wanted, mask, strict=True)
        ]
        scratch = Guarded(length, at_end, fill)
        shift = 0 if at_end else 13  # any alignment will do
        larger = Guarded(length + shift, at_end, fill)
        work = larger.address + shift if length and shift else scratch.address
        status = kernel(
            *values.values(),
            *(
                array[()].item() if argument.by_value else guarded.address
                for array, argument, guarded in zip(arrays, signature.inputs, inputs, strict=True)
            ),
            *(None if output is None else output.address for output in outputs),
            work if length else None,
        )
        assert status == 0
        assert all(larger.bytes[:shift] == fill)
        for guarded, old in zip(inputs, before, strict=True):
            assert np.array_equal(guarded.bytes, old)
        for output, want in zip(outputs, wanted, strict=True):
            if output is not None:
                compare(output.bytes.view(want.dtype).reshape(want.shape), want)


@pytest.mark.skipif(sys.platform == "win32", reason="pages are protected in another way there")
@settings(
    max_examples=40,
    deadline=None,  # each compiles
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.data())
def test_random_programs_stay_inside_their_buffers(data: st.DataObject) -> None:
    function = data.draw(programs(kind="exact", symbolic=True))
    size = data.draw(st.sampled_from((0, 1, 2, 7, 31, 32, 33, 40, 63, 65, 70)))
    arrays = arrays_for(function, data.draw(st.integers(0, 1000)), n=size, special=True)
    with np.errstate(all="ignore"):
        assert_stays_inside(function, arrays, size, data.draw(st.sampled_from((0, 2))))


def _several(x: Value, index: Value) -> list[Value]:
    """Outputs that are read again, a scatter, a gather, pieces, updates and sums of all kinds."""
    root = build.sqrt(build.abs(x))
    total = build.reduce_sum(root, (0,))
    shifted = root + build.broadcast(total, root.type.shape, ())
    picked = build.gather(shifted, (index,), (0,))
    spread = build.scatter_add(root, picked, (index,), (0,))
    joined = build.concatenate([root, spread, picked, x, shifted], 0)
    updated = joined
    for start in range(0, 6):
        part = build.slice(x, (start % 3,), (1,), (1,))
        updated = build.set_slice(updated, part, (start,), (1,))
    return [root, total, spread, joined, updated, build.reduce_max(joined, (0,))]


@pytest.mark.skipif(sys.platform == "win32", reason="pages are protected in another way there")
@pytest.mark.parametrize("size", [3, 32, 33, 70, 4100])
def test_outputs_that_are_read_again_stay_inside(size: int) -> None:
    function = function_of([Type(DType.F64, (n,)), Type(DType.I64, (5,))], _several)
    random = np.random.default_rng(size)
    arrays = [random.normal(size=size), random.integers(-size, size, size=5)]
    assert_stays_inside(function, arrays, size, 2)


# -- stack -----------------------------------------------------------------------------------------

_GROWS = re.compile(r"^\s+(?:subq\s+\$(\d+), %rsp|pushq)", re.MULTILINE)


def stack_bytes(function: Function) -> int:
    """Return what the functions of a kernel take from the stack, the deepest two together."""
    assembly = machine_code(lower(function, "test"), triple="x86_64-unknown-linux-gnu").assembly()
    frames = [
        sum(int(grown or 8) for grown in _GROWS.findall(body))
        for body in re.split(r"^[\w.]+:", assembly, flags=re.MULTILINE)
    ]
    return sum(sorted(frames)[-2:])


def _sums(count: int) -> Function:
    """Concurrent reductions, with bodies that do not run in rows and bodies that do."""

    def body(x: Value) -> list[Value]:
        results = []
        for i in range(count):
            term = build.exp(x * float(i)) if i % 2 else x * float(i)
            results.append(build.reduce_sum(term, (0,)))
        return results

    return function_of([Type(DType.F64, (n,))], body)


def _waiting(count: int) -> Function:
    """Numbers that all wait until the last is there."""
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64))
        numbers = [build.sin(x * float(i)) for i in range(count)]
        total = numbers[-1]
        for number in reversed(numbers):
            total = build.cos(total * number)
        return builder.function("test", [x], [total, *numbers[:3]])


def _updates(count: int) -> Function:
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64))
        whole = build.full((count,), 0.0, DType.F64)
        last = x
        for i in range(count):
            last = build.sin(last)
            whole = build.set_slice(whole, build.reshape(last, (1,)), (i,), (1,))
        return builder.function("test", [x], [whole])


@pytest.mark.parametrize(
    "function",
    [_sums(3), _sums(40), _waiting(30), _waiting(1000), _updates(300)],
    ids=["sums", "many-sums", "numbers", "many-numbers", "updates"],
)
def test_the_stack_is_small(function: Function) -> None:
    assert stack_bytes(function) <= MOST_STACK
