"""What is asked of an array beside its elements: shape, size, dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.core.as_tracer import as_tracer
from gradc.tracing.core.promote import common_dtype_of, supported
from gradc.tracing.core.symbolic_size import as_integer
from gradc.tracing.core.tracer import Tracer, shape_of
from gradc.tracing.registry.numpy_function import numpy_function

shape = numpy_function("shape", value_only=True)(lambda a: shape_of(as_tracer(a)))
ndim = numpy_function("ndim", value_only=True)(lambda a: as_tracer(a).type.rank)
size = numpy_function("size", value_only=True)(lambda a: as_integer(as_tracer(a).type.count))
numpy_function("iterable", value_only=True)(lambda y: as_tracer(y).type.rank > 0)


@numpy_function("isscalar", value_only=True)
def isscalar(element: Any) -> bool:
    """Record ``np.isscalar``."""
    return not isinstance(element, Tracer) or element.scalar or element.weak is not None


@numpy_function("result_type", value_only=True)
def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """Record ``np.result_type`` of arrays, numbers and dtypes."""
    given = [supported(x) for x in arrays_and_dtypes if _is_dtype(x)]
    return common_dtype_of([x for x in arrays_and_dtypes if not _is_dtype(x)], *given).numpy


def _is_dtype(x: Any) -> bool:
    return isinstance(x, np.dtype | type | str) or hasattr(x, "__gradc_original__")
