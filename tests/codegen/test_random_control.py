"""Random loops and branches that carry arrays: the interpreter's bits, inside their buffers."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gradc_codegen.abi import Signature, Status
from gradc_codegen.jit import compile_module
from gradc_codegen.lower import lower
from gradc_ir.errors import IndexError, LoopError
from gradc_ir.graph import Function
from gradc_ir.interpret import interpret
from gradc_ir.sizes import TAPE
from tests.carried_arrays import arguments_for, carried_program
from tests.codegen.guarded import Guarded
from tests.comparing import assert_same_bits

PROGRAMS = int(os.environ.get("GRADC_EXAMPLES", "150"))
SIZES = (0, 1, 2, 5)
FAILURES = (Status.INDEX, Status.LIMIT)
_C_TYPES = {
    "i64": ctypes.c_int64,
    "i32": ctypes.c_int32,
    "i8": ctypes.c_uint8,
    "double": ctypes.c_double,
    "float": ctypes.c_float,
    "ptr": ctypes.c_void_p,
}


class Compiled:
    """A function as machine code, called with buffers that nothing around may touch."""

    def __init__(self, function: Function, level: int | None) -> None:
        self.function = function
        self.signature = Signature.of(function)
        self._code = compile_module(lower(function, "test"), level=level)
        types = [_C_TYPES[argument.llvm] for argument in self.signature.arguments]
        self._kernel = ctypes.CFUNCTYPE(ctypes.c_int32, *types)(self._code.address("test"))
        numbers = [ctypes.c_int64] * len(function.size_symbols)
        address = self._code.address("test_worksize")
        self._worksize = ctypes.CFUNCTYPE(ctypes.c_int64, *numbers)(address)

    def __call__(
        self,
        values: dict[str, int],
        arrays: Sequence[npt.NDArray[Any]],
        outputs: Sequence[Guarded | None],
        at_end: bool,
    ) -> Status:
        """Return the status; the arguments are as they were, and so is what surrounds scratch."""
        numbers = [values[name] for name in self.function.size_symbols]
        inputs = [Guarded.of(array, at_end) for array in arrays]
        before = [guarded.bytes.copy() for guarded in inputs]
        scratch = Guarded(self._worksize(*numbers), at_end, 0xFF if at_end else 0x7F)
        status = self._kernel(
            *numbers,
            *(
                array[()].item() if argument.by_value else guarded.address
                for array, argument, guarded in zip(
                    arrays, self.signature.inputs, inputs, strict=True
                )
            ),
            *(None if output is None else output.address for output in outputs),
            scratch.address if scratch.bytes.size else None,
        )
        for guarded, old in zip(inputs, before, strict=True):
            assert np.array_equal(guarded.bytes, old), "an argument was written to"
        return Status(status)


def assert_runs_as_meant(
    function: Function, values: dict[str, int], seed: int, level: int | None, compiled: Any = None
) -> Status:
    """Compare a kernel with the interpreter, also where some outputs are not wanted."""
    arrays = arguments_for(function, seed, values)
    kernel = Compiled(function, level) if compiled is None else compiled
    random = np.random.default_rng(seed)
    wanted: Sequence[npt.NDArray[Any]] = ()
    try:
        with np.errstate(all="ignore"):
            wanted = interpret(function, arrays)
        failing = False
    except (IndexError, LoopError):
        failing = True
    shapes = [
        tuple(_number(size, values) for size in type_.shape) for type_ in function.result_types
    ]
    masks = [np.ones(len(shapes), bool), *(random.random((2, len(shapes))) < 0.5)]
    status = Status.OK
    for mask, at_end in zip(masks, (True, False, True)):
        sizes_, status = {**values, str(TAPE): 2}, Status.TAPE
        while status is Status.TAPE:
            outputs = [
                Guarded(int(np.prod(shape)) * type_.dtype.bytes, at_end, 0x7F + 0x80 * at_end)
                if is_wanted
                else None
                for shape, type_, is_wanted in zip(shapes, function.result_types, mask)
            ]
            status = kernel(sizes_, arrays, outputs, at_end)
            sizes_[str(TAPE)] *= 2
        if failing:
            # what nobody wants need not fail
            assert status in FAILURES or not mask.all(), f"{status.name} in place of an error"
            continue
        assert status is Status.OK
        for output, want in zip(outputs, wanted, strict=True):
            if output is not None:
                assert_same_bits(output.bytes.view(want.dtype).reshape(want.shape), want)
    return status


def _number(size: Any, values: dict[str, int]) -> int:
    from gradc_ir import sizes

    return sizes.evaluate(size, values)


@pytest.mark.skipif(sys.platform == "win32", reason="pages are protected in another way there")
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_programs(seed: int) -> None:
    check(seed)


def check(seed: int) -> list[Status]:
    function = carried_program(seed, depth=1 + seed % 3)
    random = np.random.default_rng(seed)
    kernel = Compiled(function, None if seed % 8 == 0 else 0)
    found = []
    for _ in range(2):
        n, m = map(int, random.choice(SIZES if seed % 3 else (*SIZES, 33), 2))
        found.append(assert_runs_as_meant(function, {"n": n, "m": m}, seed, None, kernel))
    return found
