"""Which trace is running in this thread: asked by all calls, most of which never trace."""

from __future__ import annotations

import threading
from typing import Any


class _State(threading.local):
    top: Any = None  # the innermost Trace


state = _State()


def is_tracing() -> bool:
    """Whether a function is being traced in this thread."""
    return state.top is not None
