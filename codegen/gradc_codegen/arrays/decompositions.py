"""QR, eigenvalues and singular values by LAPACK, on copies by columns in double precision.

So NumPy does it too, for float32 as well. The blocked routines get room for blocks; the other
lengths are the least that LAPACK documents.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from gradc_codegen.arrays.matrix_stacks import (
    Stacked,
    call,
    converted,
    cubes,
    matrices,
    stack_and_matrix,
)
from gradc_codegen.arrays.whole_array_site import Site, WholeOp
from gradc_codegen.text.module import literal
from gradc_ir.core import sizes
from gradc_ir.core.graph import Node
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType

WORKING = DType.F64
_WIDTH = WORKING.bytes
# Columns that a blocked routine works on at a time.
BLOCK = 32


def _matrix(node: Node) -> tuple[Size, Size, Size]:
    return stack_and_matrix(node.operands[0].type.shape)


def _call(
    site: Site,
    define: Callable[[Stacked], None],
    pointers: str,
    numbers: dict[str, Size],
    variant: str = "lapack",
) -> None:
    stack, _, _ = _matrix(site.node)
    call(site, define, variant, pointers.split(), stack, numbers, True, WORKING)


# -- QR --------------------------------------------------------------------------------------------


def _qr_scratch(node: Node) -> tuple[Size, ...]:
    """Return the bytes of the copy, the scales of the reflections, and LAPACK's own."""
    _, rows, columns = _matrix(node)
    steps = sizes.minimum(rows, columns)
    return rows * columns * _WIDTH, steps * _WIDTH, columns * BLOCK * _WIDTH


def _write_qr(site: Site) -> None:
    """Write both factors of each matrix."""
    _, rows, columns = _matrix(site.node)
    numbers = {"rows": rows, "columns": columns, "length": columns * BLOCK}
    _call(site, _qr, "a q r copy scales work", numbers)


qr = WholeOp(_write_qr, _qr_scratch, matrices, functools.partial(cubes, 32))


def _qr(made: Stacked) -> None:
    writer, steps = made.writer, made.writer.entry.minimum("%rows", "%columns")
    rows, columns, count, length = map(
        made.fortran.integer, ("%rows", "%columns", steps, "%length")
    )
    info = made.fortran.result()

    def matrix(number: str) -> None:
        made.to_columns(made.part("%a", number, "%rows", "%columns"), "%copy", "%rows", "%columns")
        work = ("%scales", "%work", length, info)
        made.fortran.call("geqrf", "", (rows, columns, "%copy", rows, *work))
        upper = made.part("%r", number, steps, "%columns")

        def row(i: str) -> None:
            start = writer.multiply(i, "%columns")
            zero = literal(0, made.dtype)
            writer.plain_loop(
                "0", i, lambda j: writer.store_at(made.type, zero, upper, writer.add(start, j))
            )

            def copy(j: str) -> None:
                place = writer.add(writer.multiply(j, "%rows"), i)
                entry = writer.load_at(made.working_type, "%copy", place)
                narrow = converted(writer, entry, made.working_type, made.type)
                writer.store_at(made.type, narrow, upper, writer.add(start, j))

            writer.plain_loop(i, "%columns", copy)

        writer.plain_loop("0", steps, row)
        made.fortran.call("orgqr", "", (rows, count, count, "%copy", rows, *work))
        made.to_rows("%copy", made.part("%q", number, "%rows", steps), "%rows", steps)

    writer.branch_if_less("0", steps, lambda: made.each(matrix))


# -- eigenvalues -----------------------------------------------------------------------------------


def _eigh_lengths(n: Size) -> tuple[Size, Size]:
    """Return the numbers and the integers that syevd needs for n rows."""
    return 2 * n * n + 6 * n + 1, 5 * n + 3


def _eigh_scratch(node: Node) -> tuple[Size, ...]:
    """Return the bytes of the copy, of the eigenvalues, and of LAPACK's own."""
    _, n, _ = _matrix(node)
    length, integers = _eigh_lengths(n)
    return n * n * _WIDTH, n * _WIDTH, length * _WIDTH, integers * 4


def _write_eigh(site: Site) -> None:
    """Write eigenvalues and eigenvectors of each matrix."""
    _, n, _ = _matrix(site.node)
    length, integers = _eigh_lengths(n)
    numbers = {"n": n, "length": length, "integers": integers}
    lower = site.node.attributes["lower"]
    define = functools.partial(_eigh, lower=lower)
    pointers = "a w v copy values work iwork"
    _call(site, define, pointers, numbers, "lapack" if lower else "lapack.upper")


eigh = WholeOp(_write_eigh, _eigh_scratch, matrices, functools.partial(cubes, 128))


def _eigh(made: Stacked, lower: bool) -> None:
    writer = made.writer
    n, length, integers = map(made.fortran.integer, ("%n", "%length", "%integers"))
    info, bad = made.fortran.result(), made.flag()

    def matrix(number: str) -> None:
        a, v = made.part("%a", number, "%n", "%n"), made.part("%v", number, "%n", "%n")
        w = made.part("%w", number, "%n")
        made.clear(bad)
        # by columns the triangles of the copy are those of a
        made.to_columns(a, "%copy", "%n", "%n")

        def column(j: str) -> None:
            start = writer.multiply(j, "%n")
            first, end = (j, "%n") if lower else ("0", writer.add(j, "1"))
            writer.plain_loop(first, end, lambda i: _see(made, bad, "%copy", writer.add(start, i)))

        writer.plain_loop("0", "%n", column)

        def factor() -> None:
            work = ("%work", length, "%iwork", integers, info)
            letters = "VL" if lower else "VU"
            made.fortran.call("syevd", letters, (n, "%copy", n, "%values", *work))
            made.to_rows("%copy", v, "%n", "%n")
            made.copy("%values", w, "%n", made.working_type)

        _unless_bad(made, bad, info, factor, ((w, "%n"), (v, writer.multiply("%n", "%n"))))

    writer.branch_if_less("0", "%n", lambda: made.each(matrix))


def _see(made: Stacked, bad: str, copy: str, place: str) -> None:
    """Set a flag for an entry of the copy that is nan or infinite."""
    type_ = made.working_type
    entry = made.writer.load_at(type_, copy, place)
    zero = made.writer.emit(f"fsub {type_} {entry}, {entry}")
    made.either(bad, made.writer.emit(f"fcmp uno {type_} {zero}, {zero}"))


def _unless_bad(
    made: Stacked,
    bad: str,
    info: str,
    factor: Callable[[], None],
    results: tuple[tuple[str, str], ...],
) -> None:
    """Write a factorisation of finite entries; where it fails the results are nan."""
    writer = made.writer
    good = writer.emit(f"xor i1 {writer.load('i1', bad)}, true")

    def attempt() -> None:
        factor()
        made.note_failure(bad, info)

    def spoil() -> None:
        for target, count in results:
            made.spoil(target, count)

    writer.where(good, attempt)
    writer.where(writer.load("i1", bad), spoil)


# -- singular values -------------------------------------------------------------------------------


def _svd_lengths(rows: Size, columns: Size) -> tuple[Size, Size]:
    """Return the numbers, with room for blocks, and the integers that gesdd needs."""
    steps = sizes.minimum(rows, columns)
    return 4 * steps * steps + 7 * steps + BLOCK * (rows + columns), 8 * steps


def _svd_scratch(node: Node) -> tuple[Size, ...]:
    """Return the bytes of the copy, of the factors by columns, and of LAPACK's own."""
    _, rows, columns = _matrix(node)
    steps = sizes.minimum(rows, columns)
    length, integers = _svd_lengths(rows, columns)
    whole = rows * columns * _WIDTH
    factors = (rows * steps * _WIDTH, steps * _WIDTH, steps * columns * _WIDTH)
    return whole, *factors, length * _WIDTH, integers * 4


def _write_svd(site: Site) -> None:
    """Write the factors and the singular values of each matrix."""
    _, rows, columns = _matrix(site.node)
    length, _ = _svd_lengths(rows, columns)
    numbers = {"rows": rows, "columns": columns, "length": length}
    _call(site, _svd, "a u s vt copy u.copy values vt.copy work iwork", numbers)


svd = WholeOp(_write_svd, _svd_scratch, matrices, functools.partial(cubes, 256))


def _svd(made: Stacked) -> None:
    writer, steps = made.writer, made.writer.entry.minimum("%rows", "%columns")
    rows, columns, count, length = map(
        made.fortran.integer, ("%rows", "%columns", steps, "%length")
    )
    info, bad = made.fortran.result(), made.flag()

    def matrix(number: str) -> None:
        a = made.part("%a", number, "%rows", "%columns")
        u, vt = made.part("%u", number, "%rows", steps), made.part("%vt", number, steps, "%columns")
        s = made.part("%s", number, steps)
        whole = writer.multiply("%rows", "%columns")
        made.clear(bad)
        made.to_columns(a, "%copy", "%rows", "%columns")
        writer.plain_loop("0", whole, lambda i: _see(made, bad, "%copy", i))

        def factor() -> None:
            factors = ("%u.copy", rows, "%vt.copy", count)
            work = ("%work", length, "%iwork", info)
            made.fortran.call(
                "gesdd", "S", (rows, columns, "%copy", rows, "%values", *factors, *work)
            )
            made.to_rows("%u.copy", u, "%rows", steps)
            made.copy("%values", s, steps, made.working_type)
            made.to_rows("%vt.copy", vt, steps, "%columns")

        counts = (writer.multiply("%rows", steps), steps, writer.multiply(steps, "%columns"))
        _unless_bad(made, bad, info, factor, tuple(zip((u, s, vt), counts)))

    writer.branch_if_less("0", steps, lambda: made.each(matrix))
