"""Where in the user's source a value came from."""

from __future__ import annotations

import linecache
import unicodedata
from types import CodeType
from typing import NamedTuple


class Outside(NamedTuple):
    """What an index outside its axis means: a name in gradc_ir.errors, what failed, and a cure."""

    kind: str
    what: str
    help: str


class _Line(NamedTuple):
    file: str
    line: int
    function: str = ""


class Location(_Line):
    """One line of the user's program; printed as ``model.py:14 in loss``.

    ``instruction`` is the code object and the position in it that the value came from, when known.
    It is no part of what a location equals: the columns are looked up when an error is shown.
    ``outside`` is the error for an index outside its axis, where that means something else.
    """

    instruction: tuple[CodeType, int] | None = None
    outside: Outside | None = None

    def with_outside(self, outside: Outside) -> Location:
        """Return the same place, where an index outside its axis is another error."""
        made = Location(*self)
        made.instruction, made.outside = self.instruction, outside
        return made

    @classmethod
    def of_instruction(cls, code: CodeType, position: int, line: int, function: str) -> Location:
        """Return the location of an instruction of a code object."""
        made = cls(code.co_filename, line, function)
        made.instruction = (code, position)
        return made

    def __getstate__(self) -> None:
        """Leave the code object behind: an error that is pickled has its text."""

    @property
    def code(self) -> str:
        """The text of the line, stripped; empty when the source cannot be found."""
        return linecache.getline(self.file, self.line).strip()

    @property
    def caret(self) -> str:
        """The marks to print under ``code``: the expression, when it is only a part of the line."""
        span = self._columns()
        if span is None:
            return ""
        line = linecache.getline(self.file, self.line)
        raw = line.encode()
        start, end = (len(raw[:column].decode(errors="replace")) for column in span)
        indent = len(line) - len(line.lstrip())
        code = line.strip()
        start, end = start - indent, min(end - indent, len(code))
        if not 0 <= start < end or end - start == len(code):
            return ""
        return _blank(code[:start]) + "^" * _width(code[start:end])

    def _columns(self) -> tuple[int, int] | None:
        """Return the columns in bytes; an expression that goes on ends with its first line."""
        if self.instruction is None:
            return None
        code, position = self.instruction
        for index, (start, end, column, end_column) in enumerate(code.co_positions()):
            if index == position // 2:
                if start != self.line or column is None or end_column is None:
                    return None
                return column, end_column if start == end else 1 << 30
        return None

    @property
    def short(self) -> str:
        """``model.py:14``: the base name of the file and the line."""
        name = self.file.replace("\\", "/").rsplit("/", 1)[-1]
        return f"{name}:{self.line}"

    def __str__(self) -> str:
        return f"{self.short} in {self.function}" if self.function else self.short


def shown(location: Location) -> list[str]:
    """Return the lines that show a place: its name, its code, and marks under the expression."""
    lines = [str(location)]
    if location.code:
        lines.append(f"    {location.code}")
        if location.caret:
            lines.append(f"    {location.caret}")
    return lines


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _blank(text: str) -> str:
    return "".join("\t" if letter == "\t" else " " * _width(letter) for letter in text)
