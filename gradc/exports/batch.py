"""A kernel of many points at once: the derivative of one point, over a leading axis of points."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff.batching import batch
from gradc.pipeline import derive, nested
from gradc.requests.request import Request
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import symbol

_NAMES = ("m", "batch", "points")


def of_many(function: Function, request: Request, shared: Sequence[int]) -> Function:
    """Return the final function of what a request makes of a traced one, at many points.

    Its parameters and results are those of one point, each with a leading axis of points, whose
    size is a symbol; but for the parameters of the traced function that are ``shared`` by all.
    """
    of_one = nested(function, request, is_last=True)
    taken = {*function.names, *function.size_symbols}
    size = next((name for name in _NAMES if name not in taken), "m_points")
    flags = [i not in shared for i in range(len(of_one.params))]
    wide = batch(of_one, flags, symbol(size))
    return derive(wide, Request("value", (), options=request.options))
