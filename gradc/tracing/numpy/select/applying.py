"""Python functions that NumPy applies to parts of an array: to rows, over axes, to each element.

The function is traced once for each row or element, so that it sees what NumPy would give it.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.tracing.building.axes import position
from gradc.tracing.building.by_name import array, number, numpy, refuse
from gradc.tracing.core.as_tracer import cast, contains_unknown, stacked
from gradc.tracing.core.promote import supported
from gradc.tracing.core.source import shape_error, trace_error
from gradc.tracing.core.table import TABLE, AnyFunction
from gradc.tracing.numpy.create.sequences import broadcast_arrays
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.numpy_function import numpy_function

# A graph grows with each call; more of them than this take longer to compile than to rewrite.
MOST_CALLS = 512


def _check_calls(count: int, what: str, cure: str) -> None:
    if count > MOST_CALLS:
        raise trace_error(
            f"{what} would trace its function {count} times, more than {MOST_CALLS}",
            help=cure,
        )


@numpy_function("apply_along_axis")
def apply_along_axis(func1d: AnyFunction, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """Record ``np.apply_along_axis``: a function of each vector along an axis."""
    x = array(arr)
    axis = position(axis, x.ndim)
    rows = shaping.moveaxis(x, axis, -1)
    lead = tuple(number(size, "np.apply_along_axis") for size in rows.shape[:-1])
    count = math.prod(lead)
    if not count:
        raise shape_error("np.apply_along_axis: there is no vector along it")
    _check_calls(count, "np.apply_along_axis", "write the function for all rows, with axis=-1")
    found = [array(func1d(rows[place], *args, **kwargs)) for place in np.ndindex(*lead)]
    together = _of_first_dtype(found)
    result = together.reshape((*lead, *together.shape[1:]))
    rank = together.ndim - 1
    last = tuple(range(len(lead), len(lead) + rank))
    return shaping.transpose(result, (*range(axis), *last, *range(axis, len(lead))))


def _of_first_dtype(parts: list[Any]) -> Any:
    """Return results together, in the dtype of the first as NumPy does it."""
    first = parts[0].dtype
    return array(stacked([cast(part, first) for part in parts]))


@numpy_function("apply_over_axes")
def apply_over_axes(func: AnyFunction, a: Any, axes: Any) -> Any:
    """Record ``np.apply_over_axes``: a reduction over one axis after the other, all kept."""
    value = array(a)
    rank = value.ndim
    for axis in axes if isinstance(axes, list | tuple) else np.atleast_1d(axes).tolist():
        place = axis + rank if axis < 0 else axis
        found = array(func(value, place))
        value = found if found.ndim == rank else shaping.expand_dims(found, place)
        if value.ndim != rank:
            raise shape_error("np.apply_over_axes: the function drops more than one axis")
    return value


class Vectorized:
    """``np.vectorize`` of a function, in traced code: traced once for each element.

    As in NumPy the function is given Python's numbers, and what it gives for the first element
    decides the dtype, unless ``otypes`` does.
    """

    def __init__(
        self, pyfunc: Any = None, otypes: Any = None, doc: Any = None, excluded: Any = None,
        cache: bool = False, signature: str | None = None,
    ) -> None:  # fmt: skip
        if signature is not None:
            raise refuse("np.vectorize with signature=", "write the function for whole arrays")
        self.pyfunc = pyfunc
        self._otypes = list(otypes) if otypes is not None else None
        self._excluded = set(excluded or ())
        functools.update_wrapper(self, pyfunc, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Apply the function to each element of the arguments broadcast together."""
        keys = [*range(len(args)), *kwargs]
        given = [*args, *kwargs.values()]
        varied = [place for place, key in enumerate(keys) if key not in self._excluded]
        if not varied:
            return self.pyfunc(*args, **kwargs)
        arrays = broadcast_arrays(*(array(given[place]) for place in varied))
        shape = tuple(number(size, "np.vectorize") for size in array(arrays[0]).shape)
        if not math.prod(shape) and self._otypes is None:
            raise shape_error("np.vectorize without otypes needs an element")
        if any(map(contains_unknown, arrays)):
            _check_calls(
                math.prod(shape),
                "np.vectorize",
                "call the function with whole arrays, with np.where for its branches",
            )

        def call(parts: list[Any]) -> Any:
            for where, part in zip(varied, parts):
                given[where] = part
            return self.pyfunc(*given[: len(args)], **dict(zip(kwargs, given[len(args) :])))

        if self._otypes is None:
            # a call with numbers of the arrays' dtypes; all others are with Python's numbers
            first = call([array(each)[(0,) * len(shape)] for each in arrays])
            dtypes = [
                array(part).dtype for part in (first if isinstance(first, tuple) else [first])
            ]
        else:
            dtypes = [supported(np.dtype(dtype)).numpy for dtype in self._otypes]
        places = itertools.product(*map(range, shape))
        rows = [call([array(each).item(*place) for each in arrays]) for place in places]
        return _together(rows, dtypes, shape)


def _together(rows: list[Any], dtypes: list[Any], shape: tuple[int, ...]) -> Any:
    """Return the results of each element as arrays of these dtypes, one for each of several."""
    several = isinstance(rows[0], tuple) if rows else len(dtypes) > 1
    found = []
    for place, dtype in enumerate(dtypes):
        parts = [array(row[place] if several else row) for row in rows]
        if any(part.ndim for part in parts):
            raise refuse("np.vectorize of a function that returns arrays", "return numbers")
        parts = [cast(part, dtype) for part in parts]
        joined: Any = stacked(parts) if parts else numpy.zeros(shape, dtype=dtype)
        found.append(array(joined).reshape(shape))
    return tuple(found) if several else found[0]


class SeenVectorize:
    """``np.vectorize`` in traced code, a decorator with options too."""

    __gradc_original__ = np.vectorize

    def __call__(self, pyfunc: Any = np._NoValue, **options: Any) -> Any:
        """Return the function applied to each element, or what makes it of a function."""
        if pyfunc is np._NoValue:
            return lambda function: Vectorized(function, **options)
        return Vectorized(pyfunc, **options)

    def seen(self, value: Any, see: Callable[[Any], Any]) -> Any:
        """Return an object of ``np.vectorize`` as traced code sees it."""
        return Vectorized(
            see(value.pyfunc), value.otypes, None, value.excluded, value.cache, value.signature
        )


TABLE.add_object(SeenVectorize())
