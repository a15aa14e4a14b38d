"""SymPy both ways: values and derivatives against many digits, arrays, sums, what is refused."""

from __future__ import annotations

import random
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp

import gradc
from gradc_ir.errors import TraceError
from tests.comparing import assert_same_bits

x, y, z = sp.symbols("x y z")
i, j = sp.symbols("i j", integer=True)
n, m = sp.symbols("n m", integer=True)


def digits(expression: Any, at: dict[Any, float]) -> Any:
    """Return an expression's value at floats, of many digits."""
    names = list(at)
    with mpmath.workdps(60):
        function = sp.lambdify(names, expression, "mpmath")
        return function(*[mpmath.mpf(float(at[name])) for name in names])


def assert_close(found: Any, truth: Any, scale: float = 1.0) -> None:
    assert abs(float(found) - float(truth)) <= 1e-12 * max(abs(float(truth)), scale)


@pytest.mark.parametrize(
    "expression",
    [
        sp.log(1 + sp.exp(x * y)) + sp.sin(z) ** 3 / x - sp.Rational(1, 3) * y,
        sp.sqrt(x**2 + y**2) / z + x ** sp.Rational(5, 2) - y**-3,
        sp.Piecewise((x * y, x > 1), (sp.cos(z), x > 5), (-1, True)),
        sp.atan2(x, y) + sp.Max(x, y, z) - sp.Min(x, z) + sp.Abs(x - z),
        sp.erf(x) * sp.gamma(y) + sp.loggamma(z) + sp.besselj(1, x) + sp.digamma(y),
        sp.cot(x) + sp.sec(y) + sp.csch(z) + sp.acoth(2 + x) + sp.asinh(y),
        sp.pi * sp.E**x + sp.EulerGamma * y + 2 * sp.Rational(-2, 7) * z,
        x ** (y + z) - sp.exp(-(x**2)) + sp.factorial(y) + sp.binomial(z, y),
        sp.lowergamma(2, y) + sp.uppergamma(sp.Rational(3, 2), y) + sp.Ei(z) + sp.Si(x),
        sp.Heaviside(x - 1) * y + sp.Mod(z, 2) + sp.ceiling(x),
        sp.polygamma(1, x) + sp.expint(1, y) + sp.sinc(z) + sp.frac(z) + sp.zeta(3, y),
    ],
    ids=str,
)
def test_an_expression_and_its_gradient(expression: Any) -> None:
    at = {x: 1.3, y: 2.1, z: 0.7}
    f = gradc.from_sympy(expression, [x, y, z])
    numbers = list(at.values())
    value, gradient = f.value_and_grad(*numbers, wrt=(0, 1, 2))
    assert_close(value, digits(expression, at))
    for found, symbol in zip(gradient, at):
        with mpmath.workdps(60):
            plain = sp.lambdify(list(at), expression, "mpmath")
            point = [mpmath.mpf(number) for number in numbers]
            order = [int(one is symbol) for one in at]
            truth = mpmath.diff(plain, point, order)
        assert_close(found, truth)


def test_matrices_arrays_and_nests() -> None:
    vector = sp.Matrix([x, y])
    shown = {"m": sp.Matrix([[x * y, 2], [x, y]]), "a": [x + y, (sp.Array([x, y, 1]), x < y)]}
    found = gradc.from_sympy(shown, [vector])(np.array([2.0, 3.0]))
    np.testing.assert_array_equal(found["m"], [[6, 2], [2, 3]])
    assert found["a"][0] == 5.0
    np.testing.assert_array_equal(found["a"][1][0], [2, 3, 1])
    assert found["a"][1][1]
    jacobian = gradc.from_sympy(sp.Matrix([x * y, x]), [vector]).jacobian(np.array([2.0, 3.0]))
    np.testing.assert_array_equal(jacobian, [[[3, 2]], [[1, 0]]])


def test_expressions_of_matrix_symbols() -> None:
    A, B = sp.MatrixSymbol("A", 3, 3), sp.MatrixSymbol("B", 3, 1)
    a = np.random.default_rng(0).normal(size=(3, 3))
    b = np.random.default_rng(1).normal(size=(3, 1))
    f = gradc.from_sympy(A.T * A * B + 2 * B, [A, B])
    np.testing.assert_allclose(f(a, b), a.T @ a @ b + 2 * b, rtol=1e-13)
    f = gradc.from_sympy(A.inv() * B, [A, B])
    np.testing.assert_allclose(f(a, b), np.linalg.solve(a, b), rtol=1e-12)
    f = gradc.from_sympy(A**2 + sp.Identity(3), [A])
    np.testing.assert_allclose(f(a), a @ a + np.eye(3), rtol=1e-13)


def test_sums_of_indexed_arrays_are_operations_on_arrays() -> None:
    a, A = sp.IndexedBase("a", shape=(n,)), sp.IndexedBase("A", shape=(n, m))
    v, M = np.array([1.0, 2.0, 3.0]), np.random.default_rng(0).normal(size=(3, 4))
    cases = [
        (sp.Sum(a[i] ** 2 * x, (i, 0, n - 1)), [a, x], (v, 2.0), np.sum(v**2) * 2),
        (sp.Sum((a[i + 1] - a[i]) ** 2, (i, 0, n - 2)), [a], (v,), np.sum(np.diff(v) ** 2)),
        (sp.Sum(a[i] * A[i, j], (i, 0, n - 1), (j, 0, m - 1)), [a, A], (v, M), np.sum(v @ M)),
        (sp.Sum(A[i, 0] * i, (i, 0, n - 1)), [A], (M,), np.sum(M[:, 0] * np.arange(3))),
        (sp.Product(a[i] + x, (i, 0, n - 1)), [a, x], (v, 2.0), np.prod(v + 2)),
        (sp.Sum(x**i / sp.factorial(i), (i, 0, 20)), [x], (0.5,), np.exp(0.5)),
        (sp.Sum(sp.Sum(A[i, j] ** 2, (j, 0, m - 1)) ** 2, (i, 0, n - 1)), [A], (M,),
         np.sum(np.sum(M**2, 1) ** 2)),
    ]  # fmt: skip
    for expression, args, values, wanted in cases:
        f = gradc.from_sympy(expression, args)
        np.testing.assert_allclose(f(*values), wanted, rtol=1e-13)
        assert "scan" not in f.dump()
    f = gradc.from_sympy(cases[1][0], [a])
    np.testing.assert_array_equal(f.grad(v), [-2, 0, 2])


def test_equal_subexpressions_are_one_node() -> None:
    inner = sp.exp(x * y) + 1
    f = gradc.from_sympy(sp.log(inner) * inner**2 + sp.sin(inner), [x, y])
    text = f.dump(stage="traced")
    assert text.count(" exp ") == 1
    assert text.count(" mul %x, %y") == 1


def test_symbols_of_cse_name_values() -> None:
    replaced, (reduced,) = sp.cse((x + y) ** 3 + sp.sin((x + y) ** 2))
    f = gradc.from_sympy(reduced, [x, y], cse=replaced, name="f")
    assert "%x0: f64 = add %x, %y" in f.dump(stage="traced")
    assert f(1.0, 2.0) == 27 + np.sin(9.0)


def test_a_long_expression_takes_time_in_proportion() -> None:
    expression: Any = x
    for k in range(1000):
        expression = sp.sin(expression, evaluate=False) + k
    f = gradc.from_sympy(expression, [x])
    assert len(list(f.ir(stage="traced").body)) < 3_500


def test_options_and_names() -> None:
    f = gradc.from_sympy(sp.log(1 + sp.exp(x)), [x], stable=False, name="g")
    assert "softplus" not in f.dump()
    assert f.dump(of="grad").split("\n")[1].startswith("func @g_grad(%x: f64) -> f64 {")
    assert f(x=0.0) == np.log(2.0)
    assert repr(gradc.from_sympy(x, [x, sp.Symbol("lambda"), (y, z)])) == (
        "<gradc.compile expression(x, x1, x2)>"
    )


@pytest.mark.parametrize(
    ("expression", "args", "what"),
    [
        (x * y, [x], "the expression has a symbol y that is no argument"),
        (sp.Function("g")(x), [x], "gradc has no function g of 1 argument"),
        (sp.airyai(x), [x], "gradc has no function airyai of 1 argument"),
        (x + sp.I, [x], "I is no real number"),
        (sp.Integral(x, x), [x], "gradc has no function Integral of 2 arguments"),
        (sp.IndexedBase("a")[0], [x], "the expression has an array a that is no argument"),
        (sp.Sum(x, (i, 0, y)), [x, y], "the bounds of i are no sizes"),
    ],
)
def test_what_is_refused(expression: Any, args: Any, what: str) -> None:
    with pytest.raises(TraceError, match="^" + what.replace("(", r"\(")):
        gradc.from_sympy(expression, args)(*[1.0] * len(args))


# -- there and back --------------------------------------------------------------------------------

_ONE = (
    *(sp.sin, sp.cos, sp.exp, sp.tanh, sp.atan, sp.erf, sp.sinh, sp.asinh),
    lambda t: sp.log(2 + t**2),
    lambda t: sp.sqrt(1 + t**2),
    lambda t: 1 / (2 + sp.cos(t)),
    lambda t: t**3,
    lambda t: sp.Piecewise((t, t > 0), (t**2, True)),
    lambda t: sp.Rational(2, 7) * t,
)


def drawn(random_: random.Random, depth: int) -> Any:
    """Return a random expression of x, y and z."""
    if depth == 0 or random_.random() < 0.1:
        return random_.choice([x, y, z, sp.Integer(random_.randint(1, 5)), sp.Rational(1, 3)])
    if random_.random() < 0.5:
        inner = drawn(random_, depth - 1)
        return random_.choice(_ONE)(sp.tanh(inner) if random_.random() < 0.4 else inner)
    left, right = drawn(random_, depth - 1), drawn(random_, depth - 1)
    return random_.choice([left + right, left - right, left * right, left / (1 + right**2)])


def check_there_and_back(seed: int) -> None:
    random_ = random.Random(seed)
    expression = drawn(random_, 4)
    at = {symbol: random_.uniform(-1.5, 1.5) for symbol in (x, y, z)}
    numbers = list(at.values())
    f = gradc.from_sympy(expression, [x, y, z])
    back = gradc.to_sympy(f)
    again = gradc.from_sympy(back, [x, y, z])
    truth = digits(expression, at)
    scale = float(max(abs(truth), 1))
    assert abs(digits(back, at) - truth) <= 1e-14 * scale
    assert_close(f(*numbers), truth, scale)
    assert_close(again(*numbers), truth, scale)
    slopes = gradc.to_sympy(f, of="grad", wrt=(0, 1, 2))
    gradients = f.grad(*numbers, wrt=(0, 1, 2))
    for slope, found, symbol in zip(slopes, gradients, (x, y, z)):
        truth = digits(sp.diff(expression, symbol), at)
        scale = float(max(abs(truth), 1))
        assert abs(digits(slope, at) - truth) <= 1e-13 * scale
        assert_close(found, truth, scale)


@pytest.mark.parametrize("seed", range(8))
def test_there_and_back(seed: int) -> None:
    check_there_and_back(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_two_hundred_there_and_back(part: int) -> None:
    for seed in range(25 * part, 25 * part + 25):
        check_there_and_back(seed)


def test_a_function_of_the_users_as_expressions() -> None:
    def rosenbrock(v):
        return np.sum(100 * (v[1:] - v[:-1] ** 2) ** 2 + (1 - v[:-1]) ** 2)

    a, b = sp.symbols("v_0 v_1")
    found = gradc.to_sympy(rosenbrock, "v: f64[2]")
    assert sp.expand(found - (100 * (b - a**2) ** 2 + (1 - a) ** 2)) == 0
    gradient = gradc.to_sympy(rosenbrock, "v: f64[2]", of="grad")
    assert [sp.expand(gradient[k] - sp.diff(found, s)) for k, s in enumerate((a, b))] == [0, 0]
    hessian = gradc.to_sympy(rosenbrock, "v: f64[2]", of="hessian", real=True)
    assert hessian.shape == (2, 2)
    assert sp.Symbol("v_0", real=True) in hessian.free_symbols


def test_loops_branches_and_arrays_as_expressions() -> None:
    a, b = sp.symbols("a b")
    loop = gradc.to_sympy(
        lambda a: gradc.scan(lambda h, _: (np.sin(h) * a, h), 1.0, None, length=3), "a: f64"
    )
    assert loop[0] == a * sp.sin(a * sp.sin(a * sp.sin(1)))
    assert loop[1] == sp.Array([1, a * sp.sin(1), a * sp.sin(a * sp.sin(1))])
    branch = gradc.to_sympy(
        lambda a, b: gradc.cond(a > 0, lambda: a * b, lambda: a - b), "a: f64, b: f64"
    )
    assert branch == sp.Piecewise((a * b, a > 0), (a - b, True))
    product = gradc.to_sympy(lambda a, b: np.maximum(a @ b, 0), "a: f64[2,2], b: f64[2]")
    assert product.shape == (2,)
    assert str(product[1]) == "Max(0, a_1_0*b_0 + a_1_1*b_1)"
    mean = gradc.to_sympy(lambda a: np.log(np.mean(np.exp(a))) + np.max(a), "a: f64[2]")
    assert "Max(a_0, a_1)" in str(mean)


def test_what_is_no_expression() -> None:
    with pytest.raises(TraceError, match=r"^f: a has a size that is no number"):
        gradc.to_sympy(lambda a: np.sum(a), "a: f64[n]")
    with pytest.raises(TraceError, match=r"^the number of steps of a while is not known"):
        gradc.to_sympy(lambda a: gradc.while_loop(lambda h: h < 9, lambda h: h * 2, a), "a: f64")
    with pytest.raises(TraceError, match=r"^SymPy has no name for the op"):
        gradc.to_sympy(lambda a: np.sort(a), "a: f64[3]")


def test_it_is_called_outside_of_a_trace_and_inlined_in_one() -> None:
    f = gradc.from_sympy(x**2 + sp.sin(y), [x, y])
    g = gradc.compile(lambda t: f(t, 2 * t) * t)
    assert_same_bits(g(1.5), (1.5**2 + np.sin(3.0)) * 1.5)
    assert abs(g.grad(1.5) - (3 * 1.5**2 + np.sin(3.0) + 3 * np.cos(3.0))) < 1e-14
    np.testing.assert_allclose(gradc.vmap(f, (0, None))(np.arange(3.0), 0.0), [0, 1, 4])
    assert f.hessian(1.0, 2.0) == 2.0
