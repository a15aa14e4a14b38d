"""Expressions of matrix symbols as values: products, sums, transposes, inverses, traces."""

from __future__ import annotations

from typing import Any

import sympy

from gradc.sympy.expressions import Expressions, refused
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType


class Matrices:
    """Builds matrix expressions in the active builder; scalars in them are expressions."""

    def __init__(self, scalars: Expressions) -> None:
        self.scalars = scalars
        self.known: dict[Any, Value] = {}

    def value(self, expression: Any) -> Value:
        """Return a matrix expression as an array of two axes."""
        found = self.known.get(expression)
        if found is None:
            found = self.known[expression] = self._made(expression)
        return found

    def _made(self, expression: Any) -> Value:
        match expression:
            case sympy.MatrixSymbol():
                array = self.scalars.arrays.get(expression)
                if array is None:
                    raise refused(expression, f"the matrix {expression} is no argument")
                return array
            case sympy.MatAdd():
                first, *rest = map(self.value, expression.args)
                for one in rest:
                    first = first + one
                return first
            case sympy.MatMul():
                return self._product(expression.args)
            case sympy.Transpose():
                return build.transpose(self.value(expression.args[0]), (1, 0))
            case sympy.Inverse():
                matrix = self.value(expression.args[0])
                return build.solve(matrix, self._identity(matrix.type.shape[0]))
            case sympy.HadamardProduct():
                first, *rest = map(self.value, expression.args)
                for one in rest:
                    first = first * one
                return first
            case sympy.Identity() | sympy.ZeroMatrix():
                size = self._size(expression.shape[0])
                if isinstance(expression, sympy.Identity):
                    return self._identity(size)
                shape = (size, self._size(expression.shape[1]))
                return build.full(shape, 0.0, self.scalars.dtype)
            case sympy.MatPow():
                base, exponent = expression.args
                if exponent.is_Integer and 0 < exponent <= 64:
                    return self._product([base] * int(exponent))
        if isinstance(expression, sympy.MatrixBase):
            elements = [self.scalars.value(one) for one in sympy.flatten(expression)]
            rows = [build.reshape(one, (1,)) for one in elements]
            return build.reshape(build.concatenate(rows, 0), tuple(map(int, expression.shape)))
        raise refused(expression, f"gradc has no {type(expression).__name__} of matrices")

    def _product(self, factors: Any) -> Value:
        scale: Value | None = None
        found: Value | None = None
        # from the right: a vector at the end stays one, and inverses are solved
        for factor in reversed(list(factors)):
            if not getattr(factor, "is_Matrix", False):
                number = self.scalars.value(factor)
                scale = number if scale is None else scale * number
            elif isinstance(factor, sympy.Inverse) and found is not None:
                found = build.solve(self.value(factor.args[0]), found)
            else:
                matrix = self.value(factor)
                found = matrix if found is None else build.contract(matrix, found, "ij,jk->ik")
        assert found is not None
        if scale is None:
            return found
        return found * build.broadcast(scale, found.type.shape, ())

    def _identity(self, size: Size) -> Value:
        places = build.iota(DType.I64, size)
        shape = (size, size)
        same = build.eq(build.broadcast(places, shape, (0,)), build.broadcast(places, shape, (1,)))
        return build.cast(same, self.scalars.dtype)

    def _size(self, size: Any) -> Size:
        found = self.scalars.size(sympy.sympify(size))
        if found is None:
            raise refused(size, f"{size} is no size of an argument")
        return found
