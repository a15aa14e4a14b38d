"""The cyclic garbage collector, held while graphs are built, and what it is left with then."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# Of so many objects that were handed to the oldest generation unseen some may be garbage in cycles:
# then all are looked through. They take ten megabytes.
_MOST_UNSEEN = 200_000
_unseen = 0


@contextmanager
def collector_paused() -> Iterator[None]:
    """Hold the cyclic garbage collector while graphs are built.

    A graph is hundreds of thousands of small objects that all live until the end: looking through
    them again and again takes half the compile time, and once, at the end, a tenth.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            _hand_over()
            gc.enable()


def _hand_over() -> None:
    """Have the collector take what has been made for old, unseen; before that what it has unseen.

    Else it would look through all of it at once: what lives is a graph, and what does not has gone
    by its count of references, but for little.
    """
    global _unseen
    made = gc.get_count()[0]
    if made <= gc.get_threshold()[0] or gc.get_freeze_count():
        return  # little, or somebody keeps objects frozen, as Python 3.12 does itself
    if _unseen > _MOST_UNSEEN:
        _unseen = 0
        gc.collect()
        return
    _unseen += made
    # to be frozen is to be in no generation, and what is no more frozen is in the oldest one
    gc.freeze()
    gc.unfreeze()
