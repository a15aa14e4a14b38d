"""``vmap``: a function of one point as the function of many; points are an axis of the graph."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from gradc.api.compiled import Compiled
from gradc.api.vmap_arguments import PointLeaf, signature_of, size_of_points
from gradc.arguments import flags, pytree
from gradc.arguments.flags import Static
from gradc.arguments.vmap_axes import Axis, checked_axes, key_of_axes, spread_axes
from gradc.autodiff.batching import batch, batch_each
from gradc.parallel.by_value import Kept, Travels
from gradc.runtime.bound_call import BoundCall
from gradc.runtime.quick_call import Call, CalledByAttribute, quick_call
from gradc.traceback import boundary
from gradc.tracing import Subtrace, Tracer, current, inline, subtrace, tracer_of
from gradc.tracing.checks.checks import failure_in, join, of_points
from gradc.tracing.core.as_tracer import as_tracer
from gradc.tracing.core.source import shape_error, trace_error
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import read
from gradc.tracing.record.argument_names import names_of_arguments
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size
from gradc_ir.errors import TraceError

Function_ = Callable[..., Any]


@boundary
def vmap(fn: Function_, in_axes: Any = 0, out_axes: Any = 0) -> Function_:
    """Return the function over many points at once: the stack of what ``fn`` returns for each.

    Parameters
    ----------
    fn: a function of one point, of any nests of arrays.
    in_axes: along which axis of its arguments the points are: one axis for all of them, or a tuple
        with an entry for each positional argument. An entry is an axis, None for an argument that
        all points share, or a nest of these that matches the argument, as far as it goes. Arguments
        given by name are mapped along axis 0.
    out_axes: where the axis of points is in the results, in the same form; None for what is the
        same for all points.

    The new function compiles when it is called with numbers; in traced code it is one more axis of
    the graph. Gradients of one's own hold for each point. Raises ShapeError when the mapped axes
    differ in size, when there is no such axis, or when nests do not match, TraceError when nothing
    is mapped, or when a result varies from point to point and ``out_axes`` has None for it.
    """
    if not callable(fn):
        raise TraceError(
            f"gradc.vmap takes a function, not {type(fn).__name__}",
            help="write gradc.vmap(fn)(x) instead of gradc.vmap(fn(x))",
        )
    in_axes = checked_axes(in_axes, "in_axes")
    if not (in_axes is None or isinstance(in_axes, int | tuple | list)):
        raise TraceError(
            f"vmap: in_axes is {in_axes!r:.60}, which is neither an axis nor a tuple",
            help="write one entry for each positional argument, such as in_axes=(0, None)",
        )
    out_axes = checked_axes(out_axes, "out_axes")
    table = _table_of(fn)
    key = key_of_axes(in_axes), key_of_axes(out_axes)
    if key not in table:
        table[key] = Mapped(fn, in_axes, out_axes)
    return table[key]


_KEPT = "__gradc_mapped__"


def _table_of(fn: Function_) -> dict[Any, Mapped]:
    """Return the mapped forms of a function, each compiled once; it carries them where it can."""
    if isinstance(fn, types.FunctionType | Compiled | Mapped):
        # a decorator may have copied another function's
        kept = fn.__dict__.get(_KEPT)
        owner, table = (kept and kept.value) or (None, {})
        if owner is not fn:
            table = {}
            fn.__dict__[_KEPT] = Kept((fn, table))
        found: dict[Any, Mapped] = table
        return found
    try:
        return _table_of_other(fn)
    except TypeError:
        return {}  # an unhashable callable has no lasting form


@functools.lru_cache(maxsize=32)
def _table_of_other(fn: Function_) -> dict[Any, Mapped]:
    """Return the mapped forms of a method or another callable object."""
    return {}


class Mapped(Travels, CalledByAttribute):
    """A function over many points; see :func:`vmap`."""

    __gradc_parts__: ClassVar = ("__wrapped__", "in_axes", "out_axes", "_static")

    def __init__(self, fn: Function_, in_axes: Any, out_axes: Any) -> None:
        functools.update_wrapper(self, fn, updated=())
        self.__wrapped__ = fn
        self.__name__ = str(getattr(fn, "__name__", type(fn).__name__))
        self.in_axes = in_axes
        self.out_axes = out_axes
        self._compiled: Compiled[..., Any] | None = None
        # what only steers a compiled function is no array of points
        self._static = fn._parameters.static if isinstance(fn, Compiled) else frozenset[str]()
        again = functools.partial(Mapped, fn, in_axes, out_axes)
        self.__call__, self._learner = quick_call(
            self, Mapped._answer, again, "__call__", called=True
        )

    def __gradc_pickled__(self) -> Any:
        """Return the function and the axes."""
        return self.__wrapped__, self.in_axes, self.out_axes

    def __setstate__(self, parts: Any) -> None:
        """Become what was pickled."""
        Mapped.__init__(self, *parts)

    @property
    def __signature__(self) -> inspect.Signature:
        """How the function is called; default values are left to the function of a point."""
        return signature_of(self.__wrapped__, self.in_axes)

    def bind(self, /, *args: Any, **kwargs: Any) -> BoundCall[Any]:
        """Return a function without parameters that calls this; see ``bind`` of the function."""
        return BoundCall(self, Mapped._prepared, args, kwargs)

    def _prepared(self, call: Call, /, *args: Any, **kwargs: Any) -> Any:
        if self._compiled is None:
            self._compiled = _compile(self)
        self._check_length(args)
        return self._compiled._valued(call, *args, **kwargs)

    def _answer(self, call: Call, args: Any, kwargs: dict[str, Any]) -> Any:
        """Return the results of all points."""
        if current() is not None:
            return self.__gradc_trace__(*args, **kwargs)
        return call.answer(self._prepared(call, *args, **kwargs))

    def __gradc_trace__(self, *args: Any, **kwargs: Any) -> Any:
        """Build the graph of all points in the trace that calls the function."""
        running()
        leaves = list(self._leaves(args, kwargs))
        size = size_of_points(self.__name__, leaves)
        _, structure = pytree.flatten((args, kwargs))
        point_args, point_kwargs = pytree.unflatten(structure, [leaf.of_point for leaf in leaves])
        sub = subtrace(self.__wrapped__, point_args, point_kwargs, body_of="gradc.vmap")
        running()
        taken = [leaf for leaf in leaves if not isinstance(leaf.of_point, Static)]
        flags = [leaf.points is not None for leaf in taken] + [False] * len(sub.captured)
        given = [leaf.points for leaf in taken] + [None] * len(sub.captured)
        operands = [
            points if operand is None else operand for points, operand in zip(given, sub.operands)
        ]
        like = pytree.unflatten(sub.out_tree, [pytree.Star()] * sub.out_tree.leaves)
        axes = spread_axes(self.out_axes, like, "out_axes", "the result")
        wide, varies = batch_each(sub.function, flags, size, [axis is not None for axis in axes])
        found = inline(wide, [operand for operand in operands if operand is not None])
        self._check(sub, flags, size, [operand for operand in operands if operand is not None])
        paths = pytree.paths(like, "result")
        placed = [
            tracer if axis is None and not has else self._placed(tracer, axis, path)
            for tracer, axis, has, path in zip(found, axes, varies, paths, strict=True)
        ]
        return pytree.unflatten(sub.out_tree, placed)

    def _check(
        self, sub: Subtrace, flags: Sequence[bool], size: Size, operands: Sequence[Value]
    ) -> None:
        """Have the trace fail where a point fails: what the first of them raises."""
        if sub.failing is None:
            return
        function, failure = sub.failing
        wide = batch(function, flags, size)
        trace = running()
        points = of_points(failure, trace.builder.inline(wide, operands), size)
        trace.failure = join(failure_in(trace), points)

    def _check_length(self, args: Sequence[Any]) -> None:
        if isinstance(self.in_axes, tuple | list) and len(self.in_axes) != len(args):
            raise shape_error(
                f"vmap of {self.__name__}: in_axes has length {len(self.in_axes)}, but the "
                f"number of positional arguments is {len(args)}",
                found=f"in_axes: {self.in_axes}",
                help="write one entry for each; arguments given by name are mapped along axis 0",
            )

    def _leaves(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Iterator[PointLeaf]:
        self._check_length(args)
        names = names_of_arguments(self.__wrapped__, len(args))
        each = self.in_axes if isinstance(self.in_axes, tuple | list) else None
        for i, (arg, root) in enumerate(zip(args, names)):
            axes = self.in_axes if each is None else each[i]
            axes = None if root in self._static else axes
            spread = spread_axes(axes, arg, f"in_axes[{i}]", root)
            yield from self._leaves_of(arg, root, spread)
        # in the order in which a dict is flattened
        for name in sorted(kwargs):
            axes = None if name in self._static else 0
            spread = spread_axes(axes, kwargs[name], "in_axes", name)
            yield from self._leaves_of(kwargs[name], name, spread)

    def _leaves_of(self, arg: Any, root: str, axes: Sequence[Axis]) -> Iterator[PointLeaf]:
        for leaf, axis, path in zip(pytree.flatten(arg)[0], axes, pytree.paths(arg, root)):
            if axis is None:
                array = isinstance(leaf, Tracer | np.ndarray | np.generic)
                known = isinstance(leaf, np.integer)  # its number may be needed, as Python's is
                yield PointLeaf(leaf if array and not known else Static(leaf))
            elif flags.is_flag(leaf):
                yield PointLeaf(Static(leaf))
            else:
                yield self._mapped(leaf, axis, path)

    def _mapped(self, leaf: Any, axis: int, path: str) -> PointLeaf:
        value = read(as_tracer(leaf))
        type_ = value.type
        if not -type_.rank <= axis < type_.rank:
            raise shape_error(
                f"vmap of {self.__name__}: {path} has no axis {axis}",
                found=f"{path}: {type_}",
                help="write another axis for it in in_axes, or None if all points share it",
            )
        axis %= type_.rank
        rest = [i for i in range(type_.rank) if i != axis]
        points = build.transpose(value, (axis, *rest))
        of_point = type_.with_shape(points.type.shape[1:])
        return PointLeaf(
            of_point, points, f"{path}: {type_} has {type_.shape[axis]} along axis {axis}"
        )

    def _placed(self, tracer: Tracer, axis: Axis, path: str) -> Tracer:
        """Return a result with the axis of points, which is its first one, where it is wanted."""
        value = read(tracer)
        rank = value.type.rank
        if axis is None:
            raise trace_error(
                f"vmap of {self.__name__}: {path} varies from point to point, but out_axes has "
                "None for it",
                found=f"{path}: {value.type}, the first axis that of the points",
                help="write an axis for it in out_axes",
            )
        if not -rank <= axis < rank:
            raise shape_error(
                f"vmap of {self.__name__}: {path} has no axis {axis} for the points",
                found=f"{path}: {value.type}, the first axis that of the points",
                help=f"out_axes may be {-rank} … {rank - 1} here",
            )
        order = list(range(1, rank))
        order.insert(axis % rank, 0)
        return tracer_of(build.transpose(value, tuple(order)))

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind as a method: the instance is shared by all points, and no entry of ``in_axes``."""
        if instance is None:
            return self
        method = types.MethodType(self.__wrapped__, instance)
        return vmap(method, self.in_axes, self.out_axes)

    def __repr__(self) -> str:
        return f"<gradc.vmap {self.__name__}>"


def _compile(mapped: Mapped) -> Compiled[..., Any]:
    """Return the compiled form, with the options of the function if that is compiled itself."""
    fn = mapped.__wrapped__
    if not isinstance(fn, Compiled):
        return Compiled(mapped)
    static = [name for name in mapped._static if name in mapped.__signature__.parameters]
    return fn.like(mapped, static)
