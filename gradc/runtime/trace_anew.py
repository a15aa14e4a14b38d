"""A function traced, and what is asked of it derived: all that is kept on disk afterwards."""

from __future__ import annotations

from gradc.kept.traces import Found, Question
from gradc.pipeline import final_functions
from gradc.runtime.fitting import Shapes, fits
from gradc.tracing.captured.traced import Traced
from gradc_ir import ops
from gradc_ir.core.binding import Least, bind_sizes
from gradc_ir.core.sizes import symbols
from gradc_ir.core.types import DType
from gradc_ir.core.walk import nested
from gradc_ir.telling.phases import TRACING, phase


def trace_anew(question: Question, shapes: Shapes | None = None) -> Found | None:
    """Return the function traced, and what is asked of it.

    None where it was traced for symbolic sizes and serves no arguments of these shapes.
    """
    source, asked, wrt, types, is_last = question
    with phase(TRACING):
        at_hand = None if shapes is None else bind_sizes(types, shapes)
        traced = source.trace(types, is_last=is_last, at_hand=at_hand)
    least = least_sizes(traced)
    if shapes is not None and not fits(traced, shapes, least):
        return None
    request = asked.request(traced, wrt, source.options, traced.function.names.__getitem__)
    if request.of == "jacobian" and request.mode == "auto" and shapes is not None:
        from gradc.autodiff.batching.jacobian import rows_of_forward  # batching

        rows = rows_of_forward(traced.function, request.wrt)
        if rows is not None and fits(traced, shapes, (rows,)):
            request, least = request.forward(), (*least, rows)
    return Found(traced, request, final_functions(traced.function, request), least)


def least_sizes(traced: Traced) -> Least:
    """Return symbolic sizes that must be so large, since a smaller one is traced by itself.

    A largest or smallest element does not exist along an axis of size 0, which is refused with its
    line; of some functions the trace has other ops for small sizes.
    """
    function = traced.function
    found = {
        node.operands[0].type.shape[axis]: 1
        for _, node in nested(function)
        if node.op in (ops.reduce_max, ops.reduce_min)
        and node.operands[0].type.dtype is not DType.BOOL  # any and all have a value
        for axis in node.attributes["axes"]
    } | dict(traced.least)
    told = {name for type_ in function.param_types for name in type_.symbols}
    return tuple(
        (size, least)
        for size, least in found.items()
        if (names := symbols(size)) and told.issuperset(names)
    )
