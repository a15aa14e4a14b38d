"""The graph that people read: what is asked for by exact algebra alone, as written."""

from __future__ import annotations

from gradc.autodiff.cotangents.masks import masks_at_once
from gradc.pipeline import by_algebra
from gradc.reading.shorter import SHORTER
from gradc.requests.request import Request
from gradc_ir.core.graph import Function


def simple(traced: Function, request: Request) -> Function:
    """Return what a request makes of a traced function, without what only rescues digits.

    Guards, series, wide exponents and triangles are not there, nor is what is arranged for speed.
    Over the reals it equals the function that is compiled.
    """
    with masks_at_once():
        return by_algebra(traced, request, SHORTER)
