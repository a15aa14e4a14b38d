"""The folder of the cache: where it is, and whether it is this user's alone.

``GRADC_CACHE_DIR`` says where; else it is the user's folder of caches. What is in it is run as
machine code, so that a folder, or a file, of another user's or open to others is not looked at.
"""

from __future__ import annotations

import functools
import os
import stat
import sys
from pathlib import Path

from gradc_ir.telling.log import log

# Files are of another form where this is another number.
_FORM = "v1"


def is_off() -> bool:
    """Whether the environment says that nothing is kept: ``GRADC_CACHE=0``."""
    return os.environ.get("GRADC_CACHE", "") == "0"


def folder(*, make: bool = False) -> str | None:
    """Return where files are kept, None where there is no such place that can be trusted.

    ``make``: whether it is made when it is not there.
    """
    if is_off():
        return None
    root = place()
    if root is None:
        _once("there is no home folder; GRADC_CACHE_DIR names another place")
        return None
    found = os.path.join(root, _FORM)
    try:
        if make and not os.path.isdir(found):
            Path(root).parent.mkdir(parents=True, exist_ok=True)
            for each in (root, found):
                Path(each).mkdir(mode=0o700, exist_ok=True)
        why = _distrusted(found)
    except FileNotFoundError:
        return None
    except OSError as error:
        why = str(error)
    if why:
        _once(f"{found} is not used: {why}")
        return None
    return found


def why_not() -> str:
    """Return why the folder that is there is not used, nothing where it is, or is not there yet."""
    root = place()
    try:
        return "" if root is None else _distrusted(os.path.join(root, _FORM))
    except FileNotFoundError:
        return ""
    except OSError as error:
        return str(error)


def place() -> str | None:
    """Return what folder the environment asks for, whether it is there or not."""
    given = os.environ.get("GRADC_CACHE_DIR", "")
    if given:
        return os.path.abspath(given)
    home = os.environ["HOME"] if "HOME" in os.environ else os.path.expanduser("~")
    if not os.path.isabs(home) or not os.path.isdir(home):
        return None
    if sys.platform == "win32":
        caches = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif sys.platform == "darwin":
        caches = os.path.join(home, "Library", "Caches")
    else:
        caches = os.environ.get("XDG_CACHE_HOME", "")
        caches = caches if os.path.isabs(caches) else os.path.join(home, ".cache")
    return os.path.join(caches, "gradc")


def is_mine(found: os.stat_result) -> bool:
    """Whether a folder or file belongs to the user that this process runs as."""
    return not hasattr(os, "geteuid") or found.st_uid == os.geteuid()


def _distrusted(path: str) -> str:
    """Return why a folder is not to be trusted, nothing where it is."""
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode):
        return "it is no folder"
    if not is_mine(found):
        return "it is another user's"
    if os.name == "posix" and found.st_mode & 0o077:
        return f"others may enter it (its mode is {stat.S_IMODE(found.st_mode):o}, not 700)"
    return ""


@functools.cache
def _once(message: str) -> None:
    log("cache", "%s", message)
