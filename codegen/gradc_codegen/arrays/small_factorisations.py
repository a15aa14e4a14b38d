"""Small matrices factored and solved by plain loops: Cholesky, LU, substitution.

For a matrix of a few rows a call of LAPACK costs more than the work. ``lu`` and the substitution
do what their references do, in the same order, to the bit. Matrices are row-major.
"""

from __future__ import annotations

from gradc_codegen.scalar.lower_scalar import lower_word
from gradc_codegen.text.module import REGISTER, Module, suffix
from gradc_codegen.text.writer import Writer
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.types import DType

# Matrices of fewer rows than this are factored here. The inner loops run along rows.
SMALL = 32


def cholesky(module: Module, dtype: DType) -> str:
    """Return the name of the function ``(a, l, n)`` that writes a's factor to l, an array of f64.

    The diagonal holds a nan or a 0 where a is not positive definite.
    """
    name = f"@gradc.cholesky.loops.{suffix(dtype)}"
    return module.help(name, lambda: _define_cholesky(module, name, dtype))


def _define_cholesky(module: Module, name: str, dtype: DType) -> str:
    """Work on the transpose, whose rows are contiguous, in l's upper triangle."""
    writer, type_, working = Writer(module, {}), "double", DType.F64
    n = "%n"

    def at(row: str, column: str) -> str:
        return writer.add(writer.multiply(row, n), column)

    def copy(row: str) -> None:
        def element(column: str) -> None:
            entry = writer.load_at(REGISTER[dtype], "%a", at(column, row))
            if dtype is DType.F32:
                entry = writer.emit(f"fpext float {entry} to double")
            writer.store_at(type_, entry, "%l", at(row, column))

        writer.plain_loop(row, n, element)

    def eliminate(k: str) -> None:
        square = writer.load_at(type_, "%l", at(k, k))
        pivot = writer.emit(module.call("double", "@llvm.sqrt.f64", f"double {square}"))
        writer.store_at(type_, pivot, "%l", at(k, k))
        after = writer.add(k, "1")

        def divide(j: str) -> None:
            entry = writer.load_at(type_, "%l", at(k, j))
            quotient = lower_word(writer, "div", working, [entry, pivot])
            writer.store_at(type_, quotient, "%l", at(k, j))

        def update(i: str) -> None:
            factor = writer.load_at(type_, "%l", at(k, i))
            _subtract_row(writer, working, "%l", at(i, "0"), at(k, "0"), factor, i, n)

        writer.plain_loop(after, n, divide)
        writer.plain_loop(after, n, update)

    def transpose(row: str) -> None:
        def element(column: str) -> None:
            entry = writer.load_at(type_, "%l", at(row, column))
            writer.store_at(type_, entry, "%l", at(column, row))
            writer.store_at(type_, "0.0", "%l", at(row, column))

        writer.plain_loop(writer.add(row, "1"), n, element)

    for step in (copy, eliminate, transpose):
        writer.plain_loop("0", n, step)
    return writer.procedure(name, ("ptr noalias readonly %a", "ptr noalias %l", "i64 %n"))


def _subtract_row(
    writer: Writer, dtype: DType, base: str, row: str, other: str, factor: str, first: str, end: str
) -> None:
    """Subtract ``factor`` times another row from one, from a column on."""
    type_ = REGISTER[dtype]

    def element(column: str) -> None:
        place = writer.add(row, column)
        entry = writer.load_at(type_, base, place)
        pivot = writer.load_at(type_, base, writer.add(other, column))
        product = lower_word(writer, "mul", dtype, [factor, pivot])
        writer.store_at(type_, lower_word(writer, "sub", dtype, [entry, product]), base, place)

    writer.loop(first, end, element)


def lu(module: Module, dtype: DType) -> str:
    """Return the name of the function ``(f, permutation, rows, columns)`` that factors f in place.

    The permutation must hold 0, 1, 2 … before.
    """
    name = f"@gradc.lu.loops.{suffix(dtype)}"
    return module.help(name, lambda: _define_lu(module, name, dtype))


def _define_lu(module: Module, name: str, dtype: DType) -> str:
    writer, type_ = Writer(module, {}), REGISTER[dtype]
    rows, columns = "%rows", "%columns"
    best, found = writer.stack.own(type_), writer.stack.own("i64")
    steps = writer.entry.minimum(rows, columns)

    def at(row: str, column: str) -> str:
        return writer.add(writer.multiply(row, columns), column)

    def size(row: str, k: str) -> str:
        entry = writer.load_at(type_, "%f", at(row, k))
        return writer.emit(module.call(type_, f"@llvm.fabs.{suffix(dtype)}", f"{type_} {entry}"))

    def search(row: str, k: str) -> None:
        """Keep the first largest; the first nan is larger than all else."""
        here = size(row, k)
        largest = writer.load(type_, best)
        larger = writer.emit(f"fcmp ugt {type_} {here}, {largest}")
        open_ = writer.emit(f"fcmp ord {type_} {largest}, {largest}")
        take = writer.emit(f"and i1 {larger}, {open_}")
        writer.do(
            f"store {type_} {writer.emit(f'select i1 {take}, {type_} {here}, {type_} {largest}')}"
            f", ptr {best}"
        )
        before = writer.load("i64", found)
        chosen = writer.emit(f"select i1 {take}, i64 {row}, i64 {before}")
        writer.do(f"store i64 {chosen}, ptr {found}")

    def eliminate(k: str) -> None:
        writer.do(f"store {type_} {size(k, k)}, ptr {best}")
        writer.do(f"store i64 {k}, ptr {found}")
        after = writer.add(k, "1")
        writer.plain_loop(after, rows, lambda row: search(row, k))
        pivot_row = writer.load("i64", found)

        def exchange_in(column: str) -> None:
            exchange(writer, type_, "%f", at(k, column), at(pivot_row, column))

        def different() -> None:
            writer.plain_loop("0", columns, exchange_in)
            exchange(writer, "i64", "%permutation", k, pivot_row)

        writer.branch_if_less(k, pivot_row, different)
        pivot = writer.load_at(type_, "%f", at(k, k))
        singular = writer.emit(f"fcmp oeq {type_} {pivot}, 0.0")

        def row(i: str) -> None:
            entry = writer.load_at(type_, "%f", at(i, k))
            quotient = lower_word(writer, "div", dtype, [entry, pivot])
            factor = writer.emit(f"select i1 {singular}, {type_} {entry}, {type_} {quotient}")
            writer.store_at(type_, factor, "%f", at(i, k))
            _subtract_row(writer, dtype, "%f", at(i, "0"), at(k, "0"), factor, after, columns)

        writer.plain_loop(after, rows, row)

    writer.plain_loop("0", steps, eliminate)
    arrays = ("ptr noalias %f", "ptr noalias %permutation")
    return writer.procedure(name, (*arrays, f"i64 {rows}", f"i64 {columns}"))


def exchange(writer: Writer, type_: str, base: str, one: str, other: str) -> None:
    """Exchange two elements of an array."""
    first, second = writer.load_at(type_, base, one), writer.load_at(type_, base, other)
    writer.store_at(type_, second, base, one)
    writer.store_at(type_, first, base, other)


class Triangle(NamedTuple):
    """The matrix of a triangular system: which half counts, and whether its diagonal is of ones."""

    lower: bool
    transposed: bool
    unit: bool

    def __str__(self) -> str:
        half = "lower" if self.lower else "upper"
        return f"{half}{'.t' * self.transposed}{'.unit' * self.unit}"


def substitution(module: Module, dtype: DType, triangle: Triangle) -> str:
    """Return the name of the function ``(a, x, n, columns)`` that solves in place, b being in x."""
    name = f"@gradc.substitution.{triangle}.{suffix(dtype)}"
    return module.help(name, lambda: _define_substitution(module, name, dtype, triangle))


def _define_substitution(module: Module, name: str, dtype: DType, triangle: Triangle) -> str:
    writer, type_ = Writer(module, {}), REGISTER[dtype]
    forward = triangle.lower != triangle.transposed
    last = writer.at_entry("sub i64 %n, 1")

    def coefficient(row: str, column: str) -> str:
        outer, inner = (column, row) if triangle.transposed else (row, column)
        return writer.load_at(type_, "%a", writer.add(writer.multiply(outer, "%n"), inner))

    def unknown(step: str) -> None:
        k = step if forward else writer.subtract(last, step)
        start = writer.multiply(k, "%columns")
        if not triangle.unit:
            pivot = coefficient(k, k)

            def divide(column: str) -> None:
                place = writer.add(start, column)
                entry = writer.load_at(type_, "%x", place)
                quotient = lower_word(writer, "div", dtype, [entry, pivot])
                writer.store_at(type_, quotient, "%x", place)

            writer.plain_loop("0", "%columns", divide)

        def equation(i: str) -> None:
            factor = coefficient(i, k)
            row = writer.multiply(i, "%columns")
            _subtract_row(writer, dtype, "%x", row, start, factor, "0", "%columns")

        writer.plain_loop(*((writer.add(k, "1"), "%n") if forward else ("0", k)), equation)

    writer.plain_loop("0", "%n", unknown)
    arrays = ("ptr noalias readonly %a", "ptr noalias %x")
    return writer.procedure(name, (*arrays, "i64 %n", "i64 %columns"))
