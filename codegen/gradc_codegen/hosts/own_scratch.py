"""A kernel's function of C that has its scratch itself, for hosts that make results anew."""

from __future__ import annotations

import itertools

from gradc_codegen.abi import Signature
from gradc_codegen.hosts.scratch import DECLARATIONS, fresh, with_scratch
from gradc_codegen.text.entry import Entry
from gradc_codegen.text.module import Module
from gradc_ir.core.sizes import product


def own_scratch_name(name: str) -> str:
    """Return the symbol of the function without scratch."""
    return f"{name}_alone"


def own_scratch_text(name: str, signature: Signature) -> str:
    """Return the LLVM text of the C function ``name`` without its last argument, the scratch.

    It is for outputs that are arrays nobody has written to.
    """
    sizes = {size.name: f"%a{number}" for number, size in enumerate(signature.sizes)}
    entry = Entry(Module(name), sizes, itertools.count(1))
    arguments = signature.arguments[:-1]
    given = [f"{argument.llvm} %a{number}" for number, argument in enumerate(arguments)]
    parameters = ", ".join(given)
    types = ", ".join(argument.llvm for argument in signature.arguments)
    size_types = ", ".join(["i64"] * len(sizes))
    of_sizes = ", ".join(given[: len(sizes)])
    advised = []
    for number, argument in enumerate(arguments):
        if argument in signature.outputs and argument.type is not None and argument.type.rank:
            bytes_ = product([*argument.type.shape, argument.type.dtype.bytes])
            advised.append(fresh(f"%a{number}", entry.size(bytes_)))
    start = "".join(f"{line}\n" for line in entry.lines) + "".join(advised)

    def call(scratch: str) -> str:
        return f'call i32 @"{name}"({", ".join([*given, f"ptr {scratch}"])})'

    return f"""declare i32 @"{name}"({types})
declare i64 @"{name}_worksize"({size_types})
{DECLARATIONS}
define signext i32 @"{own_scratch_name(name)}"({parameters}) {{
entry:
{start}  %bytes = call i64 @"{name}_worksize"({of_sizes})
{with_scratch("%bytes", call)}  ret i32 %status
}}
"""
