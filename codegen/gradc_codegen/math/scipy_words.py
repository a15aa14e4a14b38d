"""Which words are no function of ours, but of SciPy's in double precision, and zeta."""

from __future__ import annotations

from gradc_ir.core.graph import Node
from gradc_ir.core.op import Attributes, Op
from gradc_ir.graphs.rearrange import scalar_constant

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


# Orders 0 and 1 of Bessel functions have functions of their own, faster and more accurate.
FIRST_ORDERS = {
    "math.jv": ("math.j0", "math.j1"),
    "math.yv": ("math.y0", "math.y1"),
    "math.iv": ("math.i0", "math.i1"),
    "math.ive": ("math.i0e", "math.i1e"),
    "math.kv": ("math.k0", "math.k1"),
    "math.kve": ("math.k0e", "math.k1e"),
}
# Words of a first operand that is known, which takes no part in them: word -> operand -> word.
_AT_NUMBERS: dict[str, dict[float, str]] = {
    "math.zeta": {2.0: "math.trigamma"},
    **{word: dict(zip((0.0, 1.0), names)) for word, names in FIRST_ORDERS.items()},
}


def word_of(node: Node) -> tuple[str, int]:
    """Return the word that computes an elementwise node, and how many operands it leaves out.

    The options that are set are part of the word.
    It leaves out the first one where that is a known number and there is a word for it.
    """
    word = word_with_options(node.op, node.attributes)
    if word in _AT_NUMBERS:
        number = scalar_constant(node.operands[0])
        if number is not None and number in _AT_NUMBERS[word]:
            return _AT_NUMBERS[word][number], 1
    return word, 0


def word_with_options(op: Op, attributes: Attributes) -> str:
    """Return the word of an elementwise op, of which the options that are set are part."""
    return "_".join((op.scalar or "", *(x for x in op.options if attributes.get(x))))


def has_other_words(word: str) -> bool:
    """Whether there are other words for some numbers as the first operand."""
    return word in _AT_NUMBERS


def is_special(word: str) -> bool:
    """Whether a word has its body here."""
    return word == "math.zeta" or scipy_name(word) is not None


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
