"""Where names of symbols are in an object file: its code and arrays need not be searched."""

from __future__ import annotations

import struct

# of 64 bits, lowest byte first
_ELF = b"\x7fELF\x02\x01"
_NAMES = 3  # the kind of a section of names


def names_of(code: bytes) -> bytes:
    """Return the tables of names of an ELF object; of another file all of it."""
    if not code.startswith(_ELF):
        return code
    (first,) = struct.unpack_from("<Q", code, 0x28)
    size, count = struct.unpack_from("<HH", code, 0x3A)
    if not count:  # more sections than the header can tell
        return code
    tables = []
    for place in range(first, first + size * count, size):
        kind, _, _, start, length = struct.unpack_from("<I4Q", code, place + 4)
        if kind == _NAMES:
            tables.append(code[start : start + length])
    return b"\0".join(tables)
