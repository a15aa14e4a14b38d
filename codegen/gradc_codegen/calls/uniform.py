"""The form of a kernel that all callers can call alike: its arguments in tables."""

from __future__ import annotations

from gradc_codegen.abi import Signature, Status


def uniform_name(kernel: str) -> str:
    """Return the name of a kernel's uniform form."""
    return f"{kernel}_call"


def uniform_text(signature: Signature, kernel: str, code: int | None = None) -> str:
    """Return the LLVM text of a kernel's uniform form, for the module that defines the kernel.

    ``int32 NAME_call(const void *const *inputs, void *const *outputs, const int64 *sizes,
    void *work)``: numbers, too, are passed by their addresses. ``code``: the output that says which
    check has failed, if one has; it returns FAILED then.
    """
    lines: list[str] = []
    values: list[str] = []
    count = len(signature.sizes)
    for position in range(count):
        values.append(loaded(lines, "i64", "%sizes", position))
    for position, argument in enumerate(signature.inputs):
        place = loaded(lines, "ptr", "%inputs", position)
        if argument.by_value:
            lines.append(f"  %n{position} = load {argument.llvm}, {place}")
            place = f"{argument.llvm} %n{position}"
        values.append(place)
    values += [
        loaded(lines, "ptr", "%outputs", position) for position in range(len(signature.outputs))
    ]
    lines.append(f'  %status = call i32 @"{kernel}"({", ".join([*values, "ptr %work"])}) noinline')
    status = "%status"
    if code is not None:
        lines.append(f"  %code = load i64, ptr %outputs.{code}")
        lines.append("  %failed = icmp ne i64 %code, 0")
        lines.append("  %ran = icmp eq i32 %status, 0")
        lines.append("  %checked = and i1 %failed, %ran")
        status = "%found"
        lines.append(f"  {status} = select i1 %checked, i32 {int(Status.FAILED)}, i32 %status")
    body = "\n".join(lines)
    return (
        f'define signext i32 @"{uniform_name(kernel)}"'
        f"(ptr %inputs, ptr %outputs, ptr %sizes, ptr %work) {{\n{body}\n  ret i32 {status}\n}}\n"
    )


def loaded(lines: list[str], type_: str, table: str, position: int) -> str:
    """Write the load of an entry of a table of such; returns it behind its type."""
    name = f"{table}.{position}"
    lines.append(f"  {name}.at = getelementptr {type_}, ptr {table}, i64 {position}")
    lines.append(f"  {name} = load {type_}, ptr {name}.at")
    return f"{type_} {name}"
