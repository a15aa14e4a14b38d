"""What the functions of linear algebra share: arguments as values that are stacks of matrices.

Where NumPy and SciPy raise LinAlgError because of the numbers in a matrix, the results are nan.
"""

from __future__ import annotations

from typing import Any

from gradc.tracing.building.by_name import array
from gradc.tracing.core.promote import broadcast_shapes, unify
from gradc.tracing.core.source import shape_error
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import make, read
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType
from gradc_ir.errors import ShapeError


class Stacks:
    """Arguments of one call as values of one dtype, and results in the dtype they have.

    NumPy computes linear algebra of float32 in float64 and rounds the results; SciPy, for which
    ``double`` is False, computes it in float32.
    """

    def __init__(self, name: str, *given: Any, double: bool = True) -> None:
        self.name = name
        self.arrays = [array(x) for x in given]
        dtypes = {x.type.dtype for x in self.arrays}
        self.dtype = DType.F32 if dtypes == {DType.F32} else DType.F64
        work = DType.F64 if double else self.dtype
        self.values = [build.cast(read(x), work) for x in self.arrays]

    def matrices(self, *, square: bool = False) -> tuple[Value, ...]:
        """Return the arguments; ShapeError unless they are matrices, square ones if asked for."""
        for x in self.values:
            self.check(x, square=square)
        return tuple(self.values)

    def check(self, x: Value, *, square: bool = False) -> Value:
        """Return x; ShapeError unless it is a stack of matrices, square ones if asked for."""
        if x.type.rank < 2:
            raise self.failure("takes matrices, which have two axes")
        if square:
            self.match(x.type.shape[-2], x.type.shape[-1], "the matrix is not square")
        return x

    def match(self, left: Size, right: Size, what: str) -> None:
        """Raise ShapeError, with what it means, unless two sizes are equal."""
        unify(left, right, lambda: self.failure(f"{what} ({left} and {right})"))

    def failure(self, what: str) -> ShapeError:
        """Return the error for arguments that do not fit."""
        found = " and ".join(str(x.type) for x in self.arrays)
        return shape_error(f"{self.name}: {what}", found=found)

    def together(self, x: Value, y: Value) -> tuple[Value, Value]:
        """Return two stacks of matrices broadcast to one stack."""
        stack = broadcast_shapes(
            [x.type.shape[:-2], y.type.shape[:-2]],
            lambda left, right: self.failure(f"stacks of {left} and {right} do not broadcast"),
        )
        return spread(x, stack), spread(y, stack)

    def result(self, value: Value) -> Any:
        """Return a result of the call; floats have the dtype of the arguments."""
        if value.type.dtype.is_float:
            value = build.cast(value, self.dtype)
        return make(running(), value)


def one_stack(
    name: str, a: Any, *, square: bool = False, double: bool = True
) -> tuple[Stacks, Value]:
    """Return the argument of a function of matrices, and its value."""
    stacks = Stacks(name, a, double=double)
    return stacks, stacks.matrices(square=square)[0]


def spread(x: Value, stack: tuple[Size, ...]) -> Value:
    """Return matrices repeated to a stack."""
    return build.broadcast_to(x, (*stack, *x.type.shape[-2:]))


def as_column(x: Value) -> Value:
    """Return vectors as matrices of one column."""
    return build.reshape(x, (*x.type.shape, 1))


def from_column(x: Value) -> Value:
    """Return the only columns of matrices."""
    return build.reshape(x, x.type.shape[:-1])
