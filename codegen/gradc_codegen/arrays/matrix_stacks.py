"""Functions on a stack of matrices in the making, and what the factorisations share.

Kernels hold matrices by rows, LAPACK by columns: what one has is the transpose of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradc_codegen.arrays.fortran import LARGEST_INTEGER, Fortran
from gradc_codegen.arrays.small_factorisations import SMALL
from gradc_codegen.arrays.whole_array_site import Site
from gradc_codegen.text.module import REGISTER, Module, literal, suffix
from gradc_codegen.text.writer import Writer
from gradc_ir.core import sizes
from gradc_ir.core.graph import Node
from gradc_ir.core.sizes import Size, product
from gradc_ir.core.types import DType


class Stacked:
    """An internal function that goes through a range of a stack of matrices.

    Parameters
    ----------
    module: where it will stand.
    dtype: of the matrices.
    working: of the copies that are factored.
    """

    def __init__(self, module: Module, dtype: DType, working: DType) -> None:
        self.writer = Writer(module, {})
        self.dtype = dtype
        self.working = working
        self.type = REGISTER[dtype]
        self.working_type = REGISTER[working]
        self.fortran = Fortran(self.writer, working)

    def each(self, body: Callable[[str], None]) -> None:
        """Write a body for the number of each matrix of the range."""
        self.writer.plain_loop("%first", "%last", body)

    def part(self, base: str, number: str, *shape: str, type_: str = "") -> str:
        """Return where the part of a stacked array begins that belongs to a matrix."""
        position = number
        for size in shape:
            position = self.writer.multiply(position, size)
        return self.writer.emit(f"getelementptr {type_ or self.type}, ptr {base}, i64 {position}")

    def copy(self, source: str, target: str, count: str, type_: str = "") -> None:
        """Copy so many elements, of the working type where that is given, and make them narrow."""
        writer, type_ = self.writer, type_ or self.type

        def element(i: str) -> None:
            entry = converted(writer, writer.load_at(type_, source, i), type_, self.type)
            writer.store_at(self.type, entry, target, i)

        writer.plain_loop("0", count, element)

    def spoil(self, target: str, count: str) -> None:
        """Make so many elements nan."""
        writer, nan = self.writer, literal(float("nan"), self.dtype)
        writer.plain_loop("0", count, lambda i: writer.store_at(self.type, nan, target, i))

    def to_columns(self, source: str, target: str, rows: str, columns: str) -> None:
        """Copy a matrix by rows to one by columns, of the working dtype."""
        self._transpose(source, self.type, target, self.working_type, rows, columns)

    def to_rows(self, source: str, target: str, rows: str, columns: str) -> None:
        """Copy a matrix by columns, of the working dtype, to one by rows."""
        self._transpose(source, self.working_type, target, self.type, columns, rows)

    def _transpose(
        self, source: str, from_: str, target: str, to: str, rows: str, columns: str
    ) -> None:
        name = f"@gradc.transpose.{from_}.{to}"
        module = self.writer.module
        module.help(name, lambda: _define_transpose(module, name, from_, to))
        pointers = f"ptr {source}, ptr {target}"
        self.writer.do(f"call void {name}({pointers}, i64 {rows}, i64 {columns})")

    def by_size(
        self,
        which: str,
        length: str,
        small: Callable[[], None],
        large: Callable[[], None],
    ) -> None:
        """Write what is done for small and for large matrices, as far as :func:`range_of` has them.

        ``length`` is the least size.
        """
        if which != "large":
            self.writer.branch_if_less(length, str(SMALL), small)
        if which != "small":
            self.writer.branch_if_less(str(SMALL - 1), length, large)

    def flag(self) -> str:
        """Return a place for a condition."""
        return self.writer.stack.own("i1")

    def clear(self, place: str) -> None:
        """Reset a flag."""
        self.writer.do(f"store i1 false, ptr {place}")

    def note_failure(self, place: str, info: str) -> None:
        """Set a flag where LAPACK says that it failed."""
        status = self.writer.load("i32", info)
        self.either(place, self.writer.emit(f"icmp ne i32 {status}, 0"))

    def either(self, place: str, condition: str) -> None:
        """Set a flag where a condition holds."""
        have = self.writer.load("i1", place)
        self.writer.do(f"store i1 {self.writer.emit(f'or i1 {have}, {condition}')}, ptr {place}")

    def text(self, name: str, pointers: Sequence[str], numbers: Sequence[str]) -> str:
        """Return the whole function; it takes pointers, the range of the stack, and sizes."""
        parameters = [f"ptr noalias %{pointer}" for pointer in pointers]
        parameters += [f"i64 %{number}" for number in ("first", "last", *numbers)]
        return self.writer.procedure(name, parameters)


def converted(writer: Writer, register: str, from_: str, to: str) -> str:
    """Return a float as one of another type, rounded if that is narrower."""
    if from_ == to:
        return register
    instruction = "fpext" if to == "double" else "fptrunc"
    return writer.emit(f"{instruction} {from_} {register} to {to}")


def _define_transpose(module: Module, name: str, from_: str, to: str) -> str:
    """Return the function that transposes in blocks, so that both sides stay in the cache."""
    writer = Writer(module, {})

    def block(first_row: str, first_column: str) -> None:
        end_row = writer.minimum(writer.add(first_row, "16"), "%rows")
        end_column = writer.minimum(writer.add(first_column, "16"), "%columns")

        def column(j: str) -> None:
            start = writer.multiply(j, "%rows")

            def element(i: str) -> None:
                place = writer.add(writer.multiply(i, "%columns"), j)
                entry = converted(writer, writer.load_at(from_, "%in", place), from_, to)
                writer.store_at(to, entry, "%out", writer.add(start, i))

            writer.plain_loop(first_row, end_row, element)

        writer.plain_loop(first_column, end_column, column)

    writer.plain_loop(
        "0",
        "%rows",
        lambda row: writer.plain_loop("0", "%columns", lambda column: block(row, column), 16),
        16,
    )
    arrays = ("ptr noalias readonly %in", "ptr noalias %out")
    return writer.procedure(name, (*arrays, "i64 %rows", "i64 %columns"))


def stack_and_matrix(shape: tuple[Size, ...]) -> tuple[Size, Size, Size]:
    """Return how many matrices a stack has, and their rows and columns."""
    return product(shape[:-2]), shape[-2], shape[-1]


def range_of(*lengths: Size) -> str:
    """Return whether the least size is below that from which LAPACK pays: small, large or any."""
    if any(isinstance(length, int) and length < SMALL for length in lengths):
        return "small"
    return "large" if all(sizes.at_least(length, SMALL) for length in lengths) else "any"


def call(
    site: Site,
    define: Callable[[Stacked], None],
    variant: str,
    pointers: Sequence[str],
    stack: Size,
    numbers: dict[str, Size],
    by_lapack: bool,
    working: DType | None = None,
) -> None:
    """Write the call of the function for a node's op and dtype, and define it.

    Parameters
    ----------
    define: writes its body.
    variant: distinguishes functions of one op and dtype.
    pointers: the names of its operands, results and scratch.
    stack: how many matrices there are.
    numbers: its sizes by name.
    by_lapack: whether LAPACK takes the sizes; the kernel refuses what has no room in 32 bits.
    working: the dtype in which it works; that of the operands by default.
    """
    dtype = site.node.operands[0].type.dtype
    name = f"@gradc.{site.node.op.name}.{variant}.{suffix(dtype)}"
    module = site.writer.module

    def text() -> str:
        made = Stacked(module, dtype, working or dtype)
        define(made)
        return made.text(name, pointers, tuple(numbers))

    module.help(name, text)
    for size in numbers.values():
        if by_lapack and (not isinstance(size, int) or size > LARGEST_INTEGER):
            site.refuse(site.writer.emit(f"icmp sgt i64 {site.size(size)}, {LARGEST_INTEGER}"))
    given = (*site.operands, *site.results, *site.scratch)
    site.call(name, given, (*site.items(stack), *map(site.size, numbers.values())))


def matrices(node: Node) -> Size:
    """Return how many matrices the first operand of a node is a stack of."""
    stack, _, _ = stack_and_matrix(node.operands[0].type.shape)
    return stack


def cubes(factor: int, node: Node) -> Size:
    """Return so much for each element of the first operand and column of the last."""
    _, _, columns = stack_and_matrix(node.operands[-1].type.shape)
    return node.operands[0].type.count * columns * factor
