"""What a function computes, as formulas: lines for the comments of a header."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from gradc_codegen.abi import Order, Signature
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.graphs.rearrange import peel, scalar_constant
from gradc_ir.text.printer import print_number

_INFIX = {"add": ("+", 1), "sub": ("-", 1), "mul": ("*", 2), "div": ("/", 2), "lt": ("<", 0),
          "le": ("<=", 0), "eq": ("==", 0), "ne": ("!=", 0)}  # fmt: skip
_PREFIX, _ATOM = 3, 4
_LONGEST = 64
_MOST_LINES = 80


def formulas(function: Function, signature: Signature, order: Order | None = None) -> list[str]:
    """Return a formula a line, by the names that C has; the last ones are the results.

    What is used more than once, or is long, has a name of its own, ``t1``, ``t2`` …; how a value is
    spread or laid out anew is left out. A long list is cut off, with a word about how long it is.
    """
    names: dict[Value, str] = {}
    called = {argument.name: argument.identifier for argument in signature.inputs}
    for param, name in zip(function.params, function.names):
        names[param] = called.get(name, name)
    uses = Counter(peel(operand)[0] for node in function.body for operand in node.operands)
    uses.update(peel(result)[0] for result in function.results)
    writer = _Formulas(names, uses, {*names.values()})
    lines = writer.lines_of(function)
    places = (order or Order.of(function)).outputs
    for argument, place in zip(signature.outputs, places):
        lines.append(f"{argument.identifier} = {writer.of(function.results[place])[0]}")
    if len(lines) > _MOST_LINES:
        rest = f"… and {len(lines) - _MOST_LINES} lines more, which gradc dump shows"
        lines = [*lines[:_MOST_LINES], rest]
    return [f"  {line}" for line in lines]


class _Formulas:
    """Writes formulas; ``names`` has the values that are named so far."""

    def __init__(self, names: dict[Value, str], uses: Mapping[Value, int], taken: set[str]) -> None:
        self._names = names
        self._uses = uses
        self._taken = taken
        self._inlined: dict[Value, tuple[str, int]] = {}
        self._count = 0

    def lines_of(self, function: Function) -> list[str]:
        """Return the lines of all values that are to have names, in order."""
        lines = []
        results = {peel(result)[0] for result in function.results}
        for node in function.body:
            if node.op.name == "constant" or peel(node.results[0])[1]:
                continue
            text, tight = self._node(node)
            if len(node.results) > 1:
                parts = [self._fresh(value) for value in node.results]
                lines.append(f"{', '.join(parts)} = {text}")
            elif self._uses[node.results[0]] > 1 or (
                len(text) > _LONGEST and node.results[0] not in results
            ):
                lines.append(f"{self._fresh(node.results[0])} = {text}")
            else:
                self._inlined[node.results[0]] = text, tight
        return lines

    def of(self, value: Value) -> tuple[str, int]:
        """Return a value as text, and how tightly its outermost op binds."""
        number = scalar_constant(value)
        if number is not None:
            text = print_number(np.asarray(number, dtype=value.type.dtype.numpy))
            text = text.removesuffix(".0")
            return text, _PREFIX if text.startswith("-") else _ATOM
        value = peel(value)[0]
        if value in self._names:
            return self._names[value], _ATOM
        if value.op.name == "constant":
            shape = ",".join(map(str, value.type.shape))
            return f"constant[{shape}]", _ATOM
        return self._inlined[value]

    def _fresh(self, value: Value) -> str:
        self._count += 1
        while (name := f"t{self._count}") in self._taken:
            self._count += 1
        self._names[value] = name
        return name

    def _node(self, node: Node) -> tuple[str, int]:
        name, parts = node.op.name, [self.of(operand) for operand in node.operands]
        if name in _INFIX:
            sign, tight = _INFIX[name]
            # parentheses on the right show in which order things are added and multiplied
            return f"{_within(parts[0], tight)} {sign} {_within(parts[1], tight + 1)}", tight
        if name == "neg":
            return f"-{_within(parts[0], _PREFIX)}", _PREFIX
        words = [text for text, _ in parts]
        for key in ("spec", "axes", "axis"):
            if key in node.attributes:
                words.append(f"{key}={node.attributes[key]!r}".replace("'", ""))
        return f"{name}({', '.join(words)})", _ATOM


def _within(part: tuple[str, int], tight: int) -> str:
    text, own = part
    return text if own >= tight else f"({text})"
