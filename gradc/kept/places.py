"""Lines of the user's, written as places in the code that a trace has looked at.

So they are those of the program that reads them: of the file it was loaded from, at the lines where
the code stands by now.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Sequence
from typing import Any

from gradc.kept.plain import Unkept
from gradc_ir.location import Location, Outside

# Which look has found the function, which constants lead to the code that is nested in its code.
CodePlace = tuple[int, tuple[int, ...]]
# In place of the first constant: the code in which the function's loops and branches are asked for.
REWRITTEN = -1


class WrittenLines:
    """Writes lines as places in the code of some functions, each with its own place."""

    def __init__(self, codes: Iterable[tuple[CodePlace, types.CodeType]]) -> None:
        self._by_name: dict[tuple[str, str], list[types.CodeType]] = {}
        self._ids: dict[int, CodePlace] = {}  # of codes that stay in the other table
        for place, code in codes:
            self._note(code, place)

    def _note(self, code: types.CodeType, place: CodePlace) -> None:
        if id(code) in self._ids:
            return
        self._ids[id(code)] = place
        self._by_name.setdefault((code.co_filename, code.co_name), []).append(code)
        for i, constant in enumerate(code.co_consts):
            if isinstance(constant, types.CodeType):
                self._note(constant, (place[0], (*place[1], i)))

    def __call__(self, line: Location) -> Any:
        """Return a line as plain data; raises Unkept for one of other code."""
        code, position = line.instruction or (self._defined(line), None)
        place = self._ids.get(id(code))
        if code is None or place is None:
            raise Unkept(f"{line} is a line of code that is not seen")
        outside = None if line.outside is None else tuple(line.outside)
        caller = None if line.caller is None else self(line.caller)
        told = line.is_whole, line.derived, caller, line.named
        return place, line.line - code.co_firstlineno, line.function, position, outside, told

    def _defined(self, line: Location) -> types.CodeType | None:
        """Return the code whose definition a line is."""
        above = [
            code
            for code in self._by_name.get((line.file, line.function), ())
            if code.co_firstlineno <= line.line
        ]
        return max(above, key=lambda code: code.co_firstlineno, default=None)


def read_line(found: Sequence[Any], data: Any) -> Location:
    """Return a line from what it was written as, and what the looks have found."""
    (look, inner), line, function, position, outside, told = data
    code = _code_in(found[look], inner)
    line += code.co_firstlineno
    if position is None:
        made = Location(code.co_filename, line, function)
    else:
        made = Location.of_instruction(code, position, line, function)
    made.outside = None if outside is None else Outside(*outside)
    made.is_whole, made.derived, caller, made.named = told
    made.caller = None if caller is None else read_line(found, caller)
    return made


def _code_in(function: types.FunctionType, inner: Sequence[int]) -> types.CodeType:
    """Return the code that constants lead to from that of a function."""
    code = function.__code__
    if inner[:1] == (REWRITTEN,):
        from gradc.tracing.rewriting.rewrite import rewritten  # few functions have loops

        code, inner = rewritten(function).code, inner[1:]
    for i in inner:
        code = code.co_consts[i]
    return code
