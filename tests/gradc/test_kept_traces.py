"""Traces that are kept: found by a program that is as it was, missed by every other."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.kept import traces
from gradc.runtime import specialize
from tests.comparing import assert_same_bits
from tests.kept_programs import HARMLESS, IN_ARRAYS, STRUCTURE, Edit, edited, edits_of_numbers, load

W = np.array([0.3, -0.7, 1.1])


class Counted:
    """How often traces were found, and why others are not kept."""

    def __init__(self) -> None:
        self.found: list[bool] = []
        self.unkept: list[str] = []


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Keep traces in a folder of the test's own, and count."""
    monkeypatch.setenv("GRADC_CACHE", "1")
    monkeypatch.setenv("GRADC_CACHE_DIR", str(tmp_path / "cache"))
    counted = Counted()
    find, tell = traces.find, traces._tell

    def watched(*args: Any) -> Any:
        found = find(*args)
        counted.found.append(found is not None)
        return found

    def told(source: Any, why: object) -> None:
        counted.unkept.append(str(why))
        tell(source, why)

    monkeypatch.setattr(traces, "find", watched)
    monkeypatch.setattr(traces, "_tell", told)
    return counted


def run(texts: dict[str, str], folder: Path, of: str = "value_and_grad", **options: Any) -> Any:
    """Return what a program gives that is loaded anew, as one array."""
    function = gradc.compile(load(texts, folder).loss, **options)
    found = getattr(function, of)(W)
    return np.hstack([np.ravel(part) for part in (found if isinstance(found, tuple) else [found])])


def without_cache(monkeypatch: pytest.MonkeyPatch, *args: Any, **kwargs: Any) -> Any:
    with monkeypatch.context() as patch:
        patch.setenv("GRADC_CACHE", "0")
        return run(*args, **kwargs)


def test_the_program_is_found_again(cache: Counted, tmp_path: Path) -> None:
    for of in ("__call__", "grad", "value_and_grad", "hessian", "jacobian"):
        first = run(edited(), tmp_path, of)
        assert_same_bits(run(edited(), tmp_path, of), first)
    assert cache.found == [False, True] * 5
    assert not cache.unkept


def test_a_compilation_that_is_slow_tells_of_a_kept_trace(
    cache: Counted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(specialize, "_LONG", 0.0)
    for of in ("__call__", "grad", "hessian"):
        first = run(edited(), tmp_path, of)
        assert_same_bits(run(edited(), tmp_path, of), first)
    assert cache.found == [False, True] * 3


def test_what_changes_nothing_changes_nothing(cache: Counted, tmp_path: Path) -> None:
    run(edited(), tmp_path)
    for edit in HARMLESS:
        run(edited(edit), tmp_path)
        assert cache.found.pop(), edit
    run(edited(*HARMLESS[:-1]), tmp_path)
    assert cache.found.pop()


def check(
    edits: list[tuple[Edit, ...]], folder: Path, cache: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that edited programs give what they give without a cache, one after the other.

    Their traces are not to be found, unless they differ in elements of arrays only from one before.
    """
    looked_at = [frozenset(edit for edit in each if edit.old not in IN_ARRAYS) for each in edits]
    known: set[frozenset[Edit]] = {frozenset()}
    for each, seen in zip(edits, looked_at, strict=True):
        texts = edited(*each)
        cache.found.clear()
        assert_same_bits(run(texts, folder), without_cache(monkeypatch, texts, folder))
        if seen not in known:
            assert not any(cache.found), each
        known.add(seen)


def test_edits_of_structure_are_seen(
    cache: Counted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(edited(), tmp_path)
    check([(edit,) for edit in STRUCTURE[::6]], tmp_path, cache, monkeypatch)
    assert not cache.unkept


def test_edits_of_numbers_are_seen(
    cache: Counted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(edited(), tmp_path)
    check([(edit,) for edit in edits_of_numbers()[::28]], tmp_path, cache, monkeypatch)


@pytest.mark.slow
def test_three_hundred_edits(
    cache: Counted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of code, helpers, captures and options, one or two at once, in an order of no meaning."""
    draw = random.Random(21)
    every = [*STRUCTURE, *edits_of_numbers()]
    alone = [(edit,) for edit in every]
    pairs: list[tuple[Edit, ...]] = []
    while len(alone) + len(pairs) < 320:
        one, other = draw.sample(every, 2)
        if one.module != other.module:
            pairs.append((one, other))
    edits = [*alone, *pairs]
    draw.shuffle(edits)
    run(edited(), tmp_path)
    check(edits, tmp_path, cache, monkeypatch)
