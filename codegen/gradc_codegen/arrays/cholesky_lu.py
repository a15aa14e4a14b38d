"""Cholesky and LU factors and triangular systems: by loops if small, by LAPACK and BLAS if not."""

from __future__ import annotations

import functools

from gradc_codegen.arrays import small_factorisations
from gradc_codegen.arrays.matrix_stacks import (
    Stacked,
    call,
    converted,
    cubes,
    matrices,
    range_of,
    stack_and_matrix,
)
from gradc_codegen.arrays.small_factorisations import Triangle
from gradc_codegen.arrays.whole_array_site import Site, WholeOp
from gradc_ir.core import sizes
from gradc_ir.core.graph import Node
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType


def _cholesky_scratch(node: Node) -> tuple[Size, ...]:
    """Return the bytes of a factor in double precision, if the result is not that."""
    type_ = node.operands[0].type
    _, n, _ = stack_and_matrix(type_.shape)
    return () if type_.dtype is DType.F64 else (n * n * DType.F64.bytes,)


def _write_cholesky(site: Site) -> None:
    """Write the lower factor of each matrix; it is made in double precision, as NumPy does."""
    stack, n, _ = stack_and_matrix(site.node.results[0].type.shape)
    which = range_of(n)
    pointers = ("a", "l") if not site.scratch else ("a", "l", "wide")
    by_lapack = which != "small"
    define = functools.partial(_cholesky, which=which)
    call(site, define, which, pointers, stack, {"n": n}, by_lapack, DType.F64)


cholesky = WholeOp(_write_cholesky, _cholesky_scratch, matrices, functools.partial(cubes, 4))


def _cholesky(made: Stacked, which: str) -> None:
    writer, wide = made.writer, made.working_type
    bad = made.flag()

    def small(a: str, factor: str) -> None:
        loops = small_factorisations.cholesky(writer.module, made.dtype)
        writer.do(f"call void {loops}(ptr {a}, ptr {factor}, i64 %n)")

    def large(a: str, factor: str) -> None:
        """By rows the lower factor is what the upper one is by columns."""
        n, info = made.fortran.integer("%n"), made.fortran.result()

        def row(i: str) -> None:
            start, after = writer.multiply(i, "%n"), writer.add(i, "1")

            def copy(j: str) -> None:
                place = writer.add(start, j)
                entry = converted(writer, writer.load_at(made.type, a, place), made.type, wide)
                writer.store_at(wide, entry, factor, place)

            def clear(j: str) -> None:
                writer.store_at(wide, "0.0", factor, writer.add(start, j))

            writer.plain_loop("0", after, copy)
            writer.plain_loop(after, "%n", clear)

        writer.plain_loop("0", "%n", row)
        made.fortran.call("potrf", "U", (n, factor, n, info))
        made.note_failure(bad, info)

    def matrix(number: str) -> None:
        a, result = made.part("%a", number, "%n", "%n"), made.part("%l", number, "%n", "%n")
        factor = result if wide == made.type else "%wide"
        count = writer.multiply("%n", "%n")
        made.clear(bad)
        made.by_size(which, "%n", lambda: small(a, factor), lambda: large(a, factor))

        def check(i: str) -> None:
            place = writer.add(writer.multiply(i, "%n"), i)
            pivot = writer.load_at(wide, factor, place)
            made.either(bad, writer.emit(f"fcmp ule {wide} {pivot}, 0.0"))

        writer.plain_loop("0", "%n", check)
        if factor != result:
            made.copy(factor, result, count, wide)
        writer.where(writer.load("i1", bad), lambda: made.spoil(result, count))

    made.each(matrix)


def _lu_scratch(node: Node) -> tuple[Size, ...]:
    """Return the bytes of a matrix by columns, and of LAPACK's pivots."""
    type_ = node.operands[0].type
    _, rows, columns = stack_and_matrix(type_.shape)
    if range_of(rows, columns) == "small":
        return ()
    return rows * columns * type_.dtype.bytes, sizes.minimum(rows, columns) * 4


def _write_lu(site: Site) -> None:
    """Write the packed factors of each matrix, and the order of its rows."""
    stack, rows, columns = stack_and_matrix(site.node.operands[0].type.shape)
    which = range_of(rows, columns)
    pointers = ["a", "f", "permutation", "copy", "pivots"][: 3 + len(site.scratch)]
    numbers = {"rows": rows, "columns": columns}
    by_lapack = which != "small"
    define = functools.partial(_lu, which=which)
    call(site, define, which, pointers, stack, numbers, by_lapack)


lu = WholeOp(_write_lu, _lu_scratch, matrices, functools.partial(cubes, 8))


def _lu(made: Stacked, which: str) -> None:
    writer = made.writer
    steps = writer.entry.minimum("%rows", "%columns")

    def small(a: str, packed: str, order: str) -> None:
        loops = small_factorisations.lu(writer.module, made.dtype)
        made.copy(a, packed, writer.multiply("%rows", "%columns"))
        sizes_ = "i64 %rows, i64 %columns"
        writer.do(f"call void {loops}(ptr {packed}, ptr {order}, {sizes_})")

    def large(a: str, packed: str, order: str) -> None:
        rows, columns = made.fortran.integer("%rows"), made.fortran.integer("%columns")
        made.to_columns(a, "%copy", "%rows", "%columns")
        arguments = (rows, columns, "%copy", rows, "%pivots", made.fortran.result())
        made.fortran.call("getrf", "", arguments)
        made.to_rows("%copy", packed, "%rows", "%columns")

        def exchange(k: str) -> None:
            """A pivot is the row, counted from 1, that the k-th was exchanged with."""
            pivot = writer.emit(f"sext i32 {writer.load_at('i32', '%pivots', k)} to i64")
            other = writer.emit(f"sub i64 {pivot}, 1")
            small_factorisations.exchange(writer, "i64", order, k, other)

        writer.plain_loop("0", steps, exchange)

    def matrix(number: str) -> None:
        a = made.part("%a", number, "%rows", "%columns")
        packed = made.part("%f", number, "%rows", "%columns")
        order = made.part("%permutation", number, "%rows", type_="i64")
        writer.plain_loop("0", "%rows", lambda i: writer.store_at("i64", i, order, i))
        made.by_size(which, steps, lambda: small(a, packed, order), lambda: large(a, packed, order))

    made.each(matrix)


def _write_triangular_solve(site: Site) -> None:
    """Write the unknowns of each triangular system."""
    stack, n, columns = stack_and_matrix(site.node.results[0].type.shape)
    triangle = Triangle(
        *(bool(site.node.attributes[name]) for name in ("lower", "transposed", "unit"))
    )
    which = range_of(n)
    variant, by_lapack = f"{which}.{triangle}", which != "small"
    numbers = {"n": n, "columns": columns}
    define = functools.partial(_triangular_solve, which=which, triangle=triangle)
    call(site, define, variant, ("a", "b", "x"), stack, numbers, by_lapack)


triangular_solve = WholeOp(
    _write_triangular_solve, items=matrices, work=functools.partial(cubes, 8)
)


def _triangular_solve(made: Stacked, which: str, triangle: Triangle) -> None:
    writer = made.writer

    def small(a: str, x: str) -> None:
        loops = small_factorisations.substitution(writer.module, made.dtype, triangle)
        writer.do(f"call void {loops}(ptr {a}, ptr {x}, i64 %n, i64 %columns)")

    def large(a: str, x: str) -> None:
        """By columns all is transposed: the triangle is the other one, right of the unknowns."""
        n, columns = made.fortran.integer("%n"), made.fortran.integer("%columns")
        letters = "".join(pair[not holds] for holds, pair in zip(triangle, ("UL", "TN", "UN")))

        def solve() -> None:
            one = made.fortran.number(1.0)
            made.fortran.call("trsm", f"R{letters}", (columns, n, one, a, n, x, columns))

        writer.branch_if_less("0", "%columns", solve)

    def matrix(number: str) -> None:
        a = made.part("%a", number, "%n", "%n")
        x = made.part("%x", number, "%n", "%columns")
        made.copy(made.part("%b", number, "%n", "%columns"), x, writer.multiply("%n", "%columns"))
        made.by_size(which, "%n", lambda: small(a, x), lambda: large(a, x))

    made.each(matrix)
