"""How a loop is cut into tasks, in LLVM text: the same for the pool and for callers of C.

The lines read ``%size``, ``%unit``, ``%whole``, ``%work``, ``%wished``, how many tasks there are
at most, and ``%abreast``, how many run at once. A task begins at a multiple of a unit, and best at
one of ``%whole``: for as many of these as all who run have the same number of, tasks are whole; if
that is none, a task less than the share of one of them is the first. The rest is cut smaller.
"""

from __future__ import annotations

# Less work than this is done sooner than another thread is awake: in cheap operations of vectors,
# number by number, it takes some 30 µs.
LEAST_WORK = 1 << 20
# Threads that are awake take less: so many tasks are worth it for each of as much work.
_FINER = 4

# Into ``%tasks`` how many it is worth to have, of whole units; ``%cut`` says whether several.
WORTH = f"""\
  %over = add i64 %size, %unit
  %rounded = sub i64 %over, 1
  %units = udiv i64 %rounded, %unit
  %worth = udiv i64 %work, {LEAST_WORK}
  %finer = mul i64 %worth, {_FINER}
  %some = call i64 @llvm.umin.i64(i64 %wished, i64 %finer)
  %tasks = call i64 @llvm.umin.i64(i64 %some, i64 %units)
  %is.worth = icmp ugt i64 %worth, 1
  %several.tasks = icmp ugt i64 %tasks, 1
  %cut = and i1 %is.worth, %several.tasks"""

# Into ``%wholes`` how many tasks have ``%many`` iterations each, into ``%behind.wholes`` where the
# rest begins, of which tasks have ``%each``; into ``%count`` how many tasks there are in all.
EACH = """\
  %all.wholes = udiv i64 %size, %whole
  %wholes.each = udiv i64 %all.wholes, %tasks
  %wholes.one = call i64 @llvm.umax.i64(i64 %wholes.each, i64 1)
  %many.whole = mul i64 %wholes.one, %whole
  %fit = udiv i64 %size, %many.whole
  %seats = call i64 @llvm.umin.i64(i64 %abreast, i64 %tasks)
  %spare = sub i64 %tasks, %seats
  %is.finer = icmp ult i64 %unit, %whole
  %some.seats = select i1 %is.finer, i64 %spare, i64 0
  %some.wholes = call i64 @llvm.umin.i64(i64 %fit, i64 %some.seats)
  %turns = udiv i64 %some.wholes, %abreast
  %all.turns = mul i64 %turns, %abreast
  %eighths = mul i64 %abreast, 8
  %front.eighths = mul i64 %units, 7
  %front.units = udiv i64 %front.eighths, %eighths
  %front = mul i64 %front.units, %unit
  %may.front = call i64 @llvm.umin.i64(i64 %front.units, i64 %some.seats)
  %front.count = call i64 @llvm.umin.i64(i64 %may.front, i64 1)
  %is.none = icmp eq i64 %turns, 0
  %wholes = select i1 %is.none, i64 %front.count, i64 %all.turns
  %many = select i1 %is.none, i64 %front, i64 %many.whole
  %behind.wholes = mul i64 %wholes, %many
  %rest = sub i64 %size, %behind.wholes
  %rest.over = add i64 %rest, %unit
  %rest.rounded = sub i64 %rest.over, 1
  %rest.units = udiv i64 %rest.rounded, %unit
  %rest.work = mul i64 %finer, %rest
  %rest.worth = udiv i64 %rest.work, %size
  %seats.left = sub i64 %tasks, %wholes
  %few.pieces = call i64 @llvm.umin.i64(i64 %seats.left, i64 %rest.units)
  %worth.pieces = call i64 @llvm.umin.i64(i64 %few.pieces, i64 %rest.worth)
  %pieces = call i64 @llvm.umax.i64(i64 %worth.pieces, i64 1)
  %up = add i64 %rest.units, %pieces
  %up.less = sub i64 %up, 1
  %units.each = udiv i64 %up.less, %pieces
  %units.some = call i64 @llvm.umax.i64(i64 %units.each, i64 1)
  %each = mul i64 %units.some, %unit
  %end = add i64 %rest, %each
  %end.less = sub i64 %end, 1
  %count.rest = udiv i64 %end.less, %each
  %count = add i64 %wholes, %count.rest"""

# Into ``%first`` and ``%last`` the iterations of the task ``%number``.
RANGE = """\
  %is.whole = icmp ult i64 %number, %wholes
  %first.whole = mul i64 %number, %many
  %number.rest = sub i64 %number, %wholes
  %into.rest = mul i64 %number.rest, %each
  %first.rest = add i64 %behind.wholes, %into.rest
  %first = select i1 %is.whole, i64 %first.whole, i64 %first.rest
  %long = select i1 %is.whole, i64 %many, i64 %each
  %behind = add i64 %first, %long
  %last = call i64 @llvm.umin.i64(i64 %behind, i64 %size)"""
