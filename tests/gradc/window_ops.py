"""The uses of the ops of windows: what is read, written or put among zeros, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gradc_ir import build
from gradc_ir.core.types import DType
from tests.gradc.op_cases import Array, Case, sample

WINDOWS = [
    # whole shape, starts, window shape, steps
    ((7,), (1,), (3,), (2,)),
    ((7,), (6,), (7,), (-1,)),
    ((7,), (2,), (0,), (1,)),
    ((1,), (0,), (1,), (1,)),
    ((4, 5), (1, 4), (2, 3), (2, -1)),
    ((4, 5), (3, 0), (1, 5), (1, 1)),
]


def _window(starts: Any, shape: Any, steps: Any) -> Any:
    return np.ix_(*(s + d * np.arange(n) for s, n, d in zip(starts, shape, steps)))


def windows(name: str, dtype: DType) -> Iterator[Case]:
    """Yield an op that reads or writes a window, on windows of all kinds."""
    for whole, starts, shape, steps in WINDOWS:
        index = _window(starts, shape, steps)
        x, part = sample(dtype, whole), sample(dtype, shape, seed=1)
        if name == "slice":
            yield Case(
                (x,),
                lambda x, a=(starts, shape, steps): build.apply(
                    "slice", x, starts=a[0], shape=a[1], steps=a[2]
                ),
                lambda x, index=index: x[index],
            )
        elif name == "pad":
            yield Case(
                (part,),
                lambda x, a=(starts, whole, steps): build.apply(
                    "pad", x, starts=a[0], shape=a[1], steps=a[2]
                ),
                lambda part, whole=whole, index=index: _written(
                    np.zeros(whole, part.dtype), part, index
                ),
            )
        else:
            yield Case(
                (x, part),
                lambda x, part, a=(starts, steps): build.apply(
                    "set_slice", x, part, starts=a[0], steps=a[1]
                ),
                lambda x, part, index=index: _written(x.copy(), part, index),
            )


def _written(x: Array, part: Array, index: Any) -> Array:
    x[index] = part
    return x
