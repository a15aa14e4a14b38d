"""Interrupts held: what must not be left half done is finished before Ctrl-C is an exception.

Python does what a signal is to do between any two steps of the main thread. What that raises while
something is being freed is dropped: the interrupt is lost, and the object may be freed twice.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

# Signals whose handlers may raise: of the user, of a shell or a queue of jobs, of a time limit.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2")
_NUMBERS = tuple(int(getattr(signal, name)) for name in _NAMES if hasattr(signal, name))

# of the main thread, where all signals are seen
_depth = 0
_waiting: dict[_Holder, FrameType | None] = {}


class _Holder:
    """Stands in for what a program does about a signal; does that itself when none is held."""

    def __init__(self, number: int, handler: Any) -> None:
        self.number = number
        self.handler = handler

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if _depth:
            _waiting[self] = frame
        else:
            self.handler(number, frame)


class InterruptsHeld:
    """While it is entered no signal raises; what has come meanwhile raises when it is left.

    In threads other than the main one, where no signal is seen, nothing is held. It may be entered
    while another is.
    """

    def __enter__(self) -> None:
        global _depth
        self._holders: list[_Holder] = []
        self._is_main = threading.current_thread() is threading.main_thread()
        if not self._is_main:
            return
        try:
            _depth += 1
            if _depth == 1:
                self._hold()
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        global _depth
        if self._is_main:
            try:
                _depth -= 1
                self._restore()
            finally:
                if not _depth:
                    _deliver()

    def _hold(self) -> None:
        for number in _NUMBERS:
            handler = signal.getsignal(number)
            if callable(handler) and not isinstance(handler, _Holder):
                self._holders.append(_Holder(number, handler))
                try:
                    signal.signal(number, self._holders[-1])
                except ValueError:  # an interpreter inside of another sees no signals
                    self._holders.clear()
                    return

    def _restore(self) -> None:
        try:
            while self._holders:
                holder = self._holders[-1]
                signal.signal(holder.number, holder.handler)
                self._holders.pop()
        finally:
            if self._holders:  # a signal has raised meanwhile
                self._restore()


def _deliver() -> None:
    while _waiting:
        holder, frame = _waiting.popitem()
        try:
            holder.handler(holder.number, frame)
        finally:
            _deliver()
