"""Values of a graph that are known before it is run: constants, and what given integers make."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np

from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.types import Array
from gradc_ir.interpreter import tape
from gradc_ir.interpreter.interpret import evaluate

# Arrays with more elements than this are not looked at for zeros.
_LARGEST = 1 << 24


class Known:
    """The values of one function that do not hang on what is unknown, computed on demand.

    Parameters
    ----------
    function: whose values they are.
    given: what reads the parameters that are known, by their places.
    symbols: the numbers of symbolic sizes.
    constants: the places of those parameters that hang on nothing that is given to a call.
    """

    def __init__(
        self,
        function: Function,
        given: Mapping[int, Callable[[], Array]],
        symbols: Mapping[str, int],
        constants: Collection[int] = (),
    ) -> None:
        self._given = {function.params[i]: read for i, read in given.items()}
        self._symbols = symbols
        self._arrays: dict[Value, Array] = {}
        # of each value that is known, whether it is so whatever is given
        self._is_constant = {function.params[i]: i in constants for i in given}
        for node in function.body:
            if node.op.name == "while" or any(_is_taped(value) for value in node.results):
                continue
            operands = [self._is_constant.get(operand) for operand in node.operands]
            if None not in operands:
                self._is_constant.update(dict.fromkeys(node.results, all(operands)))

    def has(self, value: Value) -> bool:
        """Whether a value is known."""
        return value in self._is_constant

    def is_constant(self, value: Value) -> bool:
        """Whether a value is known and hangs on nothing given."""
        return self._is_constant.get(value, False)

    def constant(self, value: Value) -> Array | None:
        """Return a value that hangs on nothing given; None for others and for large ones."""
        if not self.is_constant(value):
            return None
        count = value.type.count
        return self.array(value) if isinstance(count, int) and count <= _LARGEST else None

    def array(self, value: Value) -> Array | None:
        """Return a known value, None for others."""
        if value not in self._is_constant:
            return None
        waiting = [value]
        while waiting:
            node = waiting[-1].node
            if waiting[-1] in self._arrays:
                waiting.pop()
            elif waiting[-1] in self._given:
                self._arrays[waiting[-1]] = self._given[waiting[-1]]()
            elif missing := [one for one in node.operands if one not in self._arrays]:
                waiting += missing
            else:
                operands = _inside(node, [self._arrays[operand] for operand in node.operands])
                self._arrays.update(zip(node.results, evaluate(node, operands, self._symbols)))
        return self._arrays[value]


def _inside(node: Node, operands: list[Array]) -> list[Array]:
    """Return operands with indices that are inside of what they index.

    Where one is outside, the kernel fails, or it is in a branch that is not taken.
    """
    if node.op.name not in ("gather", "scatter_set", "scatter_add"):
        return operands
    indexed, axes = operands[0], node.attributes["axes"]
    if not indexed.size:
        shape = [max(size, 1) for size in indexed.shape]
        operands = [np.zeros(shape, indexed.dtype), *operands[1:]]
    first = len(operands) - len(axes)
    sizes = [operands[0].shape[axis] for axis in axes]
    indices = [np.clip(x, -size, size - 1) for x, size in zip(operands[first:], sizes)]
    return [*operands[:first], *indices]


def _is_taped(value: Value) -> bool:
    return tape.NAME in value.type.symbols
