"""A function at arguments of one structure, which is traced at whatever types their leaves have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradc.calls.signature import Bound, Number, Parameters, WideInteger
from gradc.requests.options import Options, using
from gradc.tracing.captured.traced import Traced
from gradc.tracing.core.leaves import NumpyInteger, PythonNumber
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.types import Type


class Traceable(NamedTuple):
    """A function, what the user chose for it, and arguments of which only the structure counts.

    Parameters
    ----------
    function: the user's function.
    name: what it is called in graphs and logs.
    parameters: its parameters.
    bound: the arguments; kept for long, it should be without their arrays.
    options: in force while it is traced, for transforms inside it.
    """

    function: Callable[..., Any]
    name: str
    parameters: Parameters
    bound: Bound
    options: Options

    def trace(
        self,
        types: Sequence[Type],
        *,
        is_last: bool = False,
        at_hand: Mapping[str, int] | None = None,
    ) -> Traced:
        """Return the function traced at these types of the leaves, one a leaf.

        ``is_last``: it is not to be differentiated. ``at_hand``: as of :func:`trace`.
        """
        from gradc.tracing.record.trace import trace  # what is kept on disk is not traced

        # a Python number keeps its weak dtype: f32 array * 2.0 stays f32
        leaves = list(map(_leaf, types, self.bound.numbers))
        bound = self.bound
        args, kwargs = self.parameters.call_form(bound.names, bound.nests(leaves), bound.static)
        with using(self.options, is_last=is_last):
            name = self.name if self.name.isidentifier() else "f"
            captures = self.options.capture
            return trace(self.function, args, kwargs, name=name, captures=captures, at_hand=at_hand)


def _leaf(type_: Type, number: Number) -> Type | PythonNumber | NumpyInteger:
    if number is None:
        return type_
    if number is np.integer:
        return NumpyInteger(type_.dtype)
    return PythonNumber(type_.dtype, wide=number is WideInteger)
