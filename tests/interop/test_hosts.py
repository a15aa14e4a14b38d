"""Kernels inside of other libraries, compared with their own code; each where it is installed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from tests.in_threads import in_threads

pytestmark = pytest.mark.filterwarnings("ignore")
X = np.linspace(0, 1, 5)
POINTS = np.stack([X, X + 1, 2 * X])


def rosen(x: Any, a: Any) -> Any:
    return np.sum(a * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def nest(p: Any) -> Any:
    return {"sum": np.sum(p["w"] * 2), "order": np.argsort(p["w"]), "pair": (p["w"] * p["b"],)}


def picked(x: Any, i: Any) -> Any:
    return x[i]


# -- JAX -------------------------------------------------------------------------------------------


@pytest.fixture
def jax() -> Any:
    found = pytest.importorskip("jax")
    found.config.update("jax_enable_x64", True)
    return found


def rosen_in_jax(x: Any, a: Any) -> Any:
    import jax.numpy as jnp

    return jnp.sum(a * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


TRANSFORMS: dict[str, Callable[[Any, Any], Any]] = {
    "value": lambda jax, f: f,
    "jit": lambda jax, f: jax.jit(f),
    "grad": lambda jax, f: jax.grad(f, (0, 1)),
    "jit of grad": lambda jax, f: jax.jit(jax.value_and_grad(f)),
    "hessian": lambda jax, f: jax.hessian(f),
    "reverse of reverse": lambda jax, f: jax.jacrev(jax.jacrev(f)),
    "forward of reverse": lambda jax, f: jax.jacfwd(jax.jacrev(f)),
    "reverse of forward": lambda jax, f: jax.jacrev(jax.jacfwd(f)),
    "third": lambda jax, f: jax.jacfwd(jax.hessian(f)),
    "jvp": lambda jax, f: lambda x, a: jax.jvp(f, (x, a), (x + 1, a)),
    "vmap": lambda jax, f: lambda x, a: jax.vmap(f, (0, None))(POINTS, a),
    "vmap along another axis": lambda jax, f: lambda x, a: jax.vmap(f, (1, None))(POINTS.T, a),
    "vmap of grad": lambda jax, f: lambda x, a: jax.vmap(jax.grad(f), (0, None))(POINTS, a),
    "grad of vmap": lambda jax, f: (
        lambda x, a: jax.grad(lambda p: jax.vmap(f, (0, None))(p, a).sum())(POINTS)
    ),
    "vmap of hessian": lambda jax, f: lambda x, a: jax.vmap(jax.hessian(f), (0, None))(POINTS, a),
    "scan": lambda jax, f: (
        lambda x, a: jax.lax.scan(lambda c, _: (c - 0.001 * jax.grad(f)(c, a), f(c, a)), x, None, 5)
    ),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_jax(name: str, jax: Any) -> None:
    transform = TRANSFORMS[name]
    x, a = jax.numpy.asarray(X), 2.0
    found = transform(jax, gradc.jax_function(rosen))(x, a)
    wanted = transform(jax, rosen_in_jax)(x, a)
    jax.tree_util.tree_map(
        lambda g, w: np.testing.assert_allclose(g, w, rtol=1e-13, atol=1e-13), found, wanted
    )


def test_jax_gets_the_bits_of_python(jax: Any) -> None:
    found = jax.jit(jax.value_and_grad(gradc.jax_function(rosen)))(jax.numpy.asarray(X), 2.0)
    value, slope = gradc.compile(rosen).value_and_grad(X, 2.0)
    assert np.asarray(found[0]).tobytes() == np.asarray(value).tobytes()
    assert np.asarray(found[1]).tobytes() == slope.tobytes()


def test_jax_calls_from_several_threads_have_scratch_of_their_own(jax: Any) -> None:
    f = gradc.compile(rosen)
    in_jax = jax.jit(jax.value_and_grad(gradc.jax_function(f)))
    rows = np.random.default_rng(0).normal(size=(4, 300_000))
    wanted = [f.value_and_grad(row, 2.0) for row in rows]
    wrong: list[int] = []

    def call(i: int) -> None:
        for _ in range(5):
            value, gradient = in_jax(jax.numpy.asarray(rows[i]), 2.0)
            if value != wanted[i][0] or np.any(np.asarray(gradient) != wanted[i][1]):
                wrong.append(i)

    in_threads(call, range(4))
    assert not wrong


def test_jax_makes_a_number_and_its_gradient_in_one_kernel(jax: Any) -> None:
    f = gradc.jax_function(rosen)
    program = str(jax.make_jaxpr(jax.value_and_grad(f, (0, 1)))(jax.numpy.asarray(X), 2.0))
    assert program.count("gradc_call") == 1
    assert "gradc_linear" not in program
    pushed = str(jax.make_jaxpr(lambda x: jax.jvp(f, (x, 2.0), (x, 1.0)))(jax.numpy.asarray(X)))
    assert "gradc_linear" in pushed  # forward mode needs no gradient


def test_jax_nests_captures_and_errors(jax: Any) -> None:
    p = {"w": jax.numpy.asarray(X), "b": jax.numpy.asarray(3.0)}
    found = gradc.jax_function(nest)(p)
    np.testing.assert_array_equal(found["pair"][0], X * 3)
    assert found["order"].dtype == np.int64
    weights = np.ones(5)
    weighted = gradc.jax_function(lambda x: np.sum(x * weights))
    assert weighted(p["w"]) == X.sum()
    weights[:] = 2
    assert weighted(p["w"]) == 2 * X.sum()
    with pytest.raises(Exception, match="picked: an index lies outside its axis"):
        gradc.jax_function(picked)(p["w"], jax.numpy.asarray([9])).block_until_ready()
    with jax.enable_x64(False), pytest.raises(gradc.DTypeError, match="JAX has numbers of 32 bits"):
        gradc.jax_function(lambda x: x * np.ones(5))(X.astype(np.float32))


# -- PyTorch ---------------------------------------------------------------------------------------


def test_torch() -> None:
    torch = pytest.importorskip("torch")

    def reference(x: Any, a: Any) -> Any:
        return torch.sum(a * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    f = gradc.torch_function(rosen)
    x = torch.tensor(X, requires_grad=True)
    a = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(f, (x, a), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(f, (x, a))
    plain, number = x.detach(), a.detach()
    value, (slope, _) = gradc.compile(rosen).value_and_grad(X, 2.0, wrt=("x", "a"))
    assert f(plain, number).item() == value
    found = torch.autograd.grad(f(x, a), x)[0].numpy()
    assert found.tobytes() == slope.tobytes()
    for transform in (torch.func.grad, torch.func.hessian, torch.func.jacfwd, torch.func.jacrev):
        torch.testing.assert_close(
            transform(f)(plain, number), transform(reference)(plain, number), rtol=1e-13, atol=1e-13
        )
    mapped = torch.func.vmap(torch.func.grad(f), (0, None))
    points = torch.tensor(POINTS)
    torch.testing.assert_close(
        mapped(points, number),
        torch.func.vmap(torch.func.grad(reference), (0, None))(points, number),
    )
    result = gradc.torch_function(nest)({"w": x, "b": 3.0})
    result["pair"][0].sum().backward()
    np.testing.assert_array_equal(x.grad, np.full(5, 3.0))
    assert not result["order"].requires_grad
    view = torch.tensor(np.arange(10.0))[::2]
    assert gradc.torch_function(lambda x: np.sum(x))(view).item() == 20
    assert gradc.compile(rosen)(torch.tensor(X), 2.0) == value


def test_torch_keeps_the_gradient_of_a_number() -> None:
    torch = pytest.importorskip("torch")
    f = gradc.torch_function(rosen)
    x = torch.tensor(X, requires_grad=True)
    a = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    _, slopes = gradc.compile(rosen).value_and_grad(X, 2.0, wrt=("x", "a"))
    # what is handed out may be overwritten, and the graph asked again
    value = f(x, a)
    for _ in range(3):
        found = torch.autograd.grad(value, (x, a), retain_graph=True)
        bits = [each.numpy().tobytes() for each in found]
        assert bits == [np.asarray(slope).tobytes() for slope in slopes]
        for each in found:
            each.fill_(np.nan)
    scaled = [torch.autograd.grad(3 * f(x, a), x, create_graph=g)[0] for g in (False, True)]
    np.testing.assert_array_equal(scaled[0], 3 * slopes[0])
    torch.testing.assert_close(scaled[0], scaled[1], rtol=1e-14, atol=0)
    # of more than one number nothing is kept
    both = gradc.torch_function(lambda x: (np.sum(x**2), x * 2))
    square, twice = both(x)
    (square + twice.sum()).backward()
    np.testing.assert_array_equal(x.grad, 2 * X + 2)
    with torch.no_grad():
        assert not f(x, a).requires_grad
    narrow = torch.tensor(X, dtype=torch.float32, requires_grad=True)
    gradc.torch_function(lambda x: np.sum(x * x))(narrow).backward()
    np.testing.assert_array_equal(narrow.grad, 2 * X.astype(np.float32))


def test_torch_has_numbers_and_flags_of_python() -> None:
    torch = pytest.importorskip("torch")
    f = gradc.torch_function(lambda x, a: np.sum(x * x * a))
    compiled = gradc.compile(lambda x, a: np.sum(x * x * a))
    x = torch.tensor(X, requires_grad=True)
    plain, narrow = x.detach(), torch.tensor(X, dtype=torch.float32)
    # of no dtype of its own: neither rounded to 32 bits, nor what makes 64 of 32
    assert f(plain, 0.1).item() == compiled(X, 0.1)
    assert [f(narrow, a).dtype for a in (0.1, 3)] == [torch.float32] * 2
    value = f(x, 0.1)
    for asked in (True, False, False):  # kept, handed out, and computed again
        found = torch.autograd.grad(value, x, create_graph=asked, retain_graph=True)[0]
        np.testing.assert_array_equal(found.detach(), compiled.grad(X, 0.1))
    assert torch.autograd.gradgradcheck(lambda x: f(x, 0.1), x)
    mapped = torch.func.vmap(torch.func.grad(f), (0, None))(torch.tensor(POINTS), 0.1)
    np.testing.assert_allclose(mapped, 0.2 * POINTS, rtol=1e-15)
    _, pushed = torch.func.jvp(lambda x: f(x, 0.1), (plain,), (plain,))
    assert pushed.item() == pytest.approx(0.2 * np.sum(X**2))
    chosen = gradc.torch_function(lambda x, twice, n=2: {"y": x * n} if twice else x)
    for _ in range(2):
        assert chosen(x, False).sum().item() == X.sum()
        assert chosen(x, True, n=3)["y"].sum().item() == 3 * X.sum()


# -- CasADi ----------------------------------------------------------------------------------------


def product(m: Any, v: Any) -> Any:
    return m @ v, m.T @ m * v[0]


def test_casadi() -> None:
    casadi = pytest.importorskip("casadi")
    f = gradc.casadi_external(rosen, spec="x: f64[5], a: f64")
    x, a = casadi.MX.sym("x", 5), casadi.MX.sym("a")
    compiled = gradc.compile(rosen)
    assert float(f(X, 2.0)) == compiled(X, 2.0)
    made = [casadi.gradient(f(x, a), x), casadi.hessian(f(x, a), x)[0], casadi.jacobian(f(x, a), x)]
    slope, hessian, jacobian = casadi.Function("d", [x, a], made)(X, 2.0)
    np.testing.assert_array_equal(np.ravel(slope), compiled.grad(X, 2.0))
    np.testing.assert_array_equal(np.ravel(jacobian), compiled.grad(X, 2.0))
    np.testing.assert_allclose(np.array(hessian), compiled.hessian(X, 2.0), rtol=1e-13)
    silent = {"ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes"}
    solver = casadi.nlpsol("solver", "ipopt", {"x": x, "f": f(x, 100.0)}, silent)
    np.testing.assert_allclose(np.ravel(solver(x0=np.zeros(5))["x"]), np.ones(5), atol=1e-6)
    assert solver.stats()["success"]


def test_casadi_has_matrices_in_columns() -> None:
    casadi = pytest.importorskip("casadi")
    m, v = np.arange(6.0).reshape(3, 2) + 0.5, np.array([1.0, 2.0])
    f = gradc.casadi_external(product, m, v)
    for found, wanted in zip(f(m, v), product(m, v)):
        np.testing.assert_allclose(np.array(found).reshape(wanted.shape), wanted)
    sm, sv = casadi.MX.sym("m", 3, 2), casadi.MX.sym("v", 2)
    own = [casadi.mtimes(sm, sv), casadi.mtimes(sm.T, sm) * sv[0]]
    for mine, theirs in zip(f(sm, sv), own):
        for by in (sm, sv):
            difference = casadi.jacobian(mine, by) - casadi.jacobian(theirs, by)
            assert np.all(
                np.abs(np.array(casadi.Function("d", [sm, sv], [difference])(m, v))) < 1e-12
            )
    both = casadi.veccat(sm, sv)
    sums = [sum(casadi.sumsqr(y) for y in ys) for ys in (f(sm, sv), own)]
    del both
    seconds = [casadi.jtimes(casadi.gradient(y, sm), sm, casadi.MX.ones(3, 2)) for y in sums]
    mine, theirs = casadi.Function("s", [sm, sv], seconds)(m, v)
    np.testing.assert_allclose(np.array(mine), np.array(theirs), rtol=1e-12)


def test_casadi_refuses() -> None:
    pytest.importorskip("casadi")
    with pytest.raises(gradc.ExportError, match="sizes of CasADi's functions are numbers"):
        gradc.casadi_external(rosen, spec="x: f64[n], a: f64")
    with pytest.raises(gradc.ExportError, match="CasADi has matrices of f64"):
        gradc.casadi_external(rosen, spec="x: f32[5], a: f32")


# -- PyTensor, PyMC --------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [None, "NUMBA", "JAX"])
def test_pytensor(mode: str | None) -> None:
    pytensor = pytest.importorskip("pytensor")
    if mode:
        pytest.importorskip(mode.lower())
    pt = pytensor.tensor
    x, a = pt.dvector("x"), pt.dscalar("a")
    own = pt.sum(a * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    results = []
    for y, by in ((gradc.pytensor_op(rosen)(x, a), mode), (own, None)):
        made = [y, *pytensor.grad(y, [x, a])]
        if mode != "JAX":  # where PyTensor's code for Hessians has shapes that JAX does not know
            made.append(pytensor.gradient.hessian(y, x))
        results.append(pytensor.function([x, a], made, mode=by)(X, 2.0))
    for found, wanted in zip(results[0], results[1], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_pytensor_in_numba_without_python() -> None:
    pytensor = pytest.importorskip("pytensor")
    pytest.importorskip("numba")
    pt = pytensor.tensor
    m, i = pt.dmatrix("m"), pt.lscalar("i")
    op = gradc.pytensor_op(lambda m, i: (m[i] * 2, m.T @ m, i + 1, np.sum(m) > 0))
    given = np.arange(12.0).reshape(3, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # PyTensor warns of a call of Python
        f = pytensor.function([m, i], op(m[:, ::2], i), mode="NUMBA")
    row, product, more, positive = f(given, 2)
    thin = given[:, ::2]
    np.testing.assert_array_equal(row, thin[2] * 2)
    np.testing.assert_allclose(product, thin.T @ thin, rtol=1e-14)
    assert (more, positive) == (3, True)
    with pytest.raises(ValueError, match="an index lies outside its axis"):
        f(given, 3)


def test_pytensor_computes_the_slopes_that_are_read() -> None:
    pytensor = pytest.importorskip("pytensor")
    x = pytensor.tensor.dvector("x")
    slope = pytensor.grad(gradc.pytensor_op(rosen)(x, 2.0), x)
    f = pytensor.function([x], slope)
    (node,) = f.maker.fgraph.apply_nodes
    assert len(node.outputs) == 1
    assert f(X).tobytes() == gradc.compile(rosen).grad(X, 2.0).tobytes()


@pytest.mark.parametrize("mode", [None, "NUMBA"])
def test_pytensor_makes_a_number_and_its_gradient_in_one_kernel(mode: str | None) -> None:
    pytensor = pytest.importorskip("pytensor")
    if mode:
        pytest.importorskip(mode.lower())
    pt = pytensor.tensor
    x, a = pt.dvector("x"), pt.fscalar("a")
    y = gradc.pytensor_op(rosen)(x, a)
    f = pytensor.function([x, a], [y, *pytensor.grad(3 * y + pt.sum(x), [x, a])], mode=mode)
    ours = [node for node in f.maker.fgraph.apply_nodes if "gradc" in str(node.op)]
    assert [len(node.outputs) for node in ours] == [3]
    value, slope, by_a = f(X, np.float32(2))
    compiled = gradc.compile(rosen)
    assert value == compiled(X, np.float32(2))
    wanted = compiled.grad(X, np.float32(2), wrt=("x", "a"))
    np.testing.assert_array_equal(slope, 3 * wanted[0] + 1)
    assert (by_a, by_a.dtype) == (3 * wanted[1], np.float32)


def likelihood(rate: Any, height: Any, times: Any, data: Any) -> Any:
    return -0.5 * np.sum((data - height * np.exp(-rate * times)) ** 2) / 0.01


def test_pymc() -> None:
    pm = pytest.importorskip("pymc")
    times = np.linspace(0, 1, 20)
    data = 2 * np.exp(-1.5 * times)
    op = gradc.pytensor_op(likelihood)
    with pm.Model() as model:
        rate = pm.HalfNormal("rate")
        height = pm.HalfNormal("height", sigma=3)
        pm.Potential("fit", op(rate, height, times, data))
        point = model.initial_point()
        slope = model.compile_dlogp()(point)
        logp = model.compile_logp()
        for i, name in enumerate(("rate_log__", "height_log__")):
            step = {k: v + (1e-6 if k == name else 0) for k, v in point.items()}
            back = {k: v - (1e-6 if k == name else 0) for k, v in point.items()}
            assert slope[i] == pytest.approx((logp(step) - logp(back)) / 2e-6, rel=1e-5)
        best = pm.find_MAP(progressbar=False)
    assert best["rate"] == pytest.approx(1.5, abs=0.1)


# -- Numba, cffi -----------------------------------------------------------------------------------


def test_numba() -> None:
    numba = pytest.importorskip("numba")
    compiled = gradc.compile(rosen, spec="x: f64[n], a: f64")
    f, both = compiled.numba(), compiled.numba(of="vg", wrt=("x", "a"))

    @numba.njit  # type: ignore[untyped-decorator]
    def used(x: Any) -> Any:
        return f(x, 2.0), both(x, 2.0), f(x[::2], 2.0)

    value, (again, slope, by_a), thinned = used(X)
    wanted, (g_x, g_a) = compiled.value_and_grad(X, 2.0, wrt=("x", "a"))
    assert (value, again, by_a) == (wanted, wanted, g_a)
    assert slope.tobytes() == g_x.tobytes()
    assert thinned == compiled(X[::2], 2.0)
    with pytest.raises(numba.core.errors.TypingError, match=r"x is array\(float32"):
        f(X.astype(np.float32), 2.0)
    index = gradc.compile(picked, spec="x: f64[n], i: i64").numba()
    with pytest.raises(ValueError, match="picked: an index lies outside its axis"):
        index(X, 9)


def test_cffi() -> None:
    ffi = pytest.importorskip("cffi").FFI()
    compiled = gradc.compile(rosen, spec="x: f64[n], a: f64")
    kernel, y = compiled.cffi(), np.empty(1)
    work = np.empty(compiled.native().worksize(5) + 1, np.uint8)
    status = kernel(
        5,
        ffi.from_buffer("double[]", X),
        2.0,
        ffi.from_buffer("double[]", y, require_writable=True),
        ffi.from_buffer(work),
    )
    assert (status, y[0]) == (0, compiled(X, 2.0))
