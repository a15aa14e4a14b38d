"""What has to hold before a derivative is taken, with errors in the user's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from gradc.arguments import pytree
from gradc.calls.signature import Bound, static_argument
from gradc_ir.core.graph import Function
from gradc_ir.core.types import Array
from gradc_ir.errors import DTypeError, ShapeError, TraceError


class TracedLike(Protocol):
    """A traced function and the nest of its results."""

    @property
    def function(self) -> Function:
        """The function."""

    @property
    def out_tree(self) -> Any:
        """The nest."""


def check_value(traced: TracedLike, has_aux: bool) -> None:
    """Raise ShapeError unless the function returns one value; ``(value, aux)`` with has_aux."""
    name = traced.function.name
    if has_aux:
        whole = pytree.unflatten(traced.out_tree, list(traced.function.results))
        if not isinstance(whole, tuple) or len(whole) != 2:
            raise ShapeError(
                f"has_aux: {name} must return (value, aux), a tuple of two",
                at=traced.function.location,
            )
        count = len(pytree.flatten(whole[0])[0])
    else:
        count = len(traced.function.results)
    if count != 1:
        raise ShapeError(
            f"the gradient of {name} needs one scalar value, not {count}",
            at=traced.function.location,
            help="return one value, or (value, aux) with has_aux=True",
        )


def check_mode(mode: str) -> None:
    """Raise TraceError unless ``mode`` is a way to compute a Jacobian."""
    if mode not in ("auto", "forward", "reverse"):
        raise TraceError(
            f"mode: {mode!r} is no way to compute a Jacobian",
            help='pass "forward", "reverse" or "auto"',
        )


def check_moves(name: str, bound: Bound, positions: Sequence[int]) -> None:
    """Raise TraceError where an argument to differentiate by steers the function."""
    for position in positions:
        if bound.steers(position):
            chosen = bound.names[position]
            others = [one for i, one in enumerate(bound.names) if not bound.steers(i)]
            raise static_argument(name, chosen, bound.flags[chosen], others)


def check_floats(name: str, bound: Bound, positions: Sequence[int]) -> None:
    """Raise DTypeError unless all leaves at these positions are floating point."""
    for position in positions:
        for leaf in bound.spans[position]:
            array = bound.leaves[leaf]
            if array.dtype.kind != "f":
                argument = _path(bound, position, leaf)
                raise DTypeError(
                    f"the gradient of {name} with respect to {argument} needs floating point, "
                    f"not {array.dtype}",
                    help=f"pass {argument} as float: {_float_example(argument, array)}",
                )


def _path(bound: Bound, position: int, leaf: int) -> str:
    """Return how a leaf of an argument is reached, such as ``p.w``."""
    return bound.paths_at(position)[leaf - bound.spans[position].start]


def _float_example(argument: str, array: Array) -> str:
    return f"{float(array):.1f}" if array.ndim == 0 else f"{argument}.astype(np.float64)"
