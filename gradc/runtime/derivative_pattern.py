"""Where the Jacobian or Hessian of a traced function may be other than zero, and its passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradc.pipeline import nested
from gradc.requests.options import Options
from gradc.requests.request import Request
from gradc.sparsity.compression import (
    Compression,
    compress,
    compress_symmetric,
    joined_with_mirror,
)
from gradc.sparsity.pattern import pattern
from gradc.sparsity.relation import Relation
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Shape, evaluate
from gradc_ir.core.types import Array, Type


def pattern_of(
    function: Function,
    of: str,
    leaf: int,
    options: Options,
    arrays: Sequence[Array | None],
    looked: dict[int, Array],
) -> Relation:
    """Return the pattern of a Jacobian or Hessian of a traced function, whose sizes are numbers.

    ``arrays`` are those of its parameters, as far as they are known; ``looked`` receives the
    integers among them that the pattern hangs on.
    """
    request = Request("jvp" if of == "jacobian" else "hvp", (leaf,), options=options)
    derivative = nested(function, request, True)

    def reader(place: int, array: Array) -> Callable[[], Array]:
        def read() -> Array:
            return looked.setdefault(place, array.copy())

        return read

    given = {
        i: reader(i, array)
        for i, array in enumerate(arrays)
        if array is not None and array.dtype.kind in "ib"
    }
    found = pattern(derivative, len(function.params), given)[-1]
    return found if of == "jacobian" else joined_with_mirror(found)


def passes_of(found: Relation, of: str, by: Type, result: Type, mode: str = "auto") -> Compression:
    """Return the passes for the pattern of a derivative of a result by a parameter."""
    if of == "hessian":
        return compress_symmetric(found, numbers(by.shape))
    return compress(found, mode, (numbers(result.shape), numbers(by.shape)))


def numbers(shape: Shape) -> tuple[int, ...]:
    """Return a shape without symbols as numbers."""
    return tuple(evaluate(size, {}) for size in shape)
