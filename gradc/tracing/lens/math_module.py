"""Python's math module in traced code: of traced numbers, what NumPy and gradc.special have."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterable
from typing import Any

from gradc.tracing.core import source
from gradc.tracing.core.as_tracer import as_tracer, contains_unknown, plain_nest
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import Tracer, read, weak_number
from gradc.tracing.numpy.elementwise_table import TABLE
from gradc_ir import build
from gradc_ir.core.types import DType
from gradc_ir.errors import TraceError


class MathModule(types.ModuleType):
    """The math module with its functions seen through gradc."""

    def __init__(self) -> None:
        super().__init__("math")
        self.__gradc_original__ = math

    def __getattr__(self, name: str) -> Any:
        found = getattr(math, name)
        return see_math(found) if callable(found) else found

    def __dir__(self) -> list[str]:
        return dir(math)


def see_math(function: Any) -> Any:
    """Return a function of math that records what it computes of traced numbers."""
    name = function.__name__

    def call(*args: Any, **kwargs: Any) -> Any:
        given = list(args)
        if name in _OF_MANY:
            given[:2] = [list(arg) for arg in given[:2]]
        if not any(map(contains_unknown, (*given, *kwargs.values()))):
            return function(*map(plain_nest, given), **kwargs)
        running()
        record = RECORDED.get(name)
        if record is None:
            raise TraceError(
                f"math.{name} of a traced value",
                at=source.location(),
                help=_CURES.get(name, f"write np.{name}(x) or another function of np"),
            )
        if name in _OF_MANY:
            return record(*given, **kwargs)
        return record(*map(_number, given), **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    call.__gradc_original__ = function  # type: ignore[attr-defined]
    return call


def _number(x: Any) -> Any:
    """Return a traced number as a Python float; raises TraceError for an array."""
    if type(x) is not Tracer:
        return x
    if x.type.shape:
        raise TraceError(
            "a function of math takes numbers, not arrays",
            at=source.location(),
            found=f"array: {x.type}",
            help="write the function of np of the same name",
        )
    return as_float(x)


def as_float(x: Any) -> Any:
    """Return a number as a Python float is traced: float64, yielding to arrays."""
    return weak_number(build.cast(read(as_tracer(x)), DType.F64), float)


def as_integer(x: Any) -> Any:
    """Return a number as a Python int is traced; fractions are cut off."""
    value = read(as_tracer(x))
    return weak_number(build.cast(value, DType.I64), int)


def as_truth(x: Any) -> Any:
    """Return whether a number is not 0, as a Python bool is traced."""
    return weak_number(read(as_tracer(TABLE["not_equal"](x, 0))), bool)


def _numpy(name: str) -> Callable[..., Any]:
    return lambda *args: as_float(TABLE[name](*args))


def _rounded(name: str) -> Callable[..., Any]:
    return lambda x: as_integer(TABLE[name](x))


def _special(name: str) -> Callable[..., Any]:
    def record(x: Any) -> Any:
        from gradc import special

        return as_float(getattr(special, name)(x))

    return record


def _is(name: str) -> Callable[..., Any]:
    return lambda x: as_truth(TABLE[name](x))


def _log(x: Any, base: Any = None) -> Any:
    if base is None:
        return as_float(TABLE["log"](x))
    return as_float(TABLE["log"](x)) / as_float(TABLE["log"](base))


def _hypot(*coordinates: Any) -> Any:
    found = as_float(TABLE["abs"](coordinates[0]))
    for coordinate in coordinates[1:]:
        found = as_float(TABLE["hypot"](found, coordinate))
    return found


def _dist(p: Iterable[Any], q: Iterable[Any]) -> Any:
    left, right = list(p), list(q)
    if len(left) != len(right):
        raise TraceError(
            f"math.dist of points with {len(left)} and {len(right)} coordinates",
            at=source.location(),
        )
    return _hypot(*(_number(a) - _number(b) for a, b in zip(left, right)))


def _fsum(terms: Iterable[Any]) -> Any:
    """Sum with the rounding errors carried along (Neumaier): the nearest number, nearly always."""
    total, lost = 0.0, 0.0
    for term in map(_number, terms):
        new = total + term
        other = new - total
        lost = lost + ((total - (new - other)) + (term - other))
        total = new
    # the errors of infinities are nan
    return as_float(TABLE["where"](TABLE["isfinite"](total), total + lost, total))


def _prod(factors: Iterable[Any], *, start: Any = 1) -> Any:
    found = start
    for factor in factors:
        found = found * _weak(factor)
    return found


def _weak(x: Any) -> Any:
    if type(x) is not Tracer or x.weak is not None:
        return x
    return as_float(x) if x.type.dtype.is_float else as_integer(x)


def _isclose(a: Any, b: Any, *, rel_tol: Any = 1e-9, abs_tol: Any = 0.0) -> Any:
    largest = TABLE["maximum"](abs(a), abs(b))
    near = abs(a - b) <= TABLE["maximum"](rel_tol * largest, abs_tol)
    finite = TABLE["isfinite"](a) & TABLE["isfinite"](b)
    return as_truth((TABLE["equal"](a, b)) | (finite & near))


def _modf(x: Any) -> Any:
    fraction, whole = TABLE["modf"](x)
    return as_float(fraction), as_float(whole)


def _ldexp(x: Any, exponent: Any) -> Any:
    return as_float(x * TABLE["exp2"](as_float(exponent)))


_SAME = (
    "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "log2", "log10", "log1p",
    "sqrt", "cbrt", "fabs", "degrees", "radians", "copysign", "fmod", "nextafter",
)  # fmt: skip
_RENAMED = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh",
    "acosh": "arccosh", "atanh": "arctanh", "pow": "float_power",
}  # fmt: skip
_SPECIAL = {"erf": "erf", "erfc": "erfc", "gamma": "gamma", "lgamma": "gammaln"}
# Their first argument is a collection of numbers.
_OF_MANY = {"fsum", "prod", "dist"}
_CURES = {
    "factorial": "write gradc.special.factorial(n)",
    "comb": "write gradc.special.comb(n, k)",
    "perm": "write gradc.special.perm(n, k)",
    "isqrt": "write np.floor(np.sqrt(n))",
    "remainder": "write np.remainder(x, y), which has the sign of y, or np.fmod",
    "frexp": "write np.floor(np.log2(np.abs(x))) for the exponent",
    "sumprod": "write x @ y",
}

# Name in math -> what records it; of traced numbers that are Python floats.
RECORDED: dict[str, Callable[..., Any]] = {
    **{name: _numpy(name) for name in _SAME if name in TABLE},
    **{name: _numpy(numpy) for name, numpy in _RENAMED.items() if numpy in TABLE},
    **{name: _special(ours) for name, ours in _SPECIAL.items()},
    **{name: _is(name) for name in ("isnan", "isinf", "isfinite")},
    **{name: _rounded(name) for name in ("floor", "ceil", "trunc")},
    "log": _log,
    "hypot": _hypot,
    "dist": _dist,
    "fsum": _fsum,
    "prod": _prod,
    "isclose": _isclose,
    "modf": _modf,
    "ldexp": _ldexp,
}
