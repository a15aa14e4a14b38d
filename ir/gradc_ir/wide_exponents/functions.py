"""Functions in arithmetic whose exponents have no bound, as the few steps that can be computed.

Formulas name functions; a program has none. Here each function is taken apart into sums, products,
quotients, roots, comparisons and choices, and into the significand and exponent of a number. They
are short rather than of the last bit: a few ulps, and as an exponent has digits for large powers.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from gradc_ir.core.graph import Function
from gradc_ir.core.types import DType
from gradc_ir.wide_exponents.formulas import ARITHMETIC, Steps, steps_of
from gradc_ir.wide_exponents.program import Number, Program

_LARGEST_POWER = 64


def expand(body: Function, dtype: DType, called: frozenset[str] = frozenset()) -> Steps:
    """Return the steps of formulas, without functions but those called; equal ones are one."""
    steps, results = steps_of(body)
    program = Program(len(body.params), dtype, called)
    values = program.operands
    for word, operands in steps:
        given = [values[x] if isinstance(x, int) else Number(program, x) for x in operands]
        values.append(FUNCTIONS[word](*given) if word in FUNCTIONS else program.write(word, *given))
    return Steps(tuple(program.steps), tuple(int(values[result].place) for result in results))


def steps_of_function(word: str, operands: int, dtype: DType) -> Steps:
    """Return the steps that a function of so many numbers is made of."""
    program = Program(operands, dtype)
    result = FUNCTIONS[word](*program.operands)
    return Steps(tuple(program.steps), (int(result.place),))


# What takes the place of a word: a function of the numbers that are its operands.
_Made: TypeAlias = Callable[..., Number]
FUNCTIONS: dict[str, _Made] = {}


def _function(made: _Made) -> _Made:
    """Enter what an op is made of, by its name; it is a step where the program has such."""
    word = made.__name__.removeprefix("_")

    @functools.wraps(made)
    def written(x: Number, *others: Number | float) -> Number:
        called = word in x.program.called
        return x.program.write(word, x, *others) if called else made(x, *others)

    FUNCTIONS[word] = written
    return written


def _choice(condition: Number, x: Number | float, y: Number | float) -> Number:
    return condition.of("select", x, y)


def _polynomial(x: Number, coefficients: Sequence[float]) -> Number:
    """Write a polynomial of at least two terms, of which the constant comes first."""
    made = coefficients[-1] * x + coefficients[-2]
    for each in reversed(coefficients[:-2]):
        made = made * x + each
    return made


def _is_negative(x: Number) -> Number:
    """Write whether a number has the sign -, as -0 does."""
    return _choice(x.of("eq", 0.0), 1.0 / x, x) < 0.0


def _signed(x: Number, size: Number) -> Number:
    """Write a size with the sign of a number, also of a zero."""
    return _choice(_is_negative(x), -size, size)


def _squared(base: Number, exponent: int) -> Number:
    """Write a power of a number by squaring."""
    result: Number | None = None
    while exponent:
        if exponent % 2:
            result = base if result is None else result * base
        exponent //= 2
        if exponent:
            base = base * base
    assert result is not None
    return _stop_gradient(result)


@_function
def _stop_gradient(x: Number) -> Number:
    return x if isinstance(x.place, int) else x * 1.0


@_function
def _fence(x: Number) -> Number:
    return _stop_gradient(x)


def _parts(x: Number) -> tuple[Number, Number]:
    """Write exp(r) - 1 and n, of which exp(r) * 2**n is the exponential."""
    format_ = x.program.format
    n = (x * (1 / math.log(2)) + 0.5).of("floor")
    rest = x - n * format_.high - n * format_.low
    series = [1 / math.factorial(k) for k in range(1, format_.exponential)]
    return rest * _polynomial(rest, series), n


@_function
def _exp(x: Number) -> Number:
    small, n = _parts(x)
    plain = (small + 1.0).of("scale", n)
    # of that hardly a digit were known for large x
    return _choice(abs(x) < x.program.format.far, plain, x.of("grown"))


@_function
def _expm1(x: Number) -> Number:
    small, n = _parts(x)
    large = _exp(x) - 1.0
    return _choice(x.of("eq", 0.0), x, _choice(n.of("eq", 0.0), small, large))


@_function
def _exp2(x: Number) -> Number:
    return _exp(x * math.log(2))


@_function
def _exp_product(x: Number, y: Number) -> Number:
    return _exp(x * y)


def _near_one(f: Number) -> Number:
    """Write log((1 + f) / (1 - f))."""
    square = f * f
    series = [2.0 / (2 * k + 1) for k in range(f.program.format.logarithm)]
    return f * _polynomial(square, series)


@_function
def _log(x: Number) -> Number:
    format_ = x.program.format
    m, e = x.of("significand"), x.of("exponent")
    low = m < math.sqrt(0.5)
    m = _choice(low, m + m, m)
    e = _choice(low, e - 1.0, e)
    near = _near_one((m - 1.0) / (m + 1.0))
    above, rest = e * format_.high, e * format_.low
    made = _choice(x < math.inf, above + (rest + near), x)
    # of 0 and -0 it is -inf, of what is below it is nan
    beyond = -1.0 / abs(x.of("sqrt"))
    return _choice(x > 0.0, made, beyond)


@_function
def _log1p(x: Number) -> Number:
    near = _near_one(x / (x + 2.0))
    small = abs(x) < 0.25
    return _choice(small, near, _log(x + 1.0))


@_function
def _log2(x: Number) -> Number:
    return _log(x) * (1 / math.log(2))


@_function
def _log10(x: Number) -> Number:
    return _log(x) * (1 / math.log(10))


@_function
def _power(x: Number, y: Number) -> Number:
    if isinstance(y.place, float):
        if y.place < 0:
            return 1.0 / _power(x, Number(y.program, -y.place))
        if y.place in range(1, _LARGEST_POWER + 1):
            return _squared(x, int(y.place))
        if 2 * y.place in range(1, _LARGEST_POWER + 1):
            root = abs(x.of("sqrt"))  # such a power of -0 is 0
            return root if y.place < 1 else _squared(abs(x), int(y.place)) * root
    size = _exp(y * _log(abs(x)))
    half = y * 0.5
    even = half.of("floor").of("eq", half)
    whole = y.of("floor").of("eq", y)
    of_whole = _choice(even, size, -size)
    no_number = _choice(x.of("eq", 0.0), size, x.program.write("sqrt", -1.0))
    of_negative = _choice(whole, of_whole, no_number)
    made = _choice(_is_negative(x), of_negative, size)
    return _choice(y.of("eq", 0.0), 1.0, made)


@_function
def _cbrt(x: Number) -> Number:
    m, e = abs(x).of("significand"), x.of("exponent")
    third = (e * (1 / 3)).of("floor")
    m = m.of("scale", e - third * 3.0)
    guess = _exp(_log(m) * (1 / 3))
    square = guess * guess
    error = square * guess - m
    made = _signed(x, (guess - error / (square * 3.0)).of("scale", third))
    is_itself = _choice(abs(x) < math.inf, x.of("eq", 0.0), 1.0)
    return _choice(is_itself, x, made)


@_function
def _hypot(x: Number, y: Number) -> Number:
    return (x * x + y * y).of("sqrt")


@_function
def _direction_cosine(x: Number, y: Number) -> Number:
    return x / _hypot(x, y)


@_function
def _sinh(x: Number) -> Number:
    t = _expm1(abs(x))
    both = t + t / (t + 1.0)
    doubled = _choice(t < 2.0**60, both, t)
    return _signed(x, doubled * 0.5)


@_function
def _cosh(x: Number) -> Number:
    t = _exp(abs(x))
    return (t + 1.0 / t) * 0.5


@_function
def _tanh(x: Number) -> Number:
    t = _expm1(abs(x) * 2.0)
    return _signed(x, _choice(t < 2.0**60, t / (t + 2.0), 1.0))


def _arctan_of_proper(x: Number) -> Number:
    """Write the arctangent of a number from 0 to 1: of a quarter of the angle."""
    for _ in range(2):
        x = x / ((x * x + 1.0).of("sqrt") + 1.0)
    square = x * x
    series = [4.0 * (-1) ** k / (2 * k + 1) for k in range(x.program.format.arctangent)]
    return x * _polynomial(square, series)


@_function
def _arctan2(y: Number, x: Number | float) -> Number:
    x = x if isinstance(x, Number) else Number(y.program, x)
    a, b = abs(y), abs(x)
    steep = b < a
    proper = _choice(steep, b / a, a / b)
    # two zeros are a direction as well, by their signs, and so are two infinities
    proper = _choice(a.of("eq", b), _choice(a.of("eq", 0.0), 0.0, 1.0), proper)
    angle = _arctan_of_proper(proper)
    angle = _choice(steep, math.pi / 2 - angle, angle)
    angle = _choice(_is_negative(x), math.pi - angle, angle)
    return _signed(y, angle)


@_function
def _arctan(x: Number) -> Number:
    return _arctan2(x, 1.0)


def _side(x: Number) -> Number:
    """Write sqrt(1 - x * x)."""
    return ((1.0 - x) * (x + 1.0)).of("sqrt")


@_function
def _arcsin(x: Number) -> Number:
    return _arctan2(x, _side(x))


@_function
def _arccos(x: Number) -> Number:
    return _arctan2(_side(x), x)


@_function
def _arcsinh(x: Number) -> Number:
    size = abs(x)
    square = x * x
    root = (square + 1.0).of("sqrt")
    made = _log1p(size + square / (root + 1.0))
    return _signed(x, _choice(size < math.inf, made, size))


@_function
def _arccosh(x: Number) -> Number:
    less = x - 1.0
    # a root of each: below the domain there is no number
    return _log1p(less + less.of("sqrt") * (x + 1.0).of("sqrt"))


@_function
def _arctanh(x: Number) -> Number:
    size = abs(x)
    return _signed(x, _log1p((size + size) / (1.0 - size)) * 0.5)


@_function
def _sigmoid(x: Number) -> Number:
    t = _exp(-abs(x))
    return _choice(x < 0.0, t, 1.0) / (t + 1.0)


@_function
def _sigmoid_derivative(x: Number) -> Number:
    t = _exp(-abs(x))
    more = t + 1.0
    return t / (more * more)


@_function
def _softplus(x: Number) -> Number:
    t = _exp(-abs(x))
    return _choice(x < 0.0, 0.0, x) + _log1p(t)


@_function
def _logaddexp(x: Number, y: Number) -> Number:
    larger = _maximum(x, y)
    less = _choice(x.of("eq", y), 0.0, -abs(x - y))  # of two infinities as well
    return larger + _log1p(_exp(less))


@_function
def _log1mexp(x: Number) -> Number:
    small = _expm1(x)
    near = x > -math.log(2)
    far = _log1p(-_exp(x))
    return _choice(near, _log(-small), far)


@_function
def _maximum(x: Number, y: Number) -> Number:
    # of two zeros, the sum is 0 unless both are -0
    equal = _choice(x.of("eq", 0.0), x + y, x)
    return _choice(x.of("eq", y), equal, _choice(x < y, y, x))


@_function
def _minimum(x: Number, y: Number) -> Number:
    equal = _choice(x.of("eq", 0.0), -(-x - y), x)
    return _choice(x.of("eq", y), equal, _choice(x < y, x, y))


@_function
def _sign(x: Number) -> Number:
    return _choice(x.of("eq", 0.0), 0.0, _choice(x < 0.0, -1.0, 1.0))


@_function
def _le(x: Number, y: Number) -> Number:
    return _choice(x < y, 1.0, x.of("eq", y))


@_function
def _ne(x: Number, y: Number) -> Number:
    return _logical_not(x.of("eq", y))


@_function
def _logical_not(x: Number) -> Number:
    return _choice(x, 0.0, 1.0)


@_function
def _logical_and(x: Number, y: Number) -> Number:
    return _choice(x, y, 0.0)


@_function
def _logical_or(x: Number, y: Number) -> Number:
    return _choice(x, 1.0, y)


@_function
def _logical_xor(x: Number, y: Number) -> Number:
    return _ne(x, y)


WORDS = frozenset({*ARITHMETIC, *FUNCTIONS, "lt", "eq", "floor", "select"})

# Of so many steps that a program may call them; most others are made of these.
LONG = frozenset({"exp", "expm1", "log", "log1p", "arctan2"})
