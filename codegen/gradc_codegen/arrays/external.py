"""Calls of functions of C that a user brought; in an object file they are symbols to link."""

from __future__ import annotations

from collections.abc import Iterable

from gradc_codegen.arrays.whole_array_site import Site, WholeOp
from gradc_codegen.text.module import MEMORY
from gradc_ir.core.graph import Function, Node
from gradc_ir.core.types import DType
from gradc_ir.core.walk import nested

_IN_C = {
    DType.F64: "double",
    DType.F32: "float",
    DType.I64: "int64_t",
    DType.I32: "int32_t",
    DType.BOOL: "uint8_t",
}


def _write_external(site: Site) -> None:
    """Write the call, or one for every element."""
    if site.node.attributes["sizes"] is None:
        _write_each(site)
    else:
        _write_whole(site)


external = WholeOp(_write_external)


def _write_each(site: Site) -> None:
    node, writer = site.node, site.writer
    types = [MEMORY[operand.type.dtype] for operand in node.operands]
    (result,) = node.results
    made = MEMORY[result.type.dtype]
    symbol = f"@{node.attributes['symbol']}"
    writer.module.declare(f"declare {made} {symbol}({', '.join(types)})")

    def each(index: str) -> None:
        numbers = [writer.load_at(*pair, index) for pair in zip(types, site.operands)]
        given = ", ".join(f"{type_} {number}" for type_, number in zip(types, numbers))
        found = writer.emit(f"call {made} {symbol}({given})")
        writer.store_at(made, found, site.results[0], index)

    writer.plain_loop("0", site.size(result.type.count), each)


def _write_whole(site: Site) -> None:
    node, writer = site.node, site.writer
    symbol = f"@{node.attributes['symbol']}"
    types = ["i64"] * len(node.attributes["sizes"])
    values = [site.size(size) for size in node.attributes["sizes"]]
    for operand, pointer, is_number in zip(
        node.operands, site.operands, node.attributes["numbers"], strict=True
    ):
        type_ = MEMORY[operand.type.dtype]
        types.append(type_ if is_number else "ptr")
        values.append(writer.load_at(type_, pointer, "0") if is_number else pointer)
    types += ["ptr"] * len(site.results)
    values += site.results
    writer.module.declare(f"declare void {symbol}({', '.join(types)})")
    given = ", ".join(f"{type_} {value}" for type_, value in zip(types, values))
    writer.do(f"call void {symbol}({given})")


def prototypes(functions: Iterable[Function]) -> tuple[str, ...]:
    """Return how C declares the external functions that kernels call, in alphabetical order."""
    found = {
        _prototype(node)
        for function in functions
        for _, node in nested(function)
        if node.op.name == "external"
    }
    return tuple(sorted(found))


def _prototype(node: Node) -> str:
    given = node.attributes
    types = [_IN_C[operand.type.dtype] for operand in node.operands]
    results = [_IN_C[result.type.dtype] for result in node.results]
    if given["sizes"] is None:
        return f"{results[0]} {given['symbol']}({', '.join(types)});"
    arguments = ["int64_t"] * len(given["sizes"])
    for type_, is_number in zip(types, given["numbers"]):
        arguments.append(type_ if is_number else f"const {type_} *")
    arguments += [f"{type_} *" for type_ in results]
    return f"void {given['symbol']}({', '.join(arguments)});"
