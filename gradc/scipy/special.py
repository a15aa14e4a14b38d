"""Functions of scipy.special: those of :mod:`gradc.special` or NumPy, under SciPy's names."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc import special
from gradc.special.recording import floats, numpy, where
from gradc.tracing.core import source
from gradc.tracing.core.as_tracer import as_tracer
from gradc.tracing.core.by_name import number, refuse
from gradc.tracing.core.promote import common_dtype, kind, resolve
from gradc_ir.core.types import DType
from gradc_ir.errors import TraceError

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
OF_NUMPY = ("cbrt", "exp2", "expm1", "log1p")


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
    return special.polygamma(n, _in_double(x))


def multigammaln(a: Any, d: Any) -> Any:
    """Record ``scipy.special.multigammaln``, which computes in double precision."""
    return special.multigammaln(_in_double(a), number(d, "scipy.special.multigammaln"))


def factorial(n: Any, exact: bool = False) -> Any:
    """Record ``scipy.special.factorial``, which computes in double precision."""
    return special.factorial(_in_double(n), exact)


def _in_double(x: Any) -> Any:
    return numpy("multiply", floats(x), np.float64(1.0))


def _derivative_of_bessel(own: Callable[..., Any]) -> Callable[..., Any]:
    """Return a recorder that computes in double precision, as SciPy does but for n = 0."""

    def record(v: Any, z: Any, n: Any = 1) -> Any:
        return own(v, z if number(n, "n") == 0 else _in_double(z), n)

    return record


def _of_numpy(name: str) -> Callable[..., Any]:
    return lambda x: numpy(name, x)


def _ufunc(name: str, own: Callable[..., Any]) -> Callable[..., Any]:
    """Return a recorder that computes in double precision where SciPy's ufunc does."""

    def record(*operands: Any) -> Any:
        theirs = getattr(sys.modules["scipy.special"], name)
        arrays = [as_tracer(x) if isinstance(x, list | tuple) else x for x in operands]
        kinds = tuple(kind(x) for x in arrays)
        if len(arrays) != theirs.nin:
            raise TraceError(
                f"scipy.special.{name} takes {theirs.nin} arguments, not {len(arrays)}",
                at=source.location(),
            )
        # for a float32 array and a number SciPy often takes the first loop it finds, a double one
        if common_dtype(kinds) is DType.F32 and resolve(theirs, kinds)[1] is DType.F64:
            arrays = [x if kind(x) is int else _in_double(x) for x in arrays]
        return own(*arrays)

    return record


# functions of SciPy that are no ufuncs, with its signatures
_WITH_OPTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: _derivative_of_bessel(getattr(special, name)) for name in ("jvp", "yvp", "ivp", "kvp")
    },
    "comb": special.comb,
    "perm": special.perm,
    "factorial": factorial,
    "polygamma": polygamma,
    "multigammaln": multigammaln,
    "logsumexp": logsumexp,
    "softmax": special.softmax,
    "log_softmax": special.log_softmax,
    "softplus": special.softplus,
    "zeta": zeta,
    "sinc": _of_numpy("sinc"),
}


def ours(name: str) -> str:
    """Return the full name of what a function of scipy.special is recorded as."""
    if name in (*OF_NUMPY, "sinc", "round"):
        return f"np.{'rint' if name == 'round' else name}"
    return f"gradc.special.{RENAMED.get(name, 'gammaln' if name == 'loggamma' else name)}"


def _functions() -> dict[str, Callable[..., Any]]:
    found = {name: getattr(special, name) for name in special.__all__ if name not in OURS}
    found |= {theirs: getattr(special, own) for theirs, own in RENAMED.items()}
    found |= {name: _of_numpy(name) for name in OF_NUMPY}
    found |= {"round": _of_numpy("rint"), "loggamma": loggamma}
    return {name: _ufunc(name, own) for name, own in found.items()} | _WITH_OPTIONS


FUNCTIONS: dict[str, Callable[..., Any]] = _functions()
