"""Where an error arises: a graph run in floats beside the same graph in balls, op by op."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpmath import libmp

from gradc.rules.verify.arithmetic import NoMeaning
from gradc.rules.verify.balls import Ball, Undecided, balls, growing, is_nan, rounded
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.types import Array
from gradc_ir.graphs.rearrange import REARRANGEMENTS
from gradc_ir.interpreter.interpret import interpret, reference, watched
from gradc_ir.location import Location, shown

# An operand that is off by less than this many bits is as good as it can be.
_ROUNDING = 2.0
# The elements of larger operands are not tried one by one.
_MOST_TRIED = 200
_EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Origin:
    """The op at which an error arises, the user's line, what happens, and the numbers there."""

    op: str
    location: Location | None
    what: str
    found: str
    true: str

    def __str__(self) -> str:
        lines = [f"arises in {self.op}: {self.what}"]
        if self.location is not None:
            lines += [f"  {line}" for line in shown(self.location)]
        return "\n".join([*lines, f"  {self.found}, which is {self.true}"])


Index = tuple[int, ...]


class _Run:
    """Values of the nodes of a function in floats and in balls."""

    def __init__(self, function: Function, arrays: Sequence[Array]) -> None:
        self.function = function
        self.floats = self._values(arrays, None)
        self.balls = self._values(arrays, balls())

    def _values(self, arrays: Sequence[Array], arithmetic: Any) -> dict[Value, Array]:
        found: dict[Value, Array] = {}

        def note(
            owner: Function, node: Node, operands: Sequence[Array], results: Sequence[Array]
        ) -> None:
            if owner is self.function:
                found.update(zip(node.results, results, strict=True))

        with watched(note), np.errstate(all="ignore"):
            interpret(self.function, arrays, arithmetic)
        return found

    def error(self, value: Value, index: Index) -> float:
        """Return how far an element is off in bits."""
        return _bits(self.floats[value], self.balls[value], index)

    def worst(self, value: Value) -> Index:
        """Return the index of the element that is the furthest off."""
        shape = self.floats[value].shape
        return max(np.ndindex(*shape), key=lambda index: self.error(value, index))

    def parts(self, node: Node, value: Value, index: Index) -> tuple[list[float], float]:
        """Return the error that each float operand brings along, and that of the op alone.

        The op is done in balls, once with all true operands but one, then with all as found.
        """
        true = [self.balls[operand] for operand in node.operands]
        found = [balls().wide(self.floats[operand]) for operand in node.operands]
        brought = []
        for i, operand in enumerate(node.operands):
            if not operand.type.dtype.is_float:
                same = np.array_equal(self.floats[operand], self.balls[operand])
                brought.append(0.0 if same else 64.0)
                continue
            brought.append(self.harm(value, index, [*true[:i], found[i], *true[i + 1 :]]))
        made = balls().evaluate(node, found, {})[value.index]
        return brought, _bits(self.floats[value], made, index)

    def harm(self, value: Value, index: Index, operands: list[Array]) -> float:
        """Return how far an element is off when its op is done, in balls, on these operands."""
        made = balls().evaluate(value.node, operands, {})[value.index]
        return _off(made[index].mid(), self.balls[value][index], _EPSILON)


def origin_of(
    function: Function, arrays: Sequence[Array], result: int, index: Index
) -> Origin | None:
    """Return where the error of an element of a result arises, None when it cannot be told.

    From the result back, the operand that brings most of the error along is followed, up to an op
    of which all operands are well.
    """
    for _ in growing():
        try:
            run = _Run(function, arrays)
            value = function.results[result]
            number = run.balls[value][index]
            if np.isnan(rounded(number)) and not is_nan(number):
                continue
            return _followed(run, value, index)
        except Undecided:
            continue
        except (NoMeaning, ArithmeticError, ValueError, TypeError, LookupError):
            return None
    return None


def _followed(run: _Run, value: Value, index: Index) -> Origin | None:
    while True:
        node = value.node
        if node.op.name == "param":
            return None
        if reference(node.op) is None or not node.operands:
            return _origin(run, value, index, "inside of it")
        if node.op.name in REARRANGEMENTS:
            (value,) = node.operands
            index = _source_index(run, node, index)
            continue
        if not value.type.dtype.is_float:
            # a decision: by what is the furthest off of what it compares
            places = [_operand_index(run, each, value, index) for each in node.operands]
            errors = [run.error(each, at) for each, at in zip(node.operands, places)]
            most = errors.index(max(errors))
            if errors[most] <= _ROUNDING:
                return _origin(run, value, index, "rounding decides it")
            value, index = node.operands[most], places[most]
            continue
        brought, own = run.parts(node, value, index)
        most = brought.index(max(brought))
        operand = node.operands[most]
        operand_index = _operand_index(run, operand, value, index)
        if brought[most] <= own:
            return _origin(run, value, index, _alone(run, value, index, own))
        before, after = run.error(operand, operand_index), run.error(value, index)
        if before <= _ROUNDING and after > before + 1:
            verb = "cancels" if node.op.name in ("add", "sub", "reduce_sum") else "enlarges"
            return _origin(
                run, value, index, f"it {verb} what rounding left, {before:.1f} to {after:.1f} bits"
            )
        value, index = operand, operand_index


def _alone(run: _Run, value: Value, index: Index, bits: float) -> str:
    found, true = run.floats[value][index], run.balls[value][index]
    information = np.finfo(run.floats[value].dtype)
    if np.isnan(found):
        return "its result is no number"
    if np.isinf(found):
        return "it overflows"
    if abs(true) < float(information.tiny):
        return "it underflows"
    return f"it is off by {bits:.1f} bits itself"


def _origin(run: _Run, value: Value, index: Index, what: str) -> Origin:
    node = value.node
    operands = [
        _short(run.floats[operand][_operand_index(run, operand, value, index)])
        for operand in node.operands[:4]
    ]
    more = ", …" if len(node.operands) > 4 else ""
    lines = run.function.locations.get(node, ())
    return Origin(
        node.op.name,
        lines[0] if lines else None,
        what,
        f"{node.op.name}({', '.join(operands)}{more}) = {_short(run.floats[value][index])}",
        _digits(run.balls[value][index]),
    )


def _digits(number: Any) -> str:
    raw = number.mid()._mpf_ if isinstance(number, Ball) else libmp.from_float(float(number))
    return str(libmp.to_str(raw, 17))


def _short(number: Any) -> str:
    return repr(number.item()) if isinstance(number, np.generic) else repr(number)


def _source_index(run: _Run, node: Node, index: Index) -> Index:
    if node.op.name == "broadcast":
        return tuple(index[axis] for axis in node.attributes["axes"])
    return run.worst(node.operands[0])


def _operand_index(run: _Run, operand: Value, value: Value, index: Index) -> Index:
    """Return the element of an operand that harms an element of a value the most."""
    if value.op.is_elementwise and operand.type.shape == value.type.shape:
        return index
    true = [run.balls[each] for each in value.operands]
    size = run.floats[operand].size
    if size > _MOST_TRIED or not operand.type.dtype.is_float or reference(value.op) is None:
        return run.worst(operand)
    found = balls().wide(run.floats[operand])

    def harm(place: Index) -> float:
        moved = run.balls[operand].copy()
        moved[place] = found[place]
        operands = [moved if each is operand else x for each, x in zip(value.operands, true)]
        return run.harm(value, index, operands)

    return max(np.ndindex(*run.floats[operand].shape), key=harm)


def _bits(found: Array, true: Array, index: Index) -> float:
    """Return log2(1 + the relative error in units of the last place), at most 64."""
    eps = float(np.finfo(found.dtype).eps) if found.dtype.kind == "f" else 0.0
    return _off(float(found[index]), true[index], eps)


def _off(found: Any, true: Any, eps: float) -> float:
    if not isinstance(true, Ball):
        return 0.0 if found == bool(true) else 64.0
    number = true.mid()
    if number.is_nan() or found == number:
        return 0.0
    relative = abs(found - number) / abs(number) / eps
    # what is not finite, and what should be zero
    return min(64.0, float((1 + relative).log()) / math.log(2)) if relative.is_finite() else 64.0
