"""Splitting a function at what some parameters reach."""

from __future__ import annotations

import numpy as np
import pytest

from gradc.autodiff.partition import split
from gradc.derivatives import jvp, vjp
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.verify import verify
from tests.comparing import assert_same_bits
from tests.gradc.test_derivatives import made

N = sizes.symbol("n")
VECTOR = Type(DType.F64, (N,))
SCALAR = Type(DType.F64)


def model() -> Function:
    return made(
        [VECTOR, SCALAR],
        lambda x, s: [
            build.reduce_sum(build.exp(x) * build.broadcast(s, (N,), ()), (0,)),
            build.sin(x),
        ],
    )


@pytest.mark.parametrize("mode", ["jvp", "vjp"])
def test_the_halves_are_the_whole(mode: str) -> None:
    function = model()
    whole = jvp(function, [0, 1]) if mode == "jvp" else vjp(function, [0, 1])
    known, rest = split(whole, [2, 3], later=2)
    verify(known)
    verify(rest)
    x, s = np.linspace(0, 1, 5), np.array(3.0)
    further = [np.linspace(1, 2, 5), np.array(0.5)]
    seeds = further if mode == "jvp" else further[::-1]
    wanted = interpret(whole, [x, s, *seeds])
    first = interpret(known, [x, s])
    second = interpret(rest, [*first[2:], *seeds])
    for found, want in zip((*first[:2], *second), wanted, strict=True):
        assert_same_bits(found, want)


def test_the_second_half_computes_nothing_the_first_can() -> None:
    _, rest = split(vjp(model(), [0, 1]), [2, 3], later=2)
    assert {"exp", "cos"}.isdisjoint(node.op.name for node in rest.nodes)


def test_repetitions_are_not_kept() -> None:
    function = made([SCALAR, VECTOR], lambda s, v: build.broadcast(build.exp(s), (N,), ()) * v)
    known, rest = split(function, [1])
    assert known.result_types == (SCALAR,)
    assert rest.param_types == (SCALAR, VECTOR)


def test_a_size_that_only_a_parameter_tells() -> None:
    function = made([VECTOR, SCALAR], lambda x, s: build.broadcast(s, (N,), ()))
    known, rest = split(function, [1])
    verify(rest)
    (kept,) = interpret(known, [np.ones(3)])
    assert interpret(rest, [kept, 2.0])[0].tolist() == [2, 2, 2]


def test_results_that_are_known_early() -> None:
    function = made([SCALAR, SCALAR], lambda x, t: [x * 2, x * t, x * 3, build.zeros_like(x)])
    known, rest = split(function, [1])
    assert interpret(known, [5.0])[0] == 10.0
    residuals = interpret(known, [5.0])[1:]
    assert interpret(rest, [*residuals, 7.0]) == (35.0, 15.0, 0.0)
    known, rest = split(function, [1], later=4)
    assert interpret(rest, [*interpret(known, [5.0]), 7.0]) == (10.0, 35.0, 15.0, 0.0)


def test_a_size_that_no_residual_shows_is_told_by_a_parameter() -> None:
    function = made(
        [VECTOR],
        lambda x: [build.exp(build.concatenate([x, x], 0))],
    )
    whole = vjp(function, [0])
    known, rest = split(whole, [1], later=1)
    verify(rest)
    x, seed = np.linspace(0, 1, 3), np.arange(6.0)
    first = interpret(known, [x])
    (found,) = interpret(rest, [*first[1:], seed])
    assert_same_bits(found, interpret(whole, [x, seed])[1])
