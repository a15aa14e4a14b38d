"""Derivatives of loops, branches and checkpoints: both modes, any order, any nesting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from gradc.autodiff.open_calls import OpenCalls
from gradc.autodiff.partition import split
from gradc.derivatives import jvp, vjp
from gradc.testing import check_function
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import RuleError
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.verify import verify
from tests.gradc.test_derivatives import assert_transposes, made

n = sizes.symbol("n")
F, INT, B = Type(DType.F64), Type(DType.I64), Type(DType.BOOL)
V, V3, M = F.with_shape((n,)), F.with_shape((3,)), F.with_shape((n, 3))


def number(value: int) -> Value:
    return build.constant(value, DType.I64)


def read(x: Value, *indices: Value) -> Value:
    return build.gather(x, indices, tuple(range(len(indices))))


def write(x: Value, part: Value, index: Value) -> Value:
    return build.scatter_set(x, part, [index], (0,))


def repeat(
    count: Any, init: Sequence[Value], consts: Sequence[Value], body: Callable[..., Any]
) -> tuple[Value, ...]:
    """A loop of ``body(i, *consts, *carries)``; ``count`` is a size or a value."""
    types = [INT, *(x.type for x in (*consts, *init))]

    def step(*given: Value) -> list[Value]:
        i, rest = given[len(consts)], (*given[: len(consts)], *given[len(consts) + 1 :])
        found = body(i, *rest)
        return [i + 1, *([found] if isinstance(found, Value) else found)]

    order = [*types[1 : 1 + len(consts)], INT, *types[1 + len(consts) :]]
    function = made(order, step, "step")
    limits = {"length": None, "count": count} if isinstance(count, Value) else {"length": count}
    return build.scan(function, consts, [number(0), *init], (), **limits)[1:]


def until(
    limit: Value, x: Value, consts: Sequence[Value], body: Callable[..., Any], **options: Any
) -> tuple[Value, ...]:
    """A loop of ``body(*consts, x)`` as long as x is below the limit."""
    condition = made([F, x.type], lambda most, c: build.lt(c, most))
    step = made([*(c.type for c in consts), x.type], body, "step")
    return build.while_loop(condition, step, [limit], consts, [x], **options)


def branch(
    pred: Value, then: Callable[..., Any], otherwise: Callable[..., Any], *operands: Value
) -> tuple[Value, ...]:
    types = [x.type for x in operands]
    return build.cond(pred, made(types, then), made(types, otherwise), operands)


SWEEP = made([F, F, F], lambda a, c, row: [build.sin(c * a) + row, c * row])
SQUARE_RULE = made([F, F], lambda x, ct: 2 * x * ct)


def square(x: Value) -> Value:
    """A call that has a vjp only."""
    body = made([F], lambda x: x * x)
    return build.call([x], name="square", body=body, vjp=SQUARE_RULE)[0]


def slope(x: Value) -> Value:
    """The derivative of x sin x, built by reverse mode in the place where it is used."""
    inner = made([F], lambda x: x * build.sin(x))
    return build.active().inline(vjp(inner, [0], "ones"), [x])[1]


def chain(c: Value, x: Value) -> Value:
    """x[i] += sin(c[i] x[i-1])"""

    def step(i: Value, c: Value, x: Value) -> Value:
        i = i + 1
        return write(x, read(x, i) + build.sin(read(c, i) * read(x, i - 1)), i)

    return repeat(n - 1, [x], [c], step)[0]


def triangle(c: Value, x: Value) -> Value:
    """for i: for j < i: x[i] += c[j] x[j]"""

    def inner(j: Value, i: Value, c: Value, x: Value) -> Value:
        return write(x, read(x, i) + read(c, j) * read(x, j), i)

    def outer(i: Value, c: Value, x: Value) -> Value:
        return repeat(i, [x], [i, c], inner)[0]

    return repeat(n, [x], [c], outer)[0]


def newton(a: Value, x: Value) -> Value:
    """The square root of a by Newton's method, until it is near enough."""
    condition = made([F, F], lambda a, x: build.gt(build.abs(x * x - a), 1e-9))
    step = made([F, F], lambda a, x: (x + a / x) * 0.5)
    return build.while_loop(condition, step, [a], [a], [x])[0]


def deep(a: Value, x: Value, rows: Value) -> list[Value]:
    """A scan in a while in a cond in a scan."""

    def grow(a: Value, x: Value) -> list[Value]:
        return [repeat(2, [x], [a], lambda i, a, x: x + 0.3 * a * build.exp(x))[0]]

    def then(a: Value, x: Value, row: Value) -> Value:
        return until(row, x, [a], grow)[0] * row

    def step(a: Value, x: Value, row: Value) -> list[Value]:
        x = branch(build.lt(x, row), then, lambda a, x, row: build.sin(x) * a, a, x, row)[0]
        return [x, x * row]

    return list(build.scan(made([F, F, F], step), [a], [x], [rows], length=n))


def gradients_within(a: Value, x: Value) -> list[Value]:
    """A gradient inside a scan inside a while."""

    def step(a: Value, x: Value) -> list[Value]:
        return [repeat(3, [x], [a], lambda i, a, x: x + 0.3 * a * (build.sin(slope(x)) + 2))[0]]

    return [until(build.constant(3.0), x, [a], step)[0]]


def kinds_of_carries(x: Value, y: Value) -> list[Value]:
    """Carries that vary, that do not, integers and bools, one that is reset, one passed on."""
    types = [F, F, F, INT, B, F]

    def step(v: Value, same: Value, reset: Value, k: Value, flag: Value, passed: Value) -> Any:
        odd = build.cast(k, DType.F64) * build.select(flag, v, -v)
        return [odd * same, same, build.constant(2.0), k + 1, build.logical_not(flag), passed]

    init = [x, build.constant(0.7), y, number(1), build.constant(True), y]
    found = build.scan(made(types, step), [], init, [], length=3)
    return [found[0], found[2], found[3], found[5]]


def shared_operands(x: Value) -> list[Value]:
    """One value as const, as first carry and, repeated, as rows."""
    rows = build.broadcast(x, (3,), ())
    return list(build.scan(SWEEP, [x], [x], [rows], length=3))


def windows_of_consts(c: Value, x: Value) -> Value:
    """A step reads windows and elements of one vector, and all of it."""

    def step(i: Value, c: Value, x: Value) -> Value:
        first = build.slice(c, (0,), (2,), (1,))
        return build.sin(x) * build.reduce_sum(first, (0,)) + read(c, i) * build.reduce_prod(
            c, (0,)
        )

    return repeat(3, [x], [c], step)[0]


def rows_of_carry(x: Value, w: Value) -> Value:
    """A step writes a row of a matrix from windows of it."""

    def step(i: Value, w: Value, x: Value) -> Value:
        top = build.slice(x, (0, 0), (1, 3), (1, 1))
        return write(x, build.sin(build.reshape(top, (3,)) * w + read(x, i)), i)

    return repeat(n, [x], [w], step)[0]


def one_branch_reads(x: Value, y: Value) -> list[Value]:
    """A loop whose branches read different operands; c is read by one of them only."""

    def step(i: Value, c: Value, x: Value) -> Value:
        near = build.lt(x, 1.0)
        then = lambda c, x, i: x * read(c, i)  # noqa: E731
        return branch(near, then, lambda c, x, i: x * 0.5, c, x, i)[0] + 0.2

    return list(repeat(3, [x], [y], step))


def kept_apart(a: Value, x: Value) -> list[Value]:
    """Checkpoints in a loop and around one."""
    cell = made([F, F], lambda a, x: [build.sin(a * x), x * x])

    def step(i: Value, a: Value, x: Value) -> Value:
        sine, both = build.checkpoint(cell, [a, x])
        return sine + 0.1 * both

    loop = made([F, F], lambda a, x: repeat(3, [x], [a], step))
    return list(build.checkpoint(loop, [a, x]))


def with_rows(x: Value) -> list[Value]:
    """A while with rows, of a limited number of steps."""
    return list(until(build.constant(2.0), x, [], lambda c: [c * 1.3, build.sin(c)], length=8))


def counted(reverse: bool) -> Callable[..., Any]:
    def body(a: Value, x: Value, rows: Value, k: Value) -> Any:
        return build.scan(SWEEP, [a], [x], [rows], length=n, count=k, reverse=reverse)

    return body


A, X = np.array(0.7), np.array(0.3)
C5, X5 = np.linspace(0.1, 1, 5), np.linspace(0.7, 0.2, 5)
ROWS = np.array([0.9, 1.7, 0.4])

PROGRAMS: dict[str, tuple[Sequence[Type], Callable[..., Any], Sequence[Any]]] = {
    "scan": (
        [F, F, V], lambda a, x, r: build.scan(SWEEP, [a], [x], [r], length=n), [A, X, C5[:4]]
    ),
    "scan of one step": (
        [F, F, V], lambda a, x, r: build.scan(SWEEP, [a], [x], [r], length=n), [A, X, C5[:1]]
    ),
    "scan of no step": (
        [F, F, V], lambda a, x, r: build.scan(SWEEP, [a], [x], [r], length=n), [A, X, C5[:0]]
    ),
    "counted": ([F, F, V, INT], counted(False), [A, X, C5, np.array(3)]),
    "counted in reverse": ([F, F, V, INT], counted(True), [A, X, C5, np.array(3)]),
    "counted to nothing": ([F, F, V, INT], counted(True), [A, X, C5, np.array(-2)]),
    "counted without a length": (
        [F, F, INT],
        lambda a, x, k: repeat(k, [x], [a], lambda i, a, x: build.sin(a * x) + x),
        [A, X, np.array(3)],
    ),
    "kinds of carries": ([F, F], kinds_of_carries, [A, X]),
    "shared operands": ([F], shared_operands, [X]),
    "while": (
        [F, F], lambda a, x: until(build.constant(9.0), x, [a], lambda a, c: [c * (1 + a)]), [A, X]
    ),
    "while of no step": (
        [F, F], lambda a, x: until(build.constant(0.0), x, [a], lambda a, c: [c * (1 + a)]), [A, X]
    ),
    "while with rows": ([F], with_rows, [X]),
    "newton": ([F, F], newton, [np.array(2.0), np.array(1.0)]),
    "cond in a scan": ([F, V3], one_branch_reads, [X, ROWS]),
    "checkpoints": ([F, F], kept_apart, [A, X]),
    "call in a scan": (
        [F], lambda x: repeat(2, [x], [], lambda i, x: square(x) + 0.1), [X]
    ),
    "call in a while": (
        [F], lambda x: until(build.constant(4.0), x, [], lambda c: [square(c) + 0.9]), [X]
    ),
    "deep": ([F, F, V], deep, [A, X, ROWS]),
    "gradients within": ([F, F], gradients_within, [A, np.array(1.0)]),
    "chain": ([V, V], chain, [C5, X5]),
    "triangle": ([V, V], triangle, [C5[:4], X5[:4]]),
    "windows of consts": ([V3, F], windows_of_consts, [ROWS, X]),
    "rows of a carry": (
        [M, V3], rows_of_carry, [np.linspace(-1, 1, 12).reshape(4, 3), ROWS]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_forward_is_reverse_is_numeric(name: str) -> None:
    types, body, arrays = PROGRAMS[name]
    function = made(types, body, "f")
    verify(function)
    wrt = [i for i, type_ in enumerate(types) if type_.dtype.is_float]
    assert_transposes(function, arrays, wrt)
    check_function(function, arrays, wrt, order=2)
    second = vjp(vjp(function, wrt), wrt)
    verify(second)
    verify(jvp(second, wrt))


def test_scan_checkpointed() -> None:
    def body(a: Value, x: Value, rows: Value) -> Any:
        return build.scan(SWEEP, [a], [x], [rows], length=n, checkpoint=2)

    function = made([F, F, V], body)
    assert_transposes(function, [A, X, C5], [0, 1, 2])
    check_function(function, [A, X, C5], [0, 1, 2], order=2)


def test_a_tape_grows() -> None:
    function = made([F, F], PROGRAMS["while"][1])
    pulled = vjp(function, [0, 1])
    assert pulled.size_symbols == ("_tape",)
    final, count, by_rate, by_x = interpret(pulled, [0.003, X, 1.0])
    assert count > 1000
    assert final == pytest.approx(X * 1.003**count, rel=1e-10)
    assert by_x == pytest.approx(1.003**count, rel=1e-10)
    assert by_rate == pytest.approx(count * final / 1.003, rel=1e-10)


def test_a_pullback_of_a_loop_is_split() -> None:
    types, body, arrays = PROGRAMS["deep"]
    function = made(types, body)
    pulled = vjp(function, [0, 1, 2])
    seeds = [np.array(0.3), ROWS]
    known, rest = split(pulled, range(3, 5))
    found = interpret(known, arrays)
    count = len(function.results)
    again = (*found[:count], *interpret(rest, [*found[count:], *seeds]))
    for have, want in zip(again, interpret(pulled, [*arrays, *seeds]), strict=True):
        np.testing.assert_array_equal(have, want)


# -- rules that are made of loops -----------------------------------------------------------------


def power_by_rule(rule: Callable[..., Any]) -> Function:
    """x^8 as a call whose vjp is what ``rule`` makes of x and the cotangent."""
    body = made([F], lambda x: x**8.0)
    vjp_only = made([F, F], rule)
    return made([F], lambda x: build.call([x], name="power", body=body, vjp=vjp_only)[0])


LINEAR_RULES: dict[str, Callable[[Value, Value], Value]] = {
    "scan": lambda x, ct: 8 * repeat(7, [ct], [x], lambda i, x, ct: ct * x)[0],
    "scan from zero": lambda x, ct: repeat(
        8, [build.constant(0.0)], [x, ct], lambda i, x, ct, total: total + ct * x**7.0
    )[0],
    "while": lambda x, ct: (
        8
        * build.while_loop(
            made([INT, F], lambda k, ct: build.lt(k, 7)),
            made([F, INT, F], lambda x, k, ct: [k + 1, ct * x]),
            [],
            [x],
            [number(0), ct],
        )[1]
    ),
    "cond": lambda x, ct: branch(
        build.gt(x, 0), lambda x, ct: 8 * ct * x**7.0, lambda x, ct: ct * 0.0, x, ct
    )[0],
    "checkpoint": lambda x, ct: build.checkpoint(
        made([F, F], lambda x, ct: 8 * ct * x**7.0), [x, ct]
    )[0],
}


@pytest.mark.parametrize("name", LINEAR_RULES)
def test_a_rule_of_loops_is_transposed(name: str) -> None:
    pushed = OpenCalls()(jvp(power_by_rule(LINEAR_RULES[name]), [0]))
    assert interpret(pushed, [1.5, 2.0])[1] == pytest.approx(2 * 8 * 1.5**7, rel=1e-14)


NONLINEAR_RULES: dict[str, tuple[str, Callable[[Value, Value], Value]]] = {
    "a square": ("scan", lambda x, ct: repeat(2, [ct], [x], lambda i, x, ct: ct * ct * x)[0]),
    "from one": (
        "scan", lambda x, ct: repeat(2, [build.constant(1.0)], [ct], lambda i, ct, t: t + ct)[0]
    ),
    "a condition": ("while", lambda x, ct: until(x, ct, [], lambda c: [c * 2])[0]),
    "a branch": (
        "cond", lambda x, ct: branch(build.lt(x, 1), lambda ct: ct, lambda ct: ct + 1, ct)[0]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NONLINEAR_RULES)
def test_a_rule_of_loops_that_is_not_linear_is_refused(name: str) -> None:
    op, rule = NONLINEAR_RULES[name]
    with pytest.raises(RuleError, match=f"{op} is where it stops being linear"):
        jvp(power_by_rule(rule), [0])
