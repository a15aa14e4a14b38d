"""How a loop is cut into tasks, in LLVM text: the same for the pool and for callers of C.

Both lines of text read ``%size``, ``%unit``, ``%work``, and ``%wished``, how many tasks there are
at most.
"""

from __future__ import annotations

# Less work than this is done sooner than another thread is awake: in cheap operations of vectors,
# number by number, it takes some 30 µs.
LEAST_WORK = 1 << 20

# Into ``%tasks`` how many it is worth to have, of whole units; ``%cut`` says whether several.
WORTH = f"""\
  %over = add i64 %size, %unit
  %rounded = sub i64 %over, 1
  %units = udiv i64 %rounded, %unit
  %worth = udiv i64 %work, {LEAST_WORK}
  %some = call i64 @llvm.umin.i64(i64 %wished, i64 %worth)
  %tasks = call i64 @llvm.umin.i64(i64 %some, i64 %units)
  %cut = icmp ugt i64 %tasks, 1"""

# Into ``%each`` how many iterations a task has, into ``%count`` how many tasks that makes.
EACH = """\
  %up = add i64 %units, %tasks
  %up.less = sub i64 %up, 1
  %units.each = udiv i64 %up.less, %tasks
  %each = mul i64 %units.each, %unit
  %end = add i64 %size, %each
  %end.less = sub i64 %end, 1
  %count = udiv i64 %end.less, %each"""
