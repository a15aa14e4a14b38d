"""Object files of ELF for x86-64, placed in the memory of this process and linked, without LLVM.

What LLVM writes for position-independent code refers to things in a handful of ways. An object that
has another is left to LLVM's own linker. The names here are those of the specification of ELF.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from gradc_codegen.target.executable_memory import READ, READ_AND_RUN, ExecutableMemory, page
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.types import Array

_RELOCATABLE, _X86_64 = 1, 62
# kinds of sections
_PROGBITS, _SYMTAB, _RELA, _NOBITS, _REL = 1, 2, 4, 8, 9
_WRITE, _ALLOC, _EXECINSTR, _TLS = 1, 2, 4, 0x400
# sections of symbols
_UNDEFINED, _FIRST_RESERVED = 0, 0xFF00
# ways to refer to a symbol
_R_64, _R_PC32, _R_PLT32, _R_PC64 = 1, 2, 4, 24
_OF_TABLE = (9, 41, 42)  # GOTPCREL, GOTPCRELX, REX_GOTPCRELX
_WIDE = (_R_64, _R_PC64)
_KNOWN = (_R_PC32, _R_PLT32, *_WIDE, *_OF_TABLE)
_PLAIN = (0, 1, 2, 3)  # without a type, data, functions, sections
_GLOBAL = 1

_HEADER = np.dtype(
    {
        "names": ["type", "flags", "offset", "size", "link", "info", "align"],
        "formats": ["<u4", "<u8", "<u8", "<u8", "<u4", "<u4", "<u8"],
        "offsets": [4, 8, 24, 32, 40, 44, 48],
        "itemsize": 64,
    }
)
_SYMBOL = np.dtype(
    {
        "names": ["name", "info", "section", "value"],
        "formats": ["<u4", "u1", "<u2", "<u8"],
        "offsets": [0, 4, 6, 8],
        "itemsize": 24,
    }
)
_RELOCATION = np.dtype([("offset", "<u8"), ("info", "<u8"), ("addend", "<i8")])

# jmp *entry(%rip): how code calls a function that is far away
_JUMP, _STUB = (0xFF, 0x25), 8


class Unfit(Exception):
    """An object file has something that is not linked here, or there is no memory to run it in."""


class Loaded(NamedTuple):
    """Code in memory, which goes with ``memory``; the addresses of what it defines for others."""

    memory: ExecutableMemory
    addresses: Mapping[str, int]


def load(code: bytes, address_of: Callable[[str], int | None]) -> Loaded:
    """Return an object file's functions, loaded into this process.

    Parameters
    ----------
    code: the bytes of the object file.
    address_of: tells where a symbol is that the object lacks, None if nowhere.

    Raises
    ------
    Unfit: it is another kind of object file, or has what this linker does not know; the memory it
        would need is not to be had.
    LookupError: there is no address for some symbols, whose names are the error's arguments.
    """
    if code[:6] != b"\x7fELF\x02\x01":
        raise Unfit("another format")
    kind, machine = struct.unpack_from("<HH", code, 16)
    (start,) = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<HH", code, 58)
    if (kind, machine, size) != (_RELOCATABLE, _X86_64, _HEADER.itemsize) or not count:
        raise Unfit("another machine, or too many sections")
    sections = np.frombuffer(code, _HEADER, count, start)
    tables = np.flatnonzero(sections["type"] == _SYMTAB)
    if len(tables) != 1:
        raise Unfit("no table of symbols")
    (table,) = sections[tables]
    symbols = np.frombuffer(_held(code, table), _SYMBOL)
    names = _held(code, sections[table["link"]])
    try:
        return _linked(code, sections, symbols, names, address_of)
    except OSError as error:
        raise Unfit(str(error)) from None


def _linked(
    code: bytes,
    sections: Array,
    symbols: Array,
    names: bytes,
    address_of: Callable[[str], int | None],
) -> Loaded:
    """Place the sections, then have each word that refers to a symbol do so."""
    target, kind, section, offset, addend = _relocations(code, sections)
    used = np.flatnonzero(np.bincount(target, minlength=len(symbols)))
    of_symbol = symbols["section"].astype(np.int64)
    is_far = of_symbol == _UNDEFINED
    imported, own = used[is_far[used]], used[~is_far[used]]
    if (
        not _among(kind, _KNOWN).all()
        or not _among(symbols["info"][used] & 15, _PLAIN).all()
        or np.any(of_symbol[used] >= _FIRST_RESERVED)
        or np.any(symbols["info"][imported] >> 4 != _GLOBAL)
        # data of another library, which may be too far away
        or _among(kind[is_far[target]], (_R_PC32, _R_PC64)).any()
    ):
        raise Unfit("a symbol or a reference of another kind")
    outside = {name: address_of(name) for name in _names(names, symbols, imported)}
    addresses = [address for address in outside.values() if address is not None]
    if len(addresses) < len(outside):
        raise LookupError(*(name for name, address in outside.items() if address is None))

    # behind the code each import has a stub; behind the data stands a table of the addresses of
    # these, and of what else is read from there
    is_read = _among(kind, _OF_TABLE)
    is_in_table = np.zeros(len(symbols), bool)
    is_in_table[imported] = is_in_table[target[is_read]] = True
    in_table = np.flatnonzero(is_in_table)
    writes = sections["flags"] & _WRITE != 0
    runs = sections["flags"] & _EXECINSTR != 0
    is_placed = _placed(sections)
    places = np.full(len(sections), -1, np.int64)
    stubs = _place(places, sections, is_placed & runs, 0, _STUB)
    data = _aligned(stubs + _STUB * len(imported), page())
    entries = _place(places, sections, is_placed & ~runs & ~writes, data, 8)
    variables = _aligned(entries + 8 * len(in_table), page())
    end = _place(places, sections, is_placed & ~runs & writes, variables, page())
    if np.any(places[of_symbol[own]] < 0) or end > 1 << 30:
        raise Unfit("a reference to what is not loaded, or too much code")

    memory = ExecutableMemory(max(end, page()))
    for number in np.flatnonzero(is_placed & (sections["type"] == _PROGBITS)):
        held, place = _held(code, sections[number]), places[number]
        memory.bytes[place : place + len(held)] = np.frombuffer(held, np.uint8)

    # all from the beginning of the memory; a function that is far away is where its stub is
    values = places[np.where(is_far | (of_symbol >= _FIRST_RESERVED), 0, of_symbol)]
    values = values + symbols["value"].astype(np.int64)
    stub_places = stubs + _STUB * np.arange(len(imported))
    values[imported] = stub_places
    entry_of = np.zeros(len(symbols), np.int64)
    entry_of[in_table] = entries + 8 * np.arange(len(in_table))
    absolute = values + memory.address
    absolute[imported] = addresses
    _write(memory, entry_of[in_table], absolute[in_table])
    for byte, instruction in enumerate(_JUMP):
        memory.bytes[stub_places + byte] = instruction
    behind = stub_places + 6
    _write(memory, behind - 4, (entry_of[imported] - behind).astype(np.int32))

    at = places[section] + offset
    found = np.where(is_read, entry_of[target], values[target]) + addend - at
    found = np.where(kind == _R_64, absolute[target] + addend, found)
    wide = _among(kind, _WIDE)
    _write(memory, at[wide], found[wide])
    _write(memory, at[~wide], found[~wide].astype(np.int32))

    memory.protect(0, data, READ_AND_RUN)
    memory.protect(data, variables, READ)
    defined = np.flatnonzero(
        (symbols["info"] >> 4 == _GLOBAL) & ~is_far & (of_symbol < _FIRST_RESERVED)
    )
    return Loaded(
        memory, dict(zip(_names(names, symbols, defined), absolute[defined].tolist(), strict=True))
    )


def _relocations(code: bytes, sections: Array) -> tuple[Array, ...]:
    """Return of each reference its symbol, its kind, in which section and where it is, its addend.

    Raises Unfit where references are written in another form.
    """
    is_placed = _placed(sections)
    found = [np.zeros(0, _RELOCATION)]
    within = [np.zeros(0, np.int64)]
    for section in sections:
        if section["type"] not in (_RELA, _REL) or not is_placed[section["info"]]:
            continue
        if section["type"] == _REL:
            raise Unfit("addends in the code")
        found.append(np.frombuffer(_held(code, section), _RELOCATION))
        within.append(np.full(len(found[-1]), section["info"], np.int64))
    every = np.concatenate(found)
    return (
        (every["info"] >> 32).astype(np.int64),
        (every["info"] & 0xFFFFFFFF).astype(np.int64),
        np.concatenate(within),
        every["offset"].astype(np.int64),
        every["addend"],
    )


def _placed(sections: Array) -> Array:
    """Return which sections are to be in memory; Unfit where one is of a kind that is not known."""
    found: Array = sections["flags"] & _ALLOC != 0
    if (
        not _among(sections["type"][found], (_PROGBITS, _NOBITS)).all()
        or np.any(sections["flags"][found] & _TLS)
        or np.any(sections["align"][found] > page())
    ):
        raise Unfit("a section of another kind")
    return found


def _place(places: Array, sections: Array, which: Array, start: int, align: int) -> int:
    """Place some sections one behind the other; return where the next thing may be."""
    for number in np.flatnonzero(which):
        start = _aligned(start, max(int(sections["align"][number]), 1))
        places[number] = start
        start += int(sections["size"][number])
    return _aligned(start, align)


def _among(numbers: Array, members: Iterable[int]) -> Array:
    """Return which numbers are among a few; NumPy's own loads masked arrays at its first use."""
    found = np.zeros(numbers.shape, bool)
    for member in members:
        found |= numbers == member
    return found


def _aligned(place: int, align: int) -> int:
    return -(-place // align) * align


def _write(memory: ExecutableMemory, at: Array, numbers: Array) -> None:
    """Write numbers, each at a place of its own that need not be aligned."""
    size = numbers.itemsize
    parts = np.ascontiguousarray(numbers).view(np.uint8).reshape(-1, size)
    memory.bytes[at[:, None] + np.arange(size)] = parts


def _held(code: bytes, section: Any) -> bytes:
    start = int(section["offset"])
    return code[start : start + int(section["size"])]


def _names(names: bytes, symbols: Array, which: Array) -> Iterable[str]:
    for start in symbols["name"][which].tolist():
        yield names[start : names.index(b"\0", start)].decode()
