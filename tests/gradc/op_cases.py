"""What the tables of uses of ops are made of: a case, and numbers to draw operands from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradc_ir.core.graph import Value
from gradc_ir.core.op import REALS, Domain
from gradc_ir.core.types import DType

Array = np.ndarray
FLOATS = (DType.F64, DType.F32)
DTYPES = (*FLOATS, DType.I64, DType.I32, DType.BOOL)


class Case(NamedTuple):
    """One use of an op: parameter arrays, the graph on them, and the same in NumPy, or None."""

    arrays: tuple[Array, ...]
    build: Callable[..., Value]
    numpy: Callable[..., Any] | None


def sample(dtype: DType, shape: Sequence[int], domain: Domain = REALS, seed: int = 0) -> Array:
    """Return random elements inside a domain, away from its ends; small integers, or bools."""
    random = np.random.default_rng([seed, *shape])
    if dtype is DType.BOOL:
        return np.asarray(random.random(shape) < 0.5)
    if dtype.is_integer:
        low = 1 if domain.low >= 0 else -4
        return np.asarray(random.integers(low, 6, shape)).astype(dtype.numpy)
    low, high = max(domain.low, -3.0), min(domain.high, 3.0)
    return np.asarray(random.uniform(low + 0.2, high - 0.2, shape)).astype(dtype.numpy)


def special_values(dtype: DType) -> Array:
    """Return the numbers at which an implementation goes wrong first."""
    if dtype is DType.BOOL:
        return np.array([False, True])
    if dtype.is_integer:
        info = np.iinfo(dtype.numpy)  # type: ignore[arg-type]
        return np.array([0, 1, -1, 2, -2, 3, -7, info.max, info.min], dtype=dtype.numpy)
    info = np.finfo(dtype.numpy)  # type: ignore[arg-type, assignment]
    numbers = [0.0, 1.0, 0.5, 2.0, 3.0, 1e-9, 37.0, 100.0, info.max, info.tiny, np.inf]  # type: ignore[attr-defined]
    numbers += [float(info.smallest_subnormal)]  # type: ignore[attr-defined]
    return np.array([*numbers, *[-number for number in numbers], np.nan], dtype=dtype.numpy)
