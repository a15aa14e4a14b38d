"""An elementwise op as LLVM, of one element or of one for each lane, as its reference does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradc_codegen.lazy_table import LazyTable
from gradc_codegen.math import words
from gradc_codegen.math.scipy_words import word_of
from gradc_codegen.text.indices import is_vector
from gradc_codegen.text.module import REGISTER, literal, suffix
from gradc_codegen.text.writer import Writer
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.types import DType
from gradc_ir.ranges.knowledge import is_nonzero, is_unsigned

# nodes of formulas whose exponents have no bound
_FORMULAS: LazyTable[Callable[..., str]] = LazyTable(
    {
        "gradc_codegen.scalar.wide_exponents": "unbounded",
        "gradc_codegen.scalar.recovering": "recover",
    }
)

_FLOATS = (DType.F64, DType.F32)
_INTEGERS = (DType.I64, DType.I32)

# Words that are one instruction.
_OF_FLOATS = {
    **{word: f"f{word}" for word in ("add", "sub", "mul", "div", "neg")},
    **{word: f"fcmp o{word}" for word in ("eq", "lt", "le")},
    "ne": "fcmp une",
}
_OF_INTEGERS = {
    **{word: word for word in ("add", "sub", "mul")},  # without nsw: integers wrap
    **{word: f"icmp {word}" for word in ("eq", "ne")},
    **{word: f"icmp s{word}" for word in ("lt", "le")},
}
_OF_TRUTH_VALUES = {
    **{word: word for word in ("and", "or", "xor")},
    **{"maximum": "or", "minimum": "and"},
    **{word: f"icmp {word}" for word in ("eq", "ne")},
    **{word: f"icmp u{word}" for word in ("lt", "le")},
}
_INSTRUCTIONS: dict[tuple[str, DType], str] = {
    (word, dtype): name
    for dtypes, names in (
        (_FLOATS, _OF_FLOATS),
        (_INTEGERS, _OF_INTEGERS),
        ((DType.BOOL,), _OF_TRUTH_VALUES),
    )
    for dtype in dtypes
    for word, name in names.items()
}


def is_instruction(node: Node) -> bool:
    """Whether an elementwise node becomes an instruction or two, and no function."""
    word, dtype = node.op.scalar or "", node.operands[0].type.dtype
    return (
        word in ("select", "cast", "identity", "abs", "sign", "neg", "not", "fma")
        or (word, dtype) in _INSTRUCTIONS
        or (word, dtype.is_float) in _INTRINSICS
    )


def is_function(node: Node) -> bool:
    """Whether a node is elementwise, and its elements are made by a function, no instruction."""
    return node.op.is_elementwise and not is_instruction(node)


def lower_scalar(writer: Writer, node: Node, operands: list[str]) -> str:
    """Write an elementwise node on operands in registers; returns the result's register.

    Where an operand has an element for each lane, so has the result.
    """
    word, left_out = word_of(node)
    if word == "select":
        return select(writer, node.operands[1].type.dtype, *operands)
    if word == "cast":
        return cast(writer, operands[0], node.operands[0].type.dtype, node.attributes["dtype"])
    if word == "fma":
        return multiply_add(writer, node.operands[0].type.dtype, *operands)
    word = without_signs(word, node.operands)
    return lower_word(writer, word, node.operands[0].type.dtype, operands[left_out:])


def without_signs(word: str, operands: Sequence[Value]) -> str:
    """Return a word's name among operands of which no two are zeros of different signs.

    The greater of 0.0 and -0.0 is 0.0: to see to that is half of the instructions.
    """
    if word not in EXTREMES or not operands[0].type.dtype.is_float:
        return word
    is_apart = len(operands) > 1 and any(map(is_nonzero, operands))
    return EXTREMES[word] if is_apart or all(map(is_unsigned, operands)) else word


def lower_formula(writer: Writer, node: Node, key: object, read: Callable[[Value], str]) -> str:
    """Write a node of formulas whose exponents have no bound; returns the result's register.

    Parameters
    ----------
    key: which element it is.
    read: returns that element of an operand; most are read where they are rarely needed.
    """
    return _FORMULAS[node.op.name](writer, node, key, read, lower_word)


def select(writer: Writer, dtype: DType, condition: str, x: str, y: str) -> str:
    """Write the choice of one operand where a condition holds and the other elsewhere."""
    vector = is_vector(condition) or is_vector(x) or is_vector(y)
    if vector:
        x, y = writer.spread(x, REGISTER[dtype]), writer.spread(y, REGISTER[dtype])
    type_ = writer.type_of(REGISTER[dtype], vector)
    flag = writer.type_of("i1", is_vector(condition))
    return writer.write(vector, f"select {flag} {condition}, {type_} {x}, {type_} {y}")


def lower_word(writer: Writer, word: str, dtype: DType, operands: list[str]) -> str:
    """Write one word on operands of one dtype; returns the result's register."""
    vector = any(map(is_vector, operands))
    if vector:
        operands = [writer.spread(operand, REGISTER[dtype]) for operand in operands]
    instruction = _INSTRUCTIONS.get((word, dtype))
    if instruction is not None:
        type_ = writer.type_of(REGISTER[dtype], vector)
        return writer.write(vector, f"{instruction} {type_} {', '.join(operands)}")
    if word == "neg":
        return lower_word(writer, "sub", dtype, ["0", *operands])
    if word == "not":
        return lower_word(writer, "xor", dtype, [*operands, "true"])
    if word == "identity":
        return operands[0]
    if word in _BEYOND_ZERO and dtype.is_float and writer.module.machine.permutes:
        others = [operand for operand in operands if not _is_zero(operand, dtype)]
        if len(others) == 1:
            return _beyond_zero(writer, word, dtype, others[0])
    intrinsic = _INTRINSICS.get((word, dtype.is_float))
    if intrinsic is not None:
        # LLVM may take a zero's sign as it comes: there is only one
        flags = "nsz" if word in EXTREMES.values() else ""
        return call_intrinsic(writer, intrinsic, dtype, operands, flags)
    if word == "abs" and not dtype.is_float:  # the most negative one stays
        type_ = writer.type_of(REGISTER[dtype], vector)
        name = f"@llvm.abs.{suffix(dtype, writer.lanes if vector else 1)}"
        call = writer.module.call(type_, name, f"{type_} {operands[0]}", "i1 false")
        return writer.write(vector, call)
    return words.call(writer, word, dtype, operands)


# How a number compares with 0.0, or does not since it is nan, where it is the extreme of both. On
# x86 that and a choice are two instructions; LLVM has three, lest nan or a sign be lost.
_BEYOND_ZERO = {"maximum": "ugt", "minimum": "ule"}


def _is_zero(operand: str, dtype: DType) -> bool:
    zero = literal(0.0, dtype)
    return operand == zero or operand == f"splat ({REGISTER[dtype]} {zero})"


def _beyond_zero(writer: Writer, word: str, dtype: DType, x: str) -> str:
    """Write the greater or the smaller one of a number and 0.0."""
    type_ = writer.type_of(REGISTER[dtype], is_vector(x))
    zero = "zeroinitializer" if is_vector(x) else literal(0.0, dtype)
    holds = writer.write(is_vector(x), f"fcmp {_BEYOND_ZERO[word]} {type_} {x}, {zero}")
    return select(writer, dtype, holds, x, literal(0.0, dtype))


# What the greater and the smaller of two numbers are called where zeros have one sign, at most.
EXTREMES = {word: f"{word}.unsigned" for word in ("maximum", "minimum")}

# (word, of floats) -> name of the intrinsic
_INTRINSICS: dict[tuple[str, bool], str] = {
    ("sqrt", True): "sqrt",
    ("floor", True): "floor",
    ("abs", True): "fabs",
    ("maximum", True): "maximum",
    ("minimum", True): "minimum",
    **{(name, True): word for word, name in EXTREMES.items()},
    ("maximum", False): "smax",
    ("minimum", False): "smin",
}


def call_intrinsic(
    writer: Writer, name: str, dtype: DType, operands: list[str], flags: str = ""
) -> str:
    """Write a call of an overloaded LLVM intrinsic whose operands and result have one type."""
    vector = any(map(is_vector, operands))
    if vector:
        operands = [writer.spread(operand, REGISTER[dtype]) for operand in operands]
    type_ = writer.type_of(REGISTER[dtype], vector)
    full = f"@llvm.{name}.{suffix(dtype, writer.lanes if vector else 1)}"
    arguments = (f"{type_} {operand}" for operand in operands)
    call = writer.module.call(type_, full, *arguments)
    return writer.write(vector, call.replace("call", f"call {flags}", 1) if flags else call)


def multiply_add(writer: Writer, dtype: DType, x: str, y: str, z: str) -> str:
    """Write x * y + z: rounded once for floats unless the module splits, wrapping for integers."""
    if dtype.is_float and not writer.module.machine.splits:
        return call_intrinsic(writer, "fma", dtype, [x, y, z])
    product = lower_word(writer, "mul", dtype, [x, y])
    return lower_word(writer, "add", dtype, [product, z])


def cast(writer: Writer, x: str, source: DType, target: DType) -> str:
    """Write a conversion; floats out of an integer's range saturate, nan becomes 0."""
    if source is target:
        return x
    if target is DType.BOOL:
        return lower_word(writer, "ne", source, [x, literal(0, source)])
    vector = is_vector(x)
    have, want = writer.type_of(REGISTER[source], vector), writer.type_of(REGISTER[target], vector)
    if source is DType.BOOL:
        return writer.write(
            vector, f"{'uitofp' if target.is_float else 'zext'} {have} {x} to {want}"
        )
    if source.is_float and target.is_integer:
        lanes = writer.lanes if vector else 1
        name = f"@llvm.fptosi.sat.{suffix(target, lanes)}.{suffix(source, lanes)}"
        return writer.write(vector, writer.module.call(want, name, f"{have} {x}"))
    return writer.write(vector, f"{_CONVERSIONS[source, target]} {have} {x} to {want}")


_CONVERSIONS: dict[tuple[DType, DType], str] = {
    (DType.F64, DType.F32): "fptrunc",
    (DType.F32, DType.F64): "fpext",
    (DType.I64, DType.I32): "trunc",
    (DType.I32, DType.I64): "sext",
    **{(i, f): "sitofp" for i in _INTEGERS for f in _FLOATS},
}
