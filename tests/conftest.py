"""Tests compile what they test: nothing is kept on disk, or read from there, unless one asks.

A trace that an older run has kept would let a test pass whose code no longer traces. `make
test-cache` runs a part of them twice on a cache of its own and compares.
"""

from __future__ import annotations

import gc
import os

os.environ.setdefault("GRADC_CACHE", "0")

# All objects of a process of tests, hundreds of thousands, were looked through three times a second
# for graphs in circles, of which there are few: a sixth of the time of all tests.
_young, _middle, _ = gc.get_threshold()
gc.set_threshold(_young, _middle, 100)
