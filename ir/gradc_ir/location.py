"""Where in the user's source a value came from."""

from __future__ import annotations

import linecache
from typing import NamedTuple


class Location(NamedTuple):
    """One line of the user's program; printed as ``model.py:14 in loss``."""

    file: str
    line: int
    function: str = ""

    @property
    def code(self) -> str:
        """The text of the line, stripped; empty when the source cannot be found."""
        return linecache.getline(self.file, self.line).strip()

    @property
    def short(self) -> str:
        """``model.py:14``: the base name of the file and the line."""
        name = self.file.replace("\\", "/").rsplit("/", 1)[-1]
        return f"{name}:{self.line}"

    def __str__(self) -> str:
        return f"{self.short} in {self.function}" if self.function else self.short
