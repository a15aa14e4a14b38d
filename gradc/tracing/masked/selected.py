"""NumPy's functions, operators and methods of what a traced mask selects."""

from __future__ import annotations

import functools
import inspect
from typing import Any, NoReturn

import numpy as np

from gradc.tracing.array.operators import BINARY, OPERATORS, operate
from gradc.tracing.building.by_name import array
from gradc.tracing.building.decided import decided
from gradc.tracing.core.selection import Selection
from gradc.tracing.core.source import dtype_error, trace_error
from gradc.tracing.core.state import running
from gradc.tracing.core.symbolic_size import is_integer
from gradc.tracing.core.table import TABLE, AnyFunction
from gradc.tracing.core.tracer import Tracer, make, read
from gradc.tracing.indexing import mask_indexing
from gradc.tracing.indexing.picking import assigned_value
from gradc.tracing.masked.of_selection import of_selection, record_of_selection
from gradc.tracing.masked.reductions import filled
from gradc.tracing.numpy.create import constructors, creation
from gradc.tracing.numpy.math import rounding
from gradc.tracing.numpy.reduce import accumulating
from gradc.tracing.numpy.select import choosing
from gradc.tracing.numpy.shape import asking, shaping
from gradc.tracing.registry.dispatch import Mapped
from gradc_ir import build
from gradc_ir.core.types import DType


def call(self: Selection, mapped: Mapped, args: Any, kwargs: dict[str, Any]) -> Any:
    """Call a NumPy function on arguments of which at least one is a selection."""
    running()
    record = record_of_selection(mapped.recorder)
    if record is not None:
        kwargs = {key: given for key, given in kwargs.items() if key != "out" or given is not None}
        _check_taken(record, mapped.title, args, kwargs)
        return record(*args, **kwargs)
    original = mapped.__gradc_original__
    if isinstance(mapped.masked, int):
        return _of_points(mapped, args, kwargs)
    pointwise = isinstance(original, np.ufunc) and original.signature is None
    if (pointwise and original.nout == 1) or mapped.masked == "elementwise":
        return elementwise(mapped, args, kwargs)
    raise _first((*args, *kwargs.values())).refused(f"be an argument of {mapped.title}")


def _check_taken(record: AnyFunction, title: str, args: Any, kwargs: Any) -> None:
    """Raise TraceError for an argument that a function does not take of a selection."""
    try:
        signature = inspect.signature(record)
        signature.bind(*args, **kwargs)
    except TypeError as error:
        chosen = _first((*args, *kwargs.values()))
        wrong = next((key for key in kwargs if key not in signature.parameters), None)
        taken = [key for key, one in signature.parameters.items() if one.kind != one.VAR_KEYWORD]
        raise trace_error(
            f"{title}: {f'{wrong}= is not supported' if wrong else error} for {chosen.text}, "
            "which a traced mask selects",
            help=f"it takes {', '.join(taken)}; or {chosen.cure}",
        ) from None


def _first(given: Any) -> Any:
    """Return the first selection among arguments, lists of them included."""
    for part in given:
        found = _first(part) if isinstance(part, list | tuple) else part
        if isinstance(found, Selection):
            return found
    return None


def elementwise(function: AnyFunction, args: Any, kwargs: dict[str, Any]) -> Any:
    """Return the selection of what an elementwise function makes of whole arrays."""
    out = kwargs.pop("out", None)
    selections = [x for x in (*args, *kwargs.values()) if isinstance(x, Selection)]
    first = selections[0]
    for other in selections[1:]:
        mask_indexing.check_same(first, other)
        if other.after != first.after:
            raise other.refused(f"be combined with {first.text}, where it is another axis")
    whole = [_whole(x, first) for x in args]
    options = {key: _whole(x, first) for key, x in kwargs.items()}
    full = array(function(*whole, **options))
    rank = full.type.rank - first.mask.type.rank - first.after
    result = first.derived(full, rank)
    return result if out is None else _written(result, out[0] if isinstance(out, tuple) else out)


def _whole(x: Any, like: Selection) -> Any:
    if isinstance(x, Selection):
        return x.full
    if not isinstance(x, Tracer | np.ndarray | list | tuple):
        return x
    part = array(x)
    found = mask_indexing.spread(part, like)
    if found is not None:
        return found
    raise trace_error(
        f"{like.text} is combined with an array of its own length, which depends on the mask",
        found=f"array: {part.type}    selected from: {like.full.type}",
        help="select both by the same mask, or keep the shapes: np.where(mask, x, 0)",
    )


def _written(result: Selection, out: Any) -> Any:
    """Write a result into a selection; into an array it cannot be written."""
    if not isinstance(out, Selection):
        raise result.refused("be written into an array by out=")
    mask_indexing.check_same(result, out)
    have, wanted = result.full.dtype, out.full.dtype  # type: ignore[attr-defined]
    if result.ndim != out.ndim or result.place != out.place:
        raise result.refused(f"be written into {out.text}, which has other axes")
    if not np.can_cast(have, wanted, "same_kind"):
        raise dtype_error(
            f"a result of dtype {have} does not fit {out.text} of dtype {wanted}",
        )
    out.full = result.full.astype(wanted)  # type: ignore[attr-defined]
    out.position = None
    return out


def _of_points(mapped: Mapped, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    place = mapped.masked
    points = args[place] if place < len(args) else None
    others = [x for i, x in enumerate(args) if i != place] + list(kwargs.values())
    wrong = next((x for x in others if isinstance(x, Selection)), None)
    if wrong is not None or not isinstance(points, Selection):
        raise (wrong or points).refused(f"be a table of {mapped.title}")  # type: ignore[union-attr]
    whole = (*args[:place], points.full, *args[place + 1 :])
    return points.derived(array(mapped(*whole, **kwargs)))


# -- what keeps the selected elements as they are ------------------------------------------------


@of_selection(creation.array, shaping.copied)
def _copied(a: Any, *args: Any, dtype: Any = None, order: Any = None, copy: Any = None) -> Any:
    """Record ``np.array``, ``np.copy`` and their like."""
    full = a.full.copy() if dtype is None else a.full.astype(dtype)
    return a.derived(full)


@of_selection(creation.asarray, constructors.ascontiguousarray, TABLE["atleast_1d"].recorder)
def _same(a: Any, dtype: Any = None, order: Any = None) -> Any:
    return a if dtype is None else a.derived(a.full.astype(dtype))


@of_selection(shaping.transpose)
def transpose(a: Any, axes: Any = None) -> Any:
    """Record ``np.transpose`` of a selection."""
    rank = a.ndim
    order = range(rank)[::-1] if axes is None else [axis % rank for axis in axes]
    moved = [axis for one in order for axis in a.axis_of(one)]
    return a.derived(a.full.transpose(*moved), list(order).index(a.place))


@of_selection(shaping.ravel)
def _ravel(a: Any, order: str = "C") -> Any:
    if a.ndim != 1:
        raise a.refused("be flattened")
    return a.derived(a.full.copy())


@of_selection(shaping.reshape)
def _reshape(a: Any, *shape: Any) -> Any:
    given = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    if tuple(given) == (-1,):
        return _ravel(a)
    if tuple(given) == (-1, 1) and a.ndim == 1:
        return a.derived(a.full[..., None])
    raise a.refused("be reshaped")


def _running(name: str, neutral: int) -> AnyFunction:
    """Return what records a running sum or product over the selected elements alone."""

    def record(a: Any, axis: Any = None, dtype: Any = None) -> Any:
        if a.ndim != 1 or axis not in (None, 0, -1):
            raise a.refused(f"be an argument of np.{name} with several axes")
        found = array(TABLE[name](filled(a, neutral), dtype=dtype))
        return a.derived(found.reshape(a.full.shape))

    return record


of_selection(accumulating.cumsum)(_running("cumsum", 0))
of_selection(accumulating.cumprod)(_running("cumprod", 1))
of_selection(asking.ndim)(lambda a: a.ndim)
of_selection(asking.isscalar)(lambda element: False)
of_selection(rounding.iscomplexobj)(rounding.iscomplexobj)
of_selection(rounding.isrealobj)(rounding.isrealobj)


@of_selection(asking.shape)
def shape_of(a: Any) -> tuple[Any, ...]:
    """Return the shape; the number of selected elements is a traced integer."""
    sizes = a.full.shape
    after = a.place + a.mask.type.rank
    return (*sizes[: a.place], a.count(), *sizes[after:])


@of_selection(asking.size)
def size_of(a: Any, axis: Any = None) -> Any:
    """Return the number of elements, a traced integer."""
    if axis is not None:
        return shape_of(a)[axis]
    size = a.count()
    for axis, own in enumerate(a.full.shape):
        if axis not in a.mask_axes:
            size = size * own
    return size


def get(self: Selection, key: Any) -> Any:
    """Return ``x[mask][key]`` for a key that takes all selected elements, one, or by a mask."""
    running()
    if _is_mask(key):
        return _narrowed(self, key)
    items = list(key) if isinstance(key, tuple) else [key]
    if any(isinstance(item, Selection) for item in items):
        raise self.refused("be indexed by position")
    taken = sum(1 for item in items if item is not None and item is not Ellipsis)
    fill = [slice(None)] * (self.ndim - taken)
    at = next((i for i, item in enumerate(items) if item is Ellipsis), len(items))
    items[at : at + 1] = fill
    whole: list[Any] = []
    chosen: Any = None
    axis = place = arrays = 0
    for item in items:
        if item is not None and axis == self.place:
            place = len([one for one in whole if not is_integer(one)])
            if is_integer(item) or _is_traced_integer(item):
                chosen = item
            elif isinstance(item, slice) and item == slice(None):
                whole += [slice(None)] * self.mask.type.rank
            else:
                raise self.refused("be indexed by position")
        else:
            if not (item is None or isinstance(item, slice) or is_integer(item)):
                if array(item).ndim != 1:
                    raise self.refused("be indexed by such an array")
                arrays += 1
            whole.append(item)
        axis += item is not None
    if arrays > 1 or (arrays and (chosen is not None or any(map(is_integer, whole)))):
        raise self.refused("be indexed by several arrays")
    if chosen is not None:
        found = mask_indexing.element(self, chosen)
        return found[tuple(whole)] if whole else found  # type: ignore[index]
    return self.derived(array(self.full[tuple(whole)]), place)  # type: ignore[index]


def _is_traced_integer(item: Any) -> bool:
    return isinstance(item, Tracer) and not item.type.rank and item.type.dtype.is_integer


def _is_mask(key: Any) -> bool:
    return isinstance(key, Selection) and key.full.type.dtype is DType.BOOL


def _narrowed(self: Selection, key: Selection) -> Selection:
    """Return what a mask of the selected elements selects of them."""
    mask_indexing.check_same(self, key)
    if self.place or key.place:
        raise self.refused("be indexed by a mask whose first axis is another one")
    both = build.logical_and(key.holds(), read(key.full))
    narrowed = Selection(self.full, make(running(), both), 0, like=self)
    narrowed.position = self.position
    return narrowed


def set(self: Selection, key: Any, new: Any) -> None:
    """Do ``p[key] = new`` for ``p = x[mask]`` and a mask of its elements."""
    running()
    if not _is_mask(key):
        raise self.refused("be assigned to by position")
    target = _narrowed(self, key)
    if isinstance(new, Selection):
        mask_indexing.check_same(target, new)
    part = mask_indexing.assigned(target, new)
    value = assigned_value(part, self.full.type.shape, self.full)
    taken = build.select(target.holds(), value, read(self.full))
    self.full, self.position = make(running(), taken), None


def _in_place(name: str) -> AnyFunction:
    def assign(self: Selection, other: Any) -> Any:
        return elementwise(lambda *whole: operate(name, *whole), (self, other), {"out": self})

    return assign


def _not_there(self: Selection, *args: Any) -> NoReturn:
    raise self.refused("give the number of its elements to Python", "write np.sum(mask) for it")


def _numbers(self: Selection, dtype: Any = None, copy: Any = None) -> NoReturn:
    raise self.refused("be handed to code that needs its numbers")


def _iterate(self: Selection) -> NoReturn:
    raise self.refused("be iterated over")


# Methods of arrays that are no functions, and take no selection.
_OF_ARRAYS = {"item", "tolist", "fill"}


def _missing(self: Selection, name: str) -> Any:
    if name.startswith("__") or not hasattr(np.ndarray, name):
        raise AttributeError(f"an array has no attribute {name!r}")
    function = TABLE.get(name)
    if function is None and name in _OF_ARRAYS:
        function = Mapped(name, getattr(np.ndarray, name), None)
    if function is None:
        raise self.refused(f"have .{name}")
    return functools.partial(function, self)


def _array_ufunc(self: Selection, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    seen = running().lens.see(ufunc)
    return (seen if method == "__call__" else getattr(seen, method))(*inputs, **options)


def _array_function(self: Selection, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    return call(self, running().lens.see(function), args, kwargs)


@of_selection(choosing.where)
def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None or y is None:
        raise condition.refused("be an argument of np.where without branches")
    return elementwise(TABLE["where"], (condition, x, y), {})


MEMBERS: dict[str, Any] = {
    **{name: made for name, made in OPERATORS.items() if not name.startswith("__i")},
    "__invert__": OPERATORS["__invert__"],
    **{f"__i{short}__": _in_place(name) for short, name in BINARY.items()},
    "shape": property(shape_of),
    "size": property(size_of),
    "dtype": property(lambda self: self.full.type.dtype.numpy),
    "T": property(transpose),
    "real": property(lambda self: self),
    "copy": _copied,
    "flatten": _ravel,
    "reshape": _reshape,
    "transpose": lambda self, *axes: transpose(self, axes or None),
    "__getitem__": get,
    "__setitem__": set,
    "__iter__": _iterate,
    **dict.fromkeys(("__len__", "__bool__", "__float__", "__int__", "__index__"), _not_there),
    "__array__": _numbers,
    "__array_ufunc__": _array_ufunc,
    "__array_function__": _array_function,
    "__getattr__": _missing,
}


def attach() -> None:
    """Give selections all of these; done once, when the first one is made."""
    for name, member in MEMBERS.items():
        setattr(Selection, name, member)
    Selection.__gradc_call__ = call
    Selection.is_decided = lambda self: decided(self.mask) is not None
    Selection.__gradc_elementwise__ = lambda self, *call: elementwise(*call)


attach()
