"""Where something about a value began: back through ops, and through the steps of loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.types import Array
from gradc_ir.graphs.control_flow import Roles
from gradc_ir.interpreter.interpret import evaluate, watched
from gradc_ir.location import Location

Bad = Callable[[Array], bool]

_LOOPS = ("scan", "while")


@dataclass(frozen=True)
class Place:
    """A value of a function that ran, or of a body at one step.

    Parameters
    ----------
    function: the function, or the body.
    values: what its values were.
    value: the one.
    symbols: the numbers of the sizes.
    step: of a body, the run it is of.
    """

    function: Function
    values: Mapping[Value, Array]
    value: Value
    symbols: Mapping[str, int]
    step: Step | None = None

    @property
    def array(self) -> Array:
        """What the value was."""
        return self.values[self.value]

    @property
    def operands(self) -> list[Array]:
        """What the operands of the op that made it were."""
        return [self.values[operand] for operand in self.value.operands]

    @property
    def line(self) -> Location | None:
        """The user's line of the op that made it."""
        return next(iter(self.function.locations.get(self.value.node, ())), None)

    @property
    def text(self) -> str:
        """The op and the user's line."""
        return f"{self.value.op.name}{f', {self.line}: {self.line.code}' if self.line else ''}"

    @property
    def steps(self) -> list[str]:
        """The steps of loops, and the branches, in which it stands, the outermost first."""
        step = self.step
        return [] if step is None else [*step.user.steps, step.text]


@dataclass(frozen=True)
class Step:
    """One run of a body: by which value of which function, what was given to it each time."""

    user: Place
    body: Function
    roles: Roles
    given: Sequence[Sequence[Array]]
    number: int

    @property
    def text(self) -> str:
        """Which step of which op, at which line."""
        is_loop = self.user.value.op.name in _LOOPS
        return f"in {f'step {self.number} of ' if is_loop else ''}{self.user.text}"

    def place(self, result: int) -> Place:
        """Return a result of the body in this run."""
        body, symbols = self.body, self.user.symbols
        values = dict(zip(body.params, self.given[self.number], strict=True))
        with np.errstate(all="ignore"):
            for node in body.body:
                operands = [values[operand] for operand in node.operands]
                values.update(zip(node.results, evaluate(node, operands, symbols)))
        return Place(body, values, body.results[result], symbols, self)

    def source(self, param: int) -> Place:
        """Return what a parameter of the body was in this run: in the one before it, or outside."""
        carry = param - self.roles.consts
        if 0 <= carry < self.roles.carries and self.number:
            return replace(self, number=self.number - 1).place(carry)
        operand = self.user.value.operands[self.roles.first + param]
        return replace(self.user, value=operand)


def origin(place: Place, bad: Bad) -> Place:
    """Return the place in which what is ``bad`` about a value began."""
    while True:
        before = _before(place, bad)
        if before is None:
            return place
        place = before


def _before(place: Place, bad: Bad) -> Place | None:
    node = place.value.node
    if node.op.name == "param":
        index = node.attributes["index"]
        return None if place.step is None else place.step.source(index)
    if node.op.family == "control":
        return _last_run(place, bad)
    for operand, seen in _looked_at(place):
        if operand.op.name != "constant" and bad(seen):
            return replace(place, value=operand)
    return None


def _looked_at(place: Place) -> list[tuple[Value, Array]]:
    """Return the operands of a value, with the elements that it took of them."""
    operands, arrays = place.value.operands, place.operands
    if place.value.op.name == "select":
        condition = arrays[0]
        return [(operands[1], arrays[1][condition]), (operands[2], arrays[2][~condition])]
    return list(zip(operands, arrays))


# -- bodies ----------------------------------------------------------------------------------------


def _last_run(place: Place, bad: Bad) -> Place:
    """Return where a result of control flow came from: of a body, or an operand."""
    node, result = place.value.node, place.value.index
    operands = place.operands
    roles = Roles.of(node) or Roles((node.attributes["body"],), 0, len(operands))
    body = roles.bodies[-1 if node.op.name == "cond" and not operands[0] else 0]
    given = _given(place, body)
    if not given:
        return replace(place, value=node.operands[roles.first + roles.consts + result])
    number = len(given) - 1
    if node.op.name in _LOOPS and result >= roles.carries:
        number = _first_row(place, bad, len(given))
    return Step(place, body, roles, given, number).place(result)


def _first_row(place: Place, bad: Bad, count: int) -> int:
    """Return the first step that makes a bad row of a stack."""
    backwards = place.value.node.attributes.get("reverse", False)
    rows = [count - 1 - i if backwards else i for i in range(count)]
    return next(i for i, row in enumerate(rows) if bad(place.array[row]))


def _given(place: Place, body: Function) -> list[list[Array]]:
    """Return what a body was given at each step."""
    runs: list[list[Array]] = []

    def keep(of: Function, at: Node, _: Sequence[Array], results: Sequence[Array]) -> None:
        if of is body and at.op.name == "param":
            if at is body.params[0].node:
                runs.append([])
            runs[-1] += results

    with watched(keep), np.errstate(all="ignore"):
        evaluate(place.value.node, place.operands, place.symbols)
    return runs if body.params else [[]]
