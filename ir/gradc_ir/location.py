"""Where in the user's source a value came from."""

from __future__ import annotations

import linecache
import unicodedata
from types import CodeType
from typing import TypeAlias

from gradc_ir.classes.named import NamedTuple


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

    What follows is no part of what a location equals.

    ``instruction`` is the code object and the position in it that the value came from, when known:
    the columns are looked up when an error is shown. ``outside`` is the error for an index
    outside its axis, where that means something else. ``is_whole``: the value is all that the
    expression there gives, and no step on the way, so that a variable it is assigned to names it.
    ``derived`` says of what is made by differentiation what of: ``g_`` is the cotangent, ``d`` the
    tangent. ``caller`` is the place of the call that returns the value. ``named`` are the
    variables themselves, one a result, of a text without a source.
    """

    instruction: tuple[CodeType, int] | None = None
    outside: Outside | None = None
    is_whole: bool = False
    derived: str = ""
    caller: Location | None = None
    named: str | tuple[str | None, ...] | None = None

    def with_outside(self, outside: Outside) -> Location:
        """Return the same place, where an index outside its axis is another error."""
        made = self._variant(self.is_whole, self.derived, self.caller)
        made.outside = outside
        return made

    def whole(self) -> Location:
        """Return the same place of the value of the whole expression."""
        return self if self.is_whole else self._kept(True, self.derived)

    def part(self) -> Location:
        """Return the same place of a step on the way to the value."""
        return self._kept(False, self.derived) if self.is_whole else self

    def derivative(self, sign: str) -> Location:
        """Return the same place of what differentiation makes for the value; see ``derived``."""
        return self._kept(self.is_whole, sign + self.derived)

    def called_at(self, caller: Location) -> Location:
        """Return the same place in a function that was called at another one."""
        return self._variant(self.is_whole, self.derived, caller)

    def _kept(self, is_whole: bool, derived: str) -> Location:
        """Return a variant, the same one each time: lines are compared by identity first."""
        variants = self.__dict__.setdefault("_variants", {})
        found: Location | None = variants.get((is_whole, derived))
        if found is None:
            found = variants[is_whole, derived] = self._variant(is_whole, derived, self.caller)
        return found

    def _variant(self, is_whole: bool, derived: str, caller: Location | None) -> Location:
        made = Location(*self)
        made.instruction, made.outside, made.named = self.instruction, self.outside, self.named
        made.is_whole, made.derived, made.caller = is_whole, derived, caller
        return made

    @classmethod
    def of_instruction(cls, code: CodeType, position: int, line: int, function: str) -> Location:
        """Return the location of an instruction of a code object."""
        made = cls(code.co_filename, line, function)
        made.instruction = (code, position)
        return made

    @classmethod
    def of_name(cls, name: str | tuple[str | None, ...], at: Location | None = None) -> Location:
        """Return a place, perhaps nowhere, of values that are known by their names."""
        made = cls(*(at or ("", 0)))
        made.named, made.is_whole = name, True
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


Lines: TypeAlias = tuple[Location, ...]


def parts(lines: Lines) -> Lines:
    """Return lines as those of steps on the way to the values of their expressions."""
    for line in lines:
        if line.is_whole:
            return tuple([each.part() for each in lines])
    return lines


def wholes(lines: Lines) -> Lines:
    """Return lines as those of the values of their expressions."""
    return tuple([each.whole() for each in lines])


def derivatives(lines: Lines, sign: str) -> Lines:
    """Return lines of what differentiation makes for their values: cotangents, or tangents."""
    return tuple([each.derivative(sign) for each in lines])


def joined(first: Lines, second: Lines) -> Lines:
    """Return the lines of both, each once: as that of a whole expression where it is one's."""
    found = {line: line for line in first}
    for line in second:
        known = found.setdefault(line, line)
        if line.is_whole and not known.is_whole:
            outside = known.outside  # which the line of the whole expression does not know
            found[line] = line.with_outside(outside) if outside else line
    return tuple(found.values())


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
