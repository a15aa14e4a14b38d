"""Memory of large results, kept when their arrays are gone, for the next results of these sizes.

Fresh memory is what a large result mostly costs: the system hands it out page by page, each cleared
and entered into tables, which takes longer than to compute and write the numbers. NumPy asks the
*memory handler* in force where an array's memory comes from and where it goes; while a result is
made that is the one of this file. Its arrays are like all others: they own their memory.

``GRADC_MEMORY_MB`` says how much is kept at most, 256 by default, but no more than a sixteenth of
the machine's memory. Under Linux the system may take back what blocks of four megabytes and more
hold while nobody has them; a system that cannot be told so leaves 64 MB.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from typing import Any

import numpy as np

from gradc_codegen.calls import layout
from gradc_codegen.calls.cells import CELLS
from gradc_codegen.calls.steps import LARGE_RESULT, Cell
from gradc_codegen.libraries import pycapsule
from gradc_codegen.machine.jit import kept_module
from gradc_ir.core.types import Array

_USUAL, _WITHOUT_ADVICE = 256, 64
_BLOCKS = 16
# Blocks of which the system is told that it may take their pages: NumPy asks for pages of two
# megabytes for arrays of this size, and to tell of these costs nothing beside writing them.
_TOLD, _PAGE = 1 << 22, 1 << 21
_MAY_BE_TAKEN = 8  # Linux's MADV_FREE

# The words of what is kept: NumPy's own functions, the system's, the most bytes, how many there
# are, the block that goes next, and then the address and the size of each block.
_TAKE, _GIVE, _ADVISE, _MOST, _KEPT, _NEXT, _FIRST = range(7)
# The struct of a handler: a name of 127 bytes, a byte for the version, then what its functions are
# given, and the functions.
_NAME, _STATE, _NEW, _FREE, _SIZE = b"mem_handler", 128, 136, 160, 168
_VERSION = 1

# What is kept, under the lock of the interpreter.
MEMORY: Array = np.zeros(_FIRST + 2 * _BLOCKS, np.int64)

_TEXT = f"""
define ptr @"gradc.memory.take"(ptr %state, i64 %size) {{
entry:
  %large = icmp uge i64 %size, {LARGE_RESULT}
  br i1 %large, label %look, label %fresh
look:
  %i = phi i64 [0, %entry], [%more, %on]
  %first = getelementptr i64, ptr %state, i64 {_FIRST}
  %block = getelementptr {{ptr, i64}}, ptr %first, i64 %i
  %place = getelementptr {{ptr, i64}}, ptr %block, i64 0, i32 1
  %held = load i64, ptr %place
  %fits = icmp eq i64 %held, %size
  br i1 %fits, label %found, label %on
on:
  %more = add i64 %i, 1
  %left = icmp ult i64 %more, {_BLOCKS}
  br i1 %left, label %look, label %fresh
found:
  %kept = load ptr, ptr %block
  store i64 0, ptr %place
  %sum = getelementptr i64, ptr %state, i64 {_KEPT}
  %before = load i64, ptr %sum
  %after = sub i64 %before, %size
  store i64 %after, ptr %sum
  ret ptr %kept
fresh:
  %own = load ptr, ptr %state
  %new = call ptr %own(ptr null, i64 %size)
  %none = icmp eq ptr %new, null
  br i1 %none, label %need, label %done
done:
  ret ptr %new
need:
  call void @"gradc.memory.drop"(ptr %state, i64 0, i64 -1)
  %again = call ptr %own(ptr null, i64 %size)
  ret ptr %again
}}

define void @"gradc.memory.give"(ptr %state, ptr %memory, i64 %size) {{
entry:
  %free.at = getelementptr i64, ptr %state, i64 {_GIVE}
  %free = load ptr, ptr %free.at
  %most.at = getelementptr i64, ptr %state, i64 {_MOST}
  %most = load i64, ptr %most.at
  %large = icmp uge i64 %size, {LARGE_RESULT}
  %fits = icmp ule i64 %size, %most
  %some = icmp ne ptr %memory, null
  %sized = and i1 %large, %fits
  %keeps = and i1 %sized, %some
  br i1 %keeps, label %keep, label %gone
gone:
  call void %free(ptr null, ptr %memory, i64 %size)
  ret void
keep:
  %advise.at = getelementptr i64, ptr %state, i64 {_ADVISE}
  %advise = load ptr, ptr %advise.at
  %can = icmp ne ptr %advise, null
  %long = icmp uge i64 %size, {_TOLD}
  %tells = and i1 %can, %long
  br i1 %tells, label %tell, label %begin
tell:
  %begins = ptrtoint ptr %memory to i64
  %behind = add i64 %begins, %size
  %up = add i64 %begins, {_PAGE - 1}
  %from = and i64 %up, {-_PAGE}
  %to = and i64 %behind, {-_PAGE}
  %length = sub i64 %to, %from
  %at = inttoptr i64 %from to ptr
  %told = call i32 %advise(ptr %at, i64 %length, i32 {_MAY_BE_TAKEN})
  br label %begin
begin:
  %sum = getelementptr i64, ptr %state, i64 {_KEPT}
  %next.at = getelementptr i64, ptr %state, i64 {_NEXT}
  %next = load i64, ptr %next.at
  %first = getelementptr i64, ptr %state, i64 {_FIRST}
  %own = getelementptr {{ptr, i64}}, ptr %first, i64 %next
  %own.size = getelementptr {{ptr, i64}}, ptr %own, i64 0, i32 1
  %own.held = load i64, ptr %own.size
  %taken = icmp ne i64 %own.held, 0
  %before = load i64, ptr %sum
  %with = add i64 %before, %size
  %much = icmp ugt i64 %with, %most
  %full = or i1 %taken, %much
  br i1 %full, label %room, label %put
room:
  ; the block that is next goes in any case, and those behind it until there is room
  call void @"gradc.memory.drop"(ptr %state, i64 %next, i64 %size)
  br label %put
put:
  store ptr %memory, ptr %own
  store i64 %size, ptr %own.size
  %all = load i64, ptr %sum
  %now = add i64 %all, %size
  store i64 %now, ptr %sum
  %following = add i64 %next, 1
  %then = urem i64 %following, {_BLOCKS}
  store i64 %then, ptr %next.at
  ret void
}}

define internal void @"gradc.memory.drop"(ptr %state, i64 %begin, i64 %wanted) {{
entry:
  %free.at = getelementptr i64, ptr %state, i64 {_GIVE}
  %free = load ptr, ptr %free.at
  %most.at = getelementptr i64, ptr %state, i64 {_MOST}
  %most = load i64, ptr %most.at
  %sum = getelementptr i64, ptr %state, i64 {_KEPT}
  %first = getelementptr i64, ptr %state, i64 {_FIRST}
  %all = icmp eq i64 %wanted, -1
  br label %look
look:
  %i = phi i64 [0, %entry], [%more, %on]
  %number = add i64 %begin, %i
  %which = urem i64 %number, {_BLOCKS}
  %block = getelementptr {{ptr, i64}}, ptr %first, i64 %which
  %place = getelementptr {{ptr, i64}}, ptr %block, i64 0, i32 1
  %held = load i64, ptr %place
  %there = icmp ne i64 %held, 0
  %is.first = icmp eq i64 %i, 0
  %before = load i64, ptr %sum
  %with = add i64 %before, %wanted
  %much = icmp ugt i64 %with, %most
  %needed = or i1 %much, %all
  %goes = or i1 %is.first, %needed
  %drops = and i1 %there, %goes
  br i1 %drops, label %drop, label %on
drop:
  %old = load ptr, ptr %block
  call void %free(ptr null, ptr %old, i64 %held)
  store i64 0, ptr %place
  %less = sub i64 %before, %held
  store i64 %less, ptr %sum
  br label %on
on:
  %more = add i64 %i, 1
  %left = icmp ult i64 %more, {_BLOCKS}
  br i1 %left, label %look, label %end
end:
  ret void
}}
"""


def most_kept() -> int:
    """Return how many bytes are kept at most."""
    given = os.environ.get("GRADC_MEMORY_MB", "")
    try:
        return max(0, int(float(given) * 1e6))
    except (ValueError, OverflowError):
        usual = _USUAL if _advice() else _WITHOUT_ADVICE
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return _WITHOUT_ADVICE << 20
    return min(usual << 20, there // 16)


def kept() -> int:
    """Return how many bytes are kept."""
    return int(MEMORY[_KEPT])


def set_most(wanted: int) -> int:
    """Set how many bytes are kept at most, from the next array that goes; return what was set."""
    before = int(MEMORY[_MOST])
    MEMORY[_MOST] = wanted
    return before


@functools.cache
def keep_results() -> None:
    """Have the memory of large results kept from now on, where NumPy's handlers are as known."""
    usual = layout.usual_memory()
    if usual is None or not most_kept():
        return
    handler = ctypes.c_void_p(pycapsule.address(usual))
    told = ctypes.string_at(handler, _SIZE)
    if told[:17] != b"default_allocator" or told[_STATE - 1] != _VERSION:
        return
    code = kept_module(lambda: _TEXT, "long", name="memory of results")
    for word, at in ((_TAKE, _NEW), (_GIVE, _FREE)):
        MEMORY[word] = int.from_bytes(told[at : at + 8], sys.byteorder)
    MEMORY[_ADVISE], MEMORY[_MOST] = _advice(), most_kept()
    words = {
        _STATE: MEMORY.ctypes.data,
        _NEW: code.address("gradc.memory.take"),
        _FREE: code.address("gradc.memory.give"),
    }
    own = bytearray(b"gradc".ljust(_STATE - 1, b"\0") + told[_STATE - 1 :])
    for at, word in words.items():
        own[at : at + 8] = word.to_bytes(8, sys.byteorder)
    struct = ctypes.create_string_buffer(bytes(own), _SIZE)
    capsule = _capsule(ctypes.addressof(struct), _NAME)
    # arrays may be freed when all else of the process is gone
    ctypes.pythonapi.Py_IncRef(ctypes.py_object((code, MEMORY, struct, capsule)))
    CELLS[Cell.USUAL_MEMORY], CELLS[Cell.MEMORY] = id(usual), id(capsule)


def _advice() -> int:
    """Return the address of the system's function that is told of pages; 0 where there is none."""
    if not sys.platform.startswith("linux"):
        return 0
    return ctypes.cast(ctypes.CDLL(None).madvise, ctypes.c_void_p).value or 0


def _capsule(address: int, name: bytes) -> Any:
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
        ("PyCapsule_New", ctypes.pythonapi)
    )
    return make(address, name, None)
