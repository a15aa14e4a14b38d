"""Locks that a fork waits for: in the child they are free, although the threads are gone.

A child has one thread, and a copy of every lock as it was. What another thread held would be held
for ever, over data that is half made. So a fork takes all of these locks before, and both processes
release them after it: what is being traced or compiled is finished first.
"""

from __future__ import annotations

# not used here: its lock is taken before a fork, too, and by who holds one of those below and tells
# what it does. It is to be taken last, so registered first.
import logging  # noqa: F401
import os
import threading
from enum import IntEnum
from types import TracebackType
from typing import Protocol
from weakref import WeakKeyDictionary


class Lock(Protocol):
    """What is acquired and released; again by the thread that has it."""

    def acquire(self, blocking: bool = True) -> bool:
        """Take it, and say whether it was taken."""

    def release(self) -> None:
        """Let go of it."""

    def __enter__(self) -> bool: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...


class Depth(IntEnum):
    """In which order locks are taken: a thread that has one takes only those behind it."""

    WORK = 0  # whole traces and compilations
    SURVEY = 1
    KERNEL = 2
    LLVM = 3
    LOADING = 4  # modules
    DATA = 5  # a table or a cell, for a moment
    FREEING = 6  # what is freed takes it, at any time


_locks: WeakKeyDictionary[Lock, Depth] = WeakKeyDictionary()
_table = threading.RLock()
# those that this fork has taken; the locks themselves keep other forks out
_held: list[Lock] = []
_open = threading.Event()
_open.set()


def lock_across_forks(depth: Depth = Depth.DATA) -> Lock:
    """Return a new lock of this kind, which a thread may take again while it has it."""
    made: Lock = threading.RLock()
    hold_across_forks(made, depth)
    return made


def hold_across_forks(lock: Lock, depth: Depth) -> None:
    """Have forks wait for a lock, too, for as long as it lives."""
    with _table:
        _locks[lock] = depth


# Taken around an import that a call makes: the lock of a module that a thread is loading would be
# held in a child for ever.
loading = lock_across_forks(Depth.LOADING)


def give_way() -> None:
    """Wait while another thread is about to fork; called where a thread has none of the locks.

    Locks are not fair: threads that compile one function after another would let none in between.
    """
    if not _open.is_set():
        _open.wait()


def _before_fork() -> None:
    _open.clear()
    with _table:
        known = list(_locks.items())
    for lock, _ in sorted(known, key=lambda item: item[1]):
        lock.acquire()
        _held.append(lock)


def _in_parent() -> None:
    held = _held[::-1]
    _held.clear()
    for lock in held:
        lock.release()
    _open.set()


def _in_child() -> None:
    global _open, _table
    # threads that are gone may have been about to take them
    _open, _table = threading.Event(), threading.RLock()
    _in_parent()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)
