"""A kernel of many points at once: the derivative of one point, over a leading axis of points."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff.batching import batch
from gradc.pipeline import derive
from gradc.requests.options import Options
from gradc.requests.request import Request
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import symbol

_NAMES = ("m", "batch", "points")


def of_many(of_one: Function, options: Options, shared: Sequence[int]) -> Function:
    """Return the final function of many points, from a derivative of one.

    Its parameters and results are those of one point, each with a leading axis of points, whose
    size is a symbol; but for the parameters that are ``shared`` by all.
    """
    taken = {*of_one.names, *of_one.size_symbols}
    size = next((name for name in _NAMES if name not in taken), "m_points")
    flags = [i not in shared for i in range(len(of_one.params))]
    wide = batch(of_one, flags, symbol(size))
    return derive(wide, Request(options=options))
