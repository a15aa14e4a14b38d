"""Reductions of what a traced mask selects: those of the whole array, told where to look."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.tracing.building.axes import axes_of
from gradc.tracing.building.by_name import array, numpy
from gradc.tracing.core.selection import Selection
from gradc.tracing.core.state import running
from gradc.tracing.core.table import TABLE, AnyFunction
from gradc.tracing.core.tracer import make, read
from gradc.tracing.indexing.mask_indexing import folded
from gradc.tracing.indexing.picking import gathered_or
from gradc.tracing.masked.of_selection import of_selection, record_of_selection
from gradc.tracing.numpy.linalg import norms
from gradc.tracing.numpy.reduce import quantiles, reductions, statistics, ufunc_methods
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.location import Outside


def filled(a: Selection, number: Any) -> Any:
    """Return the whole array with a number wherever the mask does not hold."""
    value = read(a.full)
    other = build.full(value.type.shape, number, value.type.dtype)
    taken = build.select(a.holds(), value, other)
    return make(running(), taken, contiguous=a.full.contiguous)


def flattened(a: Selection, number: Any) -> Any:
    """Return the same with one axis in place of those of the mask."""
    return folded(a, filled(a, number))


def _along(a: Selection, axis: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the reduced axes, and those that they are of the whole array."""
    axes = axes_of(axis, a.ndim)
    return axes, tuple(one for axis in axes for one in a.axis_of(axis))


def _kept(a: Selection, axes: tuple[int, ...], found: Any) -> Any:
    """Return a result with axes of length 1 for those that were reduced."""
    sizes = iter(array(found).shape)
    return array(found).reshape(tuple(1 if i in axes else next(sizes) for i in range(a.ndim)))


def _elsewhere(
    name: str, a: Selection, axes: tuple[int, ...], whole: tuple[int, ...], keepdims: bool,
    options: dict[str, Any],
) -> Selection:  # fmt: skip
    """Reduce axes of known length, each selected element by itself."""
    found = array(getattr(numpy, name)(a.full, axis=whole, keepdims=keepdims, **options))
    gone = 0 if keepdims else sum(1 for axis in axes if axis < a.place)
    return a.derived(found, a.place - gone)


def _by_mask(name: str, default: Any = None) -> AnyFunction:
    """Return what records a reduction that takes ``where=``."""

    def record(
        a: Any, axis: Any = default, dtype: Any = None, *, keepdims: bool = False,
        where: Any = True, **options: Any,
    ) -> Any:  # fmt: skip
        _check(a, name, where, options)
        options = {key: given for key, given in options.items() if given is not None}
        if dtype is not None:
            options["dtype"] = dtype
        axes, whole = _along(a, axis)
        if a.place not in axes:
            return _elsewhere(name, a, axes, whole, keepdims, options)
        mask = make(running(), a.holds())
        found = getattr(numpy, name)(a.full, axis=whole, where=mask, **options)
        return _kept(a, axes, found) if keepdims else found

    return record


def _check(a: Any, name: str, where: Any, options: dict[str, Any]) -> None:
    given = next((x for x in (where, *options.values()) if isinstance(x, Selection)), None)
    if given is not None or not isinstance(a, Selection):
        raise (given or a).refused(f"be an option of np.{name}")
    if where is not True and where is not np._NoValue:
        raise a.refused(f"be reduced by np.{name} with where=")


def _extreme(name: str, default: Any = None) -> AnyFunction:
    def record(
        a: Any, axis: Any = default, *, keepdims: bool = False, initial: Any = None,
        where: Any = True,
    ) -> Any:  # fmt: skip
        _check(a, name, where, {"initial": initial})
        axes, whole = _along(a, axis)
        options = {} if initial is None else {"initial": initial}
        if a.place not in axes:
            return _elsewhere(name, a, axes, whole, keepdims, options)
        fill = _neutral(name, a.full.type.dtype.numpy)
        found = array(getattr(numpy, name)(filled(a, fill), axis=whole, **options))
        if initial is None:
            found = make(running(), _of_some(a, read(found), name))
        return _kept(a, axes, found) if keepdims else found

    return record


def _of_some(a: Selection, found: Value, name: str) -> Value:
    """Return an extreme, or stop where the mask holds nowhere: no elements have none."""

    error = Outside(
        "ShapeError",
        f"{a.text} selects no elements, of which np.{name} has no value",
        f"say what it is then: initial={_NEUTRAL[name]}, "
        f"or np.{name}(np.where(mask, x, {_NEUTRAL[name]}))",
    )
    # what is read at 0 is there only if some element was selected
    some = build.reduce_max(read(a.mask), range(a.mask.type.rank))
    place = build.select(some, build.constant(np.int64(0)), build.constant(np.int64(1)))
    return gathered_or(build.reshape(found, (1, *found.type.shape)), place, 0, error)


_NEUTRAL = {"max": "-np.inf", "min": "np.inf"}


def _neutral(name: str, dtype: np.dtype[Any]) -> Any:
    """Return what no element of a dtype is beyond."""
    if dtype.kind == "b":
        return name == "min"
    if dtype.kind == "f":
        return np.inf if name == "min" else -np.inf
    limits = np.iinfo(dtype)
    return limits.max if name == "min" else limits.min


_maximum, _minimum = _extreme("max"), _extreme("min")


@of_selection(reductions.ptp)
def _ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return _maximum(a, axis, keepdims=keepdims) - _minimum(a, axis, keepdims=keepdims)


@of_selection(statistics.count_nonzero)
def _count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return _by_mask("sum")(a != 0, axis, keepdims=keepdims)


def _ignoring_nan(name: str) -> AnyFunction:
    """Return what records a reduction that leaves out nan: what is not selected is made nan."""

    def record(a: Any, axis: Any = None, *, keepdims: bool = False, **options: Any) -> Any:
        _check(a, name, True, options)
        axes, whole = _along(a, axis)
        if a.place not in axes:
            return _elsewhere(name, a, axes, whole, keepdims, options)
        if not a.full.type.dtype.is_float:
            plain = record_of_selection(TABLE[name.removeprefix("nan")].recorder)
            assert plain is not None
            return plain(a, axis, keepdims=keepdims, **options)
        found = getattr(numpy, name)(filled(a, np.nan), axis=whole, **options)
        return _kept(a, axes, found) if keepdims else found

    return record


@of_selection(statistics.average)
def _average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *,
             keepdims: bool = False) -> Any:  # fmt: skip
    total, mean = _by_mask("sum"), _by_mask("mean")
    if weights is None and not returned:
        return mean(a, axis, keepdims=keepdims)
    both = isinstance(weights, Selection) and isinstance(a, Selection)
    if not both or weights.ndim != a.ndim:
        raise (a if isinstance(a, Selection) else weights).refused(
            "be averaged with weights that the same mask did not select"
        )
    scale = total(weights, axis, keepdims=keepdims)
    found = total(a * weights, axis, keepdims=keepdims) / scale
    return (found, scale) if returned else found


def _norm(name: str) -> AnyFunction:
    def record(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
        axes, whole = _along(x, axis)
        options = {} if ord is None else {"ord": ord}
        if x.place not in axes:
            return _elsewhere(name, x, axes, whole, keepdims, options)
        if not (ord in (None, "fro") or (isinstance(ord, int | float) and ord >= 0)):
            raise x.refused(f"be measured by np.{name} with ord={ord!r}")
        # zeros do not count
        return getattr(numpy, name)(flattened(x, 0), axis=axis, keepdims=keepdims, **options)

    return record


def log_sum(default: Any) -> AnyFunction:
    """Return what records the logarithm of a sum of exponentials, along an axis by default."""

    def record(a: Any, axis: Any = default, *, keepdims: bool = False) -> Any:
        axes, whole = _along(a, axis)
        if a.place not in axes:
            raise a.refused("be reduced along another axis by this function")
        points: Any = a * 1.0
        value = build.logsumexp(read(filled(points, -np.inf)), whole)
        found = make(running(), value)
        return _kept(a, axes, found) if keepdims else found

    return record


@of_selection(quantiles.median)
def _median(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The middle of the sorted elements: those not selected are sorted to the end."""
    axes, _ = _along(a, axis)
    if a.place not in axes or (len(axes) > 1 and len(axes) < a.ndim):
        raise a.refused("have a median along these axes")
    points: Any = a * 1.0
    whole, count = flattened(points, np.inf), a.count()
    along = a.place
    if len(axes) > 1:
        for i, size in enumerate(whole.shape):
            count = count * (size if i != along else 1)
        whole, along = whole.reshape((-1,)), 0
    ordered = array(numpy.sort(whole, axis=along))
    last = numpy.maximum(count - 1, 0)
    low = numpy.take(ordered, last // 2, axis=along)
    high = numpy.take(ordered, numpy.minimum(count // 2, last), axis=along)
    missing = _by_mask("any")(points != points, axis)
    found = numpy.where(missing | (count == 0), np.nan, (low + high) / 2)
    return _kept(a, axes, found) if keepdims else found


# Function -> what makes its record for a default axis.
_REDUCTIONS: dict[Any, Callable[..., Any]] = {
    TABLE[name].recorder: functools.partial(_extreme if name in _NEUTRAL else _by_mask, name)
    for name in ("sum", "prod", "mean", "any", "all", "var", "std", "max", "min")
}
for _function, _make in _REDUCTIONS.items():
    of_selection(_function)(_make())
for _name, _function in ufunc_methods.REDUCTIONS.items():
    of_selection(TABLE[f"{_name}.reduce"].recorder)(_REDUCTIONS[_function](0))
of_selection(TABLE["logaddexp.reduce"].recorder)(log_sum(0))
for _name in ("sum", "prod", "mean", "var", "std", "max", "min"):
    _entry = TABLE[f"nan{_name}"]
    of_selection(_entry.recorder)(_ignoring_nan(_entry.name))
of_selection(norms.norm)(_norm("linalg.norm"))
of_selection(norms.vector_norm)(_norm("linalg.vector_norm"))
