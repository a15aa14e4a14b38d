"""The cyclic garbage collector, held while graphs are built, and what it is left with then."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# Of so many objects that were handed to the oldest generation unseen some may be garbage in cycles:
# then all are looked through. They take ten megabytes.
_MOST_UNSEEN = 200_000
_unseen = 0

# Frozen objects are counted one by one, which takes four milliseconds for a million of them. Who
# has frozen some keeps them so: this often they are taken to be there without a look.
_MOST_TAKEN = 100
_taken = 0


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
    if made <= gc.get_threshold()[0] or _are_frozen():
        return  # little, or somebody keeps objects frozen, as Python 3.12 does itself
    if _unseen > _MOST_UNSEEN:
        _unseen = 0
        gc.collect()
        return
    _unseen += made
    # to be frozen is to be in no generation, and what is no more frozen is in the oldest one
    gc.freeze()
    gc.unfreeze()


def _are_frozen() -> bool:
    """Whether somebody keeps objects frozen, or did a while ago."""
    global _taken
    if _taken:
        _taken -= 1
    elif gc.get_freeze_count():
        _taken = _MOST_TAKEN
    else:
        return False
    return True
