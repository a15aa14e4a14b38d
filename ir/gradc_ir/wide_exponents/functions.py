"""Functions in arithmetic whose exponents have no bound, as the few steps that can be computed.

Formulas name functions; a program has none. Here each function is taken apart into sums, products,
quotients, roots, comparisons and choices, and into the significand and exponent of a number. They
are for where plain arithmetic has no answer, so they are short rather than of the last bit: a few
ulps, and as many digits as an exponent has for powers and for exponentials of large numbers.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gradc_ir.core.graph import Function
from gradc_ir.core.types import DType
from gradc_ir.wide_exponents.formulas import PRIMITIVES, Operand, Step, Steps, steps_of

_LARGEST_POWER = 64


class _Format(NamedTuple):
    """How many terms series have in a dtype, and the logarithm of 2 as a sum.

    The first number of the sum is so short that its product with an exponent is exact.
    """

    exponential: int
    logarithm: int
    arctangent: int
    high: float
    low: float
    far: float


_FORMATS = {
    DType.F64: _Format(14, 11, 12, 0.6931471803691238, 1.9082149292705877e-10, 2.0**40),
    DType.F32: _Format(8, 5, 6, 0.693359375, -2.12194440e-4, 2.0**18),
}


def expand(body: Function, dtype: DType) -> Steps:
    """Return the steps of formulas without functions; equal steps are made once."""
    steps, results = steps_of(body)
    program = _Program(len(body.params), dtype)
    places: list[Operand] = list(range(len(body.params)))
    for step in steps:
        given = [places[each] if isinstance(each, int) else each for each in step.operands]
        places.append(program.apply(step.word, given))
    return Steps(tuple(program.steps), tuple(int(places[each]) for each in results))


class _Program:
    """Steps that are written one after the other."""

    def __init__(self, operands: int, dtype: DType) -> None:
        self.steps: list[Step] = []
        self.format = _FORMATS[dtype]
        self._first = operands
        self._known: dict[str, int] = {}

    def apply(self, word: str, given: Sequence[Operand]) -> int:
        """Write a step, or what it is made of; returns the number of its value."""
        if word == "power" and isinstance(given[1], float):
            return self._constant_power(given[0], given[1])
        made = _FUNCTIONS.get(word)
        if made is not None and word not in PRIMITIVES:
            return made(self, *given)
        # as a text the value %1 is not the number 1.0
        key = f"{word} {given!r}"
        if key not in self._known:
            self._known[key] = self._first + len(self.steps)
            self.steps.append(Step(word, tuple(given)))
        return self._known[key]

    # -- what functions are written with -----------------------------------------------------------

    def add(self, x: Operand, y: Operand) -> int:
        return self.apply("add", (x, y))

    def sub(self, x: Operand, y: Operand) -> int:
        return self.apply("sub", (x, y))

    def mul(self, x: Operand, y: Operand) -> int:
        return self.apply("mul", (x, y))

    def div(self, x: Operand, y: Operand) -> int:
        return self.apply("div", (x, y))

    def one(self, word: str, x: Operand) -> int:
        return self.apply(word, (x,))

    def below(self, x: Operand, y: Operand) -> int:
        return self.apply("lt", (x, y))

    def choice(self, condition: Operand, x: Operand, y: Operand) -> int:
        return self.apply("select", (condition, x, y))

    def scaled(self, x: Operand, exponent: Operand) -> int:
        return self.apply("scale", (x, exponent))

    def polynomial(self, x: Operand, coefficients: Sequence[float]) -> Operand:
        """Write a polynomial of at least two terms, of which the constant comes first."""
        made: Operand = coefficients[-1]
        for each in reversed(coefficients[:-1]):
            made = self.add(self.mul(made, x), each)
        return made

    def signed(self, x: Operand, size: Operand) -> int:
        """Write a size with the sign of a number."""
        return self.choice(self.below(x, 0.0), self.one("neg", size), size)

    # -- functions ---------------------------------------------------------------------------------

    def same(self, x: Operand) -> int:
        return x if isinstance(x, int) else self.mul(x, 1.0)

    def _constant_power(self, base: Operand, exponent: float) -> int:
        if exponent < 0:
            return self.div(1.0, self._constant_power(base, -exponent))
        if exponent in range(1, _LARGEST_POWER + 1):
            return self._squared(base, int(exponent))
        if 2 * exponent in range(1, _LARGEST_POWER + 1):
            root = self.one("sqrt", base)
            if exponent < 1:
                return root
            return self.mul(self._squared(base, int(exponent)), root)
        return self.power(base, exponent)

    def _squared(self, base: Operand, exponent: int) -> int:
        result: Operand | None = None
        while exponent:
            if exponent % 2:
                result = base if result is None else self.mul(result, base)
            exponent //= 2
            if exponent:
                base = self.mul(base, base)
        assert result is not None
        return self.same(result)

    def _parts(self, x: Operand) -> tuple[int, int]:
        """Write exp(r) - 1 and n, of which exp(r) * 2**n is the exponential."""
        count, high, low = self.format.exponential, self.format.high, self.format.low
        n = self.one("floor", self.add(self.mul(x, 1 / math.log(2)), 0.5))
        rest = self.sub(self.sub(x, self.mul(n, high)), self.mul(n, low))
        series = [1 / math.factorial(k) for k in range(1, count)]
        return self.mul(rest, self.polynomial(rest, series)), n

    def exp(self, x: Operand) -> int:
        small, n = self._parts(x)
        return self._grown(x, self.scaled(self.add(small, 1.0), n))

    def _grown(self, x: Operand, otherwise: int) -> int:
        """Write an exponential, of which otherwise hardly a digit were known for large x."""
        moderate = self.below(self.one("abs", x), self.format.far)
        return self.choice(moderate, otherwise, self.one("grown", x))

    def expm1(self, x: Operand) -> int:
        small, n = self._parts(x)
        large = self.sub(self.exp(x), 1.0)
        return self.choice(self.apply("eq", (n, 0.0)), small, large)

    def _near_one(self, f: Operand) -> int:
        """Write log((1 + f) / (1 - f))."""
        square = self.mul(f, f)
        series = [2.0 / (2 * k + 1) for k in range(self.format.logarithm)]
        return self.mul(f, self.polynomial(square, series))

    def log(self, x: Operand) -> int:
        m, e = self.one("significand", x), self.one("exponent", x)
        low = self.below(m, math.sqrt(0.5))
        m = self.choice(low, self.add(m, m), m)
        e = self.choice(low, self.sub(e, 1.0), e)
        near = self._near_one(self.div(self.sub(m, 1.0), self.add(m, 1.0)))
        high, low_ = self.mul(e, self.format.high), self.mul(e, self.format.low)
        made = self.choice(self.below(x, math.inf), self.add(high, self.add(low_, near)), x)
        # of 0 it is -inf, of what is below it is nan
        beyond = self.div(-1.0, self.one("sqrt", x))
        return self.choice(self.below(0.0, x), made, beyond)

    def log1p(self, x: Operand) -> int:
        near = self._near_one(self.div(x, self.add(x, 2.0)))
        small = self.below(self.one("abs", x), 0.25)
        return self.choice(small, near, self.log(self.add(x, 1.0)))

    def log_of_base(self, x: Operand, factor: float) -> int:
        return self.mul(self.log(x), factor)

    def power(self, x: Operand, y: Operand) -> int:
        size = self.exp(self.mul(y, self.log(self.one("abs", x))))
        half = self.mul(y, 0.5)
        even = self.apply("eq", (self.one("floor", half), half))
        whole = self.apply("eq", (self.one("floor", y), y))
        turned = self.choice(even, size, self.one("neg", size))
        made = self.choice(
            self.below(x, 0.0), self.choice(whole, turned, self.one("sqrt", -1.0)), size
        )
        return self.choice(self.apply("eq", (y, 0.0)), 1.0, made)

    def cbrt(self, x: Operand) -> int:
        m, e = self.one("significand", self.one("abs", x)), self.one("exponent", x)
        third = self.one("floor", self.mul(e, 1 / 3))
        m = self.scaled(m, self.sub(e, self.mul(third, 3.0)))
        guess = self.exp(self.mul(self.log(m), 1 / 3))
        square = self.mul(guess, guess)
        error = self.sub(self.mul(square, guess), m)
        root = self.sub(guess, self.div(error, self.mul(square, 3.0)))
        made = self.signed(x, self.scaled(root, third))
        return self.choice(self.apply("eq", (x, 0.0)), x, made)

    def hypot(self, x: Operand, y: Operand) -> int:
        return self.one("sqrt", self.add(self.mul(x, x), self.mul(y, y)))

    def sinh(self, x: Operand) -> int:
        t = self.expm1(self.one("abs", x))
        both = self.add(t, self.div(t, self.add(t, 1.0)))
        doubled = self.choice(self.below(t, 2.0**60), both, t)
        return self.signed(x, self.mul(doubled, 0.5))

    def cosh(self, x: Operand) -> int:
        t = self.exp(self.one("abs", x))
        return self.mul(self.add(t, self.div(1.0, t)), 0.5)

    def tanh(self, x: Operand) -> int:
        t = self.expm1(self.mul(self.one("abs", x), 2.0))
        size = self.choice(self.below(t, 2.0**60), self.div(t, self.add(t, 2.0)), 1.0)
        return self.signed(x, size)

    def _arctan_of_proper(self, x: Operand) -> int:
        """Write the arctangent of a number from 0 to 1: of a quarter of the angle."""
        for _ in range(2):
            x = self.div(x, self.add(self.one("sqrt", self.add(self.mul(x, x), 1.0)), 1.0))
        square = self.mul(x, x)
        series = [4.0 * (-1) ** k / (2 * k + 1) for k in range(self.format.arctangent)]
        return self.mul(x, self.polynomial(square, series))

    def arctan2(self, y: Operand, x: Operand) -> int:
        a, b = self.one("abs", y), self.one("abs", x)
        steep = self.below(b, a)
        proper = self.choice(steep, self.div(b, a), self.div(a, b))
        angle = self._arctan_of_proper(proper)
        angle = self.choice(steep, self.sub(math.pi / 2, angle), angle)
        angle = self.choice(self.below(x, 0.0), self.sub(math.pi, angle), angle)
        return self.signed(y, angle)

    def arctan(self, x: Operand) -> int:
        return self.arctan2(x, 1.0)

    def _side(self, x: Operand) -> int:
        """Write sqrt(1 - x * x)."""
        return self.one("sqrt", self.mul(self.sub(1.0, x), self.add(x, 1.0)))

    def arcsin(self, x: Operand) -> int:
        return self.arctan2(x, self._side(x))

    def arccos(self, x: Operand) -> int:
        return self.arctan2(self._side(x), x)

    def arcsinh(self, x: Operand) -> int:
        size = self.one("abs", x)
        square = self.mul(x, x)
        root = self.one("sqrt", self.add(square, 1.0))
        return self.signed(x, self.log1p(self.add(size, self.div(square, self.add(root, 1.0)))))

    def arccosh(self, x: Operand) -> int:
        less = self.sub(x, 1.0)
        return self.log1p(self.add(less, self.one("sqrt", self.mul(less, self.add(x, 1.0)))))

    def arctanh(self, x: Operand) -> int:
        return self.mul(self.log1p(self.div(self.add(x, x), self.sub(1.0, x))), 0.5)

    def sigmoid(self, x: Operand) -> int:
        t = self.exp(self.one("neg", self.one("abs", x)))
        return self.div(self.choice(self.below(x, 0.0), t, 1.0), self.add(t, 1.0))

    def sigmoid_derivative(self, x: Operand) -> int:
        t = self.exp(self.one("neg", self.one("abs", x)))
        more = self.add(t, 1.0)
        return self.div(t, self.mul(more, more))

    def softplus(self, x: Operand) -> int:
        t = self.exp(self.one("neg", self.one("abs", x)))
        return self.add(self.choice(self.below(x, 0.0), 0.0, x), self.log1p(t))

    def logaddexp(self, x: Operand, y: Operand) -> int:
        larger = self.choice(self.below(x, y), y, x)
        apart = self.one("neg", self.one("abs", self.sub(x, y)))
        return self.add(larger, self.log1p(self.exp(apart)))

    def log1mexp(self, x: Operand) -> int:
        small = self.expm1(x)
        near = self.below(-math.log(2), x)
        far = self.log1p(self.one("neg", self.exp(x)))
        return self.choice(near, self.log(self.one("neg", small)), far)

    def direction_cosine(self, x: Operand, y: Operand) -> int:
        return self.div(x, self.hypot(x, y))

    def maximum(self, x: Operand, y: Operand) -> int:
        return self.choice(self.below(x, y), y, x)

    def minimum(self, x: Operand, y: Operand) -> int:
        return self.choice(self.below(x, y), x, y)

    def sign(self, x: Operand) -> int:
        size = self.choice(self.apply("eq", (x, 0.0)), x, 1.0)
        return self.signed(x, size)

    def le(self, x: Operand, y: Operand) -> int:
        return self.choice(self.below(x, y), 1.0, self.apply("eq", (x, y)))

    def not_(self, x: Operand) -> int:
        return self.choice(x, 0.0, 1.0)

    def ne(self, x: Operand, y: Operand) -> int:
        return self.not_(self.apply("eq", (x, y)))

    def and_(self, x: Operand, y: Operand) -> int:
        return self.choice(x, y, 0.0)

    def or_(self, x: Operand, y: Operand) -> int:
        return self.choice(x, 1.0, y)


_P = _Program
_FUNCTIONS: dict[str, Callable[..., int]] = {
    "exp": _P.exp, "expm1": _P.expm1, "log": _P.log, "log1p": _P.log1p,
    "exp2": lambda p, x: p.exp(p.mul(x, math.log(2))),
    "log2": functools.partial(_P.log_of_base, factor=1 / math.log(2)),
    "log10": functools.partial(_P.log_of_base, factor=1 / math.log(10)),
    "exp_product": lambda p, x, y: p.exp(p.mul(x, y)),
    "power": _P.power, "cbrt": _P.cbrt, "hypot": _P.hypot,
    "sinh": _P.sinh, "cosh": _P.cosh, "tanh": _P.tanh,
    "arctan": _P.arctan, "arctan2": _P.arctan2, "arcsin": _P.arcsin, "arccos": _P.arccos,
    "arcsinh": _P.arcsinh, "arccosh": _P.arccosh, "arctanh": _P.arctanh,
    "sigmoid": _P.sigmoid, "sigmoid_derivative": _P.sigmoid_derivative,
    "softplus": _P.softplus, "logaddexp": _P.logaddexp, "log1mexp": _P.log1mexp,
    "direction_cosine": _P.direction_cosine,
    "maximum": _P.maximum, "minimum": _P.minimum, "sign": _P.sign,
    "le": _P.le, "ne": _P.ne, "logical_not": _P.not_, "logical_and": _P.and_,
    "logical_or": _P.or_, "logical_xor": _P.ne, "stop_gradient": _P.same, "fence": _P.same,
}  # fmt: skip
