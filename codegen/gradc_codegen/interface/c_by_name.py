"""The face of a kernel for callers that load by name: tables of arguments, structs, what it is.

For an exported function ``name`` there are

- ``name_call(inputs, outputs, sizes, work)``, its form with all arguments in tables;
- ``name_call_worksize(sizes)``, as ``name_worksize`` of the sizes in a table;
- ``name_call_shapes(sizes, shapes)``, which writes the shapes of all inputs and outputs in turn;
- ``name_struct(in, out, work)``, where it is asked for: each side of the arguments is a struct;
- ``name_info``, a constant that says what there is to know.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gradc_codegen.abi import Argument, Order, Signature, Status
from gradc_codegen.calls.uniform import loaded, uniform_name, uniform_text
from gradc_codegen.interface.c_guard import Checks
from gradc_codegen.text.c_text import c_text_constant
from gradc_codegen.text.module import Module
from gradc_ir.core.binding import Least
from gradc_ir.core.graph import Function

# Version of the ABI. What a program that knows an older minor relies on never changes; a new major
# says that something did. docs/abi.md has the history.
ABI_MAJOR, ABI_MINOR = 1, 1

_ARGUMENT = "{ ptr, ptr, ptr, ptr, i32, i32, i64 }"
_TEXTS = ("name", "spec", "gradc", "hash", "target", "cpu", "arithmetic")
_POINTERS = ", ".join(["ptr"] * len(_TEXTS))
_INFO = f"{{ i32, i32, {_POINTERS}, i32, i32, i32, i32, i64, i64, i64, ptr }}"


@dataclass(frozen=True)
class Facts:
    """What the constant says of a function beside its arguments.

    Parameters
    ----------
    spec: its signature, as a spec is written.
    version: that of gradc.
    ir_hash: what tells this code from another of the same signature.
    triple, cpu: what it is made for.
    arithmetic: how numbers are rounded.
    """

    spec: str
    version: str
    ir_hash: str
    triple: str
    cpu: str
    arithmetic: str


def symbols(name: str, structs: bool) -> tuple[str, ...]:
    """Return the symbols of the functions for callers by name."""
    call = uniform_name(name)
    more = (f"{name}_struct",) if structs else ()
    return (call, f"{call}_worksize", f"{call}_shapes", *more)


def by_name_text(
    function: Function,
    name: str,
    facts: Facts,
    *,
    signature: Signature,
    order: Order | None = None,
    pointer_bits: int = 64,
    structs: bool = False,
    least: Least = (),
) -> str:
    """Return the LLVM text of a module with all of this over the exported function ``name``.

    Parameters
    ----------
    function: what the kernel computes.
    signature, order: how C passes its arguments.
    pointer_bits: how wide a ``size_t`` is on the target.
    structs: whether there is ``name_struct``.
    least: what sizes must be at least.
    """
    order = order or Order.of(function)
    given = ", ".join(argument.llvm for argument in signature.arguments)
    sizes = ", ".join(argument.llvm for argument in signature.sizes)
    parts = [
        f'declare signext i32 @"{name}"({given})\n',
        f'declare i{pointer_bits} @"{name}_worksize"({sizes})\n',
        uniform_text(signature, name),
        _worksize_text(signature, name, pointer_bits),
        _shapes_text(function, signature, order, name, least),
        _struct_text(signature, name) if structs else "",
        _info_text(signature, name, facts),
    ]
    return "\n".join(filter(None, parts))


def _worksize_text(signature: Signature, name: str, pointer_bits: int) -> str:
    lines: list[str] = []
    values = [loaded(lines, "i64", "%sizes", i) for i in range(len(signature.sizes))]
    type_ = f"i{pointer_bits}"
    body = "\n".join([*lines, f'  %bytes = call {type_} @"{name}_worksize"({", ".join(values)})'])
    return (
        f'define {type_} @"{uniform_name(name)}_worksize"(ptr %sizes) {{\n'
        f"{body}\n  ret {type_} %bytes\n}}\n"
    )


def _shapes_text(
    function: Function, signature: Signature, order: Order, name: str, least: Least
) -> str:
    """Return the text of what writes shapes, which refuses the sizes that the function refuses."""
    loads: list[str] = []
    registers = {
        size.name: loaded(loads, "i64", "%sizes", i).removeprefix("i64 ")
        for i, size in enumerate(signature.sizes)
    }
    checks = Checks(Module(function.name), registers, itertools.count(1))
    checks.check(function, least)
    types = [
        *(function.param_types[i] for i in order.inputs),
        *(function.result_types[i] for i in order.outputs),
    ]
    sizes = [checks.size(size) for type_ in types for size in type_.shape]
    stores = []
    for position, size in enumerate(sizes):
        stores.append(f"  %to{position} = getelementptr i64, ptr %shapes, i64 {position}")
        stores.append(f"  store i64 {size}, ptr %to{position}")
    return f"""define signext i32 @"{uniform_name(name)}_shapes"(ptr %sizes, ptr %shapes) {{
entry:
{_lines([*loads, *checks.lines])}  br i1 {checks.refused}, label %size, label %sized
sized:
{_lines(stores)}  ret i32 0
size:
  ret i32 {Status.SIZE.value}
}}
"""


def _struct_text(signature: Signature, name: str) -> str:
    """Return the text of the form with a struct a side."""
    lines: list[str] = []
    values: list[str] = []
    for side, arguments in sides(signature).items():
        type_ = _side_type(arguments)
        for position, argument in enumerate(arguments):
            place = f"%{side}{position}"
            lines.append(
                f"  {place}.at = getelementptr {type_}, ptr %{side}, i32 0, i32 {position}"
            )
            lines.append(f"  {place} = load {argument.llvm}, ptr {place}.at")
            values.append(f"{argument.llvm} {place}")
    call = f'  %status = call i32 @"{name}"({", ".join([*values, "ptr %work"])})'
    return (
        f'define signext i32 @"{name}_struct"(ptr %in, ptr %out, ptr %work) {{\n'
        f"{_lines([*lines, call])}  ret i32 %status\n}}\n"
    )


def sides(signature: Signature) -> Mapping[str, Sequence[Argument]]:
    """Return the fields of the structs: sizes and inputs are ``in``, the results ``out``."""
    return {"in": (*signature.sizes, *signature.inputs), "out": signature.outputs}


def _side_type(arguments: Sequence[Argument]) -> str:
    return f"{{ {', '.join(argument.llvm for argument in arguments)} }}"


def _info_text(signature: Signature, name: str, facts: Facts) -> str:
    """Return the constants: texts, the table of arguments, and what holds both."""
    texts: dict[str, str] = {}

    def text(words: str) -> str:
        return texts.setdefault(words, f'@"{name}_info.text{len(texts)}"')

    def byte_of(type_: str, position: int) -> str:
        at = f"getelementptr ({type_}, ptr null, i32 0, i32 {position})"
        return f"ptrtoint (ptr {at} to i64)"

    def bytes_of(type_: str) -> str:
        # a second element lies where the first one, with what aligns it, ends
        return f"ptrtoint (ptr getelementptr ({type_}, ptr null, i32 1) to i64)"

    types = {side: _side_type(arguments) for side, arguments in sides(signature).items()}
    rows = []
    for side, arguments in sides(signature).items():
        for position, argument in enumerate(arguments):
            assert argument.type is not None
            shape = ",".join(map(str, argument.type.shape))
            named = (argument.name, argument.identifier, str(argument.type.dtype), shape)
            fields = [
                *(f"ptr {text(words)}" for words in named),
                f"i32 {_ROLES[argument.role.value]}",
                f"i32 {argument.type.rank}",
                f"i64 {byte_of(types[side], position)}",
            ]
            rows.append(f"{_ARGUMENT} {{ {', '.join(fields)} }}")
    count = len(rows)
    words = (
        *(name, facts.spec, facts.version, facts.ir_hash, facts.triple, facts.cpu),
        facts.arithmetic,
    )
    tape = -1 if signature.tape is None else len(signature.sizes) - 1
    counts = (len(signature.sizes), len(signature.inputs), len(signature.outputs), tape)
    table = f'@"{name}_info.arguments"'
    info = [
        f"i32 {ABI_MAJOR << 16 | ABI_MINOR}",
        f"i32 ptrtoint (ptr getelementptr ({_ARGUMENT}, ptr null, i32 1) to i32)",
        *(f"ptr {text(each)}" for each in words),
        *(f"i32 {number}" for number in counts),
        *(f"i64 {bytes_of(types[side])}" for side in types),
        f"i64 {bytes_of(_INFO)}",
        f"ptr {table}",
    ]
    # data that refers to other data is written to once, by what loads it
    lines = [c_text_constant(place, words) for words, place in texts.items()]
    lines.append(
        f"{table} = internal constant [{count} x {_ARGUMENT}] [\n  " + ",\n  ".join(rows) + "\n]"
    )
    lines.append(f'@"{name}_info" = constant {_INFO} {{ {", ".join(info)} }}')
    return "\n".join(lines) + "\n"


_ROLES = {"size": 0, "input": 1, "output": 2}


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


# -- as the header declares it ---------------------------------------------------------------------

# One declaration for all headers of a program. Those of several versions may meet in one, so it has
# the version in its names; a later minor adds fields to the end.
DECLARATIONS = f"""
/* what {{prefix}}_info tells a program that finds functions by their names: docs/abi.md */
#ifndef GRADC_INFO_{ABI_MAJOR}_{ABI_MINOR}
#define GRADC_INFO_{ABI_MAJOR}_{ABI_MINOR}
typedef struct gradc_argument_{ABI_MAJOR}_{ABI_MINOR} {{{{
    const char *name;       /* in the words of whoever wrote the function, such as p.w */
    const char *identifier; /* in C */
    const char *dtype;      /* f64, f32, i64, i32 or bool */
    const char *shape;      /* its sizes, such as n,3; empty for a number */
    int32_t role;           /* 0 a size, 1 an input, 2 an output */
    int32_t rank;
    int64_t offset;         /* where it is in the struct of its side, in bytes */
}}}} gradc_argument_{ABI_MAJOR}_{ABI_MINOR};
typedef struct gradc_info_{ABI_MAJOR}_{ABI_MINOR} {{{{
    uint32_t abi;            /* the major version in the upper 16 bits, the minor one below */
    uint32_t argument_bytes; /* from one element of arguments to the next */
    const char *name, *spec, *gradc, *hash, *target, *cpu, *arithmetic;
    int32_t sizes, inputs, outputs;
    int32_t steps;           /* which of the sizes is the room for steps of loops, or -1 */
    int64_t in_bytes, out_bytes; /* of the structs of both sides */
    int64_t info_bytes;      /* of this struct */
    const gradc_argument_{ABI_MAJOR}_{ABI_MINOR} *arguments; /* sizes, inputs, outputs */
}}}} gradc_info_{ABI_MAJOR}_{ABI_MINOR};
#endif
""".strip("\n")


def declarations(name: str, signature: Signature, structs: bool) -> list[str]:
    """Return the lines of the header that declare all of this for a function."""
    call = uniform_name(name)
    lines = [
        f"int {call}(const void *const *in, void *const *out, const int64_t *sizes, void *work);",
        f"size_t {call}_worksize(const int64_t *sizes);",
        f"int {call}_shapes(const int64_t *sizes, int64_t *shapes);",
        f"extern const gradc_info_{ABI_MAJOR}_{ABI_MINOR} {name}_info;",
    ]
    if structs:
        for side, arguments in sides(signature).items():
            fields = [f"    {argument.c};" for argument in arguments] or ["    char none;"]
            struct = f"{name}_{side}"
            lines += [f"typedef struct {struct} {{", *fields, f"}} {struct};"]
        lines.append(f"int {name}_struct(const {name}_in *in, const {name}_out *out, void *work);")
    return lines
