"""What values are made of, seen through rearrangements: operands, terms and factors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import reduce
from operator import mul, truediv

from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import SEEN_THROUGH, peel, rearrange, scalar_constant

# Rules look only so far into products and sums: a fixed bound keeps passes linear.
_DEPTH = 8


def parts(value: Value) -> tuple[str, tuple[Value, ...]]:
    """Return the op that makes a value and its operands, both seen through rearrangements."""
    node = value.node
    if node.op.name not in SEEN_THROUGH:
        return node.op.name, node.operands
    source, moves = peel(value)
    if not source.op.is_elementwise:
        return source.op.name, ()
    return source.op.name, tuple(rearrange(operand, moves) for operand in source.operands)


def operands_of(value: Value, name: str) -> tuple[Value, ...] | None:
    """Return the operands of the elementwise op that makes a value, None for any other op."""
    found, operands = parts(value)
    return operands if found == name else None


def operand_of(value: Value, name: str) -> Value | None:
    """Return the operand of the unary op that makes a value, rearranged as the value is."""
    operands = operands_of(value, name)
    return operands[0] if operands else None


def exact_number(value: Value) -> Fraction | None:
    """Return the number of a finite float constant, spread or not."""
    found = scalar_constant(value)
    if found is None or not value.type.dtype.is_float or not math.isfinite(found):
        return None
    return Fraction(found)


def is_size(value: Value) -> bool:
    """Whether a value is a symbolic size as a number, spread or not.

    Where the size is known it is a constant, of which rules about factors know nothing.
    """
    name, operands = parts(value)
    return name == "size" or (name == "cast" and is_size(operands[0]))


def made_by(name: str, values: Iterable[Value]) -> list[Value]:
    """Return those of some values that an op of this name makes, each once."""
    return [value for value in dict.fromkeys(values) if parts(value)[0] == name]


# -- terms -----------------------------------------------------------------------------------------


class Term(NamedTuple):
    """A term of a sum; ``plus`` or minus."""

    value: Value
    plus: bool


def terms_of(value: Value, depth: int, plus: bool = True) -> list[Term]:
    """Return the terms of a sum in their order, through differences and signs."""
    name, operands = parts(value)
    if not depth or name not in ("add", "sub", "neg"):
        return [Term(value, plus)]
    signs = [plus, plus == (name == "add")] if name != "neg" else [not plus]
    pairs = zip(operands, signs, strict=True)
    return [term for operand, sign in pairs for term in terms_of(operand, depth - 1, sign)]


def total_of(terms: Sequence[Term]) -> Value:
    """Return the sum of at least one term, in their order."""
    total = terms[0].value if terms[0].plus else -terms[0].value
    for term, plus in terms[1:]:
        total = total + term if plus else total - term
    return total


# -- factors ---------------------------------------------------------------------------------------


class Factor(NamedTuple):
    """A factor of a product; ``above`` the line or below it."""

    value: Value
    above: bool = True


def factors_of(value: Value, above: bool = True, depth: int = _DEPTH) -> Iterator[Factor]:
    """Yield the factors of a product in their order, through quotients and signs."""
    name, operands = parts(value)
    if not depth or name not in ("mul", "div", "neg"):
        yield Factor(value, above)
    elif name == "neg":
        yield Factor(build.full_like(value, -1))
        yield from factors_of(operands[0], above, depth - 1)
    else:
        yield from factors_of(operands[0], above, depth - 1)
        yield from factors_of(operands[1], above == (name == "mul"), depth - 1)


def product_of(factors: Sequence[Factor]) -> Value | None:
    """Return the product of factors, those below the line last; None for an empty one."""
    if not factors:
        return None
    above = [each.value for each in factors if each.above]
    below = [each.value for each in factors if not each.above]
    product: Value = reduce(mul, above) if above else build.ones_like(below[0])
    return reduce(truediv, below, product)
