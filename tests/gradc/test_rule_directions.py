"""Rules given in one direction serve both, to second order, wherever the function stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy

import gradc

Function = Callable[..., Any]
POINT = 0.7


def wave_by_vjp() -> Function:
    @gradc.custom_gradient
    def wave(x):
        return np.sin(x) * np.exp(x / 3)

    @wave.def_vjp
    def wave_vjp(upstream, x, output):
        return upstream * (np.cos(x) * np.exp(x / 3) + output / 3)

    return wave


def wave_by_jvp() -> Function:
    @gradc.custom_gradient
    def wave(x):
        return np.sin(x) * np.exp(x / 3)

    @wave.def_jvp
    def wave_jvp(tangents, x, output):
        (dx,) = tangents
        return dx * (np.cos(x) * np.exp(x / 3) + output / 3)

    return wave


def wave_by_partials() -> Function:
    @gradc.custom_gradient
    def wave(x):
        return np.sin(x) * np.exp(x / 3)

    @wave.def_partials
    def partials(x):
        return (np.cos(x) * np.exp(x / 3) + np.sin(x) * np.exp(x / 3) / 3,)

    return wave


def wave_by_sympy() -> Function:
    @gradc.custom_gradient
    def wave(x):
        return np.sin(x) * np.exp(x / 3)

    x = sympy.Symbol("x")
    wave.def_partials(sympy.diff(sympy.sin(x) * sympy.exp(x / 3), x))
    return wave


def wave_in_the_form_of_tensorflow() -> Function:
    @gradc.custom_gradient
    def wave(x):
        e = np.exp(x / 3)

        def gradient(upstream):
            return upstream * (np.cos(x) + np.sin(x) / 3) * e

        return np.sin(x) * e, gradient

    return wave


def wave_of_waves() -> Function:
    """Have one rule use another function with a rule: the value's, by its jvp alone."""
    inner = wave_by_jvp()

    @gradc.custom_gradient
    def wave(x):
        def gradient(upstream):
            return upstream * (inner(x) / 3 + np.cos(x) * np.exp(x / 3))

        return inner(x), gradient

    return wave


MADE = (
    wave_by_vjp,
    wave_by_jvp,
    wave_by_partials,
    wave_by_sympy,
    wave_in_the_form_of_tensorflow,
    wave_of_waves,
)


def plain(wave: Function, x: Any) -> Any:
    return wave(2 * x) * x


def in_branches(wave: Function, x: Any) -> Any:
    return gradc.cond(x > 0, lambda x: wave(x) ** 2, lambda x: wave(3 * x), x) * x


def in_a_scan(wave: Function, x: Any) -> Any:
    last, rows = gradc.scan(
        lambda carry, row: (wave(carry) + row * x, wave(row * carry)), x, np.array([0.5, 0.25, 1.5])
    )
    return last + np.sum(rows)


def in_a_while_loop(wave: Function, x: Any) -> Any:
    return gradc.while_loop(lambda s: s[0] < 4, lambda s: (s[0] + 1, wave(s[1])), (0, x))[1]


def under_vmap(wave: Function, x: Any) -> Any:
    return np.sum(gradc.vmap(lambda a, b: wave(a * b), (0, None))(np.array([0.5, 1.0, 2.0]), x))


def under_a_gradient(wave: Function, x: Any) -> Any:
    return gradc.grad(lambda y: wave(x * y))(1.5)


def in_a_rule(wave: Function, x: Any) -> Any:
    @gradc.custom_gradient
    def scaled(x):
        return 2 * wave(x), lambda upstream: gradc.vjp(lambda y: 2 * wave(y), x)[1](upstream)

    return scaled(x) * x


# what each program is over the reals
PROGRAMS: dict[Function, Function] = {
    plain: lambda w, x: w(2 * x) * x,
    in_branches: lambda w, x: w(x) ** 2 * x,
    in_a_scan: lambda w, x: _scan(w, x),
    in_a_while_loop: lambda w, x: w(w(w(w(x)))),
    under_vmap: lambda w, x: w(x / 2) + w(x) + w(2 * x),
    under_a_gradient: lambda w, x: x * mpmath.diff(w, 1.5 * x),
    in_a_rule: lambda w, x: 2 * w(x) * x,
}


def _scan(wave: Function, x: Any) -> Any:
    carry, total = x, mpmath.mpf(0)
    for row in (0.5, 0.25, 1.5):
        total += wave(row * carry)
        carry = wave(carry) + row * x
    return carry + total


def wave_over_the_reals(x: Any) -> Any:
    return mpmath.sin(x) * mpmath.exp(x / 3)


# Each way to make one in the first program, and the first of them in each.
EACH_IN_EACH = [
    pytest.param(
        make,
        program,
        id=f"{make.__name__}-{program.__name__}",
        marks=[pytest.mark.slow] * (make is not MADE[0] and program is not plain),
    )
    for make in MADE
    for program in PROGRAMS
]


@pytest.mark.parametrize(("make", "program"), EACH_IN_EACH)
def test_both_modes_to_second_order(make: Callable[[], Function], program: Function) -> None:
    wave, exact = make(), PROGRAMS[program]

    @gradc.compile
    def f(x):
        return program(wave, x)

    with mpmath.workdps(60):
        wanted = [
            float(mpmath.diff(lambda x: exact(wave_over_the_reals, x), mpmath.mpf(POINT), n))
            for n in range(3)
        ]
    value, first, second = wanted
    close = {"rel": 1e-13, "abs": 1e-13}
    assert f(POINT) == pytest.approx(value, **close)
    assert f.grad(POINT) == pytest.approx(first, **close)
    assert f.jvp((POINT,), (1.0,))[1] == pytest.approx(first, **close)
    assert f.hessian(POINT) == pytest.approx(second, **close)
    assert f.hvp((POINT,), 1.0) == pytest.approx(second, **close)
    twice_forward = gradc.jvp(lambda x: gradc.jvp(f, (x,), (1.0,))[1], (POINT,), (1.0,))[1]
    assert twice_forward == pytest.approx(second, **close)


# -- rules that are not linear ---------------------------------------------------------------------


def test_clipping_a_cotangent_serves_reverse_mode() -> None:
    @gradc.custom_gradient
    def clipped(x):
        return x, lambda upstream: np.clip(upstream, -1.0, 1.0)

    assert gradc.grad(lambda x: 5 * clipped(x) + 0.5 * clipped(2 * x))(1.0) == 2.0
    with pytest.raises(gradc.RuleError) as error:
        gradc.jvp(clipped, (1.0,), (1.0,))
    assert "clipped has a vjp but no jvp, and its vjp is not linear" in str(error.value)
    assert "@clipped.def_jvp" in str(error.value)


def test_clipping_a_tangent_serves_forward_mode() -> None:
    @gradc.custom_gradient
    def clipped(x):
        return x

    @clipped.def_jvp
    def clipped_jvp(tangents, x):
        return np.clip(tangents[0], -1.0, 1.0)

    assert gradc.jvp(lambda x: 3 * clipped(x), (1.0,), (7.0,)) == (3.0, 3.0)
    with pytest.raises(gradc.RuleError, match=r"@clipped\.def_vjp"):
        gradc.grad(clipped)(1.0)


def test_both_rules_of_what_is_not_linear() -> None:
    @gradc.custom_gradient
    def clipped(x):
        return x, lambda upstream: np.clip(upstream, -1.0, 1.0)

    @clipped.def_jvp
    def clipped_jvp(tangents, x):
        return 10 * tangents[0]

    assert gradc.grad(lambda x: 5 * clipped(x))(1.0) == 1.0
    assert gradc.jvp(clipped, (1.0,), (7.0,)) == (1.0, 70.0)
