"""Static libraries: the format that ``ar`` writes, with its index of symbols.

GNU's form is read by the linkers of ELF, of COFF and of WebAssembly; those of Mach-O read BSD's.
An archive has no date and no owner in it, so that the same objects make the same bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from gradc_ir.classes.named import NamedTuple

_MAGIC = b"!<arch>\n"
_LONGEST_NAME = 15
_NAME_IN_FRONT = b"#%d/" % 1  # of a member in BSD's form, with how long it is


class Member(NamedTuple):
    """An object file in an archive.

    Parameters
    ----------
    name: of the file.
    code: its bytes.
    symbols: what it defines for others, as the linker knows them.
    """

    name: str
    code: bytes
    symbols: Sequence[str]


def archive(members: Sequence[Member], *, mach_o: bool = False) -> bytes:
    """Return the bytes of a static library of these members, in GNU's form or in BSD's."""
    return _bsd(members) if mach_o else _gnu(members)


def _gnu(members: Sequence[Member]) -> bytes:
    long_names = b""
    names = []
    for member in members:
        name = f"{member.name}/".encode()
        if len(name) > _LONGEST_NAME + 1:
            name, long_names = f"/{len(long_names)}".encode(), long_names + name + b"\n"
        names.append(name)
    texts = b"".join(symbol.encode() + b"\0" for member in members for symbol in member.symbols)
    count = sum(len(member.symbols) for member in members)
    index = 4 + 4 * count + len(texts)
    offset = len(_MAGIC) + _padded(60 + index)
    if long_names:
        offset += _padded(60 + len(long_names))
    offsets = []
    for member in members:
        offsets += [offset] * len(member.symbols)
        offset += _padded(60 + len(member.code))
    parts = [_MAGIC, _entry(b"/", struct.pack(f">I{count}I", count, *offsets) + texts)]
    if long_names:
        parts.append(_entry(b"//", long_names))
    parts += [_entry(name, member.code) for name, member in zip(names, members)]
    return b"".join(parts)


def _bsd(members: Sequence[Member]) -> bytes:
    """Names stand before the data, and everything is padded to 8 bytes, as Apple's linker wants."""
    pairs = [(symbol, number) for number, one in enumerate(members) for symbol in one.symbols]
    texts = b"".join(symbol.encode() + b"\0" for symbol, _ in pairs)
    texts += b"\0" * (-len(texts) % 8)
    index_bytes = 4 + 8 * len(pairs) + 4 + len(texts)
    heads = [_bsd_name(member.name) for member in members]
    codes = [member.code + b"\n" * (-len(member.code) % 8) for member in members]
    index_name = _bsd_name("__.SYMDEF")
    offset = len(_MAGIC) + 60 + len(index_name) + index_bytes + -index_bytes % 8
    starts = []
    for head, code in zip(heads, codes):
        starts.append(offset)
        offset += 60 + len(head) + len(code)
    index = struct.pack("<I", 8 * len(pairs))
    at = 0
    for symbol, number in pairs:
        index += struct.pack("<II", at, starts[number])
        at += len(symbol.encode()) + 1
    index += struct.pack("<I", len(texts)) + texts
    index += b"\0" * (-len(index) % 8)
    parts = [
        _MAGIC,
        _header(_NAME_IN_FRONT + str(len(index_name)).encode(), len(index_name) + len(index)),
    ]
    parts += [index_name, index]
    for head, code in zip(heads, codes):
        parts += [
            _header(_NAME_IN_FRONT + str(len(head)).encode(), len(head) + len(code)),
            head,
            code,
        ]
    return b"".join(parts)


def _bsd_name(name: str) -> bytes:
    """Return a name, padded so that what follows the 60 bytes before it is aligned to 8."""
    data = name.encode() + b"\0"
    return data + b"\0" * (-(len(_MAGIC) + 60 + len(data)) % 8)


def _entry(name: bytes, data: bytes) -> bytes:
    return _header(name, len(data)) + data + b"\n" * (len(data) % 2)


def _header(name: bytes, length: int) -> bytes:
    return (
        name.ljust(16)
        + b"0".ljust(12)  # date
        + b"0".ljust(6)  # owner
        + b"0".ljust(6)  # group
        + b"100644".ljust(8)
        + str(length).encode().ljust(10)
        + b"`\n"
    )


def _padded(length: int) -> int:
    return length + length % 2
