"""Looking for the first value that is not finite, in a value or in a derivative."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gradc.runtime.provenance import Bad, Place, origin
from gradc_ir.core import sizes
from gradc_ir.core.binding import bind_sizes
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.types import Array
from gradc_ir.errors import NonFiniteError
from gradc_ir.interpreter import tape
from gradc_ir.interpreter.interpret import interpret, watched

# Of a derivative, whose ops are not in the user's line.
_SLOPE = (
    "the slope of this line is not finite there: choose a harmless argument with np.where inside, "
    "and the value at that point with np.where around it"
)


def interpret_finite(function: Function, arrays: Sequence[Array]) -> list[Array]:
    """Return the results, interpreted.

    Raises NonFiniteError when one is nan or infinite: it names the value where that began, with the
    user's line and its operands. What is not finite but chosen by no mask is none of its business.
    """
    values: dict[Value, Array] = {}
    tapes = [1 << 62]  # where nothing has that many rows, any number is large enough

    def keep(of: Function, node: Node, _: Sequence[Array], results: Sequence[Array]) -> None:
        if of is function:
            values.update(zip(node.results, results))
        for value, result in zip(node.results, results):
            if sizes.TAPE in value.type.shape:
                tapes[0] = result.shape[value.type.shape.index(sizes.TAPE)]

    with watched(keep), np.errstate(all="ignore"):
        found = list(interpret(function, arrays))
    symbols = bind_sizes(function.param_types, [np.shape(array) for array in arrays])
    symbols.setdefault(tape.NAME, tapes[0])
    for value in function.results:
        if _has_nan(values[value]) or _has_infinity(values[value]):
            raise _error(Place(function, values, value, symbols))
    return found


def _has(kind: Callable[[Array], Array]) -> Bad:
    return lambda array: array.dtype.kind == "f" and bool(kind(array).any())


_has_nan, _has_infinity = _has(np.isnan), _has(np.isinf)


def _error(result: Place) -> NonFiniteError:
    function = result.function
    bad = _has_nan if _has_nan(result.array) else _has_infinity
    place = origin(result, bad)
    further = list(place.steps)
    if bad is _has_nan:
        # an infinity before it, which nobody wrote, is where it all began
        first = origin(place, _has_infinity)
        written = any(operand.op.name == "constant" for operand in first.value.operands)
        spread = first.value.op.name in ("select", "broadcast")
        if first.value is not place.value and not (written and spread):
            further = [*first.steps, f"it becomes nan in {place.text}"]
            place = first
    value = place.value
    kind = "nan" if _has_nan(place.array) else "inf"
    if value in function.params:
        name = function.names[function.params.index(value)]
        return NonFiniteError(
            f"{kind} in {name}, an argument of {function.name}",
            at=function.location,
            found=[f"{name}: {_summary(value, place.array)}", *further],
        )
    return NonFiniteError(
        f"{value.op.name} makes the first {kind} of {function.name}",
        at=place.line or function.location,
        found=[
            *(
                f"operand {i}: {_summary(operand, place.values[operand])}"
                for i, operand in enumerate(value.operands, 1)
            ),
            f"result: {_summary(value, place.array)}",
            *further,
        ],
        help=value.op.finite if _is_value(function) else _SLOPE,
    )


def _is_value(function: Function) -> bool:
    """Whether a function is the user's, not a derivative of it."""
    return function.location is None or function.location.function == function.name


def _summary(value: Value, array: Array) -> str:
    """Return the type, the range of the finite elements, and how many are none of them."""
    finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    shape = f"[{','.join(map(str, array.shape))}]" if array.shape else ""
    parts = [f"{value.type.dtype}{shape}"]
    if finite.size and array.ndim == 0:
        parts.append(str(array.item()))
    elif finite.size:
        parts.append(f"from {finite.min().item()} to {finite.max().item()}")
    if array.dtype.kind == "f":
        nans, infinities = int(np.isnan(array).sum()), int(np.isinf(array).sum())
        parts += [f"{nans} nan"] * bool(nans) + [f"{infinities} inf"] * bool(infinities)
    return ", ".join(parts)
