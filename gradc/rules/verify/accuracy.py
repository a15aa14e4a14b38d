"""Bits of error of the two sides of a rule, value and derivatives, against multiple precision.

Points are sampled uniformly over the bit patterns of the domain, uniformly over its middle, and at
spots where spellings break. The error of a point is log2(1 + numbers of the dtype between result
and truth).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

from gradc.rules.engine import REALS, Interval
from gradc.rules.verify.meaning import (
    LENGTH,
    MAXIMUM,
    array_variables,
    bool_variables,
    elements_of,
    evaluate,
    graph_functions,
    real_functions,
    sides,
    variables,
)
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import Shape
from gradc_ir.core.types import Array, DType, Type
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.meaning.ulp_distance import bits_between, uniform_patterns
from gradc_ir.passes import RecoverFinite, UnboundExponents

# Enough to hold x + t for the largest number x of a dtype and the smallest t, and then some.
_PRECISION = {DType.F64: 2200, DType.F32: 500}
_SPOTS = (
    *(0.0, 1e-300, 1e-160, 1e-20, 1e-12, 1e-9, 1e-6, 1e-3, 0.25, 0.5, 0.6931471805599453, 1.0, 2.0),
    *(5.0, 10.0, 20.0, 36.0, 40.0, 100.0, 300.0, 700.0, 740.0, 1e3, 1e4, 1e9, 1e300),
)


@dataclass(frozen=True)
class Errors:
    """Bits of error at each point, of the value or one derivative, for both sides."""

    what: str
    points: Array
    left: Array
    right: Array

    @property
    def mean_left(self) -> float:
        """The mean error of the left side."""
        return float(self.left.mean()) if self.left.size else 0.0

    @property
    def mean_right(self) -> float:
        """The mean error of the right side."""
        return float(self.right.mean()) if self.right.size else 0.0

    @property
    def worst(self) -> tuple[float, Array]:
        """The most bits lost at one point where the left side has a number, and the point."""
        if not self.left.size:
            return 0.0, np.zeros(0)
        lost = np.where(self.left < 64, self.right - self.left, 0)
        at = int(np.argmax(lost))
        return float(lost[at]), self.points[:, at]


def sample(
    equation: str,
    domain: Mapping[str, Interval],
    condition: str | None = None,
    count: int = 30,
) -> dict[str, Array]:
    """Return points of the domain: a vector a scalar variable, a matrix an array variable."""
    random = np.random.Generator(np.random.PCG64(crc32(equation.encode())))
    names, arrays = variables(equation), array_variables(equation)
    owners = [name for name in names for _ in range(LENGTH if name in arrays else 1)]
    intervals = [domain.get(name, REALS) for name in owners]
    drawn = np.stack([_draw(random, interval, count) for interval in intervals], axis=1)
    if len(owners) > 1:
        # near each other too, which is where differences cancel
        base = random.uniform(-50, 50, count)
        apart = [0.0, 1e-12, 1e-6, 1e-2, 1.0, 30.0]
        near = [base + random.choice(apart, count) for _ in owners]
        drawn = np.concatenate([drawn, np.transpose(near)])
    low, high = np.transpose(intervals)
    kept = ((drawn > low) & (drawn < high)).all(axis=1)
    points: dict[str, Array] = {}
    for name in names:
        mine = drawn[:, [owner == name for owner in owners]]
        points[name] = mine if name in arrays else mine[:, 0]
    if condition is not None:
        lower, upper = (part.strip() for part in condition.split("<"))
        kept &= points[lower] < points[upper]
    return {name: values[kept] for name, values in points.items()}


def _draw(random: np.random.Generator, interval: Interval, count: int) -> Array:
    low, high = (max(interval[0], -1.7e308), min(interval[1], 1.7e308))
    patterns = uniform_patterns(random, low, high, count)
    middle = random.uniform(max(low, -50), min(high, 50), count)
    spots = np.array([sign * spot for spot in _SPOTS for sign in (1, -1)])
    ends = [
        end - sign * spot
        for end in interval
        if abs(end) < 1e300
        for spot in (1e-12, 1e-6, 1e-3)
        for sign in (1, -1)
    ]
    chosen = np.concatenate([spots, np.array(ends)])
    return np.concatenate(
        [patterns, middle, random.permutation(np.resize(chosen, len(_SPOTS) * 2))]
    )


def graph_of(
    side: str, equation: str, points: Mapping[str, Array], dtype: DType = DType.F64
) -> Function:
    """Return the graph of one side for vectors of points; arrays are matrices, a row a point.

    Variables that stand for conditions are bool, all others are of ``dtype``.
    """
    return graph_of_shapes(side, equation, {x: array.shape for x, array in points.items()}, dtype)


def graph_of_shapes(
    side: str, equation: str, shapes: Mapping[str, Shape], dtype: DType = DType.F64
) -> Function:
    """Return the graph of one side, as :func:`graph_of` does, for arrays of given shapes."""
    length = next(iter(shapes.values()))[0]
    conditions = bool_variables(equation)
    with Builder() as builder:
        params = [
            builder.param(i, Type(DType.BOOL if name in conditions else dtype, shapes[name]))
            for i, name in enumerate(variables(equation))
        ]
        names = dict(zip(variables(equation), params, strict=True))
        result = evaluate(side, {**graph_functions(dtype, length), **names})
        if not isinstance(result, Value):
            result = build.full(
                (length,), result, DType.BOOL if isinstance(result, bool) else dtype
            )
        return builder.function("side", params, [result])


def measure(
    equation: str,
    domain: Mapping[str, Interval],
    condition: str | None = None,
    dtype: DType = DType.F64,
    count: int = 30,
    points: Mapping[str, Array] | None = None,
) -> list[Errors]:
    """Return the errors of value and first derivatives of both sides, at points or sampled ones.

    The left side is computed as written, the right one as behind all rules: where a step leaves
    the range, with exponents without bound.
    """
    given = points is not None
    points = sample(equation, domain, condition, count) if points is None else points
    if dtype is DType.F32:
        points = _in_single_precision(points, keep_zeros=not given)
    truths, labels = truth(equation, points, dtype)
    left_side, right_side = (
        _with_slopes(graph_of(text, equation, points, dtype)) for text in sides(equation)
    )
    right_side = UnboundExponents()(RecoverFinite()(right_side))
    computed = [_computed(side, points, dtype) for side in (left_side, right_side)]
    columns = np.column_stack(list(points.values())).T
    found = []
    for label, expected, *made in zip(labels, truths, *computed, strict=True):
        known = ~np.isnan(expected)
        left, right = (bits_between(side[known], expected[known]) for side in made)
        found.append(Errors(label, columns[:, known], left, right))
    return found


def _in_single_precision(points: Mapping[str, Array], keep_zeros: bool) -> dict[str, Array]:
    """Return the points rounded to single precision, without those that overflow in it.

    Those that become 0 are kept on demand: they may no longer be where a guard says yes.
    """
    with np.errstate(over="ignore", under="ignore"):
        rounded = {name: values.astype(np.float32) for name, values in points.items()}
    kept = np.ones(len(next(iter(rounded.values()))), dtype=bool)
    for name, values in rounded.items():
        in_range = np.isfinite(values) & (keep_zeros | (values != 0) | (points[name] == 0))
        kept &= in_range.reshape(len(values), -1).all(axis=1)
    return {name: values[kept].astype(np.float64) for name, values in rounded.items()}


def _with_slopes(side: Function) -> Function:
    """Return the graph of value and derivatives."""
    from gradc.derivatives import vjp

    return vjp(side, range(len(side.params)))


def _computed(pulled: Function, points: Mapping[str, Array], dtype: DType) -> list[Array]:
    """Return the value and the derivatives by each column, all for the first element of a row."""
    arrays = [values.astype(dtype.numpy) for values in points.values()]
    shape = pulled.result_types[0].shape
    first = np.ones([len(arrays[0]), LENGTH][: len(shape)], dtype=dtype.numpy)
    if len(shape) > 1:
        first[:, 1:] = 0
    with np.errstate(all="ignore"):
        value, *gradients = interpret(pulled, [*arrays, first])
    columns = [value.reshape(len(value), -1)[:, 0]]
    for gradient in gradients:
        columns += list(gradient.reshape(len(gradient), -1).T)
    return columns


def truth(
    equation: str, points: Mapping[str, Array], dtype: DType = DType.F64
) -> tuple[list[Array], list[str]]:
    """Return value and derivatives to full precision, rounded once; nan where not known."""
    import sympy

    arrays = array_variables(equation)
    names = {
        name: elements_of(name) if name in arrays else sympy.Symbol(name, real=True)
        for name in variables(equation)
    }
    symbols = [symbol for named in names.values() for symbol in np.ravel(named)]
    value = _first(equation, names)
    expressions = [value, *(sympy.diff(value, symbol) for symbol in symbols)]
    labels = ["value", *(f"d/d{symbol}" for symbol in symbols)]
    rows = np.column_stack(list(points.values()))
    elements = [i for i, symbol in enumerate(symbols) if str(symbol)[:-1] in arrays]
    largest = rows[:, elements].max(axis=1, initial=-np.inf if elements else 0.0)
    exact = _exactly(
        [*symbols, MAXIMUM()], expressions, np.column_stack([rows, largest]), _PRECISION[dtype]
    )
    with np.errstate(over="ignore"):  # what is too large for single precision is infinite
        rounded = np.array(exact, np.float64).astype(dtype.numpy)
    return list(rounded.T), labels


def values_of(
    side: str, equation: str, points: Mapping[str, Array], precision: int = 2200
) -> list[Any]:
    """Return a side's value at each point in multiple precision, None where it is not real."""
    import mpmath
    import sympy

    names = {name: sympy.Symbol(name, real=True) for name in variables(equation)}
    value = sympy.sympify(evaluate(side, {**real_functions(), **names}))
    formula = sympy.nsimplify(value, rational=True)
    rows = np.column_stack(list(points.values()))
    exact = _exactly(list(names.values()), [formula], rows, precision)
    return [number if mpmath.isfinite(number) else None for (number,) in exact]


def _exactly(
    symbols: Sequence[Any], expressions: Sequence[Any], rows: Array, precision: int
) -> list[list[Any]]:
    """Return the values of expressions for each row of numbers, nan where they are not real."""
    import mpmath
    import sympy

    compute = sympy.lambdify(symbols, expressions, "mpmath")
    found = []
    with mpmath.workprec(precision):
        for row in rows:
            try:
                made = compute(*(mpmath.mpf(float(number)) for number in row))
            except (ZeroDivisionError, ValueError, OverflowError):
                made = [mpmath.nan] * len(expressions)
            found.append(
                [mpmath.nan if isinstance(one, mpmath.mpc) else mpmath.mpf(one) for one in made]
            )
    return found


def special_points(equation: str, dtype: DType = DType.F64) -> dict[str, Array]:
    """Return every combination of special values, a vector a variable."""
    names, conditions = variables(equation), bool_variables(equation)
    axes = [np.array([False, True]) if name in conditions else _special(dtype) for name in names]
    grid = np.meshgrid(*axes, indexing="ij")
    return {name: axis.ravel() for name, axis in zip(names, grid, strict=True)}


def _special(dtype: DType) -> Array:
    if dtype.is_integer:
        whole = np.iinfo(dtype.numpy.name)
        return np.array(
            [0, 1, -1, 2, -3, 7, whole.max, whole.min, whole.min + 1], dtype=dtype.numpy
        )
    info = np.finfo(dtype.numpy.name)
    limits = [float(info.smallest_subnormal), float(info.tiny), float(info.max)]
    special = [0.0, 1.0, 0.5, 3.0, 1 / 3, 2.5, *limits, np.inf, np.nan]
    return np.array([sign * number for number in special for sign in (1, -1)], dtype=dtype.numpy)


def _first(equation: str, names: Mapping[str, Any]) -> Any:
    """Return the first element of the side that does not name the largest element."""
    import sympy

    functions = real_functions()
    for side in sides(equation):
        value = np.ravel(np.asarray(evaluate(side, {**functions, **names}), dtype=object))[0]
        expression = sympy.nsimplify(sympy.sympify(value), rational=True)
        if not expression.has(MAXIMUM()):
            break
    return expression
