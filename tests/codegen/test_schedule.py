"""The nests the schedule makes, as text, and that it takes linear time."""

from __future__ import annotations

import gc
import time

import numpy as np
import pytest

from gradc_codegen.buffers import plan
from gradc_codegen.lower import lower_kernel
from gradc_codegen.schedule import schedule
from gradc_ir import build, sizes
from gradc_ir.graph import Function
from gradc_ir.types import DType, Type
from tests.codegen.compiled import assert_compiled_same, function_of
from tests.codegen.test_lower import long_program

N, D, K = sizes.symbol("n"), sizes.symbol("d"), sizes.symbol("k")
F64 = DType.F64


def assert_nest(function: Function, text: str) -> None:
    lines = [line[4:] for line in text.strip("\n").splitlines()]
    assert str(schedule(function)).splitlines()[1:] == [f"  {line}" for line in lines]


def logistic_regression(x, w, y):
    """The loss and its gradient by w, as reverse mode writes them."""
    z = build.contract(x, w, "ij,j->i")
    loss = build.reduce_sum(build.softplus(z) - y * z, [0])
    return loss, build.contract(x, build.sigmoid(z) - y, "ij,i->j")


def test_primal_and_adjoint_share_the_loop_over_samples() -> None:
    f = function_of(
        [Type(F64, (N, D)), Type(F64, (D,)), Type(F64, (N,))], logistic_regression, ["x", "w", "y"]
    )
    assert_nest(
        f,
        """
    for i in n:
      for j in d:
        %0[i] joins contract x, w
      %1[i] = softplus %0
      %3[i] = sub %1, mul(y, %0)
      %4 joins reduce_sum %3 -> output 0
      %5[i] = sigmoid %0
      for j in d:
        %7[j] joins contract x, sub(%5, y) -> output 1
    """.rstrip(),
    )


def test_pairwise_distances_store_no_square() -> None:
    """The second adjoint reduces the outer index of the distances: it joins in their loop."""

    def body(x):
        d = build.broadcast(x, (N, N, 3), (0, 2)) - build.broadcast(x, (N, N, 3), (1, 2))
        e = build.exp(-build.reduce_sum(d * d, [2]))
        w = build.broadcast(e, (N, N, 3), (0, 1)) * d
        return build.reduce_sum(w, [1]) - build.reduce_sum(w, [0])

    f = function_of([Type(F64, (N, 3))], body, ["x"])
    text = str(schedule(f))
    assert text.count("for i in n") == 2  # the pairs, then the difference of the two sums
    assert text.count("for j in n") == 1
    kernel = schedule(f)
    assert all("n * n" not in str(slot) for slot in plan(kernel).slots)
    assert_compiled_same(function_of([Type(F64, (N, 3))], lambda x: body(x) * 0.0), [np.eye(3)])


def test_a_finished_sum_is_a_barrier() -> None:
    def body(x):
        e = build.sqrt(x)
        return e / build.broadcast(build.reduce_sum(e, [0]), (N,), ())

    assert_nest(
        function_of([Type(F64, (N,))], body, ["x"]),
        """
    for i in n:
      %0[i] = sqrt x
      %1 joins reduce_sum %0
    for i in n:
      %3[i] = div %0, broadcast(%1) -> output 0
    """.rstrip(),
    )


def test_softmax_has_one_loop_over_rows() -> None:
    def body(x):
        shape = x.type.shape
        top = build.broadcast(build.reduce_max(x, [1]), shape, (0,))
        e = build.exp(x - top)
        return e / build.broadcast(build.reduce_sum(e, [1]), shape, (0,))

    text = str(schedule(function_of([Type(F64, (N, D))], body, ["x"])))
    assert text.count("in n") == 1
    assert text.count("in d") == 3


def test_what_lacks_the_label_runs_between_the_loops() -> None:
    def body(x, s):
        scale = build.sqrt(s)
        total = build.reduce_sum(build.sqrt(x), [0])
        return build.sqrt(x) * build.broadcast(scale / total, (N,), ())

    assert_nest(
        function_of([Type(F64, (N,)), Type(F64)], body, ["x", "s"]),
        """
    %1 = sqrt s
    for i in n:
      %0[i] = sqrt x
      %2 joins reduce_sum %0
    %3 = div %1, %2
    for i in n:
      output 0[i] = mul(%0, broadcast(%3))
    """.rstrip(),
    )


def test_matmul_runs_along_rows() -> None:
    f = function_of(
        [Type(F64, (N, D)), Type(F64, (D, K))], lambda x, y: build.contract(x, y, "ij,jk->ik")
    )
    loops = [line.strip() for line in str(schedule(f)).splitlines() if "for" in line]
    assert loops == ["for i in n:", "for j in d:", "for k in k:"]


def test_labels_side_by_side() -> None:
    """More labels than are peeled one by one."""

    def body(x):
        total = None
        for i in range(1, 30):
            window = build.slice(x, (i,), (40 - i,), (1,))
            scale = total if total is not None else build.constant(1.0)
            scaled = build.sqrt(window) * build.broadcast(scale, (40 - i,), ())
            total = build.reduce_sum(scaled, [0])
        return total

    assert_compiled_same(function_of([Type(F64, (40,))], body), [np.linspace(0, 1, 40)])


def measure(function: Function) -> float:
    best = float("inf")
    gc.disable()
    for _ in range(5):
        start = time.perf_counter()
        lower_kernel(schedule(function), "test")
        best = min(best, time.perf_counter() - start)
    gc.enable()
    return best


@pytest.mark.parametrize("shape", [(), (N,)], ids=["scalars", "arrays"])
def test_time_is_linear(shape: tuple[object, ...]) -> None:
    short, long = measure(long_program(2000, shape)), measure(long_program(16_000, shape))
    assert long < 3 * 8 * short, (short, long)  # quadratic would be 64 times


def test_a_large_state_is_not_swept_at_every_turn() -> None:
    """The gradients of a matrix product: each sum has loops that keep what it joins to small."""
    square = Type(DType.F64, (300, 300))
    function = function_of(
        [square] * 3,
        lambda x, y, g: [build.contract(g, y, "ij,kj->ik"), build.contract(x, g, "ij,ik->jk")],
    )
    kernel = schedule(function)
    for statement in kernel.statements:
        outermost, dim = statement.loops[0]
        assert dim != statement.sequential, outermost.name
