"""How each math word becomes LLVM: a function of the module, of the C library, or of SciPy."""

from __future__ import annotations

import functools

from gradc_codegen.emitter import REGISTER, Module
from gradc_codegen.math.emitted.builder import text_of
from gradc_codegen.math.emitted.table import DEFINITIONS
from gradc_ir.types import DType

# word -> (name in the C library for double, operands), of what is not emitted
_LIBRARY: dict[str, tuple[str, int]] = {
    "math.sin": ("sin", 1),
    "math.cos": ("cos", 1),
    "math.tan": ("tan", 1),
    "math.cbrt": ("cbrt", 1),
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

# The error number is nobody's concern, so a call depends on its operands alone and may be hoisted.
_ATTRIBUTES = "nounwind willreturn memory(none)"


def is_math(word: str) -> bool:
    """Whether a scalar word is a function of the module's own or of the C library."""
    return word in DEFINITIONS or word in _LIBRARY


def is_emitted(word: str) -> bool:
    """Whether a scalar word is a function of the module's own: instructions, without branches."""
    return word in DEFINITIONS


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


def reference(module: Module, word: str, dtype: DType) -> str:
    """Return the name of the function that computes a word, which the module gets to know."""
    if word in DEFINITIONS and module.fma:
        name = f"@gradc.{word.removeprefix('math.')}.{dtype.name.lower()}"
        text, declarations = _emitted(word, name, dtype)
        for line in declarations:
            module.declare(line)
        module.help(name, lambda: text)
        return name
    # what is emitted elsewhere has its own name in the C library, and one operand
    symbol, operands = _LIBRARY.get(word, (word.removeprefix("math."), 1))
    name = f"@{symbol}f" if dtype is DType.F32 else f"@{symbol}"
    type_ = REGISTER[dtype]
    module.declare(f"declare {type_} {name}({', '.join([type_] * operands)}) {_ATTRIBUTES}")
    return name


@functools.cache
def _emitted(word: str, name: str, dtype: DType) -> tuple[str, list[str]]:
    return text_of(name, DEFINITIONS[word], dtype)
