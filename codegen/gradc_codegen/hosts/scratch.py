"""Memory for kernels whose hosts give them none: scratch, which is kept between calls, and pages
for results that a host makes anew each time.

Fresh memory is what a large call mostly costs: the system hands it out page by page, each cleared
and entered into tables. So all hosts of a process share some blocks: a call takes one that is large
enough, which nobody else has then, and leaves it in turn.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from gradc_codegen.abi import Status

# A few pages of stack are there on any thread.
_MOST_ON_STACK = 16384
# So many blocks are kept, each of at most so many bytes; in front of one is how many it has.
_BLOCKS, _MOST_KEPT, _HEADER = 4, 1 << 26, 64
# From so many bytes on NumPy asks Linux for pages of 2 MB, for arrays of its own.
LARGE, _PAGE, _HUGE_PAGES = 1 << 22, 4096, 14

TAKE, LEAVE, FRESH = "gradc_hosts.take", "gradc_hosts.leave", "gradc_hosts.fresh"
SYMBOL = re.compile(rb"gradc_hosts\.\w+")
DECLARATIONS = f"""declare ptr @"{TAKE}"(i64)
declare void @"{LEAVE}"(ptr)
declare void @"{FRESH}"(ptr, i64)
"""


def with_scratch(bytes_: str, call: Callable[[str], str]) -> str:
    """Return the text of blocks that call with scratch and leave the status in ``%status``.

    It begins in the middle of a block and ends in the block ``called``. Its functions are those of
    ``DECLARATIONS``.

    Parameters
    ----------
    bytes_: the register or number that says how many bytes there have to be.
    call: from the register of the scratch to the call's instruction.
    """
    ends = (
        "[ %scratch.first, %scratch.on.stack ]",
        f"[ {Status.WORK.value}, %scratch.kept ]",
        "[ %scratch.second, %scratch.use ]",
    )
    return f"""  %scratch.little = icmp ule i64 {bytes_}, {_MOST_ON_STACK}
  br i1 %scratch.little, label %scratch.on.stack, label %scratch.kept
scratch.on.stack:
  %scratch.stack = alloca i8, i64 {bytes_}, align 64
  %scratch.first = {call("%scratch.stack")}
  br label %called
scratch.kept:
  %scratch.block = call ptr @"{TAKE}"(i64 {bytes_})
  %scratch.none = icmp eq ptr %scratch.block, null
  br i1 %scratch.none, label %called, label %scratch.use
scratch.use:
  %scratch.second = {call("%scratch.block")}
  call void @"{LEAVE}"(ptr %scratch.block)
  br label %called
called:
  %status = phi i32 {", ".join(ends)}
"""


def fresh(data: str, bytes_: str) -> str:
    """Return the line that asks for large pages for a result which is not written to yet."""
    return f'  call void @"{FRESH}"(ptr {data}, i64 {bytes_})\n'


def memory_text() -> str:
    """Return the module of what hosts share, which each process has once."""
    advised = f"""
  %begins = ptrtoint ptr %data to i64
  %up = add i64 %begins, {_PAGE - 1}
  %from = and i64 %up, {-_PAGE}
  %behind = add i64 %begins, %size
  %length = sub i64 %behind, %from
  %page = inttoptr i64 %from to ptr
  %told = call i32 @madvise(ptr %page, i64 %length, i32 {_HUGE_PAGES})"""
    is_linux = sys.platform.startswith("linux")
    return f"""declare ptr @malloc(i64)
declare void @free(ptr)
{"declare i32 @madvise(ptr, i64, i32)" if is_linux else ""}
@blocks = internal global [{_BLOCKS} x ptr] zeroinitializer, align 64

define void @"{FRESH}"(ptr %data, i64 %size) {{
entry:
  %large = icmp uge i64 %size, {LARGE}
  br i1 %large, label %tell, label %done
tell:{advised if is_linux else ""}
  br label %done
done:
  ret void
}}

define ptr @"{TAKE}"(i64 %size) {{
entry:
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %more, %on ]
  %slot = getelementptr ptr, ptr @blocks, i64 %i
  %there = load atomic ptr, ptr %slot monotonic, align 8
  %empty = icmp eq ptr %there, null
  br i1 %empty, label %on, label %get
get:
  %block = atomicrmw xchg ptr %slot, ptr null acq_rel
  %gone = icmp eq ptr %block, null
  br i1 %gone, label %on, label %measure
measure:
  %has = load i64, ptr %block
  %fits = icmp uge i64 %has, %size
  br i1 %fits, label %have, label %back
back:
  ; another call may have left its own there in the meantime
  %other = atomicrmw xchg ptr %slot, ptr %block acq_rel
  call void @free(ptr %other)
  br label %on
on:
  %more = add i64 %i, 1
  %left = icmp ult i64 %more, {_BLOCKS}
  br i1 %left, label %look, label %new
new:
  %whole = add i64 %size, {_HEADER}
  %made = call ptr @malloc(i64 %whole)
  %none = icmp eq ptr %made, null
  br i1 %none, label %nothing, label %begin
begin:
  call void @"{FRESH}"(ptr %made, i64 %whole)
  store i64 %size, ptr %made
  br label %have
have:
  %taken = phi ptr [ %block, %measure ], [ %made, %begin ]
  %scratch = getelementptr i8, ptr %taken, i64 {_HEADER}
  ret ptr %scratch
nothing:
  ret ptr null
}}

define void @"{LEAVE}"(ptr %scratch) {{
entry:
  %block = getelementptr i8, ptr %scratch, i64 {-_HEADER}
  %size = load i64, ptr %block
  %much = icmp ugt i64 %size, {_MOST_KEPT}
  br i1 %much, label %drop, label %look
drop:
  call void @free(ptr %block)
  ret void
look:
  %i = phi i64 [ 0, %entry ], [ %more, %on ]
  %slot = getelementptr ptr, ptr @blocks, i64 %i
  %tried = cmpxchg ptr %slot, ptr null, ptr %block acq_rel monotonic
  %put = extractvalue {{ ptr, i1 }} %tried, 1
  br i1 %put, label %done, label %on
on:
  %more = add i64 %i, 1
  %left = icmp ult i64 %more, {_BLOCKS}
  br i1 %left, label %look, label %full
full:
  ; what was needed last is kept rather than what lies there
  %last = getelementptr ptr, ptr @blocks, i64 {_BLOCKS - 1}
  %other = atomicrmw xchg ptr %last, ptr %block acq_rel
  call void @free(ptr %other)
  ret void
done:
  ret void
}}
"""
