"""How threads of the pool wait for a moment, before they sleep, in LLVM text.

``watch`` looks at a number until it is another; ``enter`` takes the pool's lock.
"""

from __future__ import annotations

import platform

# To fall asleep and to be woken takes some 50 µs. Who is done with a task looks for about half of
# that whether there is more to do, or whether the others are done.
_LOOKS = 1000
# Who finds the lock taken tries so often before it sleeps: it is taken for less time than that.
_TRIES = 100
# what a processor does between two looks: some 25 ns of nothing
_X86, _ARM = "@llvm.x86.sse2.pause()", "@llvm.aarch64.isb(i32 15)"
_PAUSES = {"x86_64": _X86, "amd64": _X86, "aarch64": _ARM, "arm64": _ARM}


def waiting_text() -> str:
    """Return both functions; ``@lock`` is a mutex.

    It is held before and after a look, but not while that lasts.
    """
    pause = _PAUSES.get(platform.machine().lower())
    paused = f"  call void {pause}\n" if pause else ""
    declared = f"declare void {pause.replace('15', '')}" if pause else ""
    return f"""
{declared}

define internal void @watch(ptr %place, i64 %known) {{
entry:
  call i32 @pthread_mutex_unlock(ptr @lock)
  br label %look
look:
  %looks = phi i64 [ 0, %entry ], [ %more, %again ]
  %found = load atomic i64, ptr %place monotonic, align 8
  %same = icmp eq i64 %found, %known
  %some = icmp ult i64 %looks, {_LOOKS}
  %both = and i1 %same, %some
  br i1 %both, label %again, label %end
again:
{paused}  %more = add i64 %looks, 1
  br label %look
end:
  call void @enter()
  ret void
}}

; takes the lock, which others have for a moment only
define internal void @enter() {{
entry:
  br label %try
try:
  %tries = phi i64 [ 0, %entry ], [ %more, %again ]
  %taken = call i32 @pthread_mutex_trylock(ptr @lock)
  %is.ours = icmp eq i32 %taken, 0
  br i1 %is.ours, label %end, label %other
other:
  %some = icmp ult i64 %tries, {_TRIES}
  br i1 %some, label %again, label %wait
again:
{paused}  %more = add i64 %tries, 1
  br label %try
wait:
  call i32 @pthread_mutex_lock(ptr @lock)
  br label %end
end:
  ret void
}}
"""
