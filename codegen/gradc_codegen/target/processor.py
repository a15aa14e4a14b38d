"""What the processor says of itself: all that LLVM finds its features by, without LLVM."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Iterator

from gradc_codegen.target.executable_memory import READ_AND_RUN, ExecutableMemory, page

# void f(uint32_t leaf, uint32_t part, uint32_t found[4]): the instruction cpuid, and what is around
_CPUID = bytes.fromhex("53 4989d0 89f8 89f1 0fa2 418900 41895804 41894808 4189500c 5b c3")
# uint64_t f(void): xgetbv, which registers the system keeps
_XGETBV = bytes.fromhex("31c9 0f01d0 48c1e220 4809d0 c3")
_XGETBV_AT = 64
_OSXSAVE = 1 << 27
# The first byte of these bits is the number of the core that was asked.
_CORE = 0xFF000000

# Leaves with features, and their parts. Others tell of caches, topology, frequencies.
_LEAVES = ((0, 1), (1, 1), (7, 3), (0xD, 2), (0x14, 1), (0x19, 1), (0x1E, 2), (0x24, 2), (0x29, 1))
_MORE = 0x80000000
_MORE_LEAVES = ((_MORE, 1), (_MORE + 1, 1), (_MORE + 7, 1), (_MORE + 8, 1), (_MORE + 0x21, 1))


@functools.cache
def processor() -> tuple[int, ...] | None:
    """Return the numbers that tell the features of the processor, None where that is not known.

    Equal numbers are equal features, and an equal name of LLVM's.
    """
    uname = getattr(os, "uname", None)
    if uname is None or uname().machine != "x86_64" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    try:
        return tuple(_numbers())
    except OSError:
        return None


def _numbers() -> Iterator[int]:
    memory = ExecutableMemory(page())
    for at, code in ((0, _CPUID), (_XGETBV_AT, _XGETBV)):
        memory.bytes[at : at + len(code)] = list(code)
    memory.protect(0, page(), READ_AND_RUN)
    ask = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)(memory.address)
    answer = (ctypes.c_uint32 * 4)()

    def told(leaf: int, part: int = 0) -> tuple[int, ...]:
        ask(leaf, part, ctypes.addressof(answer))
        return tuple(answer)

    for leaves in (_LEAVES, _MORE_LEAVES):
        last = told(leaves[0][0])[0]
        for leaf, parts in leaves:
            if leaf > last:
                continue
            for part in range(parts):
                a, b, c, d = told(leaf, part)
                yield from (leaf, part, a, b & ~_CORE if leaf == 1 else b, c, d)
                if leaf == 1 and c & _OSXSAVE:
                    kept = ctypes.CFUNCTYPE(ctypes.c_uint64)(memory.address + _XGETBV_AT)
                    yield int(kept())
