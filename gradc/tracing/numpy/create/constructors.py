"""Functions that known numbers and shapes decide: windows, indices of triangles, layouts."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from gradc.tracing.building.by_name import array, known, number, numpy, refuse
from gradc.tracing.core.source import shape_error
from gradc.tracing.core.symbolic_size import SymbolicSize
from gradc.tracing.core.table import AnyFunction
from gradc.tracing.core.tracer import Tracer
from gradc.tracing.numpy.create import creation
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.dispatch import wrap_known
from gradc.tracing.registry.numpy_function import numpy_function


def _of_numbers(name: str) -> AnyFunction:
    """Return what records a function of numbers: a symbolic size has to become a number first."""
    original = getattr(np, name)

    def record(*args: Any, **options: Any) -> Any:
        plain = [_plain(arg, f"np.{name}") for arg in args]
        named = {key: _plain(value, f"np.{name}") for key, value in options.items()}
        return wrap_known(original(*plain, **named), [])

    record.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
    return record


def _plain(argument: Any, what: str) -> Any:
    if isinstance(argument, SymbolicSize):
        return number(argument, what)
    if isinstance(argument, Tracer):
        return known(argument, what)
    if isinstance(argument, list | tuple):
        return type(argument)(_plain(part, what) for part in argument)
    return argument


for _name in (
    "bartlett", "blackman", "hamming", "hanning", "diag_indices", "tril_indices", "triu_indices",
    "broadcast_shapes",
):  # fmt: skip
    numpy_function(_name, value_only=True)(_of_numbers(_name))


@numpy_function("mask_indices", value_only=True)
def mask_indices(n: Any, mask_func: AnyFunction, k: Any = 0) -> Any:
    """Record ``np.mask_indices``."""
    mask = mask_func(array(np.ones((number(n, "np.mask_indices"),) * 2, int)), k)
    return tuple(array(part) for part in np.nonzero(known(mask, "np.mask_indices")))


@numpy_function("unravel_index", value_only=True)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Any, ...]:
    """Record ``np.unravel_index``; traced indices that are too large are not noticed."""
    rest = array(indices)
    if rest.dtype.kind != "i":
        raise refuse("np.unravel_index of what is not an integer", "cast: i.astype(np.int64)")
    rest = rest.astype(np.int64)
    sizes = tuple(shape) if isinstance(shape, list | tuple) else (shape,)
    found = []
    for size in reversed(sizes) if order == "C" else sizes:
        found.append(rest % size)
        rest = rest // size
    return tuple(found[::-1] if order == "C" else found)


@numpy_function("ravel_multi_index", value_only=True)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    """Record ``np.ravel_multi_index``; with mode="raise" traced indices are taken to be inside."""
    parts, sizes = [array(part) for part in multi_index], tuple(dims)
    modes = (mode,) * len(sizes) if isinstance(mode, str) else tuple(mode)
    if not len(parts) == len(sizes) == len(modes):
        raise shape_error("np.ravel_multi_index takes an index and a mode for each axis")
    flat: Any = array(0)
    places = list(zip(parts, sizes, modes))
    for part, size, way in places if order == "C" else places[::-1]:
        if part.dtype.kind != "i":
            raise refuse("np.ravel_multi_index of what is no integer", "cast: i.astype(np.int64)")
        inside = {
            "raise": lambda part, size: part,
            "wrap": numpy.remainder,
            "clip": lambda part, size: numpy.clip(part, 0, size - 1),
        }[way](part.astype(np.int64), size)
        flat = flat * size + inside
    return flat


@numpy_function("ascontiguousarray")
def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    """Record ``np.ascontiguousarray``: a copy unless the array is laid out row by row."""
    x = array(numpy.atleast_1d(creation.asarray(a, dtype)))
    return x if x.contiguous else shaping.copied(x, "C")


@numpy_function("asfortranarray")
def asfortranarray(a: Any, dtype: Any = None) -> Any:
    """Record ``np.asfortranarray``: an array of the same elements, a copy if it has two axes."""
    return creation.by_columns(array(numpy.atleast_1d(creation.asarray(a, dtype))))


@numpy_function("require")
def require(a: Any, dtype: Any = None, requirements: Any = None) -> Any:
    """Record ``np.require``: what is required of memory is so, or a copy makes it so."""
    wanted = {str(word).upper()[0] for word in requirements or ()}
    x = creation.asarray(a, dtype)
    if wanted & {"O", "E", "W"}:
        return shaping.copied(x, "F" if "F" in wanted else "C")
    if "F" in wanted:
        return asfortranarray(x)
    return shaping.copied(x, "C") if "C" in wanted and not x.contiguous else x
