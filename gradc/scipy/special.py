"""Functions of scipy.special: those of :mod:`gradc.special` or NumPy, under SciPy's names."""

from __future__ import annotations

import functools
import sys
from typing import Any

from gradc import special
from gradc.special.recording import floats, in_double, numpy, where
from gradc.tracing.building.by_name import number, refuse
from gradc.tracing.core.as_tracer import lists_as_tracers
from gradc.tracing.core.promote import common_dtype, kind, resolve
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.table import AnyFunction
from gradc.tracing.masked.of_selection import of_selection
from gradc.tracing.masked.reductions import log_sum
from gradc.tracing.registry.scipy_function import scipy_function
from gradc_ir.core.types import DType

# SciPy's name -> ours, where the two differ
RENAMED = {
    "expit": "sigmoid",
    "jn": "jv",
    "kn": "kv",
    "log_expit": "log_sigmoid",
    "psi": "digamma",
    "yn": "yv",
}
# what SciPy has not, or elsewhere
OURS = {"log1mexp", "log1p_quotient", "log_sigmoid", "logaddexp", "sigmoid"}
OF_NUMPY = {name: name for name in ("cbrt", "exp2", "expm1", "log1p")} | {"round": "rint"}


def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """Record ``scipy.special.logsumexp``."""
    return special.logsumexp(a, axis, keepdims, b=b, return_sign=return_sign)


def zeta(x: Any, q: Any = None) -> Any:
    """Record ``scipy.special.zeta`` of two arguments."""
    if q is None:
        raise refuse("scipy.special.zeta of one argument", "write zeta(x, 1.0), for x above 1")
    return special.zeta(x, q)


def loggamma(z: Any) -> Any:
    """Record ``scipy.special.loggamma`` of real numbers: nan for negative ones."""
    z = floats(z)
    return where(z < 0, float("nan"), special.gammaln(z))


def polygamma(n: Any, x: Any) -> Any:
    """Record ``scipy.special.polygamma``, which computes in double precision."""
    return special.polygamma(n, in_double(x))


def multigammaln(a: Any, d: Any) -> Any:
    """Record ``scipy.special.multigammaln``, which computes in double precision."""
    return special.multigammaln(in_double(a), number(d, "scipy.special.multigammaln"))


def factorial(n: Any, exact: bool = False) -> Any:
    """Record ``scipy.special.factorial``, which computes in double precision."""
    return special.factorial(in_double(n), exact)


def _derivative_of_bessel(own: AnyFunction) -> AnyFunction:
    """Return a recorder that computes in double precision, as SciPy does but for n = 0."""

    def record(v: Any, z: Any, n: Any = 1) -> Any:
        return own(v, z if number(n, "n") == 0 else in_double(z), n)

    return record


def _own(name: str) -> AnyFunction:
    """Return our function for one of SciPy's ufuncs."""
    if name in OF_NUMPY:
        return functools.partial(numpy, OF_NUMPY[name])
    return loggamma if name == "loggamma" else getattr(special, RENAMED.get(name, name))


def _ufunc(name: str, own: AnyFunction) -> AnyFunction:
    """Return a recorder that computes in double precision where SciPy's ufunc does."""

    def record(*operands: Any) -> Any:
        theirs = getattr(sys.modules["scipy.special"], name)
        arrays = lists_as_tracers(operands)
        kinds = tuple(kind(x) for x in arrays)
        if len(arrays) != theirs.nin:
            raise trace_error(
                f"scipy.special.{name} takes {theirs.nin} arguments, not {len(arrays)}",
            )
        # for a float32 array and a number SciPy often takes the first loop it finds, a double one
        if common_dtype(kinds) is DType.F32 and resolve(theirs, kinds)[1] is DType.F64:
            arrays = [x if kind(x) is int else in_double(x) for x in arrays]
        return own(*arrays)

    return record


def ours(name: str) -> str:
    """Return the full name of what a function of scipy.special is recorded as."""
    if name in (*OF_NUMPY, "sinc"):
        return f"np.{OF_NUMPY.get(name, name)}"
    return f"gradc.special.{RENAMED.get(name, 'gammaln' if name == 'loggamma' else name)}"


for _name in (*special.__all__, *RENAMED, *OF_NUMPY, "loggamma"):
    if _name not in OURS:
        scipy_function(f"special.{_name}")(_ufunc(_name, _own(_name)))
# what SciPy has no ufunc for, with its signatures
for _name in ("jvp", "yvp", "ivp", "kvp"):
    scipy_function(f"special.{_name}")(_derivative_of_bessel(getattr(special, _name)))
for _name in ("comb", "perm", "softmax", "log_softmax", "softplus"):
    scipy_function(f"special.{_name}")(getattr(special, _name))
scipy_function("special.sinc")(lambda x: numpy("sinc", x))
for _record in (factorial, polygamma, multigammaln, logsumexp, zeta):
    scipy_function(f"special.{_record.__name__}")(_record)
of_selection(logsumexp)(log_sum(None))
