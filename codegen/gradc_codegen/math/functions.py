"""How each math word becomes LLVM: a function of the module, or of SciPy."""

from __future__ import annotations

import functools

from gradc_codegen.math.emitted.builder import text_of
from gradc_codegen.math.emitted.table import DEFINITIONS, operands_of
from gradc_codegen.text.module import REGISTER, Machine, Module, suffix
from gradc_ir.core.types import DType

# What SciPy computes, in double precision: its name is that of the word.
_SCIPY: dict[str, int] = {
    f"math.{name}": operands
    for operands, names in {
        1: """
           gamma rgamma ndtri dawsn spence ellipkm1 ellipe expi exp1 j0 j1 y0 y1 i0 i1 k0 k1 k0e
           k1e
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


def is_emitted(word: str) -> bool:
    """Whether a scalar word is a function of the module's own, of numbers and of vectors."""
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


def reference(module: Module, word: str, dtype: DType, lanes: int = 1) -> str:
    """Return the name of the function that computes a word, which the module gets to know.

    With ``lanes`` it is one on vectors.
    """
    name = f"@gradc.{word.removeprefix('math.')}.{suffix(dtype, lanes)}"
    text, declarations = _emitted(word, name, dtype, lanes, module.machine)
    for line in declarations:
        module.declare(line)
    module.help(name, lambda: text)
    return name


def one_by_one(module: Module, scalar: str, operands: int, dtype: DType, lanes: int) -> str:
    """Return the name of a function on vectors that calls another one for each lane."""
    name = f"@gradc.each.{scalar.removeprefix('@').removeprefix('gradc.')}.v{lanes}"

    def text() -> str:
        type_, whole = REGISTER[dtype], f"<{lanes} x {REGISTER[dtype]}>"
        parameters = ", ".join(f"{whole} %x{i}" for i in range(operands))
        lines = [f"define internal {whole} {name}({parameters}) {{"]
        result = "poison"
        for lane in range(lanes):
            given = [f"%x{i}.{lane}" for i in range(operands)]
            lines += [
                f"  {x} = extractelement {whole} %x{i}, i64 {lane}" for i, x in enumerate(given)
            ]
            arguments = ", ".join(f"{type_} {x}" for x in given)
            lines += [
                f"  %y.{lane} = call {type_} {scalar}({arguments})",
                f"  %r.{lane} = insertelement {whole} {result}, {type_} %y.{lane}, i64 {lane}",
            ]
            result = f"%r.{lane}"
        return "\n".join([*lines, f"  ret {whole} {result}", "}"])

    module.help(name, text)
    return name


@functools.cache
def _emitted(
    word: str, name: str, dtype: DType, lanes: int, machine: Machine
) -> tuple[str, list[str]]:
    return text_of(name, DEFINITIONS[word], dtype, operands_of(word), lanes, machine)
