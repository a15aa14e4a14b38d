"""Graphs run in other numbers than floats: complex ones, and numbers of many digits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from gradc.arguments.as_array import Array
from gradc_ir.core.graph import Function, Node
from gradc_ir.core.types import DType
from gradc_ir.interpreter.interpret import numbers, reference

DIGITS = 80
Meaning = Callable[..., Any]

# Ops that move, add and multiply elements: their references compute in any numbers.
_MOVING = "broadcast reshape transpose concatenate slice pad set_slice gather scatter_set select"
_ADDING = "neg add sub mul div exactly fence stop_gradient scatter_add recurrence contract"
_ANY_NUMBERS = frozenset([*_MOVING.split(), *_ADDING.split()])


class NoMeaning(Exception):
    """An op has no meaning in these numbers; the text is its name."""


class Wide:
    """Numbers of another kind in place of floats; integers and booleans are as ever."""

    def __init__(self, dtype: Any, number: Meaning, meanings: Mapping[str, Meaning]) -> None:
        self.dtype = np.dtype(dtype)
        self.number = number
        self.meanings = meanings

    def wide(self, array: Array) -> Array:
        """Return an array of floats in these numbers, any other array as it is."""
        if array.dtype.kind != "f":
            return array
        made = np.empty(array.shape, self.dtype)
        with np.errstate(all="ignore"):
            made[...] = np.frompyfunc(self.number, 1, 1)(array) if array.size else 0
        return made

    def evaluate(self, node: Node, operands: list[Array], symbols: Any) -> tuple[Array, ...]:
        """Return the results of a node; raises NoMeaning for an op without one."""
        name = node.op.name
        attributes = {key: numbers(item, symbols) for key, item in node.attributes.items()}
        floats = any(operand.type.dtype.is_float for operand in node.operands)
        if name == "cast" and floats:
            made = (
                operands[0] if attributes["dtype"].is_float else self._to_whole(operands[0], node)
            )
        elif name == "unbounded":
            made = self._formula(attributes["body"], operands)[attributes["result"]]
        elif name == "recover":
            made = operands[attributes["result"]]
        elif floats and name in self.meanings:
            with np.errstate(all="ignore"):
                made = self.meanings[name](*operands, **attributes)
        elif (floats and name not in _ANY_NUMBERS) or (meaning := reference(node.op)) is None:
            raise NoMeaning(name)
        else:
            with np.errstate(all="ignore"):
                made = meaning(*operands, **attributes)
        made = made if len(node.results) > 1 else (made,)
        return tuple(
            self._typed(result, value.type.dtype) for result, value in zip(made, node.results)
        )

    def _formula(self, body: Function, operands: list[Array]) -> list[Array]:
        """Return the results of a formula: its steps', since nothing overflows here."""
        values = dict(zip(body.params, operands))
        for node in body.body:
            (values[node.results[0]],) = self.evaluate(node, [values[x] for x in node.operands], {})
        return [values[result] for result in body.results]

    def _to_whole(self, x: Array, node: Node) -> Any:
        reals = np.frompyfunc(lambda each: float(each.real), 1, 1)(x)
        meaning = reference(node.op)
        assert meaning is not None
        return meaning(np.asarray(reals, dtype=np.float64), **node.attributes)

    def _typed(self, result: Any, dtype: DType) -> Array:
        array = np.asarray(result)
        if not dtype.is_float:
            return array.astype(dtype.numpy)
        return self.wide(array) if array.dtype.kind == "f" else array.astype(self.dtype)


def _axes(function: Meaning) -> Meaning:
    """Return a reduction of NumPy's as the meaning of a reduction."""
    return lambda x, axes: function(x, axis=tuple(axes))


def _cumsum(x: Array, axis: int, reverse: bool) -> Any:
    given = np.flip(x, axis) if reverse else x
    sums = np.add.accumulate(given, axis=axis)
    return np.flip(sums, axis) if reverse else sums


_COMMON: dict[str, Meaning] = {
    "reduce_sum": _axes(np.sum),
    "reduce_prod": _axes(np.prod),
    "cumsum": _cumsum,
}

# -- complex numbers: the imaginary part is a tangent, exact to rounding where ops are analytic ---


def _by_real(function: Meaning) -> Meaning:
    """Return what looks at real parts only: a comparison."""
    return lambda *operands: function(*(operand.real for operand in operands))


def _complex_softplus(x: Array) -> Any:
    return np.where(x.real > 0, x + np.log(1 + np.exp(-x)), np.log(1 + np.exp(x)))


@cache
def complex_numbers() -> Wide:
    """Return the arithmetic of complex numbers: of analytic ops, and of choices by real parts."""
    same = "exp expm1 log log1p exp2 log2 log10 sqrt sin cos tan tanh sinh cosh arcsin arccos"
    same += " arctan arcsinh arccosh arctanh"
    meanings: dict[str, Meaning] = {name: getattr(np, name) for name in same.split()}
    meanings |= {
        "power": np.power,
        "abs": lambda x: np.where(x.real < 0, -x, x),
        "sign": lambda x: np.sign(x.real),
        "floor": lambda x: np.floor(x.real),
        "maximum": lambda x, y: np.where(x.real >= y.real, x, y),
        "minimum": lambda x, y: np.where(x.real <= y.real, x, y),
        "hypot": lambda x, y: np.sqrt(x * x + y * y),
        "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "softplus": _complex_softplus,
        "eq": _by_real(np.equal),
        "ne": _by_real(np.not_equal),
        "lt": _by_real(np.less),
        "le": _by_real(np.less_equal),
    }
    return Wide(np.complex128, complex, _COMMON | meanings)


# -- numbers of many digits ------------------------------------------------------------------------


@cache
def many_digits() -> Wide:
    """Return the arithmetic of mpmath's numbers, to be used within ``mpmath.workdps(DIGITS)``."""
    import mpmath

    from gradc.rules.verify.meaning import real_functions

    meanings = {name: Formula(name, _real) for name in real_functions() if name not in _ANY_NUMBERS}
    own = {
        "abs": np.abs,
        "sign": np.sign,
        "maximum": np.maximum,
        "minimum": np.minimum,
        "floor": np.frompyfunc(mpmath.floor, 1, 1),
        "cbrt": np.frompyfunc(lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), 1, 1),
        "betainc": _betainc,
        "floor_divide": np.frompyfunc(lambda x, y: mpmath.floor(x / y), 2, 1),
        "remainder": np.frompyfunc(lambda x, y: x - y * mpmath.floor(x / y), 2, 1),
        "reduce_max": _axes(np.max),
        "reduce_min": _axes(np.min),
        "logsumexp": _logsumexp,
        "argsort": lambda x, axis: np.argsort(x, axis=axis, kind="stable"),
        "eq": np.equal,
        "ne": np.not_equal,
        "lt": np.less,
        "le": np.less_equal,
    }
    return Wide(object, lambda x: mpmath.mpf(float(x)), {**meanings, **_COMMON, **own})


class Formula:
    """An elementwise op by its formula over the reals, compiled when it is needed.

    Parameters
    ----------
    result: what a number that the formula gives becomes.
    functions: the functions that stand in place of mpmath's in the formula, by name.
    """

    def __init__(
        self,
        name: str,
        result: Callable[[Any], Any],
        functions: Callable[[], Mapping[str, Callable[..., Any]]] = dict,
    ) -> None:
        self.name = name
        self._result = result
        self._functions = functions
        self._compute: Meaning | None = None

    def __call__(self, *operands: Array) -> Any:
        """Return the op of arrays of such numbers."""
        if self._compute is None:
            import sympy

            from gradc.rules.verify.meaning import real_functions

            symbols = sympy.symbols(f"x:{len(operands)}", real=True)
            formula = sympy.sympify(real_functions()[self.name](*symbols))
            compute = sympy.lambdify(symbols, formula, [dict(self._functions()), "mpmath"])
            result = self._result
            self._compute = np.frompyfunc(lambda *x: result(compute(*x)), len(operands), 1)
        return self._compute(*operands)


def _real(number: Any) -> Any:
    import mpmath

    if isinstance(number, mpmath.mpc):
        return number.real if number.imag == 0 else mpmath.nan
    return number


def _betainc(a: Array, b: Array, x: Array) -> Any:
    # what SymPy makes of its own word for it is not regularised
    import mpmath

    def compute(a: Any, b: Any, x: Any) -> Any:
        return mpmath.betainc(a, b, 0, x, regularized=True)

    return np.frompyfunc(compute, 3, 1)(a, b, x)


def _logsumexp(x: Array, axes: Sequence[int]) -> Any:
    import mpmath

    total = np.sum(np.frompyfunc(mpmath.exp, 1, 1)(x), axis=tuple(axes))
    return np.frompyfunc(mpmath.log, 1, 1)(total)
