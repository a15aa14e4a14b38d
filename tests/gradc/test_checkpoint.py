"""Checkpoints: loops that store a few states only, and functions that run again in reverse."""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.derivatives import jvp, vjp
from gradc.derivatives.control.checkpointed import binomial
from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.tracing import trace
from gradc_codegen.lower.lower import lower
from gradc_codegen.machine.jit import compile_module
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import LoopError, TraceError
from gradc_ir.interpreter.interpret import interpret, watched
from gradc_ir.text.parser import parse_function
from gradc_ir.verify import verify
from tests.comparing import assert_close

# two carries, one of them an integer, which the step depends on; consts, and rows in and out
BODY = parse_function("""
func @body(%w: f64[2], %b: f64, %h: f64[2], %i: i64, %x: f64[2]) -> (f64[2], i64, f64, f64[2]) {
  %0: f64[2] = mul %w, %h
  %1: f64[2] = add %0, %x
  %2: f64[2] = tanh %1
  %3: i64 = add %i, 1
  %4: f64 = cast %i
  %5: f64 = mul %b, %4
  %6: f64[2] = broadcast %5 {axes = []}
  %7: f64[2] = sin %6
  %8: f64[2] = add %2, %7
  %9: f64 = reduce_sum %8 {axes = [0]}
  %10: f64[2] = mul %8, %h
  return %8, %3, %9, %10
}
""")


def loop(
    length: Size, checkpoint: Size | None, *, reverse: bool = False, counted: bool = False
) -> Function:
    """Return the function of ([count], w, b, h, i, rows) that is one scan of the body above."""
    rows = BODY.param_types[4].with_shape((length, 2))
    with Builder() as builder:
        types = [*[Type(DType.I64)] * counted, *BODY.param_types[:4], rows]
        params = [builder.param(i, type_) for i, type_ in enumerate(types)]
        count = params[0] if counted else None
        w, b, h, i, x = params[counted:]
        results = build.scan(
            BODY, [w, b], [h, i], [x],
            length=length, reverse=reverse, count=count, checkpoint=checkpoint,
        )  # fmt: skip
        return builder.function("loop", params, results)


def floats(function: Function) -> list[int]:
    return [i for i, param in enumerate(function.params) if param.type.dtype.is_float]


def arguments(function: Function, count: int, symbols: dict[str, int]) -> list[Any]:
    random = np.random.default_rng(0)
    shapes = [[sizes.evaluate(s, symbols) for s in t.shape] for t in function.param_types]
    return [
        np.asarray(random.normal(size=shape) if type_.dtype.is_float else np.int64(count))
        for type_, shape in zip(function.param_types, shapes)
    ]


def assert_same(
    plain: Function, checkpointed: Function, count: int, symbols: dict[str, int] | None = None
) -> None:
    verify(checkpointed)
    given = arguments(plain, count, symbols or {})
    for left, right in zip(interpret(plain, given), interpret(checkpointed, given), strict=True):
        assert_close(left, right, 1, 1e-12)


def pulled(*args: Any, **kwargs: Any) -> Function:
    function = loop(*args, **kwargs)
    return vjp(function, floats(function))


# -- scan ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 20, 50])
@pytest.mark.parametrize("slots", [1, 2, 3, 5, "n", "n + 3"])
def test_cotangents_do_not_depend_on_slots(n: int, slots: int | str) -> None:
    given = slots if isinstance(slots, int) else n + 3 * (slots != "n")
    assert_same(pulled(n, None), pulled(n, given), n)


@pytest.mark.parametrize("slots", [1, 2, 4])
@pytest.mark.parametrize("count", [-1, 0, 1, 6, 9])
@pytest.mark.parametrize("reverse", [False, True])
def test_counted_and_reversed(count: int, slots: int, reverse: bool) -> None:
    plain, checkpointed = (
        pulled(9, checkpoint, counted=True, reverse=reverse) for checkpoint in (None, slots)
    )
    assert_same(plain, checkpointed, count)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 5, 13])
def test_a_symbolic_number_of_slots(n: int, reverse: bool) -> None:
    size = sizes.symbol("n")
    slots = sizes.square_root(2 * size) + 1
    plain, checkpointed = (pulled(size, given, reverse=reverse) for given in (None, slots))
    assert_same(plain, checkpointed, n, {"n": n})


def test_a_count_above_the_length_fails() -> None:
    function = pulled(3, 2, counted=True)
    with pytest.raises(LoopError):
        interpret(function, arguments(function, 4, {}))


@pytest.mark.parametrize(("n", "slots"), [(1, 1), (3, 1), (7, 2), (6, 9)])
def test_second_derivatives(n: int, slots: int) -> None:
    twice: list[list[Function]] = []
    for checkpoint in (None, slots):
        function = loop(n, checkpoint)
        back = vjp(function, floats(function))
        pushed = jvp(function, floats(function))
        twice.append(
            [jvp(back, floats(back)), vjp(back, floats(back)), vjp(pushed, floats(pushed))]
        )
    for plain, checkpointed in zip(*twice):
        assert_same(plain, checkpointed, n)


def nested(x: Any, checkpoint: Any) -> Any:
    """A loop in a loop: nests, an integer carry, rows in and out, one of them read in reverse."""

    def outer(carry: Any, row: Any) -> Any:
        def inner(state: Any, q: Any) -> Any:
            new = {"d": np.sin(state["d"]) * np.cos(q * row * carry), "k": state["k"] + 1}
            return new, state["d"]

        start = {"d": carry, "k": 0}
        last, ys = gradc.scan(inner, start, np.arange(4.0), reverse=True, checkpoint=checkpoint)
        return last["d"] + last["k"] + np.sum(ys), last["d"]

    carry, ys = gradc.scan(outer, x, np.arange(5.0), checkpoint=checkpoint)
    return carry + np.sum(ys)


@pytest.mark.parametrize("checkpoint", [1, 2, "sqrt"])
@pytest.mark.parametrize("of", ["value_and_grad", "hessian"])
def test_loops_in_loops(of: str, checkpoint: Any) -> None:
    want = derivative(lambda x: nested(x, None), of, [0.3])
    found = derivative(lambda x: nested(x, checkpoint), of, [0.3])
    for left, right in zip(found, want, strict=True):
        assert_close(left, right)


@pytest.mark.parametrize("n", [0, 1, 11])
def test_a_number_of_steps_that_only_the_program_knows(n: int) -> None:
    def loss(x: Any, n: Any) -> Any:
        return gradc.fori_loop(0, n, lambda i, h: np.sin(h * x) + i, x, checkpoint=3)

    (gradient,) = derivative(loss, "grad", [0.3, n])
    step = 1e-6
    numeric = (loss(0.3 + step, n) - loss(0.3 - step, n)) / (2 * step)
    assert_close(gradient, numeric, 1 + abs(numeric), 1e-6)


def test_elements_read_in_a_loop_are_added_to_in_place() -> None:
    def loss(table: Any) -> Any:
        def step(h: Any, i: Any) -> Any:
            return np.sin(h * table[i]), None

        return gradc.scan(step, 0.5, np.arange(30) % 7, checkpoint=3)[0]

    shapes = []
    with watched(lambda f, node, operands, results: shapes.append((node.op.name, results))):
        derivative(loss, "grad", [np.linspace(0.2, 1.4, 7)])
    whole = [name for name, results in shapes if any(r.shape == (7,) for r in results)]
    assert whole.count("scatter_add") == 30
    assert whole.count("add") == 0


@pytest.mark.parametrize("checkpoint", [None, 1, 2, "sqrt"])
def test_a_zero_that_nobody_asked_for_stays_zero(checkpoint: Any) -> None:
    def loss(x: Any) -> Any:
        steps = np.ones(4)
        _, roots = gradc.scan(lambda h, r: (h + r, np.sqrt(h)), x, steps, checkpoint=checkpoint)
        return roots[-1]  # the first one has an infinite slope at 0

    assert_close(derivative(loss, "grad", [0.0])[0], 0.5 / np.sqrt(3))


# -- compiled --------------------------------------------------------------------------------------


@pytest.mark.parametrize("checkpoint", [2, "sqrt"])
def test_compiled_loops(checkpoint: Any) -> None:
    for transform in (gradc.value_and_grad, gradc.hessian):
        want = transform(lambda x: nested(x, None))(0.3)
        found = transform(lambda x: nested(x, checkpoint))(0.3)
        assert_close(found, want)


def test_compiled_for_a_size_that_varies() -> None:
    def loss(h: Any, rows: Any) -> Any:
        return np.sum(gradc.scan(lambda h, x: (np.sin(h * x), h), h, rows, checkpoint="sqrt")[1])

    def plain(h: Any, rows: Any) -> Any:
        return np.sum(gradc.scan(lambda h, x: (np.sin(h * x), h), h, rows)[1])

    gradient, want = gradc.grad(loss, (0, 1)), gradc.grad(plain, (0, 1))
    for n in (5, 12, 40, 0, 1):
        given = np.ones(2), np.linspace(0.5, 1.5, 2 * n).reshape(n, 2)
        for left, right in zip(gradient(*given), want(*given)):
            assert_close(left, right)


@pytest.mark.parametrize("width", [1, 3, 50])
def test_a_loop_stores_fewer_than_two_roots_of_its_states(width: int) -> None:
    n = 10_000

    def loss(h: Any, p: Any) -> Any:
        return np.sum(gradc.fori_loop(0, n, lambda i, h: np.sin(p * h), h, checkpoint="sqrt"))

    function = trace(loss, [np.ones(width), 0.7]).function
    code = compile_module(lower(derive(function, Request("value_and_grad", (0, 1))), "loss"))
    scratch = ctypes.CFUNCTYPE(ctypes.c_int64)(code.address("loss_worksize"))()
    assert scratch <= 2 * math.isqrt(n) * width * 8


# -- the schedule ----------------------------------------------------------------------------------


def fewest(steps: int, slots: int) -> int:
    """Griewank and Walther's r l - C(s + r, r - 1): the fewest forward steps."""
    sweeps = next(r for r in range(1, steps + 1) if math.comb(slots + r, r) >= steps)
    return sweeps * steps - math.comb(slots + sweeps, sweeps - 1)


@pytest.fixture(scope="module")
def advance() -> Callable[[int, int], int]:
    with Builder() as builder:
        given = [builder.param(i, Type(DType.I64)) for i in range(2)]
        function = builder.function("advance", given, [binomial.advance(*given, sweeps=3)])
    return functools.cache(
        lambda length, slots: int(interpret(function, [np.int64(length), np.int64(slots)])[0])
    )


@pytest.mark.parametrize(
    ("steps", "slots"), [*((n, s) for n in (5, 29, 80) for s in (1, 2, 3, 4)), (10_000, 10)]
)
def test_no_schedule_takes_fewer_steps(
    steps: int, slots: int, advance: Callable[[int, int], int]
) -> None:
    @functools.cache
    def forward_steps(steps: int, slots: int) -> int:
        if steps <= slots + 1:
            return max(steps - 1, 0)
        ahead = advance(steps, slots)
        return ahead + forward_steps(steps - ahead, slots - 1) + forward_steps(ahead, slots)

    assert forward_steps(steps, slots) == fewest(steps, slots)


@pytest.mark.parametrize(
    ("length", "slots"), [(2**40, 2**20), (2**61, 2**31), (2**40, 9), (2**33 + 2, 2**33)]
)
def test_large_numbers_do_not_overflow(
    length: int, slots: int, advance: Callable[[int, int], int]
) -> None:
    sweeps, before, reach = 1, 0, 1
    while math.comb(slots + sweeps, sweeps) < length:
        sweeps, before, reach = sweeps + 1, reach, math.comb(slots + sweeps, sweeps)
    assert advance(length, slots) == min(reach, length - reach + before)


@pytest.mark.parametrize(("n", "slots"), [(1, 1), (8, 1), (30, 3), (200, 6), (200, 21), (9, 20)])
def test_how_often_the_body_runs(n: int, slots: int) -> None:
    function = pulled(n, slots)
    ran = []
    with watched(lambda f, node, operands, results: ran.append(node.op.name)):
        interpret(function, arguments(function, n, {}))
    # the schedule's steps, the last step for the result, and each once more with its reverse
    assert ran.count("tanh") == fewest(n, slots) + 1 + n
    if slots == math.isqrt(2 * n) + 1:
        assert ran.count("tanh") < 3 * n  # forward, one sweep more, and reverse


# -- functions -------------------------------------------------------------------------------------


def derivative(fn: Callable[..., Any], of: str, args: Sequence[Any]) -> list[Any]:
    """Return the interpreted derivative by the first argument."""
    traced = trace(fn, args)
    captured = [capture.read() for capture in traced.captures]
    given = [*args, *captured]
    return list(interpret(derive(traced.function, Request(of, (0,))), given))


W = np.array([[0.5, -0.2], [0.1, 0.9]])


@gradc.checkpoint
def block(x: Any, *, axis: int = 0) -> dict[str, Any]:
    h = np.tanh(W @ x)
    return {"h": h, "sum": np.sum(np.exp(h), axis=axis), "count": 2}


def loss(x: Any) -> Any:
    scale = np.sin(x[0])
    found = block(x, axis=0)
    inner = gradc.checkpoint(lambda y: np.cos(y * scale))
    return found["sum"] * found["count"] + np.sum(inner(found["h"]))


def plain_loss(x: Any) -> Any:
    h = np.tanh(W @ x)
    return np.sum(np.exp(h)) * 2 + np.sum(np.cos(h * np.sin(x[0])))


@pytest.mark.parametrize("of", ["grad", "hessian"])
def test_a_function_has_the_derivatives_of_its_code(of: str) -> None:
    x = np.array([0.3, -1.2])
    assert_close(loss(x), plain_loss(x), 1, 1e-15)
    for left, right in zip(derivative(loss, of, [x]), derivative(plain_loss, of, [x])):
        assert_close(left, right, 1, 1e-13)


def test_a_batch_of_gradients() -> None:
    x = np.array([[0.3, -1.2], [0.5, 0.1], [2.0, -0.4]])
    found = gradc.vmap(gradc.grad(loss))(x)
    assert_close(found, np.stack([gradc.grad(plain_loss)(row) for row in x]), 1, 1e-13)
    starts = np.linspace(-0.5, 0.5, 3)
    want = gradc.vmap(gradc.grad(lambda x: nested(x, None)))(starts)
    assert_close(gradc.vmap(gradc.grad(lambda x: nested(x, 2)))(starts), want)


def test_a_function_runs_again_in_reverse() -> None:
    ran = []
    with watched(lambda f, node, operands, results: ran.append(node.op.name)):
        derivative(lambda x: np.sum(block(x)["sum"]), "value_and_grad", [np.ones(2)])
    assert ran.count("checkpoint") == 2
    assert ran.count("tanh") == 2 * 2  # of two numbers


def test_in_the_body_of_a_loop_only_its_operands_are_kept() -> None:
    def deep(h: Any) -> Any:
        for _ in range(20):
            h = np.tanh(h * 1.1)
        return h

    def run(step: Callable[[Any], Any]) -> Any:
        return lambda x: np.sum(gradc.scan(lambda h, _: (step(h), None), x, length=5)[0])

    x = np.array([0.3, -1.2])
    traced = trace(run(gradc.checkpoint(deep)), [x])
    function = derive(traced.function, Request("grad", (0,)))
    (forward, *_) = (node for node in function.body if node.op.name == "scan")
    assert [str(result.type) for result in forward.results] == ["f64[2]", "f64[5,2]"]
    assert_close(interpret(function, [x])[0], derivative(run(deep), "grad", [x])[0], 1, 1e-13)


def test_a_method_can_be_checkpointed() -> None:
    class Layer:
        def __init__(self) -> None:
            self.scale = np.array([2.0, 3.0])

        @gradc.checkpoint
        def apply(self, x: Any) -> Any:
            return np.sin(x * self.scale)

    layer = Layer()
    x = np.array([0.3, -1.2])
    (gradient,) = derivative(lambda x: np.sum(layer.apply(x)), "grad", [x])
    assert_close(gradient, np.cos(x * layer.scale) * layer.scale, 1, 1e-14)
    assert_close(layer.apply(x), np.sin(x * layer.scale), 1, 0)


def test_what_is_refused() -> None:
    @gradc.checkpoint
    def assigns(x: Any) -> Any:
        x[0] = 1.0
        return x

    with pytest.raises(TraceError, match=r"cannot be assigned to(.|\n)*x = x.copy\(\)"):
        trace(lambda x: assigns(x), [np.ones(2)])
    with pytest.raises(TraceError, match=r"gradc.checkpoint: fn is no function, it is a float"):
        gradc.checkpoint(1.0)  # type: ignore[arg-type]
    with pytest.raises(TraceError, match=r"result is a str"):
        trace(lambda x: gradc.checkpoint(lambda y: "text")(x), [np.ones(2)])
