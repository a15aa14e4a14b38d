"""Calls of functions of C that a user brought; in an object file they are symbols to link."""

from __future__ import annotations

from collections.abc import Iterable

from gradc_codegen.abi import C_TYPES
from gradc_codegen.arrays.whole_array_site import Site, WholeOp
from gradc_codegen.text.module import MEMORY
from gradc_ir.core.foreign import worksize
from gradc_ir.core.graph import Function, Node
from gradc_ir.core.sizes import Size, asked
from gradc_ir.core.walk import nested


def _write_external(site: Site) -> None:
    """Write the call, or one for every element."""
    if site.node.attributes["sizes"] is None:
        _write_each(site)
    else:
        _write_whole(site)


def _scratch(node: Node) -> tuple[Size, ...]:
    """Return what a kernel says it needs, asked when it is called: it may be linked anew."""
    given = node.attributes
    return (asked(worksize(given["symbol"]), given["sizes"]),) if given["kernel"] else ()


external = WholeOp(_write_external, _scratch)


def _write_each(site: Site) -> None:
    node, writer = site.node, site.writer
    types = [MEMORY[operand.type.dtype] for operand in node.operands]
    (result,) = node.results
    made = MEMORY[result.type.dtype]

    def each(index: str) -> None:
        given = [
            f"{type_} {writer.load_at(type_, pointer, index)}"
            for type_, pointer in zip(types, site.operands)
        ]
        call = writer.module.call(made, f"@{node.attributes['symbol']}", *given)
        writer.store_at(made, writer.emit(call), site.results[0], index)

    writer.plain_loop("0", site.size(result.type.count), each)


def _write_whole(site: Site) -> None:
    node, writer = site.node, site.writer
    given = [f"i64 {site.size(size)}" for size in node.attributes["sizes"]]
    for operand, pointer, is_number in zip(
        node.operands, site.operands, node.attributes["numbers"], strict=True
    ):
        type_ = MEMORY[operand.type.dtype]
        if is_number:
            given.append(f"{type_} {writer.load_at(type_, pointer, '0')}")
        else:
            given.append(f"ptr {pointer}")
    given += [f"ptr {pointer}" for pointer in site.results]
    name = f"@{node.attributes['symbol']}"
    if not node.attributes["kernel"]:
        writer.do(writer.module.call("void", name, *given))
        return
    (work,) = site.scratch
    site.check(writer.emit(writer.module.call("i32", name, *given, f"ptr {work}")))


def prototypes(functions: Iterable[Function]) -> tuple[str, ...]:
    """Return how C declares the external functions that kernels call, in alphabetical order."""
    found = {
        prototype
        for function in functions
        for _, node in nested(function)
        if node.op.name == "external"
        for prototype in _prototypes(node)
    }
    return tuple(sorted(found))


def _prototypes(node: Node) -> tuple[str, ...]:
    given = node.attributes
    types = [C_TYPES[operand.type.dtype] for operand in node.operands]
    results = [C_TYPES[result.type.dtype] for result in node.results]
    if given["sizes"] is None:
        return (f"{results[0]} {given['symbol']}({', '.join(types)});",)
    arguments = ["int64_t"] * len(given["sizes"])
    for type_, is_number in zip(types, given["numbers"]):
        arguments.append(type_ if is_number else f"const {type_} *")
    arguments += [f"{type_} *" for type_ in results]
    if not given["kernel"]:
        return (f"void {given['symbol']}({', '.join(arguments)});",)
    sizes = ", ".join(["int64_t"] * len(given["sizes"])) or "void"
    return (
        f"int {given['symbol']}({', '.join([*arguments, 'void *'])});",
        f"size_t {worksize(given['symbol'])}({sizes});",
    )
