"""A cache of a test's own, and what it does: which traces and objects are found, which not kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradc.kept import traces
from gradc_codegen.cache import objects


class Told:
    """What the cache did: whether traces and objects were found, and why some are not kept."""

    def __init__(self) -> None:
        self.traces: list[bool] = []
        self.objects: list[bool] = []
        self.unkept: list[str] = []


def telling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Told:
    """Use a cache of the test's own, and return what it does."""
    monkeypatch.setenv("GRADC_CACHE", "1")
    monkeypatch.setenv("GRADC_CACHE_DIR", str(tmp_path / "cache"))
    found = Told()

    def watch(module: Any, name: str, seen: list[bool]) -> None:
        real = getattr(module, name)

        def watched(*args: Any) -> Any:
            answer = real(*args)
            seen.append(answer is not None)
            return answer

        monkeypatch.setattr(module, name, watched)

    watch(traces, "find", found.traces)
    watch(objects, "find", found.objects)
    tell = traces._tell

    def noted(source: Any, why: object) -> None:
        found.unkept.append(str(why))
        tell(source, why)

    monkeypatch.setattr(traces, "_tell", noted)
    return found


def twice(make: Callable[[], Any], told: Told, call: Callable[[Any], Any]) -> Any:
    """Return what a function gives that was found on disk, checked to be what it gave before."""
    first = call(make())
    made = make()
    told.traces.clear()
    told.objects.clear()
    found = call(made)
    assert told.traces
    assert all(told.traces), told.unkept
    assert all(told.objects)
    assert str(found) == str(first)
    return made
