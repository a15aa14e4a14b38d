"""Python's operators on values: what lets a derivative be written as ``1 / (1 + x)``."""

# mypy: disable-error-code="no-any-return"
# because the module that `use` is given has functions unknown here

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, Union

if TYPE_CHECKING:
    from gradc_ir.core.graph import Value

Operand: TypeAlias = Union["Value", int, float, bool]

_constructors: Any = None


def use(constructors: Any) -> None:
    """Say which module holds the constructors; the builder does, since it needs Value first."""
    global _constructors
    _constructors = constructors


class Operators:
    """Arithmetic that builds nodes in the active builder; numbers take the value's type."""

    __slots__ = ()

    def __add__(self: Value, other: Operand) -> Value:  # type: ignore[misc]
        return _constructors.add(self, other)

    def __radd__(self: Value, other: Operand) -> Value:  # type: ignore[misc]
        return _constructors.add(other, self)

    def __sub__(self: Value, other: Operand) -> Value:  # type: ignore[misc]
        return _constructors.sub(self, other)

    def __rsub__(self: Value, other: Operand) -> Value:  # type: ignore[misc]
        return _constructors.sub(other, self)

    def __mul__(self: Value, other: Operand) -> Value:  # type: ignore[misc]
        return _constructors.mul(self, other)

    def __rmul__(self: Value, other: Operand) -> Value:  # type: ignore[misc]
        return _constructors.mul(other, self)

    def __truediv__(self: Value, other: Operand) -> Value:  # type: ignore[misc]
        return _constructors.div(self, other)

    def __rtruediv__(self: Value, other: Operand) -> Value:  # type: ignore[misc]
        return _constructors.div(other, self)

    def __pow__(self: Value, other: Operand) -> Value:  # type: ignore[misc]
        return _constructors.power(self, other)

    def __neg__(self: Value) -> Value:  # type: ignore[misc]
        return _constructors.neg(self)
