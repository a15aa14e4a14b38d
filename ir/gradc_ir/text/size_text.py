"""Sizes of axes, read from text."""

from __future__ import annotations

import ast
import functools
import math

from gradc_ir.core.sizes import (
    Size,
    bit_length,
    floor_quotient,
    maximum,
    minimum,
    square_root,
    symbol,
    terms_of,
)

# Texts beyond these are no sizes of arrays, and would be multiplied out for hours.
_LONGEST_TEXT = 4000
_MOST_TERMS = 1000


def parse_size(text: str) -> Size:
    """Return the size written in ``text``, e.g. ``"4"``, ``"n"``, ``"max(n - 1, 0)"``."""
    try:
        if len(text) > _LONGEST_TEXT:
            raise ValueError(f"a size of {len(text)} characters")
        return _from_ast(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError) as error:
        raise ValueError(f"not a size: {text!r}") from error


@functools.lru_cache(maxsize=1024)
def size_text(size: Size) -> str:
    """Return the text of a size; raises ValueError where it is not read back as the same one."""
    text = str(size)
    if parse_size(text) != size:
        raise ValueError(f"not read back as it is: {text!r}")
    return text


def _from_ast(node: ast.expr) -> Size:
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return value
        case ast.Name(id=name):
            return symbol(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_from_ast(operand)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _from_ast(left) + _from_ast(right)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _from_ast(left) - _from_ast(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            factors = _from_ast(left), _from_ast(right)
            if math.prod(len(terms_of(factor)) for factor in factors) > _MOST_TERMS:
                raise ValueError("a product of too many terms")
            return factors[0] * factors[1]
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
            return floor_quotient(_from_ast(left), _from_ast(right))
        case ast.Call(func=ast.Name(id="max"), args=[left, right]):
            return maximum(_from_ast(left), _from_ast(right))
        case ast.Call(func=ast.Name(id="min"), args=[left, right]):
            return minimum(_from_ast(left), _from_ast(right))
        case ast.Call(func=ast.Name(id="isqrt"), args=[operand]):
            return square_root(_from_ast(operand))
        case ast.Call(func=ast.Name(id="bits"), args=[operand]):
            return bit_length(_from_ast(operand))
    raise ValueError("not a size")
