"""Python's math module in traced code: of traced numbers, what NumPy and gradc.special have."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from gradc import on_need
from gradc.tracing.building.needed import need_number
from gradc.tracing.building.of_known import call_known
from gradc.tracing.building.weak_numbers import as_float, as_integer, as_truth
from gradc.tracing.core.as_tracer import contains_unknown, plain_nest
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.state import running
from gradc.tracing.core.symbolic_size import SymbolicSize
from gradc.tracing.core.table import TABLE, AnyFunction
from gradc.tracing.core.tracer import Tracer
from gradc.tracing.lens.seen_module import SeenModule
from gradc.tracing.numpy.math.ufuncs import RULES


def math_module() -> SeenModule:
    """Return the math module with its functions seen through gradc."""
    return SeenModule(math, lambda _, value: see_math(value) if callable(value) else value)


def see_math(function: Any) -> Any:
    """Return a function of math that records what it computes of traced numbers."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return call_math(function, *args, **kwargs)

    call.__name__ = call.__qualname__ = function.__name__
    call.__doc__ = function.__doc__
    call.__gradc_original__ = function  # type: ignore[attr-defined]
    return call


def call_math(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function of math, or record what it computes of traced numbers."""
    name = function.__name__
    given = list(args)
    if name in _OF_MANY:
        given[:2] = map(list, given[:2])
    if not any(map(contains_unknown, (*given, *kwargs.values()))):
        return _of_known(function, [plain_nest(x) for x in given], kwargs)
    running()
    record = _recorder(name)
    if record is None:
        for x in given:  # of Python's integers and of sizes there is a number
            if isinstance(x, SymbolicSize):
                x.__index__()
            elif type(x) is Tracer:
                need_number(x, f"math.{name}")
        raise trace_error(
            f"math.{name} of a traced value",
            help=_CURES.get(name, f"write np.{name}(x) or another function of np"),
        )
    return record(*(given if name in _OF_MANY else map(_number, given)), **kwargs)


def _of_known(function: Any, given: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return a function of math of known numbers: those that would be recorded have their bits."""
    found = function(*given, **kwargs)
    name = "float_power" if function is math.pow else function.__name__
    rule = RULES.get(name) if type(found) is float else None
    if rule is None or not rule.is_function or rule.ufunc.nin != len(given):
        return found
    try:
        return float(call_known(rule, *map(float, given)))
    except OverflowError:
        return found  # the logarithm of an integer of more digits


def _number(x: Any) -> Any:
    """Return a traced number as a Python float; raises TraceError for an array."""
    if type(x) is not Tracer:
        return x
    if x.type.shape:
        raise trace_error(
            "a function of math takes numbers, not arrays",
            found=f"array: {x.type}",
            help="write the function of np of the same name",
        )
    return as_float(x)


def _numpy(name: str) -> AnyFunction:
    """Return what records a function of math as that of NumPy; rounding gives integers there."""
    function = TABLE[name]

    def record(*args: Any) -> Any:
        found = function(*args)
        if not function.value_only:
            return as_float(found)
        return as_truth(found) if found.dtype == np.bool_ else as_integer(found)

    return record


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
        raise trace_error(
            f"math.dist of points with {len(left)} and {len(right)} coordinates",
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
    if type(x) is not Tracer or x._weak is not None:
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

# Name in math -> what records it; what is not here is NumPy's function of that name.
RECORDED: dict[str, AnyFunction] = {
    "pow": lambda x, y: as_float(TABLE["float_power"](x, y)),
    "log": _log,
    "hypot": _hypot,
    "dist": _dist,
    "fsum": _fsum,
    "prod": _prod,
    "isclose": _isclose,
    "modf": _modf,
    "ldexp": _ldexp,
}
# The same for special functions, which announce themselves, loaded with the first that is called.
SPECIAL: dict[str, AnyFunction] = {}


def _recorder(name: str) -> AnyFunction | None:
    if name in RECORDED or name in _CURES:
        return RECORDED.get(name)
    if name in TABLE:
        return _numpy(name)
    on_need.load(on_need.MATH)
    return SPECIAL.get(name)
