"""What depends on one value through elementwise ops: a program of functions of one variable.

Every value of a region is a sum of *parts*: a monomial in values from outside, times a function of
the one variable. ``w * cos(x) / x - w * sin(x) / (x * x)`` has one part, whose monomial is w.
Monomials are what gradients are multiplied with, so that the functions can be told from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from heapq import heappop, heappush
from typing import TypeAlias

import numpy as np

from gradc.rules.series import numbers, precise
from gradc.rules.series.monomials import (
    Elimination,
    Factor,
    Monomial,
    Moves,
    elimination,
    monomial_of,
    moved,
    moves_of,
    product,
)
from gradc.rules.series.numbers import Known, Number
from gradc.rules.series.point import Point
from gradc.rules.series.precise import Context, Precise
from gradc.rules.series.steps import CONSTANT, UNKNOWN, VARIABLE, Step, floats
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.types import Array, DType
from gradc_ir.core.walk import Surroundings
from gradc_ir.graphs.rearrange import REARRANGEMENTS, peel, scalar_constant

Parts: TypeAlias = dict[Monomial, int]

# Bounds to a region and to what belongs to it, which keep the pass linear.
MOST_VALUES = 150
MOST_SUMS = 16
MOST_PARTS = 4
MOST_FACTORS = 4

# Fences of rules are for rules; nothing looks through a user's, which is ``exactly``.
_SEEN_THROUGH = frozenset({"fence", "stop_gradient"})
TRANSPARENT = REARRANGEMENTS | _SEEN_THROUGH  # of one operand, whose function they are
_OPS = frozenset({*numbers.FUNCTIONS, *numbers.CONDITIONS, "select"})
_TRANSCENDENTAL = numbers.FUNCTIONS - precise.ALGEBRAIC

# Whether comparisons hold, by the numbers of their steps; None where it is not known.
Choices: TypeAlias = dict[int, bool | None]

# Where a first look is taken, as local variables.
NEAR = np.array([2.0**-8, 2.0**-9, 2.0**-10, -(2.0**-10)])


_ZERO, _ONE = Step(CONSTANT), Step(CONSTANT, (), 1.0)


def alone(parts: Parts | None) -> int | None:
    """Return the step of a value that is a function of the variable alone; None of any other."""
    return parts[()] if parts is not None and parts.keys() == {()} else None


class Region:
    """All that is made of one value, the *variable*, and of values that are free of it.

    ``parts``: for each value of the region, the numbers of the steps that are its functions.
    ``values``: the values of the region, operands first, the variable left out. ``moves``: for each
    value, how it is rearranged beside the variable. ``chosen``: what comparisons are taken to say
    on the right and on the left of the point, whatever they do.
    """

    def __init__(self, variable: Value, point: Point, surroundings: Surroundings) -> None:
        self.variable = variable
        self.point = point
        self.chosen: dict[int, Choices] = {}
        # numbers among the steps, by the bits they are asked for in
        self._constants: dict[int, dict[float, Number]] = {}
        self._surroundings = surroundings
        self._local = point.floats(NEAR)
        self._elimination: Elimination | None = None
        self._sums: dict[Value, Parts | None] = {}
        # whether sums have terms with different monomials
        self._is_divided = False
        with np.errstate(all="ignore"):
            self._build()
            if self._is_divided and variable.op.name in ("mul", "div"):
                self._build_anew()

    def _build(self) -> None:
        self.steps: list[Step] = []
        self.near: list[Array] = []
        # whether a step is made of functions beyond algebra
        self.is_transcendental: list[bool] = []
        self.parts: dict[Value, Parts] = {}
        self.moves: dict[Value, Moves] = {self.variable: ()}
        self.values: list[Value] = []
        self._numbers: dict[Step, int] = {}
        readers, order = self._surroundings
        seen: set[Node] = set()
        queue: list[tuple[int, Node]] = []

        def follow(value: Value) -> None:
            for node in readers.get(value, ()):
                if node not in seen:
                    seen.add(node)
                    heappush(queue, (order[node], node))

        self.parts[self.variable] = {(): self._step(VARIABLE)}
        follow(self.variable)
        for mirrored in self._mirrored():
            self.moves[mirrored] = ()
            self.parts[mirrored] = {(): self._step("neg", self._step(VARIABLE))}
            seen.add(mirrored.node)
            follow(mirrored)
        while queue and len(self.values) < MOST_VALUES:
            node = heappop(queue)[1]
            parts = self._parts_of(node)
            if parts and max(map(len, parts)) <= MOST_FACTORS:
                value = node.results[0]
                self.moves[value] = self._moves_of(node)
                self.parts[value] = parts
                self.values.append(value)
                follow(value)

    def _mirrored(self) -> Iterator[Value]:
        """Yield what is minus the variable although it is written otherwise: y - x for x - y."""
        readers, order = self._surroundings
        if self.variable.op.name == "sub":
            x, y = self.variable.operands
            for node in readers.get(x, ()):
                if node.op.name == "sub" and node.operands == (y, x):
                    yield from node.results if order[node] > order[self.variable.node] else ()

    def _build_anew(self) -> None:
        """Build it with one value less beside the variable, if the variable is a product."""
        itself = self.parts.pop(self.variable)
        self._elimination = elimination(*self._factors(self.variable), self._factors)
        self.parts[self.variable] = itself
        if self._elimination is not None:
            self._build()

    def moved(self, point: Point) -> Region:
        """Return the region of the same variable at another point."""
        if self.has_conditions:
            return Region(self.variable, point, self._surroundings)
        made = copy(self)
        made.point = point
        made.near = made.floats(NEAR)
        return made

    # -- building ----------------------------------------------------------------------------------

    def _step(self, name: str, *operands: int, number: float = 0.0) -> int:
        step = Step(name, operands, number)
        found = self._numbers.get(step)
        if found is None:
            found = self._numbers[step] = len(self.steps)
            self.steps.append(step)
            self.is_transcendental.append(
                step.name in _TRANSCENDENTAL or any(self.is_transcendental[at] for at in operands)
            )
            self.near.append(floats(step, self._local, self.near))
        return found

    def _parts_of(self, node: Node) -> Parts | None:
        name, dtype = node.op.name, node.results[0].type.dtype
        if name in _SEEN_THROUGH:
            return self._operand(node.operands[0])
        if name in REARRANGEMENTS:
            moves = moves_of((node,))
            return {moved(key, moves): step for key, step in self.parts[node.operands[0]].items()}
        if name not in _OPS or dtype not in (self.variable.type.dtype, DType.BOOL):
            return None
        if len({self.moves[operand] for operand in node.operands if operand in self.parts}) > 1:
            return None
        operands = [self._operand(operand) for operand in node.operands]
        if name == "select":
            return self._select(*operands)
        if name in ("logical_and", "logical_or"):
            operands = self._decided(name, operands)
        if any(operand is None for operand in operands):
            return None
        x, y = operands[0], operands[-1]
        assert x is not None
        assert y is not None
        match name:
            case "neg":
                return {key: self._step("neg", step) for key, step in x.items()}
            case "add" | "sub":
                return self._sum(name, x, y)
            case "mul" if len(x) == 1 or len(y) == 1:
                return self._product(x, y, 1)
            case "div" if len(y) == 1:
                return self._product(x, y, -1)
            case "mul" | "div":
                return None
        steps = [step for step in map(alone, operands) if step is not None]
        if len(steps) < len(operands):
            return None
        if name == "power" and self.steps[steps[1]].name != CONSTANT:
            return None
        return {(): self._step(name, *steps)}

    def _decided(self, name: str, operands: list[Parts | None]) -> list[Parts | None]:
        """Return one of two conditions twice where it decides about both near the point."""
        for one in operands:
            step = alone(one)
            if step is not None:
                holds = self.near[step]
                if holds.all() if name == "logical_or" else not holds.any():
                    return [one, one] if None in operands else operands
        return operands

    def _moves_of(self, node: Node) -> Moves:
        before = next(self.moves[operand] for operand in node.operands if operand in self.parts)
        return (*before, *moves_of((node,))) if node.op.name in REARRANGEMENTS else before

    def _operand(self, value: Value) -> Parts | None:
        while value not in self.parts and value.op.name in _SEEN_THROUGH:
            value = value.operands[0]
        known = self.parts.get(value)
        if known is not None:
            return known
        number = scalar_constant(value)
        if number is not None:
            return {(): self._step(CONSTANT, number=float(number))}
        if not value.type.dtype.is_float:
            return None
        factor, monomial = self._factors(value)
        made = self._step(CONSTANT, number=factor)
        if self._elimination is None:
            return {monomial: made}
        return self._eliminated(self._elimination, made, monomial)

    def _eliminated(self, elimination: Elimination, made: int, monomial: Monomial) -> Parts:
        """Return a step times a monomial without the factor that the variable takes along."""
        rest: dict[Factor, int] = {}
        beside: Monomial = ()
        for factor, exponent in monomial:
            found = self._homogeneous(factor)
            if found is None:
                rest[factor] = exponent
                continue
            ((key, step),) = found.items()
            beside = product(beside, key, exponent)
            made = self._powered(made, step, exponent)
        exponents, power, numbers = elimination.applied(rest)
        for number, exponent in numbers:
            made = self._powered(made, self._step(CONSTANT, number=number), exponent)
        unit = self._step(CONSTANT, number=elimination.number)
        unit = self._powered(self._step(VARIABLE), unit, -1 if elimination.number != 1 else 0)
        return {product(monomial_of(exponents), beside, 1): self._powered(made, unit, power)}

    def _powered(self, made: int, step: int, exponent: int) -> int:
        for _ in range(abs(exponent)):
            made = self._times(made, step, exponent)
        return made

    def _homogeneous(self, factor: Factor) -> Parts | None:
        """Return a sum as one monomial times a function of the variable, if it is one."""
        value = factor.value
        if value.op.name not in ("add", "sub") or factor.moves:
            return None
        if value not in self._sums and len(self._sums) < MOST_SUMS:
            self._sums[value] = None  # it counts while it is looked into
            x, y = map(self._operand, value.operands)
            total = None if x is None or y is None else self._sum(value.op.name, x, y)
            self._sums[value] = total if total is not None and len(total) == 1 else None
        return self._sums.get(value)

    def _factors(self, value: Value, depth: int = 4) -> tuple[float, Monomial]:
        """Return a value that is free of the variable as a number and powers of other values."""
        number = scalar_constant(value)
        if number is not None and np.isfinite(number) and number:
            return float(number), ()
        source, nodes = peel(value)
        if nodes:
            factor, monomial = self._factors(source, depth)
            return factor, moved(monomial, moves_of(reversed(nodes)))
        name = value.op.name
        if depth and name in ("neg", "mul", "div") and self.parts.keys().isdisjoint(value.operands):
            parts = [self._factors(operand, depth - 1) for operand in value.operands]
            (x, above), (y, below) = parts[0], parts[-1]
            if name == "neg":
                return -x, above
            if name == "mul":
                return x * y, product(above, below, 1)
            # a rounded quotient of numbers would be another number
            if abs(y) == 1:
                return x * y, product(above, below, -1)
        return 1.0, ((Factor(value), 1),)

    def _is_zero(self, parts: Parts | None) -> bool:
        """Whether a value is the number 0, which is a multiple of every monomial."""
        step = alone(parts)
        return step is not None and self.steps[step] == _ZERO

    def _sum(self, name: str, x: Parts, y: Parts) -> Parts | None:
        if self._is_zero(y):
            return x
        made = {} if self._is_zero(x) else dict(x)
        for key, step in y.items():
            if key in made:
                made[key] = self._step(name, made[key], step)
            else:
                made[key] = step if name == "add" else self._step("neg", step)
        if len(made) > 1:
            self._is_divided = True
            made = self._without_nothing(made)
        return made if len(made) <= MOST_PARTS else None

    def _without_nothing(self, parts: Parts) -> Parts:
        """Return parts of which none is 0 near the point, where a condition says so."""
        nothing = [key for key, step in parts.items() if self._is_nothing(step)]
        if not nothing or len(nothing) == len(parts):
            return parts
        made = {key: step for key, step in parts.items() if key not in nothing}
        beside, zero, unknown = next(iter(made)), self._step(CONSTANT), self._step(UNKNOWN)
        for key in nothing:
            still = self._step("eq", parts[key], zero)
            term = self._step("select", still, zero, unknown)
            made[beside] = self._step("add", made[beside], term)
        return made

    def _is_nothing(self, step: int) -> bool:
        return self.steps[step].name != CONSTANT and not self.near[step].any()

    def _select(self, condition: Parts | None, x: Parts | None, y: Parts | None) -> Parts | None:
        """Return the parts of a select: those of the operand that it is near the point."""
        at = alone(condition)
        if at is None:
            return None
        if x and self._is_zero(y):
            y = dict.fromkeys(x, self._step(CONSTANT))
        elif y and self._is_zero(x):
            x = dict.fromkeys(y, self._step(CONSTANT))
        holds = self.near[at]
        if holds.all() or not holds.any():
            x, y = (x, x and y) if holds.all() else (y and x, y)
            taken = x if holds.all() else y
            if taken is None:
                return None
            if x is None or y is None or x.keys() != y.keys():
                unknown = dict.fromkeys(taken, self._step(UNKNOWN))
                x, y = (taken, unknown) if holds.all() else (unknown, taken)
        if x is None or y is None or x.keys() != y.keys():
            return None
        return {key: self._step("select", at, x[key], y[key]) for key in x}

    def _product(self, x: Parts, y: Parts, sign: int) -> Parts:
        """Return the parts of a product, or for a negative sign of a quotient."""
        return {
            product(a, b, sign): self._times(p, q, sign) for a, p in x.items() for b, q in y.items()
        }

    @property
    def has_conditions(self) -> bool:
        """Whether what holds on one side of a number may not hold at it."""
        return any(step.name == "select" for step in self.steps)

    def _times(self, p: int, q: int, sign: int) -> int:
        """Return the product of two steps, or for a negative sign their quotient."""
        if self.steps[q] == _ONE:
            return p
        if sign > 0 and self.steps[p] == _ONE:
            return q
        return self._step("mul" if sign > 0 else "div", p, q)

    # -- running -----------------------------------------------------------------------------------

    def floats(self, h: Array, wanted: Sequence[int] | None = None) -> list[Array]:
        """Return what a kernel makes of each step, where the local variable has these values.

        ``wanted``: only of these, operands first.
        """
        variable = self.point.floats(h).astype(self.variable.type.dtype.numpy)
        right, left = self.chosen.get(1, {}), self.chosen.get(-1, {})
        results = [variable] * len(self.steps)
        with np.errstate(all="ignore"):
            for at in range(len(self.steps)) if wanted is None else wanted:
                made = floats(self.steps[at], variable, results)
                if at in right:
                    made = np.where(h > 0, bool(right[at]), made)
                if at in left:
                    made = np.where(h < 0, bool(left[at]), made)
                results[at] = made
        return results

    def evaluate(
        self, c: Context, h: Precise, wanted: Sequence[int] | None = None, *, is_free: bool = False
    ) -> list[Known]:
        """Return each step at a value of the local variable, in many digits.

        It is None where there is none. ``wanted``: only these, operands first. ``is_free``:
        conditions are what they are, not what is chosen.
        """
        chosen = {} if is_free else self.chosen.get(1 if h > 0 else -1, {})
        variable = numbers.given(self.point.variable(c, h))
        constants = self._constants_in(c)
        results: list[Known] = [None] * len(self.steps)
        for at in range(len(self.steps)) if wanted is None else wanted:
            name, given, number = self.steps[at]
            if at in chosen:
                results[at] = chosen[at]
            elif name == VARIABLE:
                results[at] = variable
            elif name == CONSTANT:
                results[at] = constants[number]
            elif name == "select":
                condition = results[given[0]]
                if condition is not None:
                    results[at] = results[given[1 if condition else 2]]
            elif name != UNKNOWN:
                operands = [results[operand] for operand in given]
                if None not in operands:
                    results[at] = numbers.apply(c, name, operands)
        return results

    def _constants_in(self, c: Context) -> dict[float, Number]:
        found = self._constants.get(c.prec)
        if found is None:
            dtype = self.variable.type.dtype
            found = self._constants[c.prec] = {
                step.number: numbers.given(precise.number(c, step.number, dtype))
                for step in self.steps
                if step.name == CONSTANT
            }
        return found

    def value(self, c: Context, h: Precise, cone: Sequence[int], root: int) -> Precise | None:
        """Return a step at a value of the local variable, of which the cone is given."""
        return numbers.made(c, self.evaluate(c, h, cone)[root])

    def cone(self, *roots: int) -> list[int]:
        """Return the steps that some steps are made of, operands first."""
        needed = set(roots)
        for at in range(max(roots, default=-1), -1, -1):
            if at in needed:
                needed.update(self.steps[at].operands)
        return sorted(needed)
