"""Random nests of loops and branches: passes, both modes and compiled code agree."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pytest

from gradc.derivatives import jvp, vjp
from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.runtime.executable import Executable
from gradc_ir.core.graph import Function
from gradc_ir.errors import LoopError
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.passes import (
    Canonicalize,
    FoldConstants,
    HoistInvariants,
    NarrowLoops,
    RemoveDeadNodes,
    SimplifyControl,
)
from gradc_ir.verify import verify
from tests.comparing import assert_close, assert_same_bits
from tests.control_programs import control_program

PASSES: tuple[Callable[[Function], Function], ...] = (
    SimplifyControl(),
    NarrowLoops(),
    HoistInvariants(),
    RemoveDeadNodes(),
    Canonicalize(),
    FoldConstants(),
    SimplifyControl(),
)
ARRAYS = [np.float64(0.7), np.float64(-1.3), np.array([0.3, 1.1, 0.9])]
TANGENTS = [np.float64(0.37), np.float64(0.61), np.array([0.3, -0.7, 1.1])]
WRT = (0, 1, 2)


def program(seed: int) -> Function:
    """Return a program with one result that has a value: a seed's first one."""
    for attempt in itertools.count(seed, 1000):
        made = control_program(attempt)
        function = Function("f", made.params, made.results[:1], names=made.names)
        # some have a loop with more steps than it may take
        with suppress(LoopError):
            if np.isfinite(interpret(function, ARRAYS)[0]):
                break
    return function


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_passes_keep_the_bits_of_derivatives(seed: int) -> None:
    function = program(seed)
    for made in (vjp(function, WRT, seeds="ones"), vjp(jvp(function, (0,)), (0,), seeds=(1,))):
        arrays = [*ARRAYS, *TANGENTS, np.float64(1.0)][: len(made.params)]
        arrays[len(ARRAYS) :] = [np.float64(0.5)] * (len(made.params) - len(ARRAYS))
        want = interpret(made, arrays)
        for each in PASSES:
            made = each(made)
            verify(made)
            for new, old in zip(interpret(made, arrays), want, strict=True):
                assert_same_bits(new, old)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_forward_is_reverse(seed: int) -> None:
    function = program(seed)
    _, pushed = interpret(jvp(function, WRT), [*ARRAYS, *TANGENTS])
    _, *pulled = interpret(vjp(function, WRT, seeds="ones"), ARRAYS)
    terms = [gradient * tangent for gradient, tangent in zip(pulled, TANGENTS)]
    if np.isfinite(pushed):
        size = 1 + sum(float(np.sum(np.abs(term))) for term in terms)
        assert_close(sum(float(np.sum(term)) for term in terms), pushed, size, 1e-12)


@pytest.mark.parametrize("of", ["value", "value_and_grad", "hvp"])
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_compiled_is_interpreted(seed: int, of: str) -> None:
    wrt = {"value": (), "value_and_grad": WRT, "hvp": (0, 1)}[of]
    made = derive(program(seed), Request(of, wrt))
    arrays = [*ARRAYS, *TANGENTS[: len(made.params) - len(ARRAYS)]]
    for found, want in zip(Executable(made)(arrays), interpret(made, arrays), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-13, atol=0)
