"""The function that computes formulas whose exponents have no bound, for any formula as data.

It is called where plain arithmetic may over- or underflow, or did, so it is small rather than fast:
one function a dtype, compiled once a process; an exported object has one of its own. A program says
how many operands, values in all and results there are, and where each operand is among the numbers
given, then the steps, then the places of results (:mod:`gradc_codegen.math.formula_steps`).
Operands come first, an array of lanes each, then constants, then the results of steps. A value is a
significand of magnitude 1/2 to 1, an exponent of 2, a whole number in double precision, and an
exponent of e; of 0, inf and nan both are 0.

All programs of a module are in one array, and with them the functions that they call, such as
exponentials: their steps are there once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gradc_codegen.lazy_table import LazyTable
from gradc_codegen.math.formula_steps import PADDING, call_step, float_step, number, step
from gradc_codegen.text.module import Module, suffix
from gradc_ir.core.graph import Function
from gradc_ir.core.types import DType
from gradc_ir.wide_exponents.formulas import Step
from gradc_ir.wide_exponents.functions import LONG, expand, steps_of_function

_TEXT: LazyTable[Callable[..., str]] = LazyTable({"gradc_codegen.math.formula_text": "text"})
_DECLARATION = re.compile(r"^declare void @(gradc_formula_f(?:64|32))\(.*\n", re.MULTILINE)
_DTYPES = {"64": DType.F64, "32": DType.F32}


def name_of(dtype: DType) -> str:
    """Return the symbol of the function for a dtype."""
    return f"gradc_formula_{suffix(dtype)}"


def declaration(dtype: DType) -> str:
    """Return how a module declares the function.

    Its arguments: the programs of a module, that of the formulas, numbers of which some are the
    operands, the results (which hold those of plain arithmetic), a byte for each lane, how many
    lanes. A lane is computed whose byte is 2. Where it is 3 and all operands are finite, the
    results are computed that are not.
    """
    return f"declare void @{name_of(dtype)}(ptr, ptr, ptr, ptr, ptr, i64)"


class Programs:
    """The programs of a module for a dtype, and the functions that they call: a global array."""

    def __init__(self, name: str, dtype: DType) -> None:
        self.name = name
        self._dtype = dtype
        self._bytes = bytearray()
        self._offsets: dict[bytes, int] = {}
        self._functions: dict[str, tuple[int, int]] = {}

    @classmethod
    def of(cls, module: Module, dtype: DType) -> Programs:
        """Return those of a module."""
        name = f"@{module.name}.formulas.{suffix(dtype)}"
        return module.at_end(name, lambda: cls(name, dtype))

    def __str__(self) -> str:
        data = bytes(self._bytes) + PADDING
        escaped = "\\" + data.hex("\\")
        return f'{self.name} = private unnamed_addr constant [{len(data)} x i8] c"{escaped}"'

    def program(self, body: Function, where: Sequence[int]) -> str:
        """Return a pointer to the program of formulas; ``where`` in an array its operands are."""
        operands = len(body.params)
        steps, results = expand(body, self._dtype, LONG)
        made, places, count = self._written(steps, operands, is_function=False)
        head = b"".join(map(number, (operands, count, len(results), *where)))
        tail = b"".join(number(places[each]) for each in results)
        offset = self._offset(head + made + tail)
        return f"getelementptr inbounds (i8, ptr {self.name}, i64 {offset})"

    def _offset(self, data: bytes) -> int:
        found = self._offsets.get(data)
        if found is None:
            found = self._offsets[data] = len(self._bytes)
            self._bytes += data
        return found

    def _function(self, word: str, operands: int) -> tuple[int, int]:
        """Return where a function is, and how many values it makes."""
        if word not in self._functions:
            steps, (result,) = steps_of_function(word, operands, self._dtype)
            made, places, count = self._written(steps, operands, is_function=True)
            made += step("return", count, [places[result]], is_function=True)
            self._functions[word] = self._offset(made), count + 1 - operands
        return self._functions[word]

    def _written(
        self, steps: Sequence[Step], operands: int, is_function: bool
    ) -> tuple[bytes, list[int], int]:
        """Return the bytes of steps, where each operand and result is, and how many values are."""
        places = list(range(operands))
        numbers: dict[str, int] = {}  # by their texts: of two zeros the signs differ
        parts = []
        for each in [x for _, given in steps for x in given if isinstance(x, float)]:
            if each.hex() not in numbers:
                numbers[each.hex()] = operands + len(numbers)
                parts.append(float_step(each, self._dtype))
        count = operands + len(numbers)
        for word, given in steps:
            of = [numbers[x.hex()] if isinstance(x, float) else places[x] for x in given]
            if word in LONG:
                offset, values = self._function(word, len(of))
                for place in of[:-1]:
                    parts.append(step("copy", count, [place]))
                    count += 1
                parts.append(call_step(count, of[-1], offset))
                count += values
            else:
                parts.append(step(word, count, of, is_function))
            places.append(count)
            count += 1
        return b"".join(parts), places, count


def definition(symbol: str, define: str = "define internal", name: str = "") -> str:
    """Return the text of the function of a symbol; ``name``: what it is called in its place."""
    return _TEXT["text"](_DTYPES[symbol[-2:]], define, name or symbol)


def contained(module: str) -> str:
    """Return the text of a module with the functions that it declares, for an object file."""
    made = _DECLARATION.sub("", module)
    for symbol in _DECLARATION.findall(module):
        for line in definition(symbol).splitlines():
            # an intrinsic is declared once a module
            if not (line.startswith("declare ") and f"{line}\n" in made):
                made += f"{line}\n"
    return made
