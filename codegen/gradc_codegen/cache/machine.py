"""Which machine code is kept for: LLVM's version, and what the processor has.

LLVM tells both, and takes longer to load than all else a process needs that finds its code on disk.
So what it told is kept, under what the processor says of itself and the files of llvmlite.
"""

from __future__ import annotations

import functools
import importlib.util
import marshal
import os
import sys
from hashlib import sha256
from typing import TypeAlias

from gradc_codegen.cache import files
from gradc_codegen.target.processor import processor

FOLDER = "machines"
_BINDINGS = "llvmlite.binding"

Told: TypeAlias = tuple[str, ...]


@functools.cache
def machine() -> Told:
    """Return the versions of llvmlite and LLVM, the machine's triple, and its features."""
    if _BINDINGS in sys.modules:
        return _told()
    key = _key()
    if key is None:
        return _told()
    held = files.read(FOLDER, key)
    if held is not None:
        found: Told = marshal.loads(held)
        return found
    told = _told()
    files.write(marshal.dumps(told), FOLDER, key)
    return told


def _told() -> Told:
    """Return what LLVM tells."""
    import llvmlite

    from gradc_codegen.target.bindings import llvm
    from gradc_codegen.target.target import host

    version = ".".join(map(str, llvm.llvm_version_info))
    return llvmlite.__version__, version, host().triple, host().features


def _key() -> str | None:
    """Return what LLVM is and runs on, as far as that is known without it; None if it is not."""
    numbers, library = processor(), _library()
    if numbers is None or library is None:
        return None
    return sha256(repr((sys.version, numbers, library)).encode()).hexdigest()[:40]


def _library() -> tuple[bytes, tuple[object, ...]] | None:
    """Return llvmlite's version as it is written there, and which file LLVM is.

    LLVM has a hundred megabytes, of which nobody wants a hash: of a library that is put in the
    place of another one version and file differ.
    """
    try:
        found = importlib.util.find_spec("llvmlite")
    except ValueError:
        return None
    if found is None or not found.submodule_search_locations:
        return None
    folder = found.submodule_search_locations[0]
    try:
        with open(os.path.join(folder, "_version.py"), "rb") as file:
            version = file.read()
        about = os.stat(os.path.join(folder, "binding", "libllvmlite.so"))
    except OSError:
        return None
    return version, (folder, about.st_size, about.st_mtime_ns, about.st_ino, about.st_dev)
