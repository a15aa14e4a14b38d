"""How much is kept: beyond a number of bytes the files go that were not used for longest.

``GRADC_CACHE_MB`` says how many millions of bytes, 1000 by default. Files are looked through now
and then, the more often the larger what is written is beside that, so that the folder is larger by
a few hundredths at most.
"""

from __future__ import annotations

import contextlib
import os
import time

from gradc_ir.telling.log import log

_USUAL = 1000
# How the names of files end that are being written, until they are renamed.
WRITTEN = ".tmp"
# Of what is kept: how much may come before the files are looked through, on average.
_SHARE = 1 / 64
# How much of what may be kept is left when something has to go.
_LEFT = 0.9
# A file that is half written after so many seconds is nobody's any more.
_ABANDONED = 3600.0


def limit() -> int:
    """Return how many bytes may be kept."""
    given = os.environ.get("GRADC_CACHE_MB", "")
    try:
        return int(float(given or _USUAL) * 1e6)
    except (ValueError, OverflowError):
        return int(_USUAL * 1e6)


def keep_to_limit(root: str, written: int) -> None:
    """Look through the files now and then; ``written`` bytes have just been added."""
    chance = int.from_bytes(os.urandom(4)) / 2**32
    if chance * _SHARE * limit() < written:
        sweep(root, limit())


def sweep(root: str, most: int) -> None:
    """Remove files that were left half written, and, if there are too many, those used first."""
    found: list[tuple[float, int, str]] = []
    now = time.time()
    for at, _, names in os.walk(root):
        for name in names:
            path = os.path.join(at, name)
            try:
                about = os.lstat(path)
            except OSError:
                continue  # another process has removed it
            if name.endswith(WRITTEN) and now - about.st_mtime > _ABANDONED:
                _remove(path)
            else:
                found.append((about.st_mtime, about.st_size, path))
    total = sum(size for _, size, _ in found)
    if total <= most:
        return
    log("cache", "%d MB are kept, the oldest files are removed", total // 1_000_000)
    for _, size, path in sorted(found):
        if total <= most * _LEFT:
            break
        _remove(path)
        total -= size


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
        os.rmdir(os.path.dirname(path))  # where it was the last
