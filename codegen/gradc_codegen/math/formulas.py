"""The function that computes formulas whose exponents have no bound, for any formula as data.

It is called where plain arithmetic may over- or underflow, or did, so it is small rather than fast:
one function a dtype, compiled once a process; an exported object has one of its own. A program is
i32 numbers: how many operands, constants, steps and results, then the steps
(:mod:`gradc_codegen.math.formula_steps`), then the places of the results. Operands come first, an
array of lanes each, then constants, then the results of steps. A value is a significand of
magnitude 1/2 to 1, an exponent of 2, a whole number in double precision, and an exponent of e; of
0, inf and nan both are 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from gradc_codegen.lazy_table import LazyTable
from gradc_codegen.math.formula_steps import packed
from gradc_codegen.text.module import suffix
from gradc_ir.core.graph import Function
from gradc_ir.core.types import DType
from gradc_ir.wide_exponents.functions import expand

_TEXT: LazyTable[Callable[..., str]] = LazyTable({"gradc_codegen.math.formula_text": "text"})
_DECLARATION = re.compile(r"^declare void @(gradc_formula_f(?:64|32))\(.*\n", re.MULTILINE)
_DTYPES = {"64": DType.F64, "32": DType.F32}


def name_of(dtype: DType) -> str:
    """Return the symbol of the function for a dtype."""
    return f"gradc_formula_{suffix(dtype)}"


def declaration(dtype: DType) -> str:
    """Return how a module declares the function.

    Its arguments: the program, its constants, the operands, the results (which hold those of plain
    arithmetic), a byte for each lane, how many lanes. A lane is computed whose byte is 2, or is 1
    where an operand is large or small and neither infinite, nan nor zero. Where it is 3 and all
    operands are finite, the results are computed that are not.
    """
    return f"declare void @{name_of(dtype)}(ptr, ptr, ptr, ptr, ptr, i64)"


def program(body: Function, dtype: DType) -> tuple[list[int], list[float]]:
    """Return the program of formulas and its constants."""
    operands = len(body.params)
    steps, results = expand(body, dtype)
    numbers: dict[float, int] = {}
    for step in steps:
        for each in step.operands:
            if isinstance(each, float):
                numbers.setdefault(each, len(numbers))
    places = [*range(operands), *(i + operands + len(numbers) for i in range(len(steps)))]
    made: list[int] = []
    for word, given in steps:
        of = [places[each] if isinstance(each, int) else operands + numbers[each] for each in given]
        made += packed(word, of[0], of[min(1, len(of) - 1)], of[-1])
    head = [operands, len(numbers), len(steps), len(results)]
    return [*head, *made, *(places[each] for each in results)], list(numbers)


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
