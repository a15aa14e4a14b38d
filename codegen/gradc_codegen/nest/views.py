"""Views: the op of elements at indices that grow by equal steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc_ir.core.op import Op, Work
from gradc_ir.core.sizes import Shape
from gradc_ir.core.types import Array, Type, Types


def _infer(x: Type, *, starts: Shape, steps: tuple[int, ...], shape: Shape) -> Types:
    return (x.with_shape(shape),)


def _view(x: Array, *, starts: Any, steps: Any, shape: Any) -> Array:
    index = np.tensordot(np.reshape(steps, (x.ndim, -1)), np.indices(shape), 1)
    return np.asarray(x[tuple(start + one for start, one in zip(starts, index))])


VIEW = Op(
    "view",
    "shape",
    1,
    _infer,
    _view,
    attributes=("starts", "steps", "shape"),
    linear=(0,),
    work=Work(1),
    summary="Elements at ``start + sum(step * position)`` of each axis of x, its steps in a row.",
)
