"""A handler of XLA's foreign function interface over a kernel: what a program of JAX calls.

XLA hands over a call frame, whose layout ``xla/ffi/api/c_api.h`` defines. Each struct in it begins
with its size, which the handler looks at before it reads: where it is not what is expected, as in a
later version with another layout, the call is an error and nothing is read.
"""

from __future__ import annotations

from gradc_codegen.abi import STATUS_MEANING, Argument, Signature, Status
from gradc_codegen.hosts.scratch import DECLARATIONS, LARGE, fresh, with_scratch
from gradc_codegen.text.c_text import c_text_constant

# Offsets in bytes, of version 0 of the interface. The arguments and results lie inside of the
# frame.
_API, _EXTENSION = 16, 8
_ARGUMENTS, _RESULTS = 40, 80
_COUNT, _PLACES = 16, 32  # in both
_FRAME_BYTES, _LIST_BYTES, _BUFFER_BYTES = 168, 40, 48
_DATA = 24  # of a buffer
_CREATE_ERROR, _API_BYTES = 48, 56
_API_VERSION = 32
# an extension: its type, and of the one that asks for metadata where it is
_EXTENSION_TYPE, _METADATA_TYPE, _METADATA = 8, 1, 24
_METADATA_VERSION, _METADATA_TRAITS = 24, 32
_INVALID_ARGUMENT, _UNIMPLEMENTED = 3, 12


def handler_name(name: str) -> str:
    """Return the symbol of a kernel's handler."""
    return f"{name}_xla"


def handler_text(name: str, signature: Signature, scratch: int) -> str:
    """Return the LLVM text of the handler, for the module that defines the C function ``name``.

    Its buffers are the inputs and the outputs of the function, which has no sizes, in the order of
    C. Scratch of so many bytes is the handler's. Memory of XLA's for results is new at each call.
    """
    inputs, outputs = len(signature.inputs), len(signature.outputs)
    lines: list[str] = []
    values: list[str] = []
    places = [_buffer(lines, "arguments", position) for position in range(inputs)]
    numbers = []
    for place, argument in zip(places, signature.inputs):
        if argument.by_value:
            numbers.append(f"  {place}.number = load {argument.llvm}, ptr {place}.data\n")
        values.append(f"{argument.llvm} {place}.{'number' if argument.by_value else 'data'}")
    places += [_buffer(lines, "results", position) for position in range(outputs)]
    values += [f"ptr {place}.data" for place in places[inputs:]]
    advised = "".join(
        fresh(f"{place}.data", str(size))
        for place, size in zip(places[inputs:], map(_bytes, signature.outputs))
        if size >= LARGE
    )

    def called(given: str) -> str:
        return f'call i32 @"{name}"({", ".join([*values, f"ptr {given}"])})'

    calls = with_scratch(str(scratch), called) if scratch else f"  %status = {called('null')}\n"
    declared = DECLARATIONS if scratch or advised else ""
    types = ", ".join(argument.llvm for argument in signature.arguments)
    fits = "true"
    for number, flag in enumerate([f"{place}.fits" for place in places]):
        lines.append(f"  %fits{number} = and i1 {fits}, {flag}")
        fits = f"%fits{number}"
    buffers = "\n".join(lines)
    messages = {
        status: f"{name.rpartition('.')[2]}: {STATUS_MEANING[status]}"
        for status in Status
        if status is not Status.OK
    }
    cases = "\n".join(f"    i32 {status.value}, label %status{status.value}" for status in messages)
    told = "\n".join(
        f"status{status.value}:\n"
        f"  %error{status.value} = call ptr @xla.error(ptr %frame, ptr @xla.text{status.value}, "
        f"i32 {_INVALID_ARGUMENT})\n  ret ptr %error{status.value}"
        for status in messages
    )
    texts = "\n".join(
        c_text_constant(f"@xla.text{status.value}", message) for status, message in messages.items()
    )
    layout = (
        "XLA passes another call frame than gradc knows: use a version of JAX it was tested with"
    )
    return f"""declare i32 @"{name}"({types})
{declared}{texts}
{c_text_constant("@xla.text.layout", layout)}

define internal ptr @xla.error(ptr %frame, ptr %message, i32 %code) {{
  %args = alloca [32 x i8], align 8
  store i64 28, ptr %args
  %extension = getelementptr i8, ptr %args, i64 8
  store ptr null, ptr %extension
  %text = getelementptr i8, ptr %args, i64 16
  store ptr %message, ptr %text
  %code.at = getelementptr i8, ptr %args, i64 24
  store i32 %code, ptr %code.at
  %api.at = getelementptr i8, ptr %frame, i64 {_API}
  %api = load ptr, ptr %api.at
  %create.at = getelementptr i8, ptr %api, i64 {_CREATE_ERROR}
  %create = load ptr, ptr %create.at
  %error = call ptr %create(ptr %args)
  ret ptr %error
}}

define ptr @"{handler_name(name)}"(ptr %frame) {{
entry:
  %extension.at = getelementptr i8, ptr %frame, i64 {_EXTENSION}
  %extension = load ptr, ptr %extension.at
  %plain = icmp eq ptr %extension, null
  br i1 %plain, label %frame.size, label %extended
extended:
  %type.at = getelementptr i8, ptr %extension, i64 {_EXTENSION_TYPE}
  %type = load i32, ptr %type.at
  %asks = icmp eq i32 %type, {_METADATA_TYPE}
  br i1 %asks, label %tell, label %frame.size
tell:
  %api.at = getelementptr i8, ptr %frame, i64 {_API}
  %api = load ptr, ptr %api.at
  %metadata.at = getelementptr i8, ptr %extension, i64 {_METADATA}
  %metadata = load ptr, ptr %metadata.at
  %version.at = getelementptr i8, ptr %metadata, i64 {_METADATA_VERSION}
  %traits.at = getelementptr i8, ptr %metadata, i64 {_METADATA_TRAITS}
  store i32 0, ptr %traits.at
  store i64 0, ptr %version.at
  %known = icmp ne ptr %api, null
  br i1 %known, label %tell.version, label %done
tell.version:
  %hosts.at = getelementptr i8, ptr %api, i64 {_API_VERSION}
  %major = load i32, ptr %hosts.at
  %right = icmp eq i32 %major, 0
  %hosts = load i64, ptr %hosts.at
  %told = select i1 %right, i64 %hosts, i64 0
  store i64 %told, ptr %version.at
  br label %done
frame.size:
  %frame.bytes = load i64, ptr %frame
  %frame.fits = icmp uge i64 %frame.bytes, {_FRAME_BYTES}
  br i1 %frame.fits, label %lists, label %refuse
lists:
  %arguments.bytes.at = getelementptr i8, ptr %frame, i64 {_ARGUMENTS}
  %arguments.bytes = load i64, ptr %arguments.bytes.at
  %arguments.fit = icmp eq i64 %arguments.bytes, {_LIST_BYTES}
  %results.bytes.at = getelementptr i8, ptr %frame, i64 {_RESULTS}
  %results.bytes = load i64, ptr %results.bytes.at
  %results.fit = icmp eq i64 %results.bytes, {_LIST_BYTES}
  %arguments.count.at = getelementptr i8, ptr %frame, i64 {_ARGUMENTS + _COUNT}
  %arguments.count = load i64, ptr %arguments.count.at
  %arguments.right = icmp eq i64 %arguments.count, {inputs}
  %results.count.at = getelementptr i8, ptr %frame, i64 {_RESULTS + _COUNT}
  %results.count = load i64, ptr %results.count.at
  %results.right = icmp eq i64 %results.count, {outputs}
  %both.fit = and i1 %arguments.fit, %results.fit
  %both.right = and i1 %arguments.right, %results.right
  %fit = and i1 %both.fit, %both.right
  br i1 %fit, label %buffers, label %refuse
buffers:
  %arguments.at = getelementptr i8, ptr %frame, i64 {_ARGUMENTS + _PLACES}
  %arguments = load ptr, ptr %arguments.at
  %results.at = getelementptr i8, ptr %frame, i64 {_RESULTS + _PLACES}
  %results = load ptr, ptr %results.at
{buffers}
  br i1 {fits}, label %call, label %refuse
call:
{"".join(numbers)}{advised}{calls}  switch i32 %status, label %done [
{cases}
  ]
done:
  ret ptr null
refuse:
  %error.layout = call ptr @xla.error(ptr %frame, ptr @xla.text.layout, i32 {_UNIMPLEMENTED})
  ret ptr %error.layout
{told}
}}
"""


def _bytes(argument: Argument) -> int:
    """Return how many bytes an array has, whose sizes are numbers."""
    count = argument.type.count if argument.type is not None else 0
    return count * argument.type.dtype.bytes if argument.type and isinstance(count, int) else 0


def _buffer(lines: list[str], table: str, position: int) -> str:
    """Write the reading of a buffer; returns the beginning of the names of its registers."""
    name = f"%{table}.{position}"
    lines += [
        f"  {name}.at = getelementptr ptr, ptr %{table}, i64 {position}",
        f"  {name} = load ptr, ptr {name}.at",
        f"  {name}.bytes = load i64, ptr {name}",
        f"  {name}.fits = icmp uge i64 {name}.bytes, {_BUFFER_BYTES}",
        f"  {name}.data.at = getelementptr i8, ptr {name}, i64 {_DATA}",
        f"  {name}.data = load ptr, ptr {name}.data.at",
    ]
    return name
