"""What is surely known about the numbers in a value, for the guards of rules.

Every question answers *no* when it does not know. Sign questions allow nan: they say that no
element is on the other side. The look goes a few ops deep.
"""

from __future__ import annotations

from gradc_ir.graph import Value
from gradc_ir.rearrange import peel, scalar_constant
from gradc_ir.types import DType

_DEPTH = 6
_POSITIVE = frozenset(
    {"exp", "softplus", "sigmoid", "sigmoid_derivative"}
)  # of which underflow makes zeros
_MIRRORED = {">": "<", ">=": "<=", "<": ">", "<=": ">="}


def is_positive(value: Value) -> bool:
    """Whether every element is above 0 or nan."""
    return _sign(value, _DEPTH) == ">"


def is_nonnegative(value: Value) -> bool:
    """Whether every element is at least 0 (of either sign) or nan."""
    return _sign(value, _DEPTH) in (">", ">=")


def is_negative(value: Value) -> bool:
    """Whether every element is below 0 or nan."""
    return _sign(value, _DEPTH) == "<"


def is_whole(value: Value, depth: int = _DEPTH) -> bool:
    """Whether every element is a whole number: not infinite, not nan."""
    if not value.type.dtype.is_float:
        return True
    source, _ = peel(value)
    number = scalar_constant(source)
    if number is not None:
        return float(number).is_integer()
    if source.op.name == "cast":
        # the largest integers are far below the largest float, so none overflows
        return not source.operands[0].type.dtype.is_float
    if source.op.name == "select" and depth:
        return all(is_whole(operand, depth - 1) for operand in source.operands[1:])
    return False


def _sign(value: Value, depth: int) -> str:
    """Return one of ``>``, ``>=``, ``<``, ``<=`` that holds for all elements, or ``?``."""
    source, _ = peel(value)
    number = scalar_constant(source)
    if number is not None:
        return ">" if number > 0 else "<" if number < 0 else ">=" if number == 0 else "?"
    name, operands = source.op.name, source.operands
    if source.type.dtype is DType.BOOL or name in ("size", "iota"):
        return ">="
    if not source.type.dtype.is_float or not depth:
        return "?"  # integers wrap around
    if name in _POSITIVE or name == "abs":
        return ">="
    if name in ("mul", "div") and operands[0] is operands[1]:
        return ">="
    if name == "cast":
        inner = operands[0].type.dtype
        known = _sign(operands[0], depth - 1)
        # a narrower float may round a positive number to zero
        return known if not inner.is_float or known == "?" else f"{known[0]}="
    if name == "power":
        exponent = scalar_constant(operands[1])
        even = exponent is not None and exponent % 2 == 0
        return ">=" if even or _sign(operands[0], depth - 1) == ">" else "?"
    return _combined(name, source, [_sign(operand, depth - 1) for operand in operands])


def _combined(name: str, value: Value, signs: list[str]) -> str:
    match name:
        case "sqrt":
            return ">" if signs[0] == ">" else ">="
        case "reduce_sum" | "reduce_min" if signs[0] in (">", ">="):
            return ">="
        case "reduce_max" if signs[0] in (">", ">="):
            # the largest of no elements is -inf
            return signs[0] if _surely_some(value.operands[0]) else "?"
        case "neg":
            return _MIRRORED.get(signs[0], "?")
        case "add":
            return _sum(signs[0], signs[1])
        case "sub":
            return _sum(signs[0], _MIRRORED.get(signs[1], "?"))
        case "mul" if "?" not in signs:
            return ">=" if signs[0][0] == signs[1][0] else "<="
        case "div" if signs[1] in (">", "<") and signs[0] != "?":
            # a divisor that may be -0.0 would turn the sign
            return ">=" if signs[0][0] == signs[1][0] else "<="
        case "maximum":
            return next((sign for sign in (">", ">=") if sign in signs), "?")
        case "minimum":
            return next((sign for sign in ("<", "<=") if sign in signs), "?")
        case "select":
            return _either(signs[1], signs[2])
    return "?"


def _sum(left: str, right: str) -> str:
    if "?" in (left, right) or left[0] != right[0]:
        return "?"
    return left if len(left) == 1 else right


def _either(left: str, right: str) -> str:
    if "?" in (left, right) or left[0] != right[0]:
        return "?"
    return max(left, right, key=len)


def _surely_some(value: Value) -> bool:
    return all(isinstance(size, int) and size > 0 for size in value.type.shape)
