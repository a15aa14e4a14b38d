"""Atoms of symbolic sizes that are no symbols: quotients, maxima and the like, told by their text.

The sizes that an atom is made of are integers, or of :class:`gradc_ir.core.sizes.Expr`.
"""

from __future__ import annotations

from typing import Any


class Written:
    """An atom that is its text: equal when that is. ``parts`` are the sizes it is made of."""

    __slots__ = ("_text", "parts")

    def __init__(self, text: str, *parts: Any) -> None:
        self._text = text
        self.parts = parts

    def __str__(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(self._text)


class Quotient(Written):
    """The atom ``numerator // denominator``, rounded down."""

    __slots__ = ()

    def __init__(self, numerator: Any, denominator: Any) -> None:
        text = f"{_operand_text(numerator)} // {_operand_text(denominator)}"
        super().__init__(text, numerator, denominator)


class Maximum(Written):
    """The atom ``max(left, right)``."""

    __slots__ = ()

    def __init__(self, left: Any, right: Any) -> None:
        left, right = sorted((left, right), key=str)
        super().__init__(f"max({left}, {right})", left, right)


class SquareRoot(Written):
    """The atom ``isqrt(of)``: the square root, rounded down; 0 for what is negative."""

    __slots__ = ()

    def __init__(self, of: Any) -> None:
        super().__init__(f"isqrt({of})", of)


class BitLength(Written):
    """The atom ``bits(of)``: how many binary digits a size has; 0 for what is not above 0."""

    __slots__ = ()

    def __init__(self, of: Any) -> None:
        super().__init__(f"bits({of})", of)


class Asked(Written):
    """The atom ``function(sizes…)``: what a function of C returns, never below 0.

    Only the program that runs knows it: it is no size of an axis, but how long scratch is to be.
    """

    __slots__ = ("function",)

    def __init__(self, function: str, *of: Any) -> None:
        super().__init__(f"{function}({', '.join(map(str, of))})", *of)
        self.function = function


def _operand_text(size: Any) -> str:
    text = str(size)
    return text if text.isidentifier() or text.isdecimal() else f"({text})"
