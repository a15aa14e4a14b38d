"""Writing one LLVM function: loops, branches and lanes over the lines of its text."""

from __future__ import annotations

from collections.abc import Callable

from gradc_codegen.text.indices import Indices, Lane, is_number

# A loop of fewer trips does not fill a vector.
_FEWEST_TRIPS = 4


class Writer(Indices):
    """Lines with loops and branches."""

    # -- memory ------------------------------------------------------------------------------------

    def load_at(self, type_: str, base: str, position: str) -> str:
        """Return the element of an array at a position."""
        address = self.emit(f"getelementptr inbounds {type_}, ptr {base}, i64 {position}")
        return self.emit(f"load {type_}, ptr {address}")

    def store_at(self, type_: str, register: str, base: str, position: str) -> None:
        """Write a register to a position of an array."""
        address = self.emit(f"getelementptr inbounds {type_}, ptr {base}, i64 {position}")
        self.do(f"store {type_} {register}, ptr {address}")

    # -- loops -------------------------------------------------------------------------------------

    def loop(
        self,
        start: str,
        end: str,
        body: Callable[[str], None],
        step: int = 1,
        runs: bool = False,
        mark: str = "",
    ) -> None:
        """Write a loop from start to end, exclusive.

        Parameters
        ----------
        runs: whether it is known to run at least once.
        mark: what LLVM is told about it.
        """
        worthwhile = True
        if is_number(start) and is_number(end):
            if int(start) >= int(end):
                return
            runs = True
            if int(start) + step >= int(end):
                body(start)
                return
            worthwhile = (int(end) - int(start)) // step >= _FEWEST_TRIPS
        head, latch, exit_ = self.labels("loop", "next", "done")
        if runs:
            self.do(f"br label %{head}")
        else:
            some = self.emit(f"icmp slt i64 {start}, {end}")
            self.do(f"br i1 {some}, label %{head}, label %{exit_}")
        before = self.block
        self.start(head)
        index, following = f"%{head}.i", f"%{head}.n"
        self.do(f"{index} = phi i64 [ {start}, %{before} ], [ {following}, %{latch} ]")
        reads = self.guarded_reads
        self.open()
        self._open_loops += worthwhile
        body(index)
        self._open_loops -= worthwhile
        self.close()
        if self.guarded_reads - reads > 1:
            # Where one guard decides another, LLVM 20 to 22 merge indices of the two, and the
            # vectoriser takes the merged one of a lane that reads nothing for that of all lanes.
            mark = self.module.keep_scalar()
        self.do(f"br label %{latch}")
        self.start(latch)
        self.do(f"{following} = add nuw nsw i64 {index}, {step}")
        more = self.emit(f"icmp slt i64 {following}, {end}")
        self.do(f"br i1 {more}, label %{head}, label %{exit_}{mark}")
        self.start(exit_)

    def plain_loop(self, start: str, end: str, body: Callable[[str], None], step: int = 1) -> None:
        """Write a loop as :meth:`loop` does, that stays as it is: none that time is spent in."""
        self.loop(start, end, body, step, mark=self.module.keep_plain())

    def branch_if_less(self, a: str, b: str, body: Callable[[], None]) -> None:
        """Write a body that runs where a < b."""
        if is_number(a) and is_number(b):
            if int(a) < int(b):
                body()
            return
        self.where(self.emit(f"icmp slt i64 {a}, {b}"), body)

    def where(self, condition: str, body: Callable[[], None]) -> None:
        """Write a body that runs where a condition holds."""
        inside, following = self.labels("where", "after")
        self.do(f"br i1 {condition}, label %{inside}, label %{following}")
        self.start(inside)
        self.open()
        body()
        self.close()
        self.do(f"br label %{following}")
        self.start(following)

    def either(
        self, condition: str, then: Callable[[], None], otherwise: Callable[[], None]
    ) -> None:
        """Write two bodies, of which the first runs where a condition holds."""
        yes, no, following = self.labels("yes", "no", "after")
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")
        for label, body in ((yes, then), (no, otherwise)):
            self.start(label)
            self.open()
            body()
            self.close()
            self.do(f"br label %{following}")
        self.start(following)

    def return_unless_ok(self, status: str) -> None:
        """Write the return of what a function of the module returned, where that is not OK."""
        fine = self.emit(f"icmp eq i32 {status}, 0")
        failed, following = self.labels("failed", "following")
        self.do(f"br i1 {fine}, label %{following}, label %{failed}")
        self.start(failed)
        self.do(f"ret i32 {status}")
        self.start(following)

    def lane_loop(
        self, end: str, lanes: int, body: Callable[[Lane], None], start: str = "0"
    ) -> None:
        """Write a loop that runs several iterations at once; the last ones under a mask."""
        whole = self.whole_blocks(start, end, lanes)

        def block(index: str) -> None:
            with self.in_lanes(lanes):
                body(Lane(index, "1"))

        def rest() -> None:
            with self.in_lanes(lanes):
                mask = self.below(self.subtract(end, whole))
            with self.in_lanes(lanes, mask):
                body(Lane(whole, "1"))

        self.loop(start, whole, block, lanes, mark=self.module.keep_scalar())
        self.branch_if_less(whole, end, rest)

    def whole_blocks(self, start: str, end: str, block: int) -> str:
        """Return where the whole blocks from start to end are over."""
        length = self.subtract(end, start)
        if is_number(length):
            return self.add(start, str(int(length) // block * block))
        return self.add(start, self.emit(f"and i64 {length}, {-block}"))

    def minimum(self, a: str, b: str) -> str:
        """Return the smaller of two indices."""
        if is_number(a) and is_number(b):
            return str(min(int(a), int(b)))
        self.module.declare("declare i64 @llvm.smin.i64(i64, i64)")
        return self.emit(f"call i64 @llvm.smin.i64(i64 {a}, i64 {b})")
