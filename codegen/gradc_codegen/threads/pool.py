"""The pool: threads that wait for tasks of kernels, in LLVM text over the threads of POSIX.

A call of a kernel puts a *job* into a list: a function, a table for it, and into how many tasks its
iterations are cut. Threads that wait take part in the first job that has tasks left, and so does
the caller, in its own; it then waits for those who are still at a task of this job, and for no one
else. So calls may come from any number of threads, and one within another: who finds no help does
all by itself. One lock is around all of it, taken once a task, and nobody spins for long.

Threads are made when a call first asks for so many, and sleep between jobs. A child after a fork
has none and makes its own. What each needs as scratch it keeps, up to a bound.
"""

from __future__ import annotations

import signal
import sys

from gradc_codegen.threads.cut import EACH, RANGE, WORTH
from gradc_codegen.threads.waiting import waiting_text

# What a kernel calls.
RUN = "gradc.tasks.run"
# The functions of the text: that one, what makes the pool (anew in a child), and what ends it.
OWN, BEGIN, END = "run", "begin", "end"
# No call has more threads.
MOST = 256
# How many tasks there are for each thread: who is held up leaves the rest to others.
_TASKS_A_THREAD = 4
# Scratch of a thread that is kept between jobs, in bytes; longer than any cache line to align it.
_KEPT, _LINE = 1 << 26, 64
# What a mutex, a condition and a set of signals take at most, in bytes.
_ROOM = 128
_PARAMETERS = (
    "ptr %task, ptr %table, i64 %size, i64 %unit, i64 %whole, i64 %work, i64 %threads, "
    "i64 %bytes, ptr %own"
)

# What a job is made of, beside how it is cut: ``count`` are all tasks, ``next`` is the next one,
# ``failed`` the first that has failed; ``helpers`` are at it, of which there may be ``most``;
# ``bytes`` are of scratch, ``behind`` it is another job in the list.
_JOB = {
    "task": "ptr",
    "table": "ptr",
    "size": "i64",
    "wholes": "i64",
    "many": "i64",
    "behind.wholes": "i64",
    "front": "i64",
    "each": "i64",
    "count": "i64",
    "next": "i64",
    "helpers": "i64",
    "most": "i64",
    "failed": "i64",
    "bytes": "i64",
    "behind": "ptr",
    "status": "i32",
}


def _place(job: str, name: str) -> str:
    """Return what computes where a part of a job is."""
    return f"getelementptr %job, ptr %{job}, i64 0, i32 {list(_JOB).index(name)}"


def _places(names: str) -> str:
    """Return the lines that call the places of some parts ``%p.`` and their names."""
    return "\n".join(f"  %p.{name} = {_place('job', name)}" for name in names.split())


def pool_text() -> str:
    """Return the text of the pool."""
    if sys.platform == "win32":  # its threads are others: all is done by the caller
        return _ALONE
    return _DECLARED + _STATE + _LIST + waiting_text() + _TASKS + _thread() + _run()


_ALONE = f"""
define i32 @{OWN}({_PARAMETERS}) {{
  %status = call i32 %task(ptr %table, i64 0, i64 %size, ptr %own)
  ret i32 %status
}}

define void @{BEGIN}() {{
  ret void
}}

define void @{END}() {{
  ret void
}}
"""

_DECLARED = """
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_trylock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare ptr @malloc(i64)
declare void @free(ptr)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
"""

_STATE = f"""
%job = type {{ {", ".join(_JOB.values())} }}

@lock = internal global [{_ROOM} x i8] zeroinitializer, align 64
@work = internal global [{_ROOM} x i8] zeroinitializer, align 64
@done = internal global [{_ROOM} x i8] zeroinitializer, align 64
@jobs = internal global ptr null
@posted = internal global i64 0
@count = internal global i64 0
@closed = internal global i64 0
@threads = internal global [{MOST} x i64] zeroinitializer

define void @{BEGIN}() {{
  call i32 @pthread_mutex_init(ptr @lock, ptr null)
  call i32 @pthread_cond_init(ptr @work, ptr null)
  call i32 @pthread_cond_init(ptr @done, ptr null)
  store ptr null, ptr @jobs
  store i64 0, ptr @count
  ret void
}}

define void @{END}() {{
entry:
  call i32 @pthread_mutex_lock(ptr @lock)
  store atomic i64 1, ptr @closed monotonic, align 8
  %count = load i64, ptr @count
  store i64 0, ptr @count
  call i32 @pthread_cond_broadcast(ptr @work)
  call i32 @pthread_mutex_unlock(ptr @lock)
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %following, %join ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %join, label %ended
join:
  %place = getelementptr i64, ptr @threads, i64 %i
  %thread = load i64, ptr %place
  call i32 @pthread_join(i64 %thread, ptr null)
  %following = add i64 %i, 1
  br label %next
ended:
  ret void
}}
"""

_LIST = f"""
define internal void @add(ptr %job) {{
  %first = load ptr, ptr @jobs
  %link = {_place("job", "behind")}
  store ptr %first, ptr %link
  store ptr %job, ptr @jobs
  %before = load i64, ptr @posted
  %now = add i64 %before, 1
  store atomic i64 %now, ptr @posted monotonic, align 8
  ret void
}}

define internal void @remove(ptr %job) {{
entry:
  br label %look
look:
  %at = phi ptr [ @jobs, %entry ], [ %link, %past ]
  %found = load ptr, ptr %at
  %link = {_place("found", "behind")}
  %is = icmp eq ptr %found, %job
  br i1 %is, label %take, label %past
past:
  br label %look
take:
  %behind = load ptr, ptr %link
  store ptr %behind, ptr %at
  ret void
}}

; the first job that has tasks left and wants help, or null
define internal ptr @find() {{
entry:
  %first = load ptr, ptr @jobs
  br label %look
look:
  %job = phi ptr [ %first, %entry ], [ %behind, %past ]
  %none = icmp eq ptr %job, null
  br i1 %none, label %end, label %ask
ask:
{_places("count next helpers most")}
  %count = load i64, ptr %p.count
  %next = load i64, ptr %p.next
  %helpers = load i64, ptr %p.helpers
  %most = load i64, ptr %p.most
  %left = icmp ult i64 %next, %count
  %wanted = icmp ult i64 %helpers, %most
  %both = and i1 %left, %wanted
  br i1 %both, label %end, label %past
past:
{_places("behind")}
  %behind = load ptr, ptr %p.behind
  br label %look
end:
  ret ptr %job
}}
"""

# The lock is held before and after. Tasks are taken in order: behind one that failed none is begun,
# and of several that did the first one says how the call ends, as if there were one thread.
_TASKS = f"""
define internal void @take_part(ptr %job, ptr %own) {{
entry:
{_places("task table size wholes many behind.wholes front each count next failed status")}
  %task = load ptr, ptr %p.task
  %table = load ptr, ptr %p.table
  %size = load i64, ptr %p.size
  %wholes = load i64, ptr %p.wholes
  %many = load i64, ptr %p.many
  %behind.wholes = load i64, ptr %p.behind.wholes
  %front = load i64, ptr %p.front
  %each = load i64, ptr %p.each
  br label %again
again:
  %number = load i64, ptr %p.next
  %count = load i64, ptr %p.count
  %left = icmp ult i64 %number, %count
  br i1 %left, label %take, label %end
take:
  %next = add i64 %number, 1
  store i64 %next, ptr %p.next
  call i32 @pthread_mutex_unlock(ptr @lock)
{RANGE}
  %status = call i32 %task(ptr %table, i64 %first, i64 %last, ptr %own)
  call void @enter()
  %fine = icmp eq i32 %status, 0
  br i1 %fine, label %again, label %failed
failed:
  %total = load i64, ptr %p.count
  store i64 %total, ptr %p.next
  %before = load i64, ptr %p.failed
  %earlier = icmp ult i64 %number, %before
  br i1 %earlier, label %note, label %again
note:
  store i64 %number, ptr %p.failed
  store i32 %status, ptr %p.status
  br label %again
end:
  ret void
}}
"""


def _thread() -> str:
    """Return the function of a thread, and what makes threads, with all signals left to others."""
    return f"""
define internal ptr @thread(ptr %unused) {{
entry:
  %room = alloca ptr
  %length = alloca i64
  store ptr null, ptr %room
  store i64 0, ptr %length
  call i32 @pthread_mutex_lock(ptr @lock)
  br label %again
again:
  %busy = phi i1 [ true, %entry ], [ false, %watched ], [ false, %sleep ], [ true, %next ]
  %closed = load atomic i64, ptr @closed monotonic, align 8
  %open = icmp eq i64 %closed, 0
  br i1 %open, label %look, label %end
look:
  %job = call ptr @find()
  %none = icmp eq ptr %job, null
  br i1 %none, label %idle, label %help
idle:
  br i1 %busy, label %watched, label %sleep
watched:
  %posted = load i64, ptr @posted
  call void @watch(ptr @posted, i64 %posted)
  br label %again
sleep:
  call i32 @pthread_cond_wait(ptr @work, ptr @lock)
  br label %again
help:
{_places("helpers bytes")}
  %helpers = load i64, ptr %p.helpers
  %one.more = add i64 %helpers, 1
  store atomic i64 %one.more, ptr %p.helpers monotonic, align 8
  %bytes = load i64, ptr %p.bytes
  %wanted = add i64 %bytes, {_LINE}
  %have = load i64, ptr %length
  %enough = icmp uge i64 %have, %wanted
  br i1 %enough, label %ready, label %grow
grow:
  call i32 @pthread_mutex_unlock(ptr @lock)
  %old = load ptr, ptr %room
  call void @free(ptr %old)
  %new = call ptr @malloc(i64 %wanted)
  %failed = icmp eq ptr %new, null
  %longer = select i1 %failed, i64 0, i64 %wanted
  store ptr %new, ptr %room
  store i64 %longer, ptr %length
  call i32 @pthread_mutex_lock(ptr @lock)
  br i1 %failed, label %leave, label %ready
ready:
  %start = load ptr, ptr %room
  %address = ptrtoint ptr %start to i64
  %minus = sub i64 0, %address
  %gap = and i64 %minus, {_LINE - 1}
  %own = getelementptr i8, ptr %start, i64 %gap
  call void @take_part(ptr %job, ptr %own)
  br label %leave
leave:
  %is.short = phi i1 [ true, %grow ], [ false, %ready ]
  %now = load i64, ptr %p.helpers
  %one.less = sub i64 %now, 1
  store atomic i64 %one.less, ptr %p.helpers monotonic, align 8
  %last = icmp eq i64 %one.less, 0
  br i1 %last, label %tell, label %kept
tell:
  call i32 @pthread_cond_broadcast(ptr @done)
  br label %kept
kept:
  %long = load i64, ptr %length
  %too.long = icmp ugt i64 %long, {_KEPT}
  br i1 %too.long, label %drop, label %next
drop:
  %dropped = load ptr, ptr %room
  call void @free(ptr %dropped)
  store ptr null, ptr %room
  store i64 0, ptr %length
  br label %next
next:
  ; without room for it, it waits for another job
  br i1 %is.short, label %sleep, label %again
end:
  call i32 @pthread_mutex_unlock(ptr @lock)
  %rest = load ptr, ptr %room
  call void @free(ptr %rest)
  ret ptr null
}}

; makes threads until there are as many, or the system has no more; the lock is held
define internal void @have(i64 %wanted) {{
entry:
  %all = alloca [{_ROOM} x i8], align 16
  %before = alloca [{_ROOM} x i8], align 16
  %first = load i64, ptr @count
  %some = icmp ult i64 %first, %wanted
  br i1 %some, label %hide, label %end
hide:
  call i32 @sigfillset(ptr %all)
  call i32 @pthread_sigmask(i32 {int(signal.SIG_BLOCK)}, ptr %all, ptr %before)
  br label %make
make:
  %count = phi i64 [ %first, %hide ], [ %more, %made ]
  %place = getelementptr i64, ptr @threads, i64 %count
  %failed = call i32 @pthread_create(ptr %place, ptr null, ptr @thread, ptr null)
  %fine = icmp eq i32 %failed, 0
  br i1 %fine, label %made, label %show
made:
  %more = add i64 %count, 1
  store i64 %more, ptr @count
  %again = icmp ult i64 %more, %wanted
  br i1 %again, label %make, label %show
show:
  call i32 @pthread_sigmask(i32 {int(signal.SIG_SETMASK)}, ptr %before, ptr null)
  br label %end
end:
  ret void
}}
"""


def _run() -> str:
    """Return what a kernel calls: it cuts a loop into tasks, and has them run."""
    begun = {
        "task": "ptr %task", "table": "ptr %table", "size": "i64 %size",
        "wholes": "i64 %wholes", "many": "i64 %many", "behind.wholes": "i64 %behind.wholes",
        "front": "i64 %front", "each": "i64 %each",
        "count": "i64 %count", "next": "i64 0", "helpers": "i64 0", "most": "i64 %most",
        "failed": "i64 -1", "bytes": "i64 %bytes", "status": "i32 0",
    }  # fmt: skip
    stored = "\n".join(
        f"{_places(name)}\n  store {value}, ptr %p.{name}" for name, value in begun.items()
    )
    return f"""
define i32 @{OWN}({_PARAMETERS}) {{
entry:
  %job = alloca %job
  %closed = load atomic i64, ptr @closed monotonic, align 8
  %open = icmp eq i64 %closed, 0
  %abreast = call i64 @llvm.umin.i64(i64 %threads, i64 {MOST})
  %wished = mul i64 %abreast, {_TASKS_A_THREAD}
  %several = icmp ugt i64 %abreast, 1
{WORTH}
  %may = and i1 %open, %several
  %shared = and i1 %may, %cut
  br i1 %shared, label %share, label %alone
alone:
  %found = call i32 %task(ptr %table, i64 0, i64 %size, ptr %own)
  ret i32 %found
share:
{EACH}
  %at.once = call i64 @llvm.umin.i64(i64 %abreast, i64 %count)
  %most = sub i64 %at.once, 1
{stored}
  call void @enter()
  call void @have(i64 %most)
  call void @add(ptr %job)
  br label %wake
wake:
  %woken = phi i64 [ 0, %share ], [ %one.more, %signal ]
  %more = icmp ult i64 %woken, %most
  br i1 %more, label %signal, label %begin
signal:
  call i32 @pthread_cond_signal(ptr @work)
  %one.more = add i64 %woken, 1
  br label %wake
begin:
  call void @take_part(ptr %job, ptr %own)
  call void @remove(ptr %job)
  %at.it = load i64, ptr %p.helpers
  br label %still
still:
  %known = phi i64 [ %at.it, %begin ], [ %now, %watch ]
  %some.are = icmp ne i64 %known, 0
  br i1 %some.are, label %watch, label %leave
watch:
  call void @watch(ptr %p.helpers, i64 %known)
  %now = load i64, ptr %p.helpers
  %fewer = icmp ne i64 %now, %known
  br i1 %fewer, label %still, label %wait
wait:
  %helpers = load i64, ptr %p.helpers
  %busy = icmp ne i64 %helpers, 0
  br i1 %busy, label %sleep, label %leave
sleep:
  call i32 @pthread_cond_wait(ptr @done, ptr @lock)
  br label %wait
leave:
  call i32 @pthread_mutex_unlock(ptr @lock)
  %status = load i32, ptr %p.status
  ret i32 %status
}}
"""
