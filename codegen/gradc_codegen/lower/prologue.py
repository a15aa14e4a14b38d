"""What stands around a kernel's nest: the checks at its entry, and the function for its scratch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradc_codegen.abi import LARGEST_SIZE, Signature
from gradc_codegen.nest.loop_nest import LoopNest
from gradc_codegen.storage.storage import ALIGNMENT, Plan, Region
from gradc_codegen.text.module import Module
from gradc_codegen.text.writer import Writer


def symbols_of(nest: LoopNest) -> dict[str, str]:
    """Return the registers of a kernel's sizes."""
    return {name: f"%size{i}" for i, name in enumerate(nest.function.size_symbols)}


def aligned_size(writer: Writer, region: Region, slot: int) -> str:
    """Return the bytes a symbolic slot takes, up to the next cache line."""
    size = writer.entry.maximum(writer.size(region.slots[slot]), "0")
    rounded = writer.at_entry(f"add i64 {size}, {ALIGNMENT - 1}")
    return writer.at_entry(f"and i64 {rounded}, {-ALIGNMENT}")


def bytes_of(writer: Writer, region: Region) -> str:
    """Return the bytes of a region, computed at the entry."""
    total = str(region.fixed_bytes)
    for slot in range(len(region.slots)):
        total = writer.at_entry(f"add i64 {total}, {aligned_size(writer, region, slot)}")
    return total


def own_place(writer: Writer, made: Plan, arena: str) -> str:
    """Return where the scratch of a task that the caller does begins; null where none needs any."""
    if not made.own:
        return "null"
    return writer.at_entry(f"getelementptr i8, ptr {arena}, i64 {_own_offset(writer, made)}")


def _own_offset(writer: Writer, made: Plan) -> str:
    """Return where in the arena the scratch of a task begins, at a cache line."""
    shared = bytes_of(writer, made.shared)
    if not made.shared.slots:
        return str(-(-int(shared) // ALIGNMENT) * ALIGNMENT)
    return shared


def total_bytes(writer: Writer, made: Plan) -> str:
    """Return the bytes of the arena, computed at the entry."""
    if not made.own:
        return bytes_of(writer, made.shared)
    begin, own = _own_offset(writer, made), bytes_of(writer, made.own)
    return writer.entry.add(begin, own)


def write_worksize(
    module: Module, nest: LoopNest, plans: Sequence[Plan], signature: Signature
) -> None:
    """Write the function that says how long ``work`` is: the arena, and room to align it.

    ``plans``: of all nests that the kernel has for sizes.
    """
    writer = Writer(module, symbols_of(nest))
    total, *others = (total_bytes(writer, made) for made in plans)
    for other in others:
        total = writer.entry.maximum(total, other)
    if not total.isdecimal():
        some = writer.emit(f"icmp ne i64 {total}, 0")
        room = writer.emit(f"select i1 {some}, i64 {ALIGNMENT}, i64 0")
        result = writer.emit(f"add i64 {total}, {room}")
    else:
        result = str(int(total) + ALIGNMENT if int(total) else 0)
    writer.do(f"ret i64 {result}")
    head = f"define i64 @{module.name}_worksize({signature.llvm_sizes})"
    module.functions.append(writer.text(head))


def write_own_bytes(module: Module, nest: LoopNest, made: Plan, signature: Signature) -> None:
    """Write the function that says how long the scratch of a task is, whichever nest has it."""
    writer = Writer(module, symbols_of(nest))
    longest = "0"
    for one in _plans(made):
        longest = writer.entry.maximum(longest, bytes_of(writer, one.own))
    writer.do(f"ret i64 {longest}")
    head = f"define i64 @{module.name}_own_bytes({signature.llvm_sizes})"
    module.functions.append(writer.text(head))


def _plans(made: Plan) -> Iterator[Plan]:
    yield made
    for bodies in made.bodies.values():
        for body in bodies:
            yield from _plans(body)


def handing_on(size: str, least: int, signature: Signature, name: str) -> list[str]:
    """Return the lines at a kernel's entry that leave all to another one from a size on."""
    arguments = zip(signature.arguments, signature.llvm_names, strict=True)
    given = ", ".join(f"{argument.llvm} {value}" for argument, value in arguments)
    return [
        f"  %is.long = icmp uge i64 {size}, {least}",
        "  br i1 %is.long, label %long, label %short",
        "long:",
        f"  %long.status = call i32 @{name}({given})",
        "  ret i32 %long.status",
        "short:",
    ]


def checks_of(writer: Writer, nest: LoopNest, made: Plan) -> list[str]:
    """Return the lines at a kernel's entry: they check sizes and scratch and align ``%arena``."""
    lines: list[str] = []
    sizes = range(len(nest.function.size_symbols))
    for i in sizes:
        lines += [
            f"  %size{i}.bad = icmp ugt i64 %size{i}, {LARGEST_SIZE}",
            f"  br i1 %size{i}.bad, label %size, label %size{i}.good",
            f"size{i}.good:",
        ]
    if not made.needs_work:
        return lines
    total = total_bytes(writer, made)
    if not total.isdecimal():
        lines += writer.entry.lines
        writer.entry.lines.clear()
        lines.append(f"  %work.needed = icmp ne i64 {total}, 0")
    else:
        lines.append("  %work.needed = icmp eq i1 true, true")
    lines += [
        "  %work.null = icmp eq ptr %work, null",
        "  %work.bad = and i1 %work.needed, %work.null",
        "  br i1 %work.bad, label %work.missing, label %work.good",
        "work.good:",
        "  %work.number = ptrtoint ptr %work to i64",
        "  %work.minus = sub i64 0, %work.number",
        f"  %work.gap = and i64 %work.minus, {ALIGNMENT - 1}",
        "  %arena = getelementptr i8, ptr %work, i64 %work.gap",
    ]
    return lines
