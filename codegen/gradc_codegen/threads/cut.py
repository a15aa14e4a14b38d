"""How a loop is cut into tasks, in LLVM text: the same for the pool and for callers of C.

The lines read ``%size``, ``%unit``, ``%whole``, ``%work``, ``%wished``, how many tasks there are
at most, and ``%abreast``, how many run at once. A task begins at a multiple of a unit, and best at
one of ``%whole``: for as many of these as all who run have the same number of, tasks are whole. Of
the rest a task has a little less than the share of one of them, and what is left is cut smaller.
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
# rest begins, into ``%front`` how many of it one task has, nearly a share, if any, of the others
# tasks have ``%each``; into ``%count`` how many tasks there are in all.
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
  %wholes = mul i64 %turns, %abreast
  %many = add i64 %many.whole, 0
  %behind.wholes = mul i64 %wholes, %many
  %rest = sub i64 %size, %behind.wholes
  %rest.over = add i64 %rest, %unit
  %rest.rounded = sub i64 %rest.over, 1
  %rest.units = udiv i64 %rest.rounded, %unit
  %eighths = mul i64 %abreast, 8
  %front.eighths = mul i64 %rest.units, 7
  %front.units = udiv i64 %front.eighths, %eighths
  %front.seats = sub i64 %some.seats, %wholes
  %may.front = call i64 @llvm.umin.i64(i64 %front.units, i64 %front.seats)
  %is.none = icmp eq i64 %may.front, 0
  %front.all = mul i64 %front.units, %unit
  %front = select i1 %is.none, i64 0, i64 %front.all
  %front.count = call i64 @llvm.umin.i64(i64 %front, i64 1)
  %pieces.all = sub i64 %rest, %front
  %pieces.over = add i64 %pieces.all, %unit
  %pieces.rounded = sub i64 %pieces.over, 1
  %pieces.units = udiv i64 %pieces.rounded, %unit
  %pieces.work = mul i64 %finer, %pieces.all
  %pieces.worth = udiv i64 %pieces.work, %size
  %before = add i64 %wholes, %front.count
  %seats.left = sub i64 %tasks, %before
  %few.pieces = call i64 @llvm.umin.i64(i64 %seats.left, i64 %pieces.units)
  %worth.pieces = call i64 @llvm.umin.i64(i64 %few.pieces, i64 %pieces.worth)
  %pieces = call i64 @llvm.umax.i64(i64 %worth.pieces, i64 1)
  %up = add i64 %pieces.units, %pieces
  %up.less = sub i64 %up, 1
  %units.each = udiv i64 %up.less, %pieces
  %units.some = call i64 @llvm.umax.i64(i64 %units.each, i64 1)
  %each = mul i64 %units.some, %unit
  %end = add i64 %pieces.all, %each
  %end.less = sub i64 %end, 1
  %count.rest = udiv i64 %end.less, %each
  %count = add i64 %before, %count.rest"""

# Into ``%first`` and ``%last`` the iterations of the task ``%number``.
RANGE = """\
  %is.whole = icmp ult i64 %number, %wholes
  %first.whole = mul i64 %number, %many
  %has.front = call i64 @llvm.umin.i64(i64 %front, i64 1)
  %number.rest = sub i64 %number, %wholes
  %is.front = icmp ult i64 %number.rest, %has.front
  %number.piece = sub i64 %number.rest, %has.front
  %into.pieces = mul i64 %number.piece, %each
  %behind.front = add i64 %behind.wholes, %front
  %first.piece = add i64 %behind.front, %into.pieces
  %first.rest = select i1 %is.front, i64 %behind.wholes, i64 %first.piece
  %long.rest = select i1 %is.front, i64 %front, i64 %each
  %first = select i1 %is.whole, i64 %first.whole, i64 %first.rest
  %long = select i1 %is.whole, i64 %many, i64 %long.rest
  %behind = add i64 %first, %long
  %last = call i64 @llvm.umin.i64(i64 %behind, i64 %size)"""
