"""Which values of a graph have statements of their own, and what they are called."""

from __future__ import annotations

from gradc.reading.terms import Term
from gradc_ir.core.graph import Function, Value
from gradc_ir.location import Lines
from gradc_ir.text.variables import names_of_values

# What has no name of its own, as long as what it is of has one.
_PLAIN = frozenset({"broadcast", "reshape", "transpose", "constant", "stop_gradient", "exactly",
                    "fence", "cast", "size", "iota"})  # fmt: skip
# Names, numbers and functions in a formula beyond which it is cut; fewer for what no user named.
_LONGEST, _SHORT = 14, 8


def is_cut(value: Value, term: Term, name: str | None, is_made: bool, uses: int) -> bool:
    """Whether a value has a statement of its own.

    ``name`` is that of the user's variable, ``uses`` says how often it stands in formulas, and
    ``is_made`` that differentiation made it.
    """
    size = weight(term)
    if size <= 1 or value.op.name in _PLAIN:
        return False
    if name is not None and not is_made:
        return True
    if uses > 1:
        return size > (1 if name else 3)
    return size > (_SHORT if name else _LONGEST)


def weight(term: Term) -> int:
    """Return how many names, numbers and functions stand in a term."""
    total, stack = 0, [term]
    while stack:
        one = stack.pop()
        if one.head == "index" and all(key is None or key == ":" for key in one.detail):
            stack += one.parts
            continue
        if not one.parts:
            total += 1
        elif one.head == "product":
            coefficient, powers = one.detail
            total += (abs(coefficient) != 1) + sum(abs(power) != 1 for power in powers)
        elif one.head == "sum":
            coefficients, constant = one.detail
            total += (constant != 0) + sum(abs(each) != 1 for each in coefficients)
        elif one.head != "index":
            total += 1
        stack += one.parts
    return total


def names_of(function: Function) -> dict[Value, str]:
    """Return the user's names; what is only moved about hands its own on to what it moves."""
    names = names_of_values(function)
    for value, name in reversed(list(names.items())):
        inner = value
        while inner.op.name in _PLAIN and inner.operands:
            inner = inner.operands[0]
        if inner is not value and inner.op.name not in _PLAIN and inner.op.name != "param":
            names.setdefault(inner, name)
    return names


def name_by_line(lines: Lines) -> str:
    """Return what a value is called that no user named: by the line it comes from."""
    return f"t{lines[0].line}" if lines and lines[0].line else "t"


def uses_of(function: Function) -> dict[Value, int]:
    """Return how often each value stands in a formula; what has no name stands as what it is of."""
    found: dict[Value, int] = {}
    for result in function.results:
        found[result] = found.get(result, 0) + 1
    for node in reversed(function.nodes):
        is_plain = node.op.name in _PLAIN or node.op.name == "slice"
        times = max(found.get(result, 0) for result in node.results) if is_plain else 1
        for operand in node.operands:
            found[operand] = found.get(operand, 0) + times
    return found
