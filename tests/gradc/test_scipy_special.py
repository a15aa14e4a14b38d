"""Functions of scipy.special in traced code: SciPy's values and dtypes, and edges."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
from scipy.special import gammaln, jv, logsumexp, polygamma

import gradc
from gradc import on_need, special
from gradc.testing import check_grads
from gradc.tracing.registry.scipy_function import FUNCTIONS as RECORDED
from gradc.tracing.registry.scipy_function import names_in
from gradc_ir.errors import DTypeError, ExportError, NoGradientError, TraceError

on_need.load("scipy.special")
FUNCTIONS = names_in("scipy.special", RECORDED)
SHARES = np.array([1e-10, 0.1, 0.3, 0.5, 0.73, 0.9, 1 - 1e-10])
POSITIVE = np.array([0.05, 0.4, 1.0, 2.5, 6.3, 11.0])
ORDERS = np.array([0.4, 1.0, 2.0, 3.7, 5.0, 9.0])
REALS = np.array([-3.3, -0.7, 0.0, 0.2, 1.5, 4.0])
DEGREES = np.array([0, 30, 45, 90, 180, 270, -90, 360, 450.0])
MODULI = np.array([-5, -0.3, -0.25, 0, 0.1, 0.25, 0.9, 1 - 1e-10])
EVEN = np.concatenate([[0.0], POSITIVE, -POSITIVE])
FAR = np.array([-5, -1.0, 0, 0.5, 3, 7.9, 8.1, 30, 1e5, np.inf, np.nan])
COLUMN = np.array([[0], [1], [2]])
COUNTS = np.array([0.0, 1, 2.5, 3, 4, 5])

# function -> arguments; arrays are traced, in float64 and in float32, numbers are known
CALLS: dict[str, list[tuple[Any, ...]]] = {
    **{name: [(REALS,)] for name in ("erf", "erfc", "cbrt", "exp2", "expm1", "sinc", "cosm1")},
    **{name: [(REALS,)] for name in ("exp10", "expit", "log_expit", "softplus", "ndtr", "round")},
    **{name: [(REALS,)] for name in ("logsumexp", "softmax", "log_softmax")},
    **{name: [(EVEN,)] for name in ("j0", "j1", "i0", "i1", "i0e", "i1e")},
    **{name: [(POSITIVE,)] for name in ("y0", "y1", "k0", "k1", "k0e", "k1e", "psi", "log1p")},
    **{name: [(POSITIVE,)] for name in ("exp1", "factorial", "loggamma")},
    **{name: [(2, POSITIVE), (0.5, POSITIVE)] for name in ("yv", "iv", "ive", "kv", "kve")},
    **{name: [(2, POSITIVE)] for name in ("jn", "kn", "yn")},
    **{name: [(ORDERS, POSITIVE)] for name in ("beta", "betaln", "poch", "kl_div")},
    **{name: [(ORDERS, POSITIVE), (2.0, POSITIVE)] for name in ("gammainc", "gammaincc")},
    **{name: [(ORDERS + 3, POSITIVE)] for name in ("binom", "comb", "perm")},
    **{name: [(2.0, SHARES)] for name in ("gammaincinv", "gammainccinv")},
    **{name: [(2.0, 0.7, SHARES)] for name in ("betainc", "betaincc", "betaincinv")},
    **{name: [(3.0, POSITIVE)] for name in ("chdtr", "chdtrc")},
    **{name: [(2.0, 3.0, POSITIVE)] for name in ("gdtr", "gdtrc", "fdtr", "fdtrc")},
    **{name: [(COUNTS, POSITIVE)] for name in ("pdtr", "pdtrc")},
    **{name: [(DEGREES,)] for name in ("sindg", "cosdg")},
    **{name: [(MODULI,)] for name in ("ellipk", "ellipe")},
    **{name: [(1.5, REALS), (-1.0, REALS), (0.0, REALS)] for name in ("huber", "pseudo_huber")},
    **{name: [(0, REALS), (1, REALS), (7, REALS)] for name in FUNCTIONS if name[:5] == "eval_"},
    **{name: [(2.5, POSITIVE), (1, POSITIVE, 3)] for name in ("jvp", "yvp", "ivp", "kvp")},
    "erfi": [(REALS,)],
    "sici": [(POSITIVE,)],
    "fresnel": [(REALS,)],
    "tandg": [(np.array([0, 30, 45, 180, -45.0]),)],
    "erfcx": [(FAR,)],
    "erfinv": [(np.array([-1, -0.99, -0.3, 0, 1e-8, 0.5, 0.999999, 1, 2.0]),)],
    "erfcinv": [(np.array([0, 1e-30, 1e-5, 0.5, 1, 1.3, 1.99, 2]),)],
    "ndtri": [(np.array([0, 1e-30, 1e-9, 0.2, 0.5, 0.9, 1.0]),)],
    "log_ndtr": [(np.array([-np.inf, -1e8, -40.0, -5, -1, 0, 1, 5, 20, np.inf]),)],
    "dawsn": [(np.array([-9.0, -0.1, 0.0, 1, 5, 7.9, 8.1, 100, 1e5]),)],
    "gamma": [(np.array([-3.3, -0.5, 0.0, 0.1, 1, 2, 5.5, 30, np.inf]),)],
    "gammaln": [(np.array([-3.3, -3.0, -0.5, 0.0, 1e-30, 0.1, 1, 2, 5.5, 30, 1e10, np.inf]),)],
    "gammasgn": [(np.array([-3.3, -2.5, -2.0, -0.5, -0.0, 0.0, 0.1, 1, 2]),)],
    "rgamma": [(np.array([-3.3, -3, -0.5, 0, 0.1, 1, 5, 30]),)],
    "digamma": [(np.array([-3.3, -0.5, 1e-5, 0.1, 1, 1.4616, 5, 1e9]),)],
    "multigammaln": [(ORDERS + 2, 3)],
    "polygamma": [(0, POSITIVE), (1, POSITIVE), (5, POSITIVE), (COLUMN, POSITIVE)],
    "zeta": [(2.5, POSITIVE), (2.0, np.array([-2.5, -2.0, 0.0, 1e9, np.inf, np.nan]))],
    "jv": [(2, POSITIVE), (2.5, POSITIVE), (COLUMN, -POSITIVE), (1, np.zeros(1))],
    "xlogy": [(ORDERS, POSITIVE), (np.zeros(4), np.array([-1.0, 0.0, 2.0, np.inf]))],
    "xlog1py": [(ORDERS, POSITIVE), (np.zeros(4), np.array([-2.0, -1.0, 2.0, np.inf]))],
    "entr": [(np.array([-1, 0, 0.3, 1, 4]),)],
    "rel_entr": [
        (ORDERS, POSITIVE),
        (np.array([0, 0, -1, 1, 2, np.nan]), np.array([0, 1, 1.0, -1, 2 * (1 + 1e-12), 1.0])),
    ],
    "boxcox": [
        (POSITIVE, 0.5), (POSITIVE, 0.0), (POSITIVE, np.full(6, -2.0)),
        (np.array([0.0, 1, np.inf]), 2.0), (np.array([0.0, 1, np.inf]), 0.0), (np.zeros(1), -1.0),
    ],
    "boxcox1p": [(POSITIVE, 0.5), (POSITIVE, 0.0), (POSITIVE * 1e-9, 0.0)],
    "inv_boxcox": [(POSITIVE, 0.5), (POSITIVE, 0.0), (POSITIVE, 1e-12)],
    "inv_boxcox1p": [(POSITIVE, 0.5), (POSITIVE, 0.0), (POSITIVE * 1e-9, 1.0)],
    "exprel": [(np.array([-80, -3, -1, -1e-9, 0, 1e-9, 0.5, 1, 5, 70, np.inf]),)],
    "spence": [(np.array([0, 0.3, 0.9, 0.95, 1, 1.05, 2, 50.0]),)],
    "ellipkm1": [(np.array([0, 1e-30, 1e-5, 0.5, 1, 2.0]),)],
    "expi": [(np.array([-2, 0.3, 1, 9.0]),)],
    "stdtr": [(3.0, REALS)],
    "stdtrit": [(3.0, SHARES)],
    "logit": [(SHARES,)],
}  # fmt: skip


def call_of(name: str, args: tuple[Any, ...]) -> tuple[Callable[..., Any], list[Any]]:
    """Return a function of the arrays among the arguments, and those."""
    function = getattr(scipy.special, name)
    traced = [arg for arg in args if isinstance(arg, np.ndarray)]

    def call(*arrays: Any) -> Any:
        given = list(arrays)
        return function(*[given.pop(0) if isinstance(arg, np.ndarray) else arg for arg in args])

    if isinstance(function, np.ufunc) and function.nout > 1:
        return lambda *arrays: np.stack(call(*arrays)), traced
    return call, traced


def test_every_function_has_its_row() -> None:
    assert set(CALLS) == set(FUNCTIONS)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", sorted(name for name in CALLS if hasattr(scipy.special, name)))
def test_value_and_dtype(name: str, dtype: Any) -> None:
    for args in CALLS[name]:
        call, arrays = call_of(name, args)
        arrays = [a.astype(dtype) if a.dtype.kind == "f" else a for a in arrays]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            expected = np.asarray(call(*arrays)).dtype
            # SciPy's own float32 loops lose more than a rounding
            wide = np.asarray(call(*[a.astype(float) if a.dtype == dtype else a for a in arrays]))
        found = gradc.compile(call)(*arrays)
        assert found.dtype == expected
        bound = 6e-15 if found.dtype == np.float64 else 2e-6
        np.testing.assert_allclose(found, wide.astype(found.dtype), rtol=bound, atol=bound / 20)


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1), -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp_with_factors(axis: Any, keepdims: bool) -> None:
    x = np.array([[1000.0, 1000.0, -5.0], [-1000.0, -1001.0, 2.0]])
    b = np.array([[1.0, 0.5, 3.0], [0.2, 2.0, 0.0]])

    def weighted(x: Any, b: Any) -> Any:
        return logsumexp(x, axis=axis, b=b, keepdims=keepdims)

    def signed(x: Any, b: Any) -> Any:
        return logsumexp(x, axis, -b, keepdims, return_sign=True)

    np.testing.assert_allclose(gradc.compile(weighted)(x, b), weighted(x, b), rtol=1e-13)
    for found, want in zip(gradc.compile(signed)(x, b), signed(x, b), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-13)
    check_grads(weighted, (x / 500, b + 1), order=2)
    np.testing.assert_allclose(special.logsumexp(x, axis, keepdims, b=b), weighted(x, b))


def test_infinite_terms_without_weight_are_left_out() -> None:
    x, b = np.array([np.inf, 1.0, 2.0]), np.array([0.0, 1.0, 1.0])
    gradient = gradc.grad(lambda x: logsumexp(x, b=b))(x)
    np.testing.assert_allclose(gradient, [0.0, 0.2689414213699951, 0.7310585786300049])


def test_slopes_of_x_log_y_where_x_is_zero() -> None:
    slopes = gradc.grad(lambda x, y: special.xlogy(x, y).sum(), argnums=(0, 1))
    x, y = np.zeros(3), np.array([0.0, 2.0, np.inf])
    of_x, of_y = slopes(x, y)
    np.testing.assert_allclose(of_x, [0.0, np.log(2.0), 0.0])
    np.testing.assert_array_equal(of_y, np.zeros(3))


def test_orders_that_are_traced() -> None:
    orders = np.array([0, 1, 2, 3])
    found = gradc.compile(lambda n, x: jv(n, x))(orders, 2.5)
    np.testing.assert_allclose(found, jv(orders, 2.5), rtol=1e-14)
    found = gradc.compile(lambda n, x: polygamma(n, x))(orders, 2.5)
    np.testing.assert_allclose(found, polygamma(orders, 2.5), rtol=1e-14)
    check_grads(lambda x: jv(np.array([0.0, 1.0, 2.5]), x), (1.5,), order=2)
    with pytest.raises(
        NoGradientError, match="bessel_j has no derivative with respect to"
    ) as error:
        gradc.grad(lambda v: jv(v, 2.5))(1.5)
    assert "test_scipy_special.py" in str(error.value)


def test_float32_derivatives_are_the_double_ones_rounded() -> None:
    x = np.array([-9.0, -2.0, 0.3, 4.0], np.float32)
    for function in (special.log_ndtr, special.erfcx, special.i0e, special.digamma, special.dawsn):
        single = gradc.grad(lambda x, f=function: f(x).sum())(x)
        double = gradc.grad(lambda x, f=function: f(x).sum())(x.astype(np.float64))
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, double, rtol=3e-5)


def test_far_in_the_tail_the_hessian_of_log_ndtr_is_minus_one() -> None:
    slope = gradc.grad(lambda x: special.log_ndtr(x))
    curvature = gradc.grad(lambda x: slope(x))
    for x in (-1e2, -1e4, -1e6):
        np.testing.assert_allclose(curvature(x), -1 + x**-2 - 6 * x**-4 + 50 * x**-6, rtol=1e-12)


def test_functions_of_the_module_can_be_exported(tmp_path: Any) -> None:
    """A known order of a Bessel function, or of polygamma, makes it one."""

    def likelihood(x: Any) -> Any:
        bessel = scipy.special.ive(0, x) + scipy.special.ive(1.0, x)
        return gammaln(x) + polygamma(1, x) + scipy.special.log_ndtr(x) + bessel

    function = gradc.compile(likelihood)
    x = np.linspace(-3.3, 4.0, 7)
    np.testing.assert_allclose(function(x), likelihood(x), rtol=1e-14)
    function.export("likelihood", spec="x: f64[n]", out=tmp_path)
    assert (tmp_path / "likelihood.o").exists()


def test_a_function_of_scipys_cannot_be_exported(tmp_path: Any) -> None:
    function = gradc.compile(lambda x: scipy.special.gamma(x) + 1.0)
    function(2.0)
    with pytest.raises(ExportError) as error:
        function.export("likelihood", tmp_path, spec="x: f64")
    message = str(error.value)
    assert "gamma is computed by scipy.special.gamma," in message
    assert "test_scipy_special.py" in message
    assert "make it an argument" in message


REFUSED: dict[str, Callable[[Any], Any]] = {
    "zeta of one argument": lambda x: scipy.special.zeta(x),
    "comb with exact=True": lambda x: scipy.special.comb(x, 2, exact=True),
    "takes 2 arguments, not 1": lambda x: scipy.special.jv(x),
    "ellipkinc is not supported": lambda x: scipy.special.ellipkinc(x, 0.5),
    "out= is not supported": lambda x: scipy.special.erf(x, out=x),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refusals(message: str) -> None:
    with pytest.raises((TraceError, DTypeError), match=message):
        gradc.compile(REFUSED[message])(np.array([1.5, 2.0]))


def test_numpys_bessel_function_and_window() -> None:
    x = np.array([0.0, 0.5, 3.0, 9.0])
    np.testing.assert_allclose(gradc.compile(lambda x: np.i0(x))(x), np.i0(x), rtol=1e-15)
    np.testing.assert_allclose(
        gradc.compile(lambda b: np.kaiser(5, b))(2.5), np.kaiser(5, 2.5), rtol=1e-14
    )
    check_grads(lambda b: np.kaiser(5, b), (2.5,), order=2)
