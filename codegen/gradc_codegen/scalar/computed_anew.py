"""Formulas of numbers alone that may have to be computed anew: one call asks exactly, and computes.

It stands in code that hardly ever runs, and around each call there what registers hold goes to the
stack and back. So numbers have one function in place of the two that lanes call.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc_codegen.math.formulas import Programs, declaration, name_of
from gradc_codegen.scalar import extremes
from gradc_codegen.text.module import REGISTER, suffix
from gradc_codegen.text.writer import Writer
from gradc_ir.core.graph import Function
from gradc_ir.core.types import DType

# the byte of a lane that is computed
_COMPUTED = 2
_POINTERS = ("numbers", "places", "programs", "program", "results")


def write(
    writer: Writer,
    body: Function,
    dtype: DType,
    plain: Sequence[str],
    operands: Sequence[str],
    asked: tuple[Sequence[str], Sequence[str]],
) -> tuple[list[str], str]:
    """Write the call; returns the results, and whether they are other than the plain ones.

    ``asked``: what :func:`gradc_codegen.scalar.extremes.surely` asks of, operands and results.
    """
    module, type_ = writer.module, REGISTER[dtype]
    name = f"@gradc.anew.{suffix(dtype)}"
    module.declare(declaration(dtype))
    module.help(name, lambda: _text(writer, name, dtype))
    programs = Programs.of(module, dtype)
    array, places = extremes.kept(writer, operands, dtype)
    results = writer.stack.take(f"[{len(plain)} x {type_}]")
    for i, register in enumerate(plain):
        writer.store_at(type_, register, results, str(i))
    lists = [
        extremes.listed(extremes.kept(writer, some, dtype).places if some else ()) for some in asked
    ]
    lengths = b"".join(len(each).to_bytes(2, "little") for each in lists)
    listed = extremes.list_at(module, lengths + b"".join(lists))
    pointers = (array, listed, programs.name, programs.program(body, places), results)
    given = ", ".join(f"ptr {pointer}" for pointer in pointers)
    anew = writer.emit(f"call i1 {name}({given}) cold")
    made = [writer.load_at(type_, results, str(i)) for i in range(len(plain))]
    writer.stack.release(results)
    return made, anew


def _text(outer: Writer, name: str, dtype: DType) -> str:
    """Return the function; ``places`` are two lengths of lists of places, then these lists."""
    writer = Writer(outer.module, {})
    flags, found, start = writer.stack.take("i8"), "false", "4"
    for position, bounds in enumerate(extremes.questions(dtype)):
        at = writer.emit(f"getelementptr inbounds i8, ptr %places, i64 {2 * position}")
        narrow = writer.emit(f"load i16, ptr {at}, align 1")
        count = writer.emit(f"zext i16 {narrow} to i64")
        places = writer.emit(f"getelementptr inbounds i8, ptr %places, i64 {start}")
        extremes.ask(writer, "%numbers", places, count, 1, bounds, dtype, flags)
        byte = writer.emit(f"load i8, ptr {flags}")
        some = writer.emit(f"icmp ne i8 {byte}, 0")
        found = writer.emit(f"or i1 {found}, {some}")
        start = writer.add(start, count)

    def compute() -> None:
        writer.do(f"store i8 {_COMPUTED}, ptr {flags}")
        pointers = ("%programs", "%program", "%numbers", "%results", flags)
        given = ", ".join(f"ptr {pointer}" for pointer in pointers)
        writer.do(f"call void @{name_of(dtype)}({given}, i64 1)")

    writer.where(found, compute)
    writer.do(f"ret i1 {found}")
    given = ", ".join(f"ptr %{pointer}" for pointer in _POINTERS)
    return writer.text(f"define internal i1 {name}({given}) noinline cold")
