"""Functions of mathematics of what is known, in traced code: to the bits of what is recorded.

Whether a size is a number or a symbol decides whether what is made of it is known, and must decide
nothing else. So NumPy says what may be called, and with which dtype; the numbers are those that
compiled code computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc.tracing.building.elementwise import Elementwise
from gradc.tracing.captured.top import state
from gradc_ir import build
from gradc_ir.core.builder import Builder
from gradc_ir.core.types import Array, dtype_of
from gradc_ir.interpreter import as_compiled

_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def call_known(rule: Elementwise, *operands: Any, **options: Any) -> Any:
    """Return what a ufunc makes of plain operands, in a trace or outside of one.

    ``options`` are NumPy's.
    """
    if state.top is None or not rule.is_function or options.keys() - {"out", "where"}:
        return rule.ufunc(*operands, **options)
    found = rule.ufunc(*operands)
    numbers = _computed(rule, operands, np.asarray(found))
    if numbers is None:
        return rule.ufunc(*operands, **options)
    if options.get("out") is None:
        given = options.get("where", True)
        if given is not True:
            return rule.ufunc(*operands, **options)
        return numbers if isinstance(found, np.ndarray) else numbers[()]
    result = rule.ufunc(*operands, **options)
    np.copyto(result, numbers, casting="same_kind", where=options.get("where", True))
    return result


def _computed(rule: Elementwise, operands: Sequence[Any], found: Array) -> Array | None:
    """Return the numbers of a result as compiled code computes them; None where nobody knows."""
    if found.dtype not in _FLOATS:
        return None
    with Builder() as builder:
        values = []
        for operand in operands:
            array = np.asarray(operand, found.dtype)
            if array.ndim:
                values.append(build.constant(np.array(np.broadcast_to(array, found.shape))))
            else:
                values.append(build.full(found.shape, array.item(), dtype_of(found.dtype)))
        function = builder.function(rule.name, [], [rule.build(*values)])
    try:
        return as_compiled.run(function, [])
    except as_compiled.NotKnown:
        return None
