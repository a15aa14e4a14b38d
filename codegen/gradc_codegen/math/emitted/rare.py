"""What a function does in rare cases only: one lane at a time, in double precision, out of the way.

The usual path stays short, and a result does not depend on its neighbours: that another lane is a
rare one only sends the vector through a branch, behind which each usual lane is what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from gradc_codegen.math.emitted.builder import Bits, Body, Float, Truth
from gradc_codegen.math.emitted.function_text import text_of, widened
from gradc_codegen.text.module import REGISTER
from gradc_ir.core.types import DType

_Number = TypeVar("_Number", Float, Bits)

# Without optimisation it is compiled in half the time. That its loops end is said here, so that
# calls of it may be hoisted.
ATTRIBUTES = "noinline cold optnone nounwind willreturn memory(none)"


def rarely(
    where: Truth, definition: Callable[..., Float], operands: Sequence[Float], usual: Float
) -> Float:
    """Return a definition of the operands where a condition holds, elsewhere what is usual.

    The definition is one on numbers in double precision, whatever the format is. It may use what
    has no vector instructions: tables, multiplication and conversion of integers. The condition and
    the operands must come from settled numbers.
    """
    body = usual.body
    name = _name(body, definition)
    if name not in body.definitions:
        _define(body, name, definition, len(operands))
    given = [operand.typed for operand in operands]
    if body.lanes > 1:
        given = [where.typed, usual.typed, *given]
        name = _lane_by_lane(body, name, len(operands))
    call = f"call {body.type} {name}({', '.join(given)})"
    return _behind_branch(where, lambda: body.emit_float(call), usual)


def sometimes(
    where: Truth, definition: Callable[..., Float], operands: Sequence[Float], usual: Float
) -> Float:
    """Return a definition of the operands where a condition holds, elsewhere what is usual.

    For what is out of the ordinary but may fill whole arrays: zeros, say. The definition is one of
    the format and of all lanes at once. The condition and the operands must come from settled
    numbers.
    """
    return _behind_branch(where, lambda: where.select(_called(definition, operands), usual), usual)


def otherwise(
    where: Truth, definition: Callable[..., Float], operands: Sequence[Float], usual: Float
) -> Float:
    """Return a definition of the operands in all lanes if a condition holds of any of them.

    As :func:`sometimes`, of a definition that has the bits of what is usual everywhere else.
    """
    return _behind_branch(where, lambda: _called(definition, operands), usual)


def beside(where: Truth, computed: Callable[[], Float], usual: Float) -> Float:
    """Return what is computed in all lanes if a condition holds of any, else what is usual.

    For what is short and stands in the function itself. It has the bits of what is usual everywhere
    else. The condition must come from settled numbers.
    """
    return _behind_branch(where, computed, usual)


def _called(definition: Callable[..., Float], operands: Sequence[Float]) -> Float:
    """Write the call of a function of the format and of all lanes at once."""
    body = operands[0].body
    name = _name(body, definition)
    if name not in body.definitions:
        dtype = body.dtype
        _define_in(body, name, definition, dtype, len(operands), body.lanes)
    given = ", ".join(operand.typed for operand in operands)
    return body.emit_float(f"call {body.type} {name}({given})")


def _name(body: Body, definition: Callable[..., Float]) -> str:
    return f"{body.name}.{definition.__name__.strip('_')}"


def one_of(where: Truth, some: Callable[[], Float], none: Callable[[], Float]) -> Float:
    """Return one of two things for all lanes: by whether a condition holds of any.

    Neither is out of the ordinary. The condition must come from settled numbers.
    """
    body, any_lane, number = where.body, where.somewhere, len(where.body.lines)
    names = [f"{word}{number}" for word in ("some", "none")]
    body.lines.append(f"  br i1 {any_lane}, label %{names[0]}, label %{names[1]}")
    ways = []
    for name, computed in zip(names, (some, none)):
        body.start(name)
        ways.append(f"[ {computed().text}, %{body.block} ]")
        body.lines.append(f"  br label %both{number}")
    body.start(f"both{number}")
    return body.emit_float(f"phi {body.type} {', '.join(ways)}")


def _behind_branch(where: Truth, computed: Callable[[], Float], usual: Float) -> Float:
    """Return what is computed if a condition holds of any lane, otherwise what is usual."""
    body, some = usual.body, where.somewhere
    some = body.emit(body.call("i1", "@llvm.expect.i1", f"i1 {some}", "i1 false"))
    before, rare, following = body.block, f"rare{len(body.lines)}", f"following{len(body.lines)}"
    body.lines.append(f"  br i1 {some}, label %{rare}, label %{following}")
    body.start(rare)
    found = computed()
    rare = body.block
    body.lines.append(f"  br label %{following}")
    body.start(following)
    ways = f"[ {usual.text}, %{before} ], [ {found.text}, %{rare} ]"
    return body.emit_float(f"phi {body.type} {ways}")


def table(body: Body, name: str, words: Sequence[int]) -> Callable[[Bits], Bits]:
    """Return what reads a table of 64-bit words at an index, on numbers only."""
    full, type_ = f"{body.name}.{name}", f"[{len(words)} x i64]"
    elements = ", ".join(f"i64 {word}" for word in words)
    body.definitions[full] = f"{full} = private unnamed_addr constant {type_} [{elements}]"

    def read(index: Bits) -> Bits:
        place = body.emit(f"getelementptr inbounds {type_}, ptr {full}, i64 0, i64 {index.text}")
        return body.emit_bits(f"load i64, ptr {place}")

    return read


def repeated(
    start: Sequence[_Number],
    again: Callable[..., Truth],
    following: Callable[..., Sequence[_Number]],
) -> list[_Number]:
    """Return numbers that are replaced by the following ones as long as a condition holds of them.

    On numbers only, unless the condition is the same in all lanes; both functions take the numbers
    one by one.
    """
    body = start[0].body
    before, number = body.block, len(body.lines)
    head, inside, done = (f"{word}{number}" for word in ("repeat", "turn", "done"))
    body.lines.append(f"  br label %{head}")
    body.start(head)
    places = range(len(body.lines), len(body.lines) + len(start))
    state = [first.named(body.emit("phi")) for first in start]
    body.lines.append(f"  br i1 {again(*state).somewhere}, label %{inside}, label %{done}")
    body.start(inside)
    replaced = following(*state)
    for place, old, first, new in zip(places, state, start, replaced):
        ways = f"[ {first.text}, %{before} ], [ {new.text}, %{body.block} ]"
        body.lines[place] = f"  {old.text} = phi {old.type} {ways}"
    body.lines.append(f"  br label %{head}")
    body.start(done)
    return state


def _define(body: Body, name: str, definition: Callable[..., Float], operands: int) -> None:
    """Define a function of numbers of the format, computed in double precision."""
    is_wide = body.dtype is DType.F64
    inner = name if is_wide else f"{name}.wide"
    _define_in(body, inner, definition, DType.F64, operands, 1)
    if not is_wide:
        body.definitions[name] = widened(name, inner, operands, attributes="cold ")


def _define_in(
    body: Body,
    name: str,
    definition: Callable[..., Float],
    dtype: DType,
    operands: int,
    lanes: int,
) -> None:
    text, declarations = text_of(name, definition, dtype, operands, lanes, body.machine, ATTRIBUTES)
    body.declarations |= dict.fromkeys(declarations)
    body.definitions[name] = text


def _lane_by_lane(body: Body, name: str, operands: int) -> str:
    """Define the function of vectors that calls that of numbers for each rare lane."""
    full, type_ = f"{name}.lanes", REGISTER[body.dtype]
    parameters = ", ".join(f"{body.type} %x{i}" for i in range(operands))
    arguments = ", ".join(f"{type_} %a{i}" for i in range(operands))
    elements = "\n".join(
        f"  %a{i} = extractelement {body.type} %x{i}, i32 %lane" for i in range(operands)
    )
    parameters = f"{body.truth} %where, {body.type} %usual, {parameters}"
    body.definitions[full] = f"""\
define internal {body.type} {full}({parameters}) {ATTRIBUTES} {{
entry:
  br label %lanes
lanes:
  %lane = phi i32 [ 0, %entry ], [ %next, %following ]
  %before = phi {body.type} [ %usual, %entry ], [ %after, %following ]
  %rare = extractelement {body.truth} %where, i32 %lane
  br i1 %rare, label %computed, label %following
computed:
{elements}
  %found = call {type_} {name}({arguments})
  %changed = insertelement {body.type} %before, {type_} %found, i32 %lane
  br label %following
following:
  %after = phi {body.type} [ %before, %lanes ], [ %changed, %computed ]
  %next = add i32 %lane, 1
  %more = icmp ult i32 %next, {body.lanes}
  br i1 %more, label %lanes, label %done
done:
  ret {body.type} %after
}}"""
    return full
