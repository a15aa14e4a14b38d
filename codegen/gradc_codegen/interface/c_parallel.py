"""The form of an exported function whose caller says what runs its tasks.

``name_parallel`` takes what ``name`` does, and three things more: into how many tasks a loop is cut
at most, a function of the caller's that has so many run, and an argument for that. Its results are
those of ``name``, to the last bit. Its scratch is that of the kernel, and behind it that of each
task.
"""

from __future__ import annotations

from gradc_codegen.abi import Order, Signature, Status
from gradc_codegen.interface.c_guard import PROBE, checks_text, kernel_name, probes_text
from gradc_codegen.threads.runner import LINE, RUNNER_TYPE
from gradc_ir.core.binding import Least
from gradc_ir.core.graph import Function

# No call has more tasks; a caller with more threads gains nothing.
_MOST = 1 << 20


def parallel_name(name: str) -> str:
    """Return what C calls the form of a function."""
    return f"{name}_parallel"


def parallel_symbols(name: str) -> tuple[str, ...]:
    """Return the symbols of the form of a function."""
    form = parallel_name(name)
    return form, f"{form}_worksize"


def parallel_text(
    function: Function,
    name: str,
    pointer_bits: int,
    order: Order | None,
    probes: bool,
    least: Least = (),
) -> str:
    """Return LLVM text that defines ``name`` and ``name_worksize`` over a kernel with a runner.

    It refuses what the form for one thread does, and with SIZE a number of tasks below 1 or above
    2**20. Where no function to run tasks is given, the caller does all. The parameters are those of
    :func:`gradc_codegen.interface.c_guard.guard_text`.
    """
    order = order or Order.of(function)
    signature = Signature.of(function)
    kernel = kernel_name(name)
    count = len(signature.sizes)
    size_types = ", ".join(["i64"] * count)
    types = ", ".join([*(argument.llvm for argument in signature.arguments), "ptr"])
    sizes = ", ".join(f"i64 %size{i}" for i in range(count))
    given = [
        f"{argument.llvm} {name_}"
        for argument, name_ in zip(signature.arguments, signature.llvm_names, strict=True)
    ]
    positions = [function.size_symbols.index(name) for name in order.symbols(function)]
    c_sizes = ", ".join([*(f"i64 %size{i}" for i in positions), "i64 %tasks"])
    c_arguments = signature.llvm_parameters_in(order, positions)
    word = f"i{pointer_bits}"
    result = "%bytes"
    narrow = ""
    if pointer_bits < 64:
        result, narrow = "%size_t", f"  %size_t = trunc i64 %bytes to {word}\n"
    probed = f"  call void @{PROBE}()\n" if probes else ""
    checked = f"""{checks_text(function, least)}  %number = sub i64 %tasks, 1
  %many = icmp uge i64 %number, {_MOST}
  %no.call = or i1 %refused, %many
  br i1 %no.call, label %size, label %sized
sized:
  %kernel = call i64 @"{kernel}_worksize"({sizes})
  %own = call i64 @"{kernel}_own_bytes"({sizes})
  %own.up = add i64 %own, {2 * LINE - 1}
  %each = and i64 %own.up, {-LINE}
  %all = mul i64 %each, %tasks
"""
    return f"""{probes_text() if probes else ""}declare i32 @"{kernel}"({types})
declare i64 @"{kernel}_worksize"({size_types})
declare i64 @"{kernel}_own_bytes"({size_types})

define signext i32 @"{name}"({c_arguments}, i64 %tasks, ptr %run, ptr %context) {{
entry:
  %told = alloca {RUNNER_TYPE}
{checked}  %null = icmp eq ptr %work, null
  br i1 %null, label %scratch, label %ready
ready:
{probed}  %behind = getelementptr i8, ptr %work, i64 %kernel
  %address = ptrtoint ptr %behind to i64
  %minus = sub i64 0, %address
  %gap = and i64 %minus, {LINE - 1}
  %first = getelementptr i8, ptr %behind, i64 %gap
{_filled(("ptr %run", "ptr %context", "i64 %tasks", "ptr %first", "i64 %each"))}
  %alone = icmp eq ptr %run, null
  %runner = select i1 %alone, ptr null, ptr %told
  %status = call i32 @"{kernel}"({", ".join([*given, "ptr %runner"])})
  ret i32 %status
size:
  ret i32 {Status.SIZE.value}
scratch:
  ret i32 {Status.WORK.value}
}}

define {word} @"{name}_worksize"({c_sizes}) {{
entry:
{checked}  %room = add i64 %all, {LINE}
  %bytes = add i64 %kernel, %room
{narrow}  ret {word} {result}
size:
  ret {word} 0
}}
"""


def _filled(values: tuple[str, ...]) -> str:
    lines = []
    for position, value in enumerate(values):
        place = f"%told.{position}"
        lines.append(f"  {place} = getelementptr {RUNNER_TYPE}, ptr %told, i64 0, i32 {position}")
        lines.append(f"  store {value}, ptr {place}")
    return "\n".join(lines)


# -- as the header declares it ---------------------------------------------------------------------

DECLARATIONS = """
/* what runs the tasks of a function with _parallel: it calls task(job, i) once for each i from 0
 * to count - 1, in any order and on any threads, and returns when all have returned */
#ifndef GRADC_RUN
#define GRADC_RUN
typedef void (*gradc_run)(void *context, int64_t count,
                          void (*task)(void *job, int64_t i), void *job);
#endif
""".strip("\n").split("\n")


def declarations(name: str, signature: Signature) -> list[str]:
    """Return the lines of the header that declare the form of a function."""
    form = parallel_name(name)
    sizes = ", ".join([*(argument.c for argument in signature.sizes), "int64_t tasks"])
    start = f"int {form}("
    groups = (signature.sizes, signature.inputs, signature.outputs)
    rows = [", ".join(argument.c for argument in group) for group in groups if group]
    rows.append("void *work, int64_t tasks, gradc_run run, void *context")
    indent = " " * len(start)
    return [
        f"size_t {form}_worksize({sizes});",
        *(
            (start if number == 0 else indent) + row + (");" if row is rows[-1] else ",")
            for number, row in enumerate(rows)
        ),
    ]
