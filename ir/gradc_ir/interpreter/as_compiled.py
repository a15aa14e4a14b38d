"""What ops are of constants: to the bits of the code that is compiled.

What IEEE 754 rounds is one number for all, and the reference computes it. A function of mathematics
is within some units in the last place of the exact result, each by a program of its own: NumPy's is
not the compiled one. If constants were evaluated by NumPy's, a result would depend on what is known
when a program is compiled, and on the machine that compiles it. So whoever compiles says here what
its functions are of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from gradc_ir.core.builder import Builder
from gradc_ir.core.graph import Function, Node
from gradc_ir.core.op import Attributes, Op
from gradc_ir.core.types import Array, Type, dtype_of
from gradc_ir.graphs.in_turn import logsumexp_in_turn
from gradc_ir.interpreter import composed
from gradc_ir.interpreter.interpret import Symbols, interpret, numbers, reference

# What an elementwise op of mathematics is of arrays of floats in one shape, None where it cannot be
# told.
Compute: TypeAlias = Callable[[Op, Attributes, Sequence[Array]], Array | None]

# Formulas in wide exponents have functions inside.
_FORMULAS = frozenset({"unbounded", "recover"})
_compute: Compute | None = None


class NotKnown(Exception):
    """What an op is of constants cannot be told before the program runs."""


def provide(compute: Compute) -> None:
    """Say what compiled functions are of numbers; until then no function of constants is known."""
    global _compute
    _compute = compute


def meaning(op: Op) -> Callable[..., Any] | None:
    """Return what an op makes of arrays and attributes, as compiled code does.

    None for control flow and for parameters. What is returned raises NotKnown where only the
    running program can tell.
    """
    if op.name == "logsumexp":
        return _logsumexp
    if op.name in composed.BODIES:
        return partial(_composed, op.name)
    if op.name in _FORMULAS:
        return _unknown
    if (op.scalar or "").startswith("math."):
        return partial(_computed, op)
    return reference(op)


def _unknown(*_: Array, **__: Any) -> Array:
    raise NotKnown


def _computed(op: Op, *operands: Array, **attributes: Any) -> Array:
    if operands[0].dtype.kind != "f":
        assert op.reference is not None
        return np.asarray(op.reference(*operands, **attributes))  # powers of integers
    found = None if _compute is None else _compute(op, attributes, operands)
    if found is None:
        raise NotKnown
    return found


def _composed(name: str, *operands: Array) -> Array:
    return run(composed.body(name, dtype_of(operands[0].dtype), operands[0].ndim), operands)


def _logsumexp(x: Array, *, axes: tuple[int, ...]) -> Array:
    with Builder() as builder:
        param = builder.param(0, Type(dtype_of(x.dtype), x.shape))
        function = builder.function("logsumexp", [param], [logsumexp_in_turn(param, axes)])
    return run(function, [x])


def run(function: Function, operands: Sequence[Array]) -> Array:
    """Return the only result of a function of arrays; raises NotKnown as :func:`meaning` does."""
    with np.errstate(all="ignore"):
        return interpret(function, operands, _AsCompiled())[0]


class _AsCompiled:
    """The interpreter's numbers, with functions as compiled code computes them."""

    def wide(self, array: Array) -> Array:
        return array

    def evaluate(self, node: Node, operands: list[Array], symbols: Symbols) -> tuple[Array, ...]:
        own = meaning(node.op)
        assert own is not None
        attributes = {name: numbers(item, symbols) for name, item in node.attributes.items()}
        made = own(*operands, **attributes)
        return tuple(map(np.asarray, made if len(node.results) > 1 else (made,)))
