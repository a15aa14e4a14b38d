"""How each math word becomes LLVM: today a call of the C library, for every word the same way."""

from __future__ import annotations

from gradc_ir.types import DType

# word -> (name in the C library for double, operands)
_LIBRARY: dict[str, tuple[str, int]] = {
    "math.exp": ("exp", 1),
    "math.expm1": ("expm1", 1),
    "math.log": ("log", 1),
    "math.log1p": ("log1p", 1),
    "math.sin": ("sin", 1),
    "math.cos": ("cos", 1),
    "math.tan": ("tan", 1),
    "math.tanh": ("tanh", 1),
    "math.exp2": ("exp2", 1),
    "math.log2": ("log2", 1),
    "math.log10": ("log10", 1),
    "math.cbrt": ("cbrt", 1),
    "math.sinh": ("sinh", 1),
    "math.cosh": ("cosh", 1),
    "math.asin": ("asin", 1),
    "math.acos": ("acos", 1),
    "math.atan": ("atan", 1),
    "math.asinh": ("asinh", 1),
    "math.acosh": ("acosh", 1),
    "math.atanh": ("atanh", 1),
    "math.erf": ("erf", 1),
    "math.erfc": ("erfc", 1),
    "math.hypot": ("hypot", 2),
    "math.atan2": ("atan2", 2),
    "math.pow": ("pow", 2),
    "math.fmod": ("fmod", 2),
}

_LLVM = {DType.F64: "double", DType.F32: "float"}
# The error number is nobody's concern, so a call depends on its operands alone and may be hoisted.
_ATTRIBUTES = "nounwind willreturn memory(none)"


def is_math(word: str) -> bool:
    """Whether a scalar word is a math function of this table."""
    return word in _LIBRARY


def symbol(word: str, dtype: DType) -> str:
    """Return the name of the function that computes a word for a float dtype."""
    name, _ = _LIBRARY[word]
    return name + "f" if dtype is DType.F32 else name


def declaration(word: str, dtype: DType) -> str:
    """Return the line that declares the function of a word."""
    _, operands = _LIBRARY[word]
    type_ = _LLVM[dtype]
    return f"declare {type_} @{symbol(word, dtype)}({', '.join([type_] * operands)}) {_ATTRIBUTES}"


def call(word: str, dtype: DType, operands: list[str]) -> str:
    """Return the right-hand side of an instruction that computes a word."""
    type_ = _LLVM[dtype]
    arguments = ", ".join(f"{type_} {operand}" for operand in operands)
    return f"call {type_} @{symbol(word, dtype)}({arguments})"
