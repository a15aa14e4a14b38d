"""What is computed anew, result by result: what each is made of, and which guards are its own."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gradc.runtime.executable import Executable
from gradc_ir import build
from gradc_ir.core.builder import Builder
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.wide_exponents.arithmetic import recover


@pytest.mark.parametrize("shape", [(), (9,)])
@pytest.mark.parametrize("guarded", [(), (1, 2), (3, 2), (0, 1)])
def test_starts_and_guards_are_of_the_results_that_they_are_of(
    shape: tuple[int, ...], guarded: tuple[int, ...]
) -> None:
    with Builder() as inner:
        x, y, z = (inner.param(i, Type(DType.F64)) for i in range(3))
        body = inner.function("formula", [x, y, z], [x * y / y, z])
    with Builder() as builder:
        given = [builder.param(i, Type(DType.F64, shape)) for i in range(7)]
        more = {"guarded": guarded} if guarded else {}
        results = [
            build.apply("recover", *given, body=body, result=i, guards=2, **more) for i in range(2)
        ]
        function = builder.function("f", given, results)
    executable = Executable(function, False, False)
    choices = [(1.0, np.nan), (np.inf, 2.0), (3.0, np.nan), (4.0, np.inf), (5.0, np.nan),
               (1.0, -1.0), (1.0, -1.0)]  # fmt: skip
    for chosen in itertools.product(*choices):
        arrays = [np.full(shape, x) for x in chosen]
        wanted = interpret(function, arrays)
        for found, each in zip(executable(arrays), wanted, strict=True):
            np.testing.assert_array_equal(np.asarray(found), each)


def test_a_guard_of_a_result_leaves_the_others() -> None:
    with Builder() as inner:
        x = inner.param(0, Type(DType.F64))
        body = inner.function("formula", [x], [x * x, x * x * x])
    arrays = [np.array([x]) for x in (np.nan, np.nan, 2.0, -1.0)]
    found = [recover(*arrays, body=body, result=i, guards=1, guarded=(2,))[0] for i in range(2)]
    np.testing.assert_array_equal(found, [4.0, np.nan])
