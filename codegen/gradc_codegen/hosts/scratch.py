"""Scratch for a kernel whose host gives it none: on the stack where it is little, or of malloc."""

from __future__ import annotations

from collections.abc import Callable

from gradc_codegen.abi import Status

# A few pages of stack are there on any thread.
_MOST_ON_STACK = 16384


def with_scratch(bytes_: str, call: Callable[[str], str], name: str) -> str:
    """Return the text of blocks that call with scratch and leave the status in ``%status``.

    It begins in the middle of a block and ends in the block ``called``.

    Parameters
    ----------
    bytes_: the register with how many bytes there have to be.
    call: from the register of the scratch to the call's instruction.
    name: a register's name that is free.
    """
    ends = (
        f"[ %{name}.first, %{name}.on.stack ]",
        f"[ {Status.WORK.value}, %{name}.on.heap ]",
        f"[ %{name}.second, %{name}.use ]",
    )
    return f"""  %{name}.little = icmp ule i64 {bytes_}, {_MOST_ON_STACK}
  br i1 %{name}.little, label %{name}.on.stack, label %{name}.on.heap
{name}.on.stack:
  %{name}.stack = alloca i8, i64 {bytes_}, align 64
  %{name}.first = {call(f"%{name}.stack")}
  br label %called
{name}.on.heap:
  %{name}.heap = call ptr @malloc(i64 {bytes_})
  %{name}.none = icmp eq ptr %{name}.heap, null
  br i1 %{name}.none, label %called, label %{name}.use
{name}.use:
  %{name}.second = {call(f"%{name}.heap")}
  call void @free(ptr %{name}.heap)
  br label %called
called:
  %status = phi i32 {", ".join(ends)}
"""


DECLARATIONS = "declare ptr @malloc(i64)\ndeclare void @free(ptr)\n"
