"""One element of an elementwise op as LLVM: each word of the op table, as its reference does it."""

from __future__ import annotations

from gradc_codegen import composite
from gradc_codegen.emitter import REGISTER, Writer, literal
from gradc_codegen.math import functions
from gradc_ir.graph import Node
from gradc_ir.types import DType

_FLOATS = (DType.F64, DType.F32)
_INTEGERS = (DType.I64, DType.I32)

# words that are one instruction: by word and dtype of the operands
_INSTRUCTIONS: dict[tuple[str, DType], str] = {}


def _fill() -> None:
    for dtype in _FLOATS:
        type_ = REGISTER[dtype]
        for word, name in [("add", "fadd"), ("sub", "fsub"), ("mul", "fmul"), ("div", "fdiv")]:
            _INSTRUCTIONS[word, dtype] = f"{name} {type_} %s, %s"
        for word, name in [("eq", "oeq"), ("ne", "une"), ("lt", "olt"), ("le", "ole")]:
            _INSTRUCTIONS[word, dtype] = f"fcmp {name} {type_} %s, %s"
        _INSTRUCTIONS["neg", dtype] = f"fneg {type_} %s"
    for dtype in (*_INTEGERS, DType.BOOL):
        type_ = REGISTER[dtype]
        sign = "u" if dtype is DType.BOOL else "s"
        for word, name in [("eq", "eq"), ("ne", "ne"), ("lt", sign + "lt"), ("le", sign + "le")]:
            _INSTRUCTIONS[word, dtype] = f"icmp {name} {type_} %s, %s"
    for dtype in _INTEGERS:
        type_ = REGISTER[dtype]
        for word in ("add", "sub", "mul"):  # without nsw: integers wrap
            _INSTRUCTIONS[word, dtype] = f"{word} {type_} %s, %s"
        _INSTRUCTIONS["neg", dtype] = f"sub {type_} 0, %s"
    for word in ("and", "or", "xor"):
        _INSTRUCTIONS[word, DType.BOOL] = f"{word} i1 %s, %s"
    _INSTRUCTIONS["not", DType.BOOL] = "xor i1 %s, true"
    _INSTRUCTIONS["maximum", DType.BOOL] = "or i1 %s, %s"
    _INSTRUCTIONS["minimum", DType.BOOL] = "and i1 %s, %s"


_fill()


def is_instruction(node: Node) -> bool:
    """Whether an elementwise node becomes instructions that LLVM can run over several elements."""
    word, dtype = node.op.scalar or "", node.operands[0].type.dtype
    return (
        word in ("select", "cast", "identity", "abs", "sign")
        or (word, dtype) in _INSTRUCTIONS
        or (word, dtype.is_float) in _INTRINSICS
        or (dtype.is_float and (functions.is_emitted(word) or composite.is_straight(word)))
    )


def lower_scalar(writer: Writer, node: Node, operands: list[str]) -> str:
    """Write an elementwise node on operands in registers; returns the result's register."""
    word = node.op.scalar or ""
    if word == "select":
        type_ = REGISTER[node.operands[1].type.dtype]
        condition, x, y = operands
        return writer.emit(f"select i1 {condition}, {type_} {x}, {type_} {y}")
    if word == "cast":
        return cast(writer, operands[0], node.operands[0].type.dtype, node.attributes["dtype"])
    return lower_word(writer, word, node.operands[0].type.dtype, operands)


def lower_word(writer: Writer, word: str, dtype: DType, operands: list[str]) -> str:
    """Write one word on operands of one dtype; returns the result's register."""
    instruction = _INSTRUCTIONS.get((word, dtype))
    if instruction is not None:
        return writer.emit(instruction % tuple(operands))
    if word == "identity":
        return operands[0]
    where = " alwaysinline" if writer.in_loop else " noinline"
    if dtype.is_float and functions.is_math(word):
        type_, name = REGISTER[dtype], functions.reference(writer.module, word, dtype)
        arguments = ", ".join(f"{type_} {operand}" for operand in operands)
        mark = where if functions.is_emitted(word) else ""
        return writer.emit(f"call {type_} {name}({arguments}){mark}")
    intrinsic = _INTRINSICS.get((word, dtype.is_float))
    if intrinsic is not None:
        return call_intrinsic(writer, intrinsic, dtype, operands)
    if word == "abs":  # of an integer: the most negative one stays
        type_ = REGISTER[dtype]
        writer.module.declare(f"declare {type_} @llvm.abs.{type_}({type_}, i1)")
        return writer.emit(f"call {type_} @llvm.abs.{type_}({type_} {operands[0]}, i1 false)")
    mark = where if dtype.is_float and composite.is_straight(word) else ""
    return composite.call(writer.module, writer.emit, word, dtype, operands, mark)


# (word, of floats) -> name of the intrinsic
_INTRINSICS: dict[tuple[str, bool], str] = {
    ("sqrt", True): "sqrt",
    ("floor", True): "floor",
    ("abs", True): "fabs",
    ("maximum", True): "maximum",
    ("minimum", True): "minimum",
    ("maximum", False): "smax",
    ("minimum", False): "smin",
}


def call_intrinsic(writer: Writer, name: str, dtype: DType, operands: list[str]) -> str:
    """Write a call of an overloaded LLVM intrinsic whose operands and result have one type."""
    type_ = REGISTER[dtype]
    full = f"@llvm.{name}.{composite.SUFFIX[dtype]}"
    types = ", ".join([type_] * len(operands))
    writer.module.declare(f"declare {type_} {full}({types})")
    arguments = ", ".join(f"{type_} {operand}" for operand in operands)
    return writer.emit(f"call {type_} {full}({arguments})")


def multiply_add(writer: Writer, dtype: DType, x: str, y: str, z: str) -> str:
    """Write x * y + z: rounded once for floats, wrapping for integers."""
    if dtype.is_float:
        return call_intrinsic(writer, "fma", dtype, [x, y, z])
    product = lower_word(writer, "mul", dtype, [x, y])
    return lower_word(writer, "add", dtype, [product, z])


def cast(writer: Writer, x: str, source: DType, target: DType) -> str:
    """Write a conversion; floats out of an integer's range saturate, nan becomes 0."""
    if source is target:
        return x
    have, want = REGISTER[source], REGISTER[target]
    if target is DType.BOOL:
        return lower_word(writer, "ne", source, [x, literal(0, source)])
    if source is DType.BOOL:
        return writer.emit(f"{'uitofp' if target.is_float else 'zext'} i1 {x} to {want}")
    if source.is_float and target.is_integer:
        name = f"@llvm.fptosi.sat.{want}.{composite.SUFFIX[source]}"
        writer.module.declare(f"declare {want} {name}({have})")
        return writer.emit(f"call {want} {name}({have} {x})")
    return writer.emit(f"{_CONVERSIONS[source, target]} {have} {x} to {want}")


_CONVERSIONS: dict[tuple[DType, DType], str] = {
    (DType.F64, DType.F32): "fptrunc",
    (DType.F32, DType.F64): "fpext",
    (DType.I64, DType.I32): "trunc",
    (DType.I32, DType.I64): "sext",
    **{(i, f): "sitofp" for i in _INTEGERS for f in _FLOATS},
}
