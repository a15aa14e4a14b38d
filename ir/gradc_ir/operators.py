"""Python's operators on values: what lets a derivative be written as ``1 / (1 + x)``."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, Union

if TYPE_CHECKING:
    from gradc_ir.graph import Value

Operand: TypeAlias = Union["Value", int, float, bool]


class Operators:
    """Arithmetic that builds nodes in the active builder; numbers take the value's type."""

    __slots__ = ()

    def __add__(self: Value, other: Operand) -> Value:  # type: ignore[misc]
        return _build.add(self, other)

    def __radd__(self: Value, other: Operand) -> Value:  # type: ignore[misc]
        return _build.add(other, self)

    def __sub__(self: Value, other: Operand) -> Value:  # type: ignore[misc]
        return _build.sub(self, other)

    def __rsub__(self: Value, other: Operand) -> Value:  # type: ignore[misc]
        return _build.sub(other, self)

    def __mul__(self: Value, other: Operand) -> Value:  # type: ignore[misc]
        return _build.mul(self, other)

    def __rmul__(self: Value, other: Operand) -> Value:  # type: ignore[misc]
        return _build.mul(other, self)

    def __truediv__(self: Value, other: Operand) -> Value:  # type: ignore[misc]
        return _build.div(self, other)

    def __rtruediv__(self: Value, other: Operand) -> Value:  # type: ignore[misc]
        return _build.div(other, self)

    def __pow__(self: Value, other: Operand) -> Value:  # type: ignore[misc]
        return _build.power(self, other)

    def __neg__(self: Value) -> Value:  # type: ignore[misc]
        return _build.neg(self)


from gradc_ir import build as _build  # noqa: E402 - the builder needs Value, which needs this class
