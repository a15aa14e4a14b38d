"""Numbers in texts that are known only when the program runs: a mark stands for each.

Such a text can be the message of an exception, which is made when the program raises it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from gradc.tracing.core.state import Trace, running
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Value
from gradc_ir.core.types import Array

_MARK = re.compile("\ue000(\\d+)\ue001")


@dataclass(frozen=True)
class Written:
    """A number that was written into a text: its value, and how it is written."""

    value: Value
    trace: Trace
    weak: type | None
    scalar: bool
    write: Callable[[Any], str]

    def shown(self, array: Array) -> str:
        """Return the text of the number."""
        return self.write(as_number(array, self.weak, self.scalar))


def as_number(array: Array, weak: type | None, scalar: bool) -> Any:
    """Return an array of rank 0 as the number that Python or NumPy has."""
    if weak is not None:
        return weak(np.asarray(array)[()])
    return np.asarray(array)[()] if scalar else array


def mark(written: Written) -> str:
    """Return what stands for a number in a text."""
    texts = running().root.texts
    texts.append(written)
    return f"\ue000{len(texts) - 1}\ue001"


def marks_in(text: str) -> Iterator[int]:
    """Yield the numbers of the marks in a text."""
    for found in _MARK.finditer(text):
        yield int(found[1])


def without_numbers(text: str) -> str:
    """Return a text with the same sign in the place of every number."""
    return _MARK.sub("…", text)


def filled(text: str, texts: Mapping[int, str]) -> str:
    """Return a text with other texts in the places of its marks."""
    return _MARK.sub(lambda found: texts.get(int(found[1]), found[0]), text)
