"""The cyclic garbage collector while functions are compiled."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from gradc.runtime import collector


class Part:
    """Something in a cycle."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def begun(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Begin with nothing unseen, with nothing frozen, and look often, as users' processes do."""
    monkeypatch.setattr(collector, "_unseen", 0)
    monkeypatch.setattr(collector, "_taken", 0)
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    gc.unfreeze()
    yield
    gc.freeze()
    gc.set_threshold(*before)


def test_what_is_made_meanwhile_is_old_and_is_collected_later() -> None:
    gc.collect()
    with collector.collector_paused():
        assert not gc.isenabled()
        kept = [Part() for _ in range(2_000)]
        there = weakref.ref(kept[0])
    assert gc.isenabled()
    assert gc.get_count()[0] < 1_000
    assert gc.get_freeze_count() == 0
    del kept
    gc.collect(1)
    assert there() is not None
    gc.collect()
    assert there() is None


def test_much_that_was_not_looked_at_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "_MOST_UNSEEN", 3_000)
    found = []
    for _ in range(6):
        with collector.collector_paused():
            made = [Part() for _ in range(2_000)]
            found.append(weakref.ref(made[0]))
            del made
    assert [each() is None for each in found[:3]] == [True] * 3


def test_who_has_turned_it_off_or_frozen_objects_finds_it_so() -> None:
    gc.disable()
    try:
        with collector.collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
    gc.freeze()
    try:
        before = gc.get_freeze_count()
        with collector.collector_paused():
            kept = [Part() for _ in range(2_000)]
        assert gc.get_freeze_count() == pytest.approx(before, rel=0.01)
        assert kept
    finally:
        gc.unfreeze()


def test_frozen_objects_are_not_counted_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: counted.append(1) or 5)
    for _ in range(2 * collector._MOST_TAKEN + 2):
        with collector.collector_paused():
            kept = [Part() for _ in range(1_000)]
    assert len(counted) == 2
    assert kept
