"""Running a function in several threads at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any


def in_threads(call: Callable[[Any], None], arguments: Iterable[Any]) -> None:
    """Call a function with each argument in a thread of its own; returns when all are done."""
    threads = [threading.Thread(target=call, args=(argument,)) for argument in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
