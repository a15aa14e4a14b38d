"""Evaluates at compile time what depends on constants only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from gradc_ir import build
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import Expr, at_least, product
from gradc_ir.core.types import Array
from gradc_ir.errors import GradcError
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.interpreter import as_compiled
from gradc_ir.matching.rewrite import FunctionRule, rewrite

# A fence stays a fence; sources are constants already, or made where they are used. What a function
# of C returns is asked when the program runs, which may have another version of it.
_KEPT = frozenset({"constant", "exactly", "external", "fence", "iota", "param"})


@dataclass(frozen=True)
class FoldConstants:
    """Evaluates what IEEE 754 rounds as the interpreter does, nan and infinities included.

    Functions of mathematics are evaluated as compiled code computes them, or stay:
    :mod:`gradc_ir.interpreter.as_compiled`.

    Parameters
    ----------
    limit: the most elements of an array that is read or made; a constant spread over an array of
        any size counts as one element in elementwise ops.
    """

    limit: int = 4096

    name = "fold"
    summary = "evaluate what depends on constants only"

    def __call__(self, function: Function) -> Function:
        """Return the function with constant values evaluated."""
        return rewrite(function, [self.rule()])

    def rule(self) -> FunctionRule:
        """Return the folding as a rule, for passes that do more."""
        return FunctionRule("fold", None, self.fold, _may_be_constants)

    def fold(self, value: Value) -> Value | None:
        """Return the constant that a value is, built in the active builder, or None."""
        node = value.node
        meaning = as_compiled.meaning(node.op)
        if node.op.name in _KEPT or meaning is None:
            return None
        try:
            return self._evaluated(value, meaning)
        except as_compiled.NotKnown:
            return None

    def _evaluated(self, value: Value, meaning: Callable[..., Any]) -> Value | None:
        node = value.node
        if node.op.is_elementwise:
            spread = [scalar_constant(operand) for operand in node.operands]
            if None not in spread:
                return _spread(value, meaning)
        if node.op.name == "broadcast" or not self._small(value):
            return None
        arrays = [self._array(operand) for operand in node.operands]
        if any(array is None for array in arrays):
            return None
        return _evaluated(value, meaning, arrays)

    def _array(self, value: Value) -> Array | None:
        """Return the array of a constant, spread or not, if it is small enough to make."""
        if not self._small(value):
            return None
        if value.op.name == "constant":
            array: Array = value.node.attributes["value"].array
            return array
        number = scalar_constant(value)
        if number is None:
            return None
        shape = cast(tuple[int, ...], value.type.shape)
        return np.full(shape, number, dtype=value.type.dtype.numpy)

    def _small(self, value: Value) -> bool:
        shape = value.type.shape
        return all(isinstance(size, int) for size in shape) and at_least(self.limit, product(shape))


def _may_be_constants(heads: tuple[str, ...]) -> bool:
    return all(head == "constant" for head in heads)


def _spread(value: Value, meaning: Callable[..., Any]) -> Value:
    """Return an elementwise op of spread constants, whatever its shape, as a constant."""
    scalars = [
        np.asarray(scalar_constant(operand), dtype=operand.type.dtype.numpy)
        for operand in value.operands
    ]
    made = np.asarray(meaning(*scalars, **value.node.attributes))
    return build.full(value.type.shape, _plain(made), value.type.dtype)


def _evaluated(
    value: Value, meaning: Callable[..., Any], arrays: Sequence[Array | None]
) -> Value | None:
    node = value.node
    if any(_symbolic(attribute) for attribute in node.attributes.values()):
        return None
    try:
        made = meaning(*arrays, **node.attributes)
    except GradcError:
        # an index out of range is the running program's error, if it gets there at all
        return None
    result = made[value.index] if len(node.results) > 1 else made
    return build.constant(_plain(np.asarray(result)))


def _plain(array: Array) -> Array:
    """Return an array with every nan as the plain one: which one arises depends on the machine."""
    if array.dtype.kind != "f":
        return array  # beside nan integers would become floats, which have no room for all of them
    return np.where(np.isnan(array), np.nan, array).astype(array.dtype)


def _symbolic(attribute: Any) -> bool:
    if isinstance(attribute, tuple):
        return any(isinstance(item, Expr) for item in attribute)
    return isinstance(attribute, Expr)
