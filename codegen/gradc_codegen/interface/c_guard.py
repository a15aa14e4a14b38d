"""The exported face of a kernel: LLVM text of C functions that check sizes and scratch first."""

from __future__ import annotations

import itertools

from gradc_codegen.abi import LARGEST_SIZE, Order, Signature, Status
from gradc_codegen.text.entry import Entry
from gradc_codegen.text.module import Module
from gradc_ir.core import sizes
from gradc_ir.core.binding import Least
from gradc_ir.core.graph import Function


def kernel_name(name: str) -> str:
    """Return what the kernel behind the exported function ``name`` is called in its module."""
    return f"{name}.kernel"


# What a kernel on Windows may take of the stack; more is an error when it is exported.
PROBED_BYTES = 1 << 16
PROBE = "gradc.probe"
_PAGE = 4096


def guard_text(
    function: Function,
    name: str,
    pointer_bits: int = 64,
    order: Order | None = None,
    probes: bool = False,
    least: Least = (),
) -> str:
    """Return LLVM text that defines ``name`` and ``name_worksize`` over the kernel's own.

    ``name`` returns SIZE when a size is negative, above 2**47 or below what it must be at least, or
    an axis of an argument or result would be negative; WORK when scratch is needed and NULL is
    given; else what the kernel returns.
    ``name_worksize`` returns a ``size_t``, 0 for sizes that ``name`` refuses.

    Parameters
    ----------
    function: what the kernel computes.
    name: the C name.
    pointer_bits: how wide a ``size_t`` is on the target.
    order: in which C passes parameters and results; the kernel behind has the function's own.
    probes: whether the system grows the stack by one page below those that were touched, as Windows
        does: then pages are touched, one after another, before the kernel takes several at once.
    least: what sizes must be at least, for the function to be what the kernel computes.
    """
    order = order or Order.of(function)
    signature = Signature.of(function)
    kernel = kernel_name(name)
    count = len(signature.sizes)
    size_types = ", ".join(["i64"] * count)
    all_types = ", ".join(argument.llvm for argument in signature.arguments)
    size_arguments = ", ".join(f"i64 %size{i}" for i in range(count))
    all_arguments = ", ".join(
        f"{argument.llvm} {name_}"
        for argument, name_ in zip(signature.arguments, signature.llvm_names, strict=True)
    )
    sizes_in_order = [function.size_symbols.index(name) for name in order.symbols(function)]
    c_sizes = ", ".join(f"i64 %size{i}" for i in sizes_in_order)
    c_arguments = signature.llvm_parameters_in(order, sizes_in_order)
    bytes_wanted = f'call i64 @"{kernel}_worksize"({size_arguments})'
    narrow = f"  %size_t = trunc i64 %bytes to i{pointer_bits}\n" if pointer_bits < 64 else ""
    size_t = "%size_t" if pointer_bits < 64 else "%bytes"
    probed = f"  call void @{PROBE}()\n" if probes else ""
    checked = checks_text(function, least)
    return f"""{probes_text() if probes else ""}declare i32 @"{kernel}"({all_types})
declare i64 @"{kernel}_worksize"({size_types})

define signext i32 @"{name}"({c_arguments}) {{
entry:
{checked}  br i1 %refused, label %size, label %sized
sized:
  %bytes = {bytes_wanted}
  %needed = icmp ne i64 %bytes, 0
  %null = icmp eq ptr %work, null
  %lacking = and i1 %needed, %null
  br i1 %lacking, label %scratch, label %ready
ready:
{probed}  %status = call i32 @"{kernel}"({all_arguments})
  ret i32 %status
size:
  ret i32 {Status.SIZE.value}
scratch:
  ret i32 {Status.WORK.value}
}}

define i{pointer_bits} @"{name}_worksize"({c_sizes}) {{
entry:
{checked}  br i1 %refused, label %size, label %sized
sized:
  %bytes = {bytes_wanted}
{narrow}  ret i{pointer_bits} {size_t}
size:
  ret i{pointer_bits} 0
}}
"""


def probes_text() -> str:
    """Return the text of a function that touches the stack from above, page by page."""
    lines = [f"define internal void @{PROBE}() noinline optnone {{"]
    lines.append(f"  %stack = alloca [{PROBED_BYTES} x i8]")
    for offset in range(PROBED_BYTES - _PAGE, -1, -_PAGE):
        lines.append(f"  %page{offset} = getelementptr i8, ptr %stack, i64 {offset}")
        lines.append(f"  store volatile i8 0, ptr %page{offset}")
    return "\n".join([*lines, "  ret void\n}\n"])


def checks_text(function: Function, least: Least = ()) -> str:
    """Return lines that set ``%refused`` to whether the sizes fit no call of the function."""
    symbols = {name: f"%size{i}" for i, name in enumerate(function.size_symbols)}
    checks = Checks(Module(function.name), symbols, itertools.count(1))
    checks.check(function, least)
    return "\n".join([*checks.lines, f"  %refused = or i1 {checks.refused}, false"]) + "\n"


class Checks(Entry):
    """Writes the arithmetic of sizes; ``refused`` is the disjunction of all conditions so far."""

    refused = "false"

    def check(self, function: Function, least: Least = ()) -> None:
        """Refuse the sizes that fit no call of a function, or are below what they must be."""
        for symbol in self._symbols.values():
            # unsigned, so that negative sizes are above it too
            self.refuse(f"icmp ugt i64 {symbol}, {LARGEST_SIZE}")
        types = (*function.param_types, *function.result_types)
        for size in dict.fromkeys(size for type_ in types for size in type_.shape):
            if not sizes.at_least(size, 0):
                self.refuse(f"icmp slt i64 {self.size(size)}, 0")
        for size, number in least:
            self.refuse(f"icmp slt i64 {self.size(size)}, {number}")

    def refuse(self, condition: str) -> None:
        """Add a condition under which sizes are refused."""
        found = self.emit(condition)
        self.refused = self.emit(f"or i1 {self.refused}, {found}")

    def quotient(self, numerator: str, denominator: str) -> str:
        """Divide rounding down; a denominator below 1 is refused, and 1 in what follows."""
        self.refuse(f"icmp slt i64 {denominator}, 1")
        divisor = self.maximum(denominator, "1")
        toward_zero = self.emit(f"sdiv i64 {numerator}, {divisor}")
        rest = self.emit(f"srem i64 {numerator}, {divisor}")
        below = self.emit(f"icmp slt i64 {rest}, 0")
        step = self.emit(f"sext i1 {below} to i64")
        return self.emit(f"add i64 {toward_zero}, {step}")
