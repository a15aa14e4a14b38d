"""What SymPy's functions are in ops: one entry a class, by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType

Made = Callable[..., Value]


def _op(name: str) -> Made:
    return lambda *x: build.elementwise(name, *x)


def _special(name: str) -> Made:
    """Return a function that is recorded as code of the user's would be."""

    def made(*operands: Value) -> Value:
        # not on top: most expressions are elementary
        from gradc import special
        from gradc.tracing.record.trace import tracer_of, value_of

        result: Value = value_of(getattr(special, name)(*map(tracer_of, operands)))
        return result

    return made


def _polygamma(order: Value, x: Value) -> Value:
    from gradc import special
    from gradc.tracing.record.trace import tracer_of, value_of
    from gradc_ir.graphs.rearrange import scalar_constant

    number = scalar_constant(order)
    if number is None:
        raise NotImplementedError("an order that is no number")
    result: Value = value_of(special.polygamma(int(number), tracer_of(x)))
    return result


def _all(made: Made) -> Made:
    """Return a function of any number of operands, from one of two."""

    def chained(*operands: Value) -> Value:
        found = list(operands)
        while len(found) > 1:  # by halves, so that no chain is long
            pairs = zip(found[::2], found[1::2])
            found = [made(x, y) for x, y in pairs] + found[len(found) // 2 * 2 :]
        return found[0]

    return chained


def _floor(x: Value) -> Value:
    """Return floor, whose derivative is 0 where SymPy has one."""
    return build.stop_gradient(build.floor(x))


def _zeta(s: Value, q: Value | None = None) -> Value:
    return build.zeta(s, build.ones_like(s) if q is None else q)


def _heaviside(x: Value, at_zero: Value | None = None) -> Value:
    half = build.full_like(x, 0.5) if at_zero is None else at_zero
    above = build.select(build.gt(x, 0.0), build.ones_like(x), 0.0)
    return build.select(build.eq(x, 0.0), half, above)


def _expint(order: Value, x: Value) -> Value:
    from gradc_ir.graphs.rearrange import scalar_constant

    if scalar_constant(order) != 1:
        raise NotImplementedError("expint of another order than 1")
    return build.exp1(x)


def _log(x: Value, base: Value | None = None) -> Value:
    return build.log(x) if base is None else build.log(x) / build.log(base)


FUNCTIONS: Mapping[str, Made] = {
    **{name: _op(name) for name in (
        "exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sign", "erf", "erfc", "erfinv",
        "gamma", "digamma", "beta", "expm1", "log1p", "exp2", "log2", "log10",
        "hypot", "logaddexp",
    )},
    "log": _log,
    "Abs": _op("abs"),
    "asin": _op("arcsin"), "acos": _op("arccos"), "atan": _op("arctan"),
    "asinh": _op("arcsinh"), "acosh": _op("arccosh"), "atanh": _op("arctanh"),
    "atan2": _op("arctan2"),
    "cot": lambda x: 1 / build.tan(x), "sec": lambda x: 1 / build.cos(x),
    "csc": lambda x: 1 / build.sin(x),
    "acot": lambda x: build.arctan(1 / x), "asec": lambda x: build.arccos(1 / x),
    "acsc": lambda x: build.arcsin(1 / x),
    "coth": lambda x: 1 / build.tanh(x), "sech": lambda x: 1 / build.cosh(x),
    "csch": lambda x: 1 / build.sinh(x),
    "acoth": lambda x: build.arctanh(1 / x), "asech": lambda x: build.arccosh(1 / x),
    "acsch": lambda x: build.arcsinh(1 / x),
    "floor": _floor, "ceiling": lambda x: -_floor(-x), "Mod": build.remainder, "zeta": _zeta,
    "Heaviside": _heaviside,
    "frac": lambda x: x - _floor(x),
    "Max": _all(build.maximum), "Min": _all(build.minimum),
    "Sqrt": build.sqrt, "Cbrt": build.cbrt,
    "loggamma": build.lgamma, "polygamma": _polygamma,
    "factorial": lambda x: build.gamma(x + 1.0),
    "binomial": build.binom, "RisingFactorial": build.poch,
    "lowergamma": lambda a, x: build.gammainc(a, x) * build.gamma(a),
    "uppergamma": lambda a, x: build.gammaincc(a, x) * build.gamma(a),
    "erfi": _special("erfi"), "erfcinv": _special("erfcinv"),
    "Ei": build.expi, "expint": _expint,
    "Si": build.sine_integral, "Ci": build.cosine_integral,
    "fresnels": build.fresnel_sine, "fresnelc": build.fresnel_cosine,
    "besselj": build.bessel_j, "bessely": build.bessel_y,
    "besseli": build.bessel_i, "besselk": build.bessel_k,
    "re": lambda x: x, "conjugate": lambda x: x, "im": build.zeros_like,
    "fma": lambda x, y, z: x * y + z,
    "sinc": lambda x: _where_zero(x, build.sin(x) / x, 1.0),
    # conditions
    "StrictLessThan": build.lt, "LessThan": build.le,
    "StrictGreaterThan": build.gt, "GreaterThan": build.ge,
    "Equality": build.eq, "Unequality": build.ne,
    "And": _all(build.logical_and), "Or": _all(build.logical_or), "Not": build.logical_not,
    "Xor": _all(build.logical_xor),
    "ITE": lambda condition, x, y: build.select(condition, x, y),
    "KroneckerDelta": lambda x, y: build.cast(build.eq(x, y), DType.F64),
}  # fmt: skip


def _where_zero(x: Value, value: Value, at_zero: float) -> Value:
    return build.select(build.eq(x, 0.0), build.full_like(x, at_zero), value)


def piecewise(pieces: Sequence[tuple[Value, Value]], otherwise: Value) -> Value:
    """Return the value of the first condition that holds; nan is the usual ``otherwise``."""
    found = otherwise
    for value, condition in reversed(pieces):
        found = build.select(condition, value, found)
    return found
