"""Machine code that is kept: object files, by what they were made of and for which machine.

Of the machine its features count, not the name of its CPU, by which LLVM only chooses an order of
instructions: code that one machine made serves another with the same features.
"""

from __future__ import annotations

import marshal
from hashlib import sha256

from gradc_codegen.cache import files
from gradc_codegen.cache.machine import machine
from gradc_codegen.cache.versions import CODEGEN, libraries, settings
from gradc_ir.classes.named import NamedTuple
from gradc_ir.telling.log import log

FOLDER = "objects"


class Object(NamedTuple):
    """An object file, and the names of the functions that it defines for others."""

    code: bytes
    names: tuple[str, ...]


def are_kept() -> bool:
    """Whether anything may be kept at all."""
    return CODEGEN.digest() is not None


def key_of(*made_of: bytes) -> str | None:
    """Return under which name the object file of something is kept, None where nothing is."""
    digest = CODEGEN.digest()
    if digest is None:
        return None
    every = (digest, machine(), libraries(), settings(), made_of)
    return sha256(repr(every).encode()).hexdigest()[:40]


def find(key: str) -> Object | None:
    """Return the object file that is kept under a name, None where there is none."""
    held = files.read(FOLDER, key[:2], key)
    if held is None:
        return None
    names, code = marshal.loads(held)
    return Object(code, names)


def keep(key: str, made: Object) -> None:
    """Keep an object file under a name, where that can be done."""
    if CODEGEN.are_as_read() and files.write(
        marshal.dumps((made.names, made.code)), FOLDER, key[:2], key
    ):
        log("cache", "kept %d bytes of machine code as %s", len(made.code), key)
