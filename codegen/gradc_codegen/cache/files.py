"""The files of the cache: each is there whole or not at all, and knows whether it is as written.

A file is written under a name of its own and then renamed, so that who reads it meanwhile, or after
its writer was killed, finds the old one, or none. It begins with a checksum of its place
and of what it holds: a file that was cut off, changed, or put in the place of another is a miss.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from collections.abc import Iterator
from hashlib import sha256

from gradc_codegen.cache.folder import folder, is_mine
from gradc_codegen.cache.limit import WRITTEN, keep_to_limit
from gradc_ir.telling.log import log

_MARK = b"gradc\n"
_SUM = 16
_serial = itertools.count()


def read(*names: str) -> bytes | None:
    """Return what the file of a place holds, None where there is none, or none that is whole."""
    root = folder()
    if root is None:
        return None
    path = os.path.join(root, *names)
    try:
        found = _bytes_of(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        log("cache", "%s cannot be read: %s", "/".join(names), error)
        return None
    held = found[len(_MARK) + _SUM :]
    if found[: len(_MARK) + _SUM] != _head(names, held):
        log("cache", "%s is not as it was written, and is removed", "/".join(names))
        remove(path)
        return None
    return held


def is_whole(root: str, *names: str) -> bool:
    """Whether a file holds what was written; raises OSError where it cannot be read."""
    found = _bytes_of(os.path.join(root, *names))
    return found[: len(_MARK) + _SUM] == _head(names, found[len(_MARK) + _SUM :])


def write(held: bytes, *names: str) -> bool:
    """Keep something in a place, instead of what is kept there; returns whether that could be done.

    A folder that cannot be written to, a full disk: then nothing is kept, and nothing raised.
    """
    root = folder(make=True)
    if root is None:
        return False
    path = os.path.join(root, *names)
    before = f"{path}.{os.getpid()}.{next(_serial)}{WRITTEN}"
    data = _head(names, held) + held
    try:
        try:
            _write_all(before, data)
        except FileNotFoundError:
            # the folder is new, or was removed with the last file in it
            _make_folders(root, names[:-1])
            _write_all(before, data)
        os.replace(before, path)
    except OSError as error:
        log("cache", "%s is not kept: %s", "/".join(names), error)
        remove(before)
        return False
    keep_to_limit(root, len(data))
    return True


def names_in(*names: str) -> list[str]:
    """Return the names of the files in a folder of the cache, those used last first."""
    root = folder()
    if root is None:
        return []
    found: list[tuple[float, str]] = []
    try:
        with os.scandir(os.path.join(root, *names)) as entries:
            for entry in entries:
                if not entry.name.endswith(WRITTEN):
                    found.append((-entry.stat(follow_symlinks=False).st_mtime, entry.name))
    except OSError:
        pass  # there is none, or it has just gone
    return [name for _, name in sorted(found)]


def every_file(root: str) -> Iterator[tuple[str, ...]]:
    """Yield the places of all files in the folder, those half written too."""
    for at, _, files in os.walk(root):
        inside = os.path.relpath(at, root)
        for name in sorted(files):
            yield (name,) if inside == "." else (*inside.split(os.sep), name)


def drop(*names: str) -> None:
    """Keep the file of a place no longer."""
    root = folder()
    if root is not None:
        remove(os.path.join(root, *names))


def remove(path: str) -> None:
    """Remove a file, if it is there and can be."""
    with contextlib.suppress(OSError):
        os.unlink(path)


def _head(names: tuple[str, ...], held: bytes) -> bytes:
    return _MARK + sha256("/".join(names).encode() + b"\0" + held).digest()[:_SUM]


def _bytes_of(path: str) -> bytes:
    """Return what a file of this user holds, and note that it was used."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or not is_mine(found):
            raise PermissionError(f"{path} is no file of this user")
        parts: list[bytes] = []
        left = found.st_size
        while left > 0 and (part := os.read(handle, left)):
            parts.append(part)
            left -= len(part)
    finally:
        os.close(handle)
    with contextlib.suppress(OSError):  # it cannot be written to, or has just gone
        os.utime(path)  # what is used last is removed last
    return b"".join(parts)


def _make_folders(root: str, names: tuple[str, ...]) -> None:
    for name in names:
        root = os.path.join(root, name)
        with contextlib.suppress(FileExistsError):
            os.mkdir(root, 0o700)


def _write_all(path: str, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
    finally:
        os.close(handle)
