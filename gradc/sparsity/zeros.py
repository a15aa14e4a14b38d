"""Where values that do not depend on the tangent are other than zero: constants, given matrices."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from gradc.sparsity.known import Known
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.types import Array
from gradc_ir.interpreter.interpret import numbers

# What tells where values are other than zero; None where that is of no use.
Matrices: TypeAlias = Mapping[int, Callable[[], Array | None]]

# How many ops behind a matrix its zeros are followed.
_DEPTH = 16
_MOVES = frozenset({"broadcast", "reshape", "transpose", "slice", "pad", "concatenate", "element"})
_SAME = frozenset({"neg", "abs", "cast", "exactly", "fence", "stop_gradient"})


class Zeros:
    """Where the values of one function are surely zero, found on demand.

    Parameters
    ----------
    function: whose values they are.
    known: those that are known as a whole.
    matrices: of parameters that are not known as a whole, by their places.
    symbols: the numbers of symbolic sizes.
    """

    def __init__(
        self,
        function: Function,
        known: Known,
        matrices: Matrices,
        symbols: Mapping[str, int],
    ) -> None:
        self._known = known
        self._matrices = {function.params[i]: read for i, read in matrices.items()}
        self._symbols = symbols
        self._found: dict[Value, Array | None] = {}

    def others(self, value: Value) -> Array | None:
        """Return where a value may be other than zero, as bool; None where that is not known."""
        return self._of(value, _DEPTH)

    def readers(self, values: Sequence[Value]) -> dict[int, Callable[[], Array | None]]:
        """Return what tells of those of some values that are no constants, by their places."""
        if not self._matrices:
            return {}
        return {
            i: functools.partial(self.others, value)
            for i, value in enumerate(values)
            if value.type.rank > 1 and not self._known.is_constant(value)
        }

    def _of(self, value: Value, depth: int) -> Array | None:
        if value in self._found:
            return self._found[value]
        constant = self._known.constant(value)
        if constant is not None:
            found: Array | None = constant != 0
        elif value in self._matrices:
            found = self._matrices[value]()
        elif not self._matrices or not value.node.operands or not depth:
            found = None
        else:
            found = self._made(value.node, depth - 1)
        self._found[value] = found
        return found

    def _made(self, node: Node, depth: int) -> Array | None:
        name = node.op.name
        if name in _SAME or name == "div":
            return self._of(node.operands[0], depth)
        if name == "mul":
            one, other = (self._of(operand, depth) for operand in node.operands)
            if one is None or other is None:
                return other if one is None else one
            return np.logical_and(one, other)
        if name in ("add", "sub", "select"):
            one, other = (self._of(operand, depth) for operand in node.operands[-2:])
            return None if one is None or other is None else np.logical_or(one, other)
        if name not in _MOVES or node.op.reference is None:
            return None
        parts = [self._of(operand, depth) for operand in node.operands]
        if all(part is None for part in parts):
            return None
        shapes = [numbers(operand.type.shape, self._symbols) for operand in node.operands]
        masks = [np.ones(shape, bool) if x is None else x for shape, x in zip(shapes, parts)]
        attributes = {key: numbers(item, self._symbols) for key, item in node.attributes.items()}
        return np.asarray(node.op.reference(*masks, **attributes))
