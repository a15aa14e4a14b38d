"""Graphs run in other numbers than floats, such as complex ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from gradc_ir.core.graph import Function, Node
from gradc_ir.core.types import Array, DType
from gradc_ir.interpreter.interpret import numbers, reference

Meaning = Callable[..., Any]

# Ops that move, add and multiply elements: their references compute in any numbers.
_MOVING = "broadcast reshape transpose concatenate stack element slice pad set_slice gather"
_ADDING = "neg add sub mul div exactly fence stop_gradient scatter_add recurrence contract"
_CHOOSING = "scatter_set select"
ANY_NUMBERS = frozenset(f"{_MOVING} {_CHOOSING} {_ADDING}".split())


class NoMeaning(Exception):
    """An op has no meaning in these numbers; the text is its name."""


class Wide:
    """Numbers of another kind in place of floats; integers and booleans are as ever."""

    def __init__(self, dtype: Any, number: Meaning, meanings: Mapping[str, Meaning]) -> None:
        self.dtype = np.dtype(dtype)
        self.number = number
        self.meanings = {**_COMMON, **meanings}

    def wide(self, array: Array) -> Array:
        """Return an array of floats in these numbers, any other array as it is."""
        if array.dtype.kind not in "fO":
            return array
        made = np.empty(array.shape, self.dtype)
        with np.errstate(all="ignore"):
            made[...] = np.frompyfunc(self.number, 1, 1)(array) if array.size else 0
        return made

    def evaluate(self, node: Node, operands: list[Array], symbols: Any) -> tuple[Array, ...]:
        """Return the results of a node; raises NoMeaning for an op without one."""
        name = node.op.name
        # what is optional says what is meant beside nan and infinities, which are not here
        attributes = {
            key: numbers(item, symbols)
            for key, item in node.attributes.items()
            if key not in node.op.options
        }
        floats = any(operand.type.dtype.is_float for operand in node.operands)
        if name == "cast" and floats:
            made = (
                operands[0] if attributes["dtype"].is_float else self._to_whole(operands[0], node)
            )
        elif name == "unbounded":
            made = self._formula(attributes["body"], operands)[attributes["result"]]
        elif name == "recover":
            made = operands[attributes["result"]]
        else:
            meaning = self.meanings.get(name) if floats else None
            if meaning is None and (name in ANY_NUMBERS or not floats):
                meaning = reference(node.op)
            if meaning is None:
                raise NoMeaning(name)
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
        # the zeros that a reference puts in are ordinary numbers
        return self.wide(array) if dtype.is_float else array.astype(dtype.numpy)


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
    "fma": lambda x, y, z: x * y + z,
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
    return Wide(np.complex128, complex, meanings)
