"""Derivatives through loops of which only the running program knows how many steps they take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradc
from gradc_ir.errors import LoopError
from gradc_ir.text.parser import parse_function
from tests.in_threads import in_threads


@gradc.compile
def product(x: Any, steps: Any) -> Any:
    """Return x sin(x)^steps."""

    def more(carry: Any) -> Any:
        return carry[1] < steps

    def step(carry: Any) -> Any:
        y, k = carry
        return y * np.sin(x), k + 1

    return np.sum(gradc.while_loop(more, step, (x, 0))[0])


def slope(x: Any, steps: int) -> Any:
    return np.sin(x) ** steps + x * steps * np.sin(x) ** (steps - 1) * np.cos(x)


def curvature(x: Any, k: int) -> Any:
    s, c = np.sin(x), np.cos(x)
    return 2 * k * s ** (k - 1) * c + x * (k * (k - 1) * s ** (k - 2) * c**2 - k * s**k)


X = np.array([1.3, 1.5, 1.6])


@pytest.mark.parametrize("steps", [0, 1, 64, 65, 300, 3])
def test_gradients_for_any_number_of_steps(steps: int) -> None:
    np.testing.assert_allclose(product.grad(X, np.int64(steps)), slope(X, steps), rtol=1e-12)


def test_a_pullback_takes_what_the_first_half_kept() -> None:
    for steps in (3, 200, 5):
        value, pullback = product.vjp(X, np.int64(steps))
        assert value == pytest.approx(np.sum(X * np.sin(X) ** steps), rel=1e-12)
        for cotangent in (1.0, 2.0):
            np.testing.assert_allclose(pullback(cotangent)[0], cotangent * slope(X, steps), 1e-12)


def test_pullbacks_of_kernels_that_had_less_room_still_work() -> None:
    pullbacks = [product.vjp(X, np.int64(steps))[1] for steps in (2, 500, 1000)]
    for steps, pullback in zip((2, 500, 1000), pullbacks, strict=True):
        np.testing.assert_allclose(pullback(1.0)[0], slope(X, steps), rtol=1e-12)


def test_loops_that_the_second_half_runs_again() -> None:
    """A pullback has the rows of one loop, and needs more of another that it runs itself."""

    def power(x: Any, steps: Any) -> Any:
        def more(carry: Any) -> Any:
            return carry[1] < steps

        return gradc.while_loop(more, lambda c: (c[0] * np.sin(x), c[1] + 1), (x, 0))[0]

    def both(x: Any, few: Any, many: Any) -> Any:
        return power(x, few) * gradc.checkpoint(power)(x, many)

    f = gradc.compile(both)
    x, few, many = 1.5, 3, 200
    want = slope(x, few) * x * np.sin(x) ** many + x * np.sin(x) ** few * slope(x, many)
    _, pullback = f.vjp(x, np.int64(few), np.int64(many))
    assert pullback(1.0)[0] == pytest.approx(want, rel=1e-12)
    assert f.grad(x, np.int64(few), np.int64(many)) == pytest.approx(want, rel=1e-12)


def test_forward_mode_needs_no_tape() -> None:
    steps = np.int64(100)
    _, push = product.linearize(X, steps)
    tangent = np.array([1.0, -2.0, 0.5])
    assert push(tangent, None) == pytest.approx(slope(X, 100) @ tangent, rel=1e-12)
    _, pushed = product.jvp((X, steps), (tangent, None))
    assert pushed == pytest.approx(slope(X, 100) @ tangent, rel=1e-12)


def test_second_derivatives() -> None:
    steps = np.int64(90)
    want = np.diag(curvature(X, 90))
    np.testing.assert_allclose(product.hessian(X, steps), want, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(product.hvp((X, steps), np.ones(3)), np.diag(want), rtol=1e-11)
    np.testing.assert_allclose(product.jacobian(X, steps), slope(X, 90), rtol=1e-12)


def test_one_kernel_serves_any_number_of_steps_and_any_size() -> None:
    f = gradc.compile(product.__wrapped__)
    for size, steps in ((3, 2), (5, 300), (7, 3), (4, 900)):
        x = np.linspace(1.0, 1.5, size)
        np.testing.assert_allclose(f.grad(x, np.int64(steps)), slope(x, steps), rtol=1e-12)
    assert [signature.spec for signature in f.signatures] == [
        "x: f64[3], steps: i64",
        "x: f64[n], steps: i64",
    ]
    assert all(signature.native for signature in f.signatures)


def test_threads_may_need_different_room() -> None:
    f = gradc.compile(product.__wrapped__)
    wrong: list[int] = []

    def call(steps: int) -> None:
        for _ in range(20):
            if not np.allclose(f.grad(X, np.int64(steps)), slope(X, steps), rtol=1e-12):
                wrong.append(steps)

    in_threads(call, (3, 70, 300, 700))
    assert not wrong


def test_the_graph_is_text() -> None:
    function = product.ir("x: f64[3], steps: i64", of="grad")
    text = product.dump("x: f64[3], steps: i64", of="grad", locations=False)
    assert "f64[_tape,3]" in text
    assert parse_function(text) == function


def test_a_loop_without_end_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradc_codegen.interface.python_kernel.most_bytes", lambda: 2**20)

    @gradc.compile
    def forever(x: Any) -> Any:
        return gradc.while_loop(lambda y: y > 0, lambda y: y * np.cos(x) ** 2, x)

    with pytest.raises(LoopError) as error:
        forever.grad(1e-9)
    message = str(error.value)
    assert message.startswith("forever_grad: a loop takes more than ")
    assert "return gradc.while_loop(" in message
    assert "room for the values of twice as many would take 1." in message
    assert "max_iter=" in message


def test_a_limit_is_an_error_with_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def shrink(x: Any) -> Any:
        return gradc.while_loop(lambda y: y > 1, lambda y: y * 0.5, x, max_iter=5)

    messages = set()
    for disabled in ("", "1"):
        monkeypatch.setenv("GRADC_DISABLE_JIT", disabled)
        f = gradc.compile(shrink)
        assert f(2.0**5) == 1.0
        assert f.grad(2.0**5) == 2.0**-5
        with pytest.raises(LoopError, match="takes more than 5 steps") as error:
            f(2.0**6)
        messages.add(str(error.value))
        with pytest.raises(LoopError, match="takes more than 5 steps"):
            f.grad(2.0**6)
    assert len(messages) == 1
    assert "return gradc.while_loop(" in messages.pop()


def test_a_limit_reached_is_not_reached_again_slowly() -> None:
    @gradc.compile
    def slow(x: Any) -> Any:
        return gradc.while_loop(lambda y: y > 0, lambda y: y * x, x, max_iter=10**7)

    for call in (slow, slow.grad):
        with pytest.raises(LoopError, match="takes more than 10000000 steps") as error:
            call(1.0)
        assert "return gradc.while_loop(" in str(error.value)


def test_which_of_two_limits_was_reached() -> None:
    def both(x: Any) -> Any:
        y = gradc.while_loop(lambda y: y > 1, lambda y: y * 0.5, x, max_iter=4)
        return y + gradc.while_loop(lambda y: y > 1, lambda y: y * 0.25, x, max_iter=3)

    with pytest.raises(LoopError, match=r"more than 4 steps(.|\n)*lambda y: y \* 0.5"):
        gradc.compile(both)(32.0)
