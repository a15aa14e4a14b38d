"""The nests the schedule makes, as text, and that it takes linear time."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gradc_codegen.lower.lower import lower_nest
from gradc_codegen.nest.loop_nest import Loop
from gradc_codegen.schedule.choices import Choices
from gradc_codegen.schedule.schedule import schedule
from gradc_codegen.storage.buffers import plan
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function
from gradc_ir.core.types import DType, Type
from tests.codegen.compiled import assert_compiled_same, function_of
from tests.codegen.test_lower import long_program
from tests.counting import calls_in

N, D, K = sizes.symbol("n"), sizes.symbol("d"), sizes.symbol("k")
F64 = DType.F64


class OneByOne(Choices):
    """The default choices, without lanes."""

    def lanes(self, loop: Loop, block: int) -> bool:
        return False


def nest(function: Function) -> str:
    """Return the text of a nest whose loops take one iteration at a time."""
    return str(schedule(function, choices=OneByOne()))


def assert_nest(function: Function, text: str) -> None:
    """Compare with a nest's text, in which blocks and what is turned for them do not count."""
    lines = [re.sub(r" by \d+:", ":", line[4:]) for line in text.strip("\n").splitlines()]
    lines = [line for line in lines if not line.lstrip().startswith("turn ")]
    assert nest(function).splitlines()[1:] == [f"  {line}" for line in lines]


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
      %7[i] = copy sub(%5, y)
      for j in d:
        %8[j] joins contract x, %7 -> output 1
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
    text = nest(f)
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

    text = nest(function_of([Type(F64, (N, D))], body, ["x"]))
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
    loops = [line.strip() for line in nest(f).splitlines() if "for" in line]
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


def calls(function: Function) -> int:
    return calls_in(lambda: lower_nest(schedule(function), "test"))


@pytest.mark.parametrize(
    "shape",
    [pytest.param((), id="scalars"), pytest.param((N,), id="arrays", marks=pytest.mark.slow)],
)
def test_time_is_linear(shape: tuple[object, ...]) -> None:
    assert calls(long_program(16_000, shape)) < 10 * calls(long_program(2000, shape))


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


def mixture(x, mu, factors, alpha):
    """The log-likelihood of Gaussians and its gradients, as reverse mode writes them."""
    wide = (N, K, 10)
    centred = build.broadcast(x, wide, (0, 2)) - build.broadcast(mu, wide, (1, 2))
    scaled = build.contract(factors, centred, "kij,nkj->nki")
    terms = build.broadcast(alpha, (N, K), (1,)) - build.reduce_sum(scaled * scaled, [2])
    top = build.reduce_max(terms, [1])
    near = build.exp(terms - build.broadcast(top, (N, K), (0,)))
    total = build.reduce_sum(near, [1])
    weights = near / build.broadcast(total, (N, K), (0,))
    pulled = build.broadcast(weights, wide, (0, 1)) * scaled
    return (
        build.reduce_sum(build.log(total) + top, [0]),
        build.reduce_sum(weights, [0]),
        build.contract(pulled, centred, "nki,nkj->kij"),
        build.reduce_sum(build.contract(factors, pulled, "kij,nki->nkj"), [0]),
    )


def test_a_mixture_has_one_loop_over_samples() -> None:
    """What is centred is kept within a phase and computed anew in the next: never for all k."""
    types = [Type(F64, shape) for shape in ((N, 10), (K, 10), (K, 10, 10), (K,))]
    assert_nest(
        function_of(types, mixture, ["x", "mu", "factors", "alpha"]),
        """
    for i in n:
      for j in k:
        for k in 10:
          %4[i,j,k] = copy sub(broadcast(x), broadcast(mu))
        for k in 10:
          for l in 10:
            %5[i,j,k] joins contract factors, %4
          %7[i,j] joins reduce_sum mul(%5, %5)
        %9[i] joins reduce_max sub(broadcast(alpha), %7)
      for j in k:
        %11[i,j] = sub sub(broadcast(alpha), %7), broadcast(%9)
        %12[i,j] = exp %11
        %13[i] joins reduce_sum %12
      %14[i] = log %13
      %15[i] = add %14, %9
      %16 joins reduce_sum %15 -> output 0
      for j in k:
        %18[i,j] = div %12, broadcast(%13)
        %19[j] joins reduce_sum %18 -> output 1
        for k in 10:
          %21[i,j,k] = mul broadcast(%18), %5
        for k in 10:
          %22[i,j,k] = copy sub(broadcast(x), broadcast(mu))
          for l in 10:
            %23[j,l,k] joins contract %21, %22 -> output 2
            %24[i,j,k] joins contract factors, %21
          %25[j,k] joins reduce_sum %24 -> output 3
    """.rstrip(),
    )


def test_one_element_of_each_row_is_read_and_written_in_the_loop_over_rows() -> None:
    def body(x, column):
        where = [build.iota(DType.I64, N), column]
        chosen = build.gather(build.sqrt(x), where, (0, 1))
        return build.reduce_sum(chosen, [0]), build.scatter_add(build.exp(x), chosen, where, (0, 1))

    assert_nest(
        function_of([Type(F64, (N, D)), Type(DType.I64, (N,))], body, ["x", "column"]),
        """
    for i in n:
      for j in d:
        %0[i,j] = sqrt x
        %4[i,j] = exp x
        %5[i,j] from scatter_add %4
      %2[i] = gather %0, iota, column
      %3 joins reduce_sum %2 -> output 0
      %5[i,?] at scatter_add %2, iota, column -> output 1
    """.rstrip(),
    )


def test_a_cheap_value_is_kept_for_who_reads_it_again_and_again() -> None:
    def body(x, y, w):
        wide = build.broadcast(x - y, (N, D), (0,))
        return build.sqrt(x - y), build.sqrt(wide), build.contract(w + 1.0, wide, "kj,ij->ki")

    assert_nest(
        function_of([Type(F64, (N,)), Type(F64, (N,)), Type(F64, (K, D))], body, ["x", "y", "w"]),
        """
    for i in n:
      %1[i] = sqrt sub(x, y) -> output 0
      %2[i] = copy sub(x, y)
      for j in d:
        %4[i,j] = sqrt broadcast(%2) -> output 1
    for i in k:
      for j in d:
        %8[i,j] = copy add(w, broadcast(1.0))
      for j in n:
        for k in d:
          %9[i,j] joins contract %8, broadcast(%2) -> output 2
    """.rstrip(),
    )
