"""Tasks that a caller of C runs: what cuts a loop for its function, in LLVM text.

The caller's function gets a number of tasks, and a function to call for each; where it does so is
its own business. Each task has scratch of its own, which begins with a cache line for its status:
so nothing is written by two, and no atomic instruction is needed.
"""

from __future__ import annotations

from gradc_codegen.text.module import Module
from gradc_codegen.threads.cut import EACH, RANGE, WORTH

# What a kernel calls, and what it has the caller call.
SHARE, ONE = "gradc.tasks.share", "gradc.tasks.one"
# What a kernel is told: the caller's function and the argument for it, how many tasks it wants at
# most, and their scratch: where that of the first one begins, and from one to the next.
RUNNER_TYPE = "{ ptr, ptr, i64, ptr, i64 }"
# Behind the status of a task.
LINE = 64

# a task's function and its table, the size of the loop, how it is cut, scratch as above
_JOB = "{ ptr, ptr, i64, i64, i64, i64, i64, i64, ptr, i64 }"


def share_text(module: Module) -> str:
    """Return the functions of a module that cut a loop into tasks and run one of them."""
    module.declare("declare i64 @llvm.umin.i64(i64, i64)")
    module.declare("declare i64 @llvm.umax.i64(i64, i64)")
    given = "ptr %task, ptr %table, i64 %size, i64 %unit, i64 %whole, i64 %work, ptr %own"
    cut = ("wholes", "many", "behind.wholes", "front", "each")
    filled = (
        *("ptr %task", "ptr %table", "i64 %size"),
        *(f"i64 %{name}" for name in cut),
        *("ptr %scratch", "i64 %bytes"),
    )
    names = ("task", "table", "size", *cut, "scratch", "bytes")
    return f"""
define internal i32 @{SHARE}({given}, ptr %runner) noinline {{
entry:
  %job = alloca {_JOB}
  %none = icmp eq ptr %runner, null
  br i1 %none, label %alone, label %ask
ask:
{_loads(RUNNER_TYPE, "runner", ("run", "context", "wished", "scratch", "bytes"))}
  %abreast = add i64 %wished, 0
{WORTH}
  br i1 %cut, label %share, label %alone
alone:
  %found = call i32 %task(ptr %table, i64 0, i64 %size, ptr %own)
  ret i32 %found
share:
{EACH}
{_stores("job", filled)}
  call void %run(ptr %context, i64 %count, ptr @{ONE}, ptr %job)
  br label %look
look:
  %number = phi i64 [ 0, %share ], [ %next, %fine ]
  %left = icmp ult i64 %number, %count
  br i1 %left, label %status, label %done
status:
  %offset = mul i64 %number, %bytes
  %room = getelementptr i8, ptr %scratch, i64 %offset
  %failed = load i32, ptr %room
  %next = add i64 %number, 1
  %is.fine = icmp eq i32 %failed, 0
  br i1 %is.fine, label %fine, label %refused
fine:
  br label %look
refused:
  ret i32 %failed
done:
  ret i32 0
}}

define internal void @{ONE}(ptr %job, i64 %number) {{
{_loads(_JOB, "job", names)}
{RANGE}
  %offset = mul i64 %number, %bytes
  %room = getelementptr i8, ptr %scratch, i64 %offset
  %own = getelementptr i8, ptr %room, i64 {LINE}
  %status = call i32 %task(ptr %table, i64 %first, i64 %last, ptr %own)
  store i32 %status, ptr %room
  ret void
}}
"""


def _loads(struct: str, name: str, fields: tuple[str, ...]) -> str:
    """Return the lines that load the fields of a struct into registers of their names."""
    types = struct.strip("{} ").split(", ")
    lines = []
    for position, (type_, field) in enumerate(zip(types, fields, strict=True)):
        lines.append(f"  {_field(struct, name, f'{name}.{field}', position)}")
        lines.append(f"  %{field} = load {type_}, ptr %{name}.{field}")
    return "\n".join(lines)


def _stores(name: str, values: tuple[str, ...]) -> str:
    """Return the lines that fill the fields of a job."""
    lines = []
    for position, value in enumerate(values):
        lines.append(f"  {_field(_JOB, name, f'{name}.{position}', position)}")
        lines.append(f"  store {value}, ptr %{name}.{position}")
    return "\n".join(lines)


def _field(struct: str, name: str, register: str, position: int) -> str:
    return f"%{register} = getelementptr {struct}, ptr %{name}, i64 0, i32 {position}"
