"""What a sparse derivative asks of a function: one float array by one, sizes that are numbers."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.calls.preconditions import TracedLike, check_value
from gradc_ir.core.graph import Function
from gradc_ir.errors import DTypeError, ShapeError, TraceError


def check_sizes(function: Function) -> None:
    """Raise ShapeError unless all sizes are numbers."""
    if function.size_symbols:
        raise ShapeError(
            "a pattern is one of sizes that are numbers",
            found=", ".join(f"{n}: {t}" for n, t in zip(function.names, function.param_types)),
            help='give them in the spec: "x: f64[12]"',
        )


def only_leaf(name: str, of: str, leaves: Sequence[int]) -> int:
    """Return the one leaf that a derivative is by."""
    if len(leaves) == 1:
        return leaves[0]
    raise TraceError(
        f"a sparse {of} of {name} is by one array, not by {len(leaves)}",
        help="pass one vector and take it apart in the function: a, b = x[:n], x[n:]",
    )


def check_matrix(name: str, of: str, traced: TracedLike) -> None:
    """Raise unless the function returns what such a derivative is of."""
    if of == "hessian":
        check_value(traced, False)
        return
    types = traced.function.result_types
    if len(types) != 1:
        raise ShapeError(
            f"a sparse jacobian is of one array; {name} returns {len(types)}",
            help="return one vector: np.concatenate([a.ravel(), b.ravel()])",
        )
    if not types[0].dtype.is_float:
        raise DTypeError(
            f"a sparse jacobian is of floats; {name} returns {types[0]}",
            help="only floating-point values have derivatives",
        )
