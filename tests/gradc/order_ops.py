"""The uses of the ops that go along an axis, one element after another."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np

from gradc_ir import build
from gradc_ir.core.op import Domain
from gradc_ir.core.types import DType
from tests.gradc.op_cases import Array, Case, sample, special_values

LINES = [((7,), 0), ((1,), 0), ((0,), 0), ((100,), 0), ((3, 5), 0), ((3, 5), 1), ((2, 40, 3), 1)]


def orders(name: str, dtype: DType) -> Iterator[Case]:
    """Yield an op that goes along an axis, on lines long and short."""
    if name == "argsort":
        # few different elements, so that many are equal
        for shape, axis in LINES:
            yield Case(
                (np.floor(sample(dtype, shape)).astype(dtype.numpy),),
                lambda x, axis=axis: build.argsort(x, axis),
                lambda x, axis=axis: np.argsort(x, axis, kind="stable"),
            )
        x = special_values(dtype)
        yield Case(
            (np.concatenate([x[::-1], x]),),
            lambda x: build.argsort(x, 0),
            lambda x: np.argsort(x, kind="stable"),
        )
        return
    for (shape, axis), reverse in product(LINES, (False, True)):
        x = sample(dtype, shape)
        turn = partial(np.flip, axis=axis) if reverse else np.asarray
        if name == "cumsum":
            yield Case(
                (x,),
                lambda x, axis=axis, reverse=reverse: build.cumsum(x, axis, reverse),
                lambda x, axis=axis, turn=turn: turn(np.cumsum(turn(x), axis, dtype=x.dtype)),
            )
            continue
        yield Case(
            (sample(dtype, shape, Domain(-1.2, 1.2), seed=1), x),
            lambda a, b, axis=axis, reverse=reverse: build.recurrence(a, b, axis, reverse),
            lambda a, b, axis=axis, turn=turn: turn(_recurrence(turn(a), turn(b), axis)),
        )


def _recurrence(a: Array, b: Array, axis: int) -> Array:
    out = np.moveaxis(b, axis, 0).copy()
    for i in range(1, len(out)):
        out[i] += np.moveaxis(a, axis, 0)[i] * out[i - 1]
    return np.moveaxis(out, 0, axis)
