"""Numbers that stand for a limit at one point: what they are continued by beside it.

``np.where(x == 0, 1, np.sin(x) / x)`` is a smooth function, but the number 1 has the derivative 0.
In its place comes the Taylor polynomial of what stands around the point, whose value there is the
same number.
"""

from __future__ import annotations

from gradc.rules.series.steps import ARITHMETIC
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.builder import rebuilt
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.walk import Surroundings, changed_bodies
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.matching.rewrite import FunctionRule, rewrite
from gradc_ir.pipeline import PlainPass


class ContinueGuards(PlainPass):
    """Puts Taylor polynomials in place of numbers that are a function's limit at a point."""

    name = "guards"
    summary = "let numbers that stand for a limit at a point have its derivatives"

    def __call__(self, function: Function) -> Function:
        """Return the function with polynomials whose values are the numbers."""
        bodies = changed_bodies(function, self)
        guards = [guard for node in function.nodes if (guard := _guard(node)) is not None]
        guards = [guard for guard in guards if guard.number or not _is_part(guard, function)]
        found: dict[Node, tuple[_Guard, list[float]]] = {}
        if guards:
            # not on top: few functions have a guard
            from gradc.rules.series.limits import coefficients

            surroundings = Surroundings.of(function)
            for guard in guards:
                series = coefficients(
                    guard.around, guard.variable, guard.at, guard.number, surroundings
                )
                if series is not None:
                    found[guard.node] = guard, series
        if not found and not bodies:
            return function

        def make(node: Node, operands: list[Value]) -> list[Value]:
            if node in bodies:
                return list(build.apply_all(node.op.name, *operands, **bodies[node]))
            guard, series = found[node]
            condition = operands[0]
            inner = condition.operands[guard.node.operands[0].operands.index(guard.variable)]
            operands[guard.place] = _polynomial(inner, guard.at, series)
            return [build.select(*operands)]

        changed = {*found, *bodies}
        return rebuilt(function, changed.__contains__, make)


class _Guard(NamedTuple):
    """A select of a number where the variable is at a point, and of a function elsewhere."""

    node: Node
    variable: Value
    at: float
    place: int
    number: float
    around: Value


def _guard(node: Node) -> _Guard | None:
    found = _at(node)
    if found is None:
        return None
    variable, at, place = found
    number = scalar_constant(node.operands[place])
    if number is None:
        return None
    return _Guard(node, variable, at, place, float(number), node.operands[3 - place])


def _is_part(guard: _Guard, function: Function) -> bool:
    """Whether 0 may be what a term of a derivative is where another term counts."""
    for node in function.nodes:
        if node.op.name != "select":
            continue
        condition = node.operands[0]
        if condition.op.name in ("eq", "ne"):
            if set(condition.operands) == set(guard.node.operands[0].operands):
                other = node.operands[2 if condition.op.name == "eq" else 1]
                if scalar_constant(other) == 0:
                    return True
        elif guard.node.operands[0] in condition.operands:
            return True
    return False


def _polynomial(variable: Value, at: float, coefficients: list[float]) -> Value:
    h = variable - at if at else variable
    value = build.full_like(h, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = value * h + coefficient
    return value


# -- the numbers again -----------------------------------------------------------------------------


class SettleGuards(PlainPass):
    """Computes sums and products of a variable where a condition says which number it is.

    When all derivatives are taken, what continued a guard is a number again.
    """

    name = "settle"
    summary = "compute polynomials of what a condition says to be a number"

    def __call__(self, function: Function) -> Function:
        """Return the function with numbers in place of such polynomials."""
        if not any(_at(node) for node in function.nodes):
            return function
        return rewrite(
            function,
            [FunctionRule(self.name, ("select",), _settled), FunctionRule("sum", ("add",), _sum)],
        )


def _at(node: Node) -> tuple[Value, float, int] | None:
    """Return the variable that is a number where an operand of a select is taken, and which."""
    if node.op.name != "select" or not node.results[0].type.dtype.is_float:
        return None
    condition = node.operands[0]
    if condition.op.name not in ("eq", "ne"):
        return None
    for variable, point in (condition.operands, condition.operands[::-1]):
        at = scalar_constant(point)
        if at is not None and variable.type == node.results[0].type:
            return variable, float(at), 1 if condition.op.name == "eq" else 2
    return None


def _settled(value: Value) -> Value | None:
    found = _at(value.node)
    if found is None:
        return None
    variable, at, place = found
    if scalar_constant(value.operands[place]) is not None:
        return None
    number = _number(value.operands[place], variable, at)
    if number is None:
        return None
    if number == 0 and at == 0:
        # a zero has its sign from that of the variable
        signs = [_number(value.operands[place], variable, zero) for zero in (0.0, -0.0)]
        if str(signs[0]) != str(signs[1]):
            return None
    operands = list(value.operands)
    operands[place] = build.full_like(value, number)
    return (
        operands[place]
        if number == scalar_constant(operands[3 - place])
        else build.select(*operands)
    )


def _number(value: Value, variable: Value, at: float, depth: int = 12) -> float | None:
    """Return what a value is where the variable is a number, when it is made of that alone."""
    if value is variable:
        return at
    number = scalar_constant(value)
    if number is not None:
        return float(number)
    if not depth or value.op.name not in ARITHMETIC:
        return None
    operands = [_number(operand, variable, at, depth - 1) for operand in value.operands]
    if any(operand is None for operand in operands):
        return None
    dtype = value.type.dtype.numpy.type
    reference = value.op.reference
    assert reference is not None
    return float(reference(*[dtype(operand) for operand in operands]))


def _sum(value: Value) -> Value | None:
    """Leave out a term that is nothing after all."""
    for term, other in (value.operands, value.operands[::-1]):
        found = _at(term.node)
        if found is None:
            continue
        variable, at, place = found
        rest = scalar_constant(term.operands[3 - place])
        if rest == 0 and _number(term.operands[place], variable, at) == 0:
            return other
    return None
