"""Values as formulas on one line, ``log(1 + exp(a))``, for those who read what a rule did."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import peel, scalar_constant
from gradc_ir.text.printer import print_number

# An op with its sign, and how tightly it binds.
_INFIX = {"add": ("+", 1), "sub": ("-", 1), "mul": ("*", 2), "div": ("/", 2),
          "lt": ("<", 0), "le": ("<=", 0), "eq": ("==", 0), "ne": ("!=", 0)}  # fmt: skip
_PREFIX, _ATOM = 3, 4
# What is written out rather than given a letter.
_SHORT = 24
_DEEP, _DEPTH = 12, 3
# What is longer is cut off at a smaller depth.
_LONG, _DEPTHS = 120, (12, 5, 4, 3)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def change(before: Value, after: Value, names: Sequence[str]) -> str:
    """Return what a firing did: ``log(1 + exp(a)) -> softplus(a), a = x @ w``.

    What both have in common has a letter, or stands there itself when it is short. ``names`` are
    those of the parameters; without, they are numbered.
    """
    common = _reached(before) & _reached(after)
    for depth in _DEPTHS:
        letters: dict[Value, str] = {}
        shown = _Formula(names, common, letters)
        left = shown.of(before, depth, root=True)
        right = shown.of(after, depth, root=after not in letters)
        text = f"{left} -> {right}"
        if len(text) <= _LONG:
            break
    wheres = [f"{letter} = {_Formula(names).of(value)}" for value, letter in letters.items()]
    return ", ".join([text, *wheres])


def formula(value: Value, names: Sequence[str] = (), depth: int = _DEPTH) -> str:
    """Return a value as a formula of its parameters, cut off at a depth."""
    return _Formula(names).of(value, depth=depth)


def _reached(value: Value) -> set[Value]:
    """Return the values that a value is computed from, itself included, rearrangements aside."""
    found: set[Value] = set()
    layer = [peel(value)[0]]
    for _ in range(_DEEP):
        found.update(layer)
        layer = [peel(operand)[0] for each in layer for operand in each.operands]
        layer = [each for each in dict.fromkeys(layer) if each not in found]
    return found | set(layer)


class _Formula:
    """A printer; with ``common``, values of that set become letters."""

    def __init__(
        self,
        names: Sequence[str],
        common: set[Value] | None = None,
        letters: dict[Value, str] | None = None,
    ) -> None:
        self.names = names
        self.common = common or set()
        self.letters = {} if letters is None else letters

    def of(self, value: Value, depth: int = _DEPTH, root: bool = False) -> str:
        return self._bound(value, depth, root)[0]

    def _bound(self, value: Value, depth: int, root: bool = False) -> tuple[str, int]:
        """Return a formula, and how tightly its outermost op binds."""
        value = peel(value)[0]
        number = scalar_constant(value)
        if number is not None:
            text = print_number(np.asarray(number, dtype=value.type.dtype.numpy))
            return text.removesuffix(".0"), _PREFIX if text.startswith("-") else _ATOM
        if value.op.name == "param":
            index = value.node.attributes["index"]
            return (self.names[index] if index < len(self.names) else f"%{index}"), _ATOM
        if value in self.letters:
            return self.letters[value], _ATOM
        if value in self.common and not root:
            whole = formula(value, self.names)
            if len(whole) <= _SHORT and "…" not in whole:
                return _Formula(self.names)._bound(value, _DEPTH)
            letter = self.letters[value] = _LETTERS[len(self.letters) % len(_LETTERS)]
            return letter, _ATOM
        return self._op(value, depth)

    def _op(self, value: Value, depth: int) -> tuple[str, int]:
        if depth <= 0:
            return "…", _ATOM
        name, operands = value.op.name, value.operands
        if name in _INFIX:
            sign, tight = _INFIX[name]
            left, right = (self._bound(operand, depth - 1) for operand in operands)
            # parentheses on the right show in which order things are added and multiplied
            return f"{_within(left, tight)} {sign} {_within(right, tight + 1)}", tight
        if name == "neg":
            return f"-{_within(self._bound(operands[0], depth - 1), _PREFIX)}", _PREFIX
        inner = ", ".join(self._bound(operand, depth - 1)[0] for operand in operands)
        return f"{name}({inner})", _ATOM


def _within(part: tuple[str, int], tight: int) -> str:
    text, own = part
    return text if own >= tight else f"({text})"
