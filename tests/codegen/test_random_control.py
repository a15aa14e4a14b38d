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
from gradc_codegen.lower.lower import lower
from gradc_codegen.machine.jit import compile_module
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import TAPE
from gradc_ir.core.walk import nested
from gradc_ir.errors import IndexError, LoopError
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.text.parser import parse_function
from tests.carried_arrays import arguments_for, carried_program, long_program
from tests.codegen.guarded import C_TYPES, Guarded
from tests.comparing import assert_same_bits

pytestmark = pytest.mark.slow

EXAMPLES = int(os.environ.get("GRADC_EXAMPLES", "120"))
SIZES = (0, 1, 2, 5)
FAILURES = (Status.INDEX, Status.LIMIT)


class Compiled:
    """A function as machine code, called with buffers that nothing around may touch.

    ``text``: the LLVM text of its kernel ``@test``, where it is not the usual one.
    """

    def __init__(self, function: Function, level: int | None, text: str | None = None) -> None:
        self.function = function
        self.signature = Signature.of(function)
        self._code = compile_module(text or lower(function, "test"), level=level)
        types = [C_TYPES[argument.llvm] for argument in self.signature.arguments]
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
    function: Function,
    values: dict[str, int],
    seed: int,
    level: int | None,
    compiled: Compiled | None = None,
) -> Status:
    """Compare a kernel with the interpreter, also where some outputs are not wanted.

    Returns the status of a call with all of them wanted.
    """
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
        tuple(sizes.evaluate(size, values) for size in type_.shape)
        for type_ in function.result_types
    ]
    masks = [np.ones(len(shapes), bool), *(random.random((2, len(shapes))) < 0.5)]
    found = []
    for mask, at_end in zip(masks, (True, False, True)):
        given, status = {**values, str(TAPE): 2}, Status.TAPE
        while status is Status.TAPE:
            outputs = [
                Guarded(int(np.prod(shape)) * type_.dtype.bytes, at_end, 0x7F + 0x80 * at_end)
                if is_wanted
                else None
                for shape, type_, is_wanted in zip(shapes, function.result_types, mask)
            ]
            status = kernel(given, arrays, outputs, at_end)
            given[str(TAPE)] *= 2
        found.append(status)
        if failing:
            # what nobody wants need not fail, nor what reads no element
            may_pass = not mask.all() or has_empty_arrays(function, values)
            assert status in FAILURES or may_pass, f"{status.name} in place of an error"
            continue
        assert status is Status.OK
        for output, want in zip(outputs, wanted, strict=True):
            if output is not None:
                assert_same_bits(output.bytes.view(want.dtype).reshape(want.shape), want)
    return found[0]


def has_empty_arrays(function: Function, values: dict[str, int]) -> bool:
    """Whether some array of a function is empty at these sizes."""
    return any(
        sizes.evaluate(x.type.count, {**values, str(TAPE): 1}) == 0
        for _, node in nested(function)
        for x in (*node.operands, *node.results)
    )


# -- what is easily wrong --------------------------------------------------------------------------

SCAN = "length = 3, reverse = false, counted = false, checkpoint = none"
PROGRAMS = {
    "a result given twice, of which one overwrites a parameter": f"""
        func @f(%x: f64[n], %i: i64) -> (f64[n], f64[n]) {{
          %0: f64[n] = sin %x
          %1, %2: f64[n], f64[n] = scan %i, %0, %x
            {{body = @body, consts = 1, carries = 2, {SCAN}}}
          return %1, %2
        }}
        func @body(%i: i64, %x: f64[n], %y: f64[n]) -> (f64[n], f64[n]) {{
          %0: f64 = constant 2.0
          %1: f64[n] = scatter_add %y, %0, %i {{axes = [0]}}
          return %1, %1
        }}
    """,
    "two updates of one version": f"""
        func @f(%x: f64[n], %i: i64) -> (f64[n], f64[3,n]) {{
          %0, %1: f64[n], f64[3,n] = scan %i, %x {{body = @body, consts = 1, carries = 1, {SCAN}}}
          return %0, %1
        }}
        func @body(%i: i64, %x: f64[n]) -> (f64[n], f64[n]) {{
          %0: f64 = constant 2.0
          %1: f64[n] = scatter_add %x, %0, %i {{axes = [0]}}
          %2: f64[1] = broadcast 3.0 {{axes = []}}
          %3: f64[n] = set_slice %x, %2 {{starts = [1], steps = [1]}}
          return %1, %3
        }}
    """,
    "a branch's result that an update of no elements overwrites": """
        func @f(%x: f64[n], %i: i64) -> f64[n] {
          %0: bool = lt %i, 0
          %1: f64[n] = cond %0, %x {then = @same, otherwise = @same}
          %2: f64[0] = constant []
          %3: i64[0] = constant []
          %4: f64[n] = scatter_add %1, %2, %3 {axes = [0]}
          %5: f64[n] = cumsum %4 {axis = 0, reverse = true}
          return %5
        }
        func @same(%x: f64[n]) -> f64[n] { return %x }
    """,
    "rows of a reshape": """
        func @f(%x: f64[n], %i: i64) -> (f64, f64[1]) {
          %0: f64[1,n] = reshape %x
          %1: f64 = constant 2.0
          %2, %3: f64, f64[1] = scan %1, %0 {body = @body, consts = 0, carries = 1, length = 1,
            reverse = false, counted = false, checkpoint = none}
          return %2, %3
        }
        func @body(%s: f64, %row: f64[n]) -> (f64, f64) {
          %0: f64 = reduce_sum %row {axes = [0]}
          %1: f64 = mul %s, %0
          return %1, %0
        }
    """,
    "a failure in a body that is in a body that cannot fail": """
        func @f(%x: f64[n], %i: i64) -> f64[n] {
          %0: i64 = add %i, 30
          %1: f64[n] = checkpoint %x, %0 {body = @outer}
          return %1
        }
        func @outer(%x: f64[n], %i: i64) -> f64[n] {
          %0: f64[n] = checkpoint %x, %i {body = @inner}
          return %0
        }
        func @inner(%x: f64[n], %i: i64) -> f64[n] {
          %0: f64 = constant 2.0
          %1: f64[n] = scatter_set %x, %0, %i {axes = [0]}
          return %1
        }
    """,
}


@pytest.mark.skipif(sys.platform == "win32", reason="pages are protected in another way there")
@pytest.mark.parametrize("level", [0, None])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, level: int | None) -> None:
    status = assert_runs_as_meant(parse_function(PROGRAMS[name]), {"n": 20}, 3, level)
    assert (status is Status.INDEX) == ("failure" in name)


# -- what chance makes -----------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="pages are protected in another way there")
@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_random_programs(seed: int) -> None:
    check(seed)


def check(seed: int) -> list[Status]:
    function = carried_program(seed, depth=1 + seed % 3, steps=3 + seed % 5, alike=seed % 2 == 0)
    random = np.random.default_rng(seed)
    kernel = Compiled(function, None if seed % 16 == 0 else 0)
    found = []
    for _ in range(2):
        n, m = map(int, random.choice(SIZES if seed % 3 else (*SIZES, 33), 2))
        found.append(assert_runs_as_meant(function, {"n": n, "m": m}, seed, None, kernel))
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="pages are protected in another way there")
@pytest.mark.parametrize("seed", range(2))
def test_long_bodies(seed: int) -> None:
    assert_runs_as_meant(long_program(seed, 2500), {"n": 3, "m": 2}, seed, 0)
