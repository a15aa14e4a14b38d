"""How each math word becomes LLVM: a call of the C library, or of SciPy in this process."""

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

# What SciPy computes, in double precision: its name is that of the word.
_SCIPY: dict[str, int] = {
    f"math.{name}": operands
    for operands, names in {
        1: """
           gammaln gamma rgamma psi erfcx erfinv ndtri log_ndtr dawsn spence ellipkm1 ellipe expi
           exp1 j0 j1 y0 y1 i0 i1 i0e i1e k0 k1 k0e k1e
           """,
        2: """
           beta betaln binom poch gammainc gammaincc gammaincinv gammainccinv stdtr stdtrit jv yv iv
           ive kv kve
           """,
        3: "betainc betaincinv",
    }.items()
    for name in names.split()
}

# Functions of SciPy with two results, each a word of its own: its name and the place of the result.
_SCIPY_PAIRS: dict[str, tuple[str, int]] = {
    f"math.{name}.{place}": (name, place) for name in ("sici", "fresnel") for place in (0, 1)
}

_LLVM = {DType.F64: "double", DType.F32: "float"}
# The error number is nobody's concern, so a call depends on its operands alone and may be hoisted.
_ATTRIBUTES = "nounwind willreturn memory(none)"


def is_math(word: str) -> bool:
    """Whether a scalar word is a function of the C library."""
    return word in _LIBRARY


def scipy_name(word: str | None) -> str | None:
    """Return SciPy's name of the function that computes a word, None when SciPy does not."""
    if word in _SCIPY_PAIRS:
        return _SCIPY_PAIRS[word][0]
    return word.removeprefix("math.") if word and word in _SCIPY else None


def scipy_result(word: str) -> int | None:
    """Return which of two results a word of SciPy's is, None for a function with one."""
    return _SCIPY_PAIRS[word][1] if word in _SCIPY_PAIRS else None


def scipy_operands(word: str) -> int:
    """Return how many operands a word of SciPy's has."""
    return _SCIPY.get(word, 1)


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
