"""Functions that do something of their own with what a traced mask selects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Record = TypeVar("Record", bound=Callable[..., Any])

# what records a function of arrays -> what records it of selections
_RECORDS: dict[Callable[..., Any], Callable[..., Any]] = {}


def of_selection(*recorders: Callable[..., Any]) -> Callable[[Record], Record]:
    """Have a function record of selections what others record of arrays; a decorator."""

    def announce(record: Record) -> Record:
        _RECORDS.update(dict.fromkeys(recorders, record))
        return record

    return announce


def record_of_selection(recorder: Any) -> Callable[..., Any] | None:
    """Return what records a function of selections, None when it does nothing of its own."""
    return _RECORDS.get(recorder)
