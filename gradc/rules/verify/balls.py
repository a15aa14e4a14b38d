"""Numbers of many digits that know how far they may be off: balls, by python-flint's Arb.

A ball is a middle and a radius, and encloses the true number whatever was rounded on the way. So
what cancellation leaves is told from what is known, whatever the precision. An ``arb`` that is nan
with radius 0, :data:`NAN`, is no number, whatever the precision; any other one that is not finite
is not known.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache, cmp_to_key, partial
from typing import Any

import numpy as np

from gradc.rules.verify.arithmetic import ANY_NUMBERS, Meaning, Wide
from gradc_ir.core.op import TABLE
from gradc_ir.core.types import Array
from gradc_ir.errors import GradcError
from gradc_ir.interpreter.interpret import reference

try:
    from flint import acb, arb, ctx
except ImportError as error:
    raise GradcError(
        "numbers of many digits need python-flint", found=str(error), help="install python-flint"
    ) from None

# Bits of precision, to be tried in turn: four leading terms of a series that cancel at the smallest
# doubles need about 4 * 1074.
PRECISIONS = (128, 448, 1408, 4608)
# A whole exponent beyond this is as good as any other number.
_LARGEST_POWER = 2**20

Ball = arb
NAN = Ball(math.nan)


class Undecided(Exception):
    """Two balls overlap that were to be compared: more precision may tell."""


def growing(precisions: Sequence[int] = PRECISIONS) -> Iterator[int]:
    """Yield the precisions in turn, each in force until the next is asked for."""
    kept = ctx.prec
    try:
        for ctx.prec in precisions:
            yield ctx.prec
    finally:
        ctx.prec = kept


def digits(count: int) -> AbstractContextManager[Any]:
    """Return a context in which balls have so many decimal digits."""
    found: AbstractContextManager[Any] = ctx.workdps(count)
    return found


def is_nan(x: Any) -> bool:
    """Whether a ball is no number, whatever the precision."""
    return bool(x.is_nan() and x.is_exact())


def rounded(x: Any) -> float:
    """Return the float64 that all numbers of a ball round to, infinite beyond the largest one.

    nan is returned when there is not one such. Minus zero is zero.
    """
    if not x.is_finite():
        return float(x) if x.is_exact() else math.nan
    low, high = float(x.lower()), float(x.upper())
    return low + 0.0 if low == high else math.nan


def compare(x: Any, y: Any) -> int | None:
    """Return the sign of x - y, None where one is nan; raises Undecided when it is not known."""
    if is_nan(x) or is_nan(y):
        return None
    if x is y or (x.is_exact() and y.is_exact() and x == y):
        return 0
    if x < y or x > y:
        return -1 if x < y else 1
    raise Undecided


def quotient(x: Any, y: Any) -> Any:
    """Return x / y: nan by zero, not known where y may be zero."""
    return NAN if y.is_zero() else x / y


def power(x: Any, y: Any) -> Any:
    """Return x**y: of a base that is not positive by whole numbers, or of zero.

    The power of one is one, whatever the exponent, and that by zero, whatever the base.
    """
    if is_nan(x) or is_nan(y):
        return arb(1) if x == 1 or y.is_zero() else NAN
    if y.is_exact() and y.is_integer() and abs(y) <= _LARGEST_POWER:
        exponent = int(y.unique_fmpz())
        return x**exponent if exponent >= 0 else quotient(arb(1), x**-exponent)
    if x < 0 and not y.contains_integer():
        return NAN
    if x < 0 and y.is_exact() and y.is_integer():
        size = (y * (-x).log()).exp()  # of a large number, whose last digit is the sign
        return size if (y / 2).is_integer() else -size
    if abs(y) == arb(0.5):
        return x.sqrt() if y > 0 else quotient(arb(1), x.sqrt())
    return arb(0) if x.is_zero() and y > 0 else (y * x.log()).exp()


def larger(x: Any, y: Any) -> Any:
    """Return the larger one, nan where one is; of balls that overlap one around both."""
    try:
        order = compare(x, y)
    except Undecided:
        return x.max(y)
    return NAN if order is None else x if order >= 0 else y


def _sign(x: Any) -> Any:
    order = compare(x, arb(0))
    return NAN if order is None else arb(order)


def _floor(x: Any) -> Any:
    if not x.is_finite():
        return x
    low, high = x.lower().floor(), x.upper().floor()
    if low != high:
        raise Undecided
    return low


def cube_root(x: Any) -> Any:
    """Return the real cube root."""
    return -(-x).root(3) if x < 0 else x.root(3)


def ndtr(x: Any) -> Any:
    """Return the distribution function of the standard normal."""
    return (-x / arb(2).sqrt()).erfc() / 2


def erfcx(x: Any) -> Any:
    """Return exp(x²) erfc(x): far out by Tricomi's function, Abramowitz and Stegun 7.1.23."""
    if x > 8:
        return (x * x).hypgeom_u(arb(0.5), arb(0.5)) / arb.pi().sqrt()
    return (x * x).exp() * x.erfc()


def log_ndtr(x: Any) -> Any:
    """Return the logarithm of the distribution function of the standard normal."""
    if x < -8:
        return (erfcx(-x / arb(2).sqrt()) / 2).log() - x * x / 2
    return (-ndtr(-x)).log1p() if x > 0 else ndtr(x).log()


def softplus(x: Any) -> Any:
    """Return log(1 + exp(x)), of large numbers by themselves: their exponentials have no ball."""
    return x + (-x).exp().log1p() if x > 0 else x.exp().log1p()


def log1mexp(x: Any) -> Any:
    """Return log(1 - exp(x))."""
    if x > 0:
        return NAN
    return (-x.exp()).log1p() if x < -1 else (-x.expm1()).log()


def log_gamma(x: Any) -> Any:
    """Return log |gamma(x)|, of negative numbers by reflection."""
    if x > 0:
        return x.lgamma()
    return quotient(arb.pi(), abs(x.sin_pi())).log() - (1 - x).lgamma()


# -- formulas --------------------------------------------------------------------------------------

# SymPy's words for methods of Arb's balls, of the last operand.
_METHODS = {"lowergamma": "gamma_lower", "uppergamma": "gamma_upper", "besselj": "bessel_j",
            "bessely": "bessel_y", "besseli": "bessel_i", "besselk": "bessel_k",
            "polylog": "polylog", "expint": "expint"}  # fmt: skip


def _of_last(method: str) -> Callable[..., Any]:
    return lambda first, last: getattr(last, method)(first)


# SymPy's words that are not methods of Arb's balls of the same name and arguments.
_WORDS: dict[str, Callable[..., Any]] = {
    "Abs": abs,
    "Add": lambda *terms: sum(terms),
    "Mul": lambda *factors: math.prod(factors),
    "Pow": power,
    "Pi": arb.pi,
    "Exp1": arb.const_e,
    "TupleArg": lambda *parts: parts,
    "log_gamma": log_gamma,
    "polygamma": lambda order, x: x.digamma(),
    "betainc_regularized": lambda a, b, low, x: x.beta_lower(a, b, regularized=True),
    "hyper": lambda a, b, x: x.hypgeom_2f1(*a, *b),
    **{word: _of_last(method) for word, method in _METHODS.items()},
    "elliptic_k": lambda m: _real(acb(m).elliptic_k()),
    "elliptic_e": lambda m: _real(acb(m).elliptic_e()),
    "Ei": arb.ei,
    "Si": arb.si,
    "Ci": arb.ci,
    "fresnels": arb.fresnel_s,
    "fresnelc": arb.fresnel_c,
}


def _real(x: Any) -> Any:
    return x.real if x.imag.is_zero() else NAN


def _value(formula: Any, values: Mapping[Any, Any]) -> Any:
    """Return the value of a SymPy expression as a ball, with balls for its symbols."""
    if formula in values:
        return values[formula]
    if formula.is_Rational:
        return arb(formula.p) / formula.q
    name, operands = formula.func.__name__, formula.args
    if name == "log":
        (inner,) = operands
        inner = inner.args[0] if inner.func.__name__ == "Abs" else inner
        if inner.func.__name__ == "gamma":  # which overflows long before its logarithm
            name, operands = "log_gamma", inner.args
    function = _WORDS.get(name) or getattr(arb, name)
    return function(*(_value(operand, values) for operand in operands))


def _by_formula(name: str, *operands: Any) -> Any:
    symbols, formula = _formula(name, len(operands))
    return _value(formula, dict(zip(symbols, operands)))


@cache
def _formula(name: str, count: int) -> tuple[Any, Any]:
    import sympy

    from gradc.rules.verify.meaning import real_functions

    symbols = sympy.symbols(f"x:{count}", real=True)
    return symbols, sympy.sympify(real_functions()[name](*symbols))


# -- the ops ---------------------------------------------------------------------------------------

_OPS: dict[str, Callable[..., Any]] = {
    "neg": operator.neg,
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "abs": abs,
    "div": quotient,
    "power": power,
    "sign": _sign,
    "floor": _floor,
    "floor_divide": lambda x, y: _floor(quotient(x, y)),
    "remainder": lambda x, y: x - y * _floor(quotient(x, y)),
    "maximum": larger,
    "minimum": lambda x, y: -larger(-x, -y),
    "cbrt": cube_root,
    # what is used most, without the way over SymPy
    "exp2": lambda x: arb(2) ** x,
    "hypot": lambda x, y: (x * x + y * y).sqrt(),
    "softplus": softplus,
    "logaddexp": lambda x, y: x + softplus(y - x) if x > y else y + softplus(x - y),
    "log1mexp": log1mexp,
    "sigmoid": lambda x: 1 / (1 + (-x).exp()),
    "lgamma": log_gamma,
    "erfcx": erfcx,
    "ndtr": ndtr,
    "log_ndtr": log_ndtr,
    "eq": lambda x, y: compare(x, y) == 0,
    "ne": lambda x, y: compare(x, y) != 0,
    "lt": lambda x, y: compare(x, y) == -1,
    "le": lambda x, y: compare(x, y) in (-1, 0),
}


# What has a number although an operand is none: a power of one or by zero, and comparisons.
_SEES_NAN = frozenset(("power", "eq", "ne", "lt", "le"))

# Below these numbers functions have no real value.
_LEAST = {"log": 0, "log2": 0, "log10": 0, "sqrt": 0, "log1p": -1, "arccosh": 1}


@cache
def op(name: str) -> Callable[..., Any]:
    """Return an elementwise op on balls: Arb's function, or the op's formula over the reals."""
    unary = TABLE[name].operands == 1
    method = getattr(arb, name, None) if unary else None
    compute = _OPS.get(name) or method or partial(_by_formula, name)

    def on_balls(*operands: Any) -> Any:
        # Arb has an arcsine of it, and beside what is rounded it is not known to be none
        if name not in _SEES_NAN and any(isinstance(x, Ball) and is_nan(x) for x in operands):
            return NAN
        made = compute(*operands)
        unknown = isinstance(made, Ball) and made.is_nan() and not is_nan(made)
        if unknown and name in _LEAST and operands[0] < _LEAST[name]:
            return NAN
        if unknown and all(operand.is_exact() for operand in operands):
            return _at_border(name, operands, made)
        return made

    return on_balls


def _at_border(name: str, operands: Sequence[Any], unknown: Any) -> Any:
    """Return the limit at known numbers where a function has no finite value, nan without one.

    What floats have a value for, few digits may be too few for: it stays unknown.
    """
    given = [float(x) for x in operands]
    meaning = reference(TABLE[name])
    assert meaning is not None
    limit = float(meaning(*map(np.float64, given)))
    if math.isnan(limit) or not all(map(operator.eq, given, operands)):
        return NAN
    if any(map(math.isinf, given)):
        return arb(limit) if math.isinf(limit) or limit in (-1, 0, 1) else NAN
    # a pole, if it is none of the floats' overflows, which more digits may reach
    is_pole = math.isinf(limit) and (_is_at_pole(given) or ctx.prec >= PRECISIONS[-1])
    return arb(limit) if is_pole else unknown


def _is_at_pole(given: Sequence[float]) -> bool:
    """Whether numbers are where functions have their poles: small whole ones."""
    return all(abs(x) < 2**20 and x == math.floor(x) for x in given)


@cache
def balls() -> Wide:
    """Return the arithmetic of balls, at the precision that is in force."""
    from gradc.rules.verify.meaning import real_functions

    meanings: dict[str, Meaning] = {
        name: np.frompyfunc(op(name), TABLE[name].operands or 1, 1)
        for name in real_functions()
        if name in TABLE
        and TABLE[name].is_elementwise
        and not name.startswith("logical_")
        and (name in _OPS or name not in ANY_NUMBERS)
    }
    meanings |= {
        "reduce_max": _reduction(meanings["maximum"], -math.inf),
        "reduce_min": _reduction(meanings["minimum"], math.inf),
        "logsumexp": lambda x, axes: meanings["log"](np.sum(meanings["exp"](x), axis=tuple(axes))),
        "norm": lambda x, axes: meanings["sqrt"](np.sum(x * x, axis=tuple(axes))),
        "argsort": _argsort,
    }
    return Wide(object, lambda x: x if isinstance(x, Ball) else Ball(float(x)), meanings)


def _reduction(function: Any, of_none: float) -> Meaning:
    def reduced(x: Array, axes: Any) -> Any:
        for axis in sorted(axes, reverse=True):
            x = function.reduce(x, axis=axis, initial=Ball(of_none))
        return x

    return reduced


def _argsort(x: Array, axis: int) -> Any:
    """Return the order of the elements along an axis: stable, nan at the end."""

    def order(line: Array) -> list[int]:
        key = cmp_to_key(_order)
        return sorted(range(len(line)), key=lambda place: key(line[place]))

    return np.apply_along_axis(order, axis, x)


def _order(x: Any, y: Any) -> int:
    found = compare(x, y)
    return int(is_nan(x)) - int(is_nan(y)) if found is None else found
