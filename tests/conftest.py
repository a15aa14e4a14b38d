"""Tests compile what they test: nothing is kept on disk, or read from there, unless one asks.

A trace that an older run has kept would let a test pass whose code no longer traces. `make
test-cache` runs a part of them twice on a cache of its own and compares.

What the collector finds alive at times is put aside, since there are millions of objects in a
process of tests: to look through all of them took two seconds each time.
"""

from __future__ import annotations

import gc
import itertools
import os
from collections.abc import Iterator

import pytest

os.environ.setdefault("GRADC_CACHE", "0")

# Most of what is made goes by itself: the collector looks at it a tenth as often.
_, _middle, _oldest = gc.get_threshold()
gc.set_threshold(10_000, _middle, _oldest)

# After so many tests the collector puts aside what is alive.
_OFTEN = 100
_finished = itertools.count(1)


def _put_aside() -> None:
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for nothing while tests are collected, and put aside all that is loaded with them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        _put_aside()


def pytest_runtest_logfinish() -> None:
    """Put aside what tests leave behind: compiled functions and their graphs, above all."""
    if next(_finished) % _OFTEN == 0:
        _put_aside()
