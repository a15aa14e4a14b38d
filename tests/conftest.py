"""Tests compile what they test: nothing is kept on disk, or read from there, unless one asks.

A trace that an older run has kept would let a test pass whose code no longer traces. `make
test-cache` runs a part of them twice on a cache of its own and compares.
"""

from __future__ import annotations

import os

os.environ.setdefault("GRADC_CACHE", "0")
