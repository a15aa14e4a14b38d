"""Sparse derivatives for C: where their elements are, and these elements."""

from __future__ import annotations

import numpy as np

from gradc.autodiff.parameters import parameters
from gradc.calls.sparse_preconditions import check_matrix, check_sizes, only_leaf
from gradc.pipeline import nested
from gradc.requests.options import Options
from gradc.requests.request import Request
from gradc.runtime.derivative_pattern import Making, numbers, pattern_and_making
from gradc.sparsity.placement import Placement
from gradc.tracing import Traced
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import Array, DType, Type
from gradc_ir.errors import ExportError
from gradc_ir.graphs.subgraph import chosen_results


class SparseForms(NamedTuple):
    """The two functions of a sparse derivative.

    Parameters
    ----------
    values: takes what the traced function takes to the elements; it is differentiated, not final.
    pattern: of nothing; rows, columns, and where each row begins, i32.
    """

    values: Function
    pattern: Function


class ByColumns(NamedTuple):
    """The elements of a Jacobian, column by column.

    Parameters
    ----------
    rows: of each element.
    starts: where each column begins, and the end.
    shape: of the Jacobian.
    values: takes what the function takes to the elements; it is differentiated, not final.
    """

    rows: Array
    starts: Array
    shape: tuple[int, int]
    values: Function

    @property
    def places(self) -> tuple[Array, Array]:
        """Where each column begins, and the end; and the row of each element."""
        return self.starts, self.rows


def by_columns(function: Function, options: Options, result: int, leaf: int) -> ByColumns:
    """Return the Jacobian of a result of a function by a parameter, by their elements in order.

    Sizes are numbers. Nothing is known of integers among the parameters.
    """
    one = _flattened(function, result)
    request = Request("jacobian", (leaf,), options=options)
    arrays = [None] * len(function.params)
    found, making = pattern_and_making(one, request, arrays, {})
    rows = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
    order = np.argsort(found.indices, kind="stable")
    columns = found.indices[order]
    placement = making.placement.of(order)
    values = _values(one, request, making, placement, columns)
    starts = np.searchsorted(columns, np.arange(found.shape[1] + 1))
    return ByColumns(rows[order], starts, found.shape, values)


def _flattened(function: Function, result: int) -> Function:
    """Return the function of one of its results alone, whose elements are in a row."""
    with Builder() as builder:
        params = parameters(function.param_types)
        (made,) = builder.inline(chosen_results(function, [result]), params)
        flat = build.reshape(made, (made.type.count,))
        return builder.function(
            function.name, params, [flat], function.names, location=function.location
        )


def sparse_forms(name: str, traced: Traced, request: Request) -> SparseForms:
    """Return what a sparse Jacobian or Hessian is in C; of a Hessian it is the lower triangle.

    Nothing is known of integers that are arguments: what they pick may be anything.

    Raises ShapeError or TraceError where the derivative is no matrix of known size, and ExportError
    where the pattern hangs on captured integers that are arguments of the kernel.
    """
    function, of = traced.function, request.of
    check_sizes(function)
    check_matrix(name, of, traced)
    leaf = only_leaf(name, of, request.wrt)
    captured = [capture.read() for capture in traced.captures]
    own = len(function.params) - len(captured)
    looked: dict[int, Array] = {}
    auto = Request(of, (leaf,), options=request.options)
    found, making = pattern_and_making(function, auto, [*[None] * own, *captured], looked)
    if looked:
        called = traced.captures[min(looked) - own].name
        raise ExportError(
            f"{name}: the pattern of its {of} hangs on the integers of {called}, which would be an "
            "argument of the kernel",
            help=f'bake="{called}" (--bake {called}) makes them constants of it',
        )
    placement = making.placement
    rows = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
    columns = found.indices
    if of == "hessian":
        lower = np.nonzero(rows >= columns)[0]
        rows, columns, placement = rows[lower], columns[lower], placement.of(lower)
    starts = np.searchsorted(rows, np.arange(found.shape[0] + 1))
    return SparseForms(
        _values(function, auto, making, placement, rows),
        _constants(name, rows, columns, starts),
    )


def _values(
    function: Function, request: Request, making: Making, placement: Placement, lines: Array
) -> Function:
    """Return the function of the elements of a placement.

    ``lines`` are what may be alike: the rows of the elements, or their columns.
    """
    passes = making.passes
    (leaf,) = request.wrt
    with Builder() as builder:
        params = parameters(function.param_types)
        if len(placement.places):
            given = []
            if passes is not None:
                given += _seeds(passes.by_columns, function.param_types[leaf])
                given += _seeds(passes.by_rows, function.result_types[0])
            made = making.in_runs(placement, lines) or making.of(placement)
            given += map(build.constant, made.places)
            mode = made.by.mode([value.type.shape[0] for value in given])
            asked = Request(request.of, request.wrt, mode, request.options)
            derivative = nested(function, asked, is_last=True)
            (found,) = builder.inline(derivative, [*params, *given])
        else:
            found = build.full((0,), 0, function.param_types[leaf].dtype)
        return builder.function(function.name, params, [found], function.names, function.location)


def _seeds(colours: Array, type_: Type) -> list[Value]:
    """Return ones where a colour is, a row each: made from the colours, which are few bytes."""
    count = int(colours.max(initial=-1)) + 1
    if not count:
        return []
    shape = (count, *type_.shape)
    own = build.constant(colours.astype(np.int32).reshape(numbers(type_.shape)))
    here = build.broadcast(own, shape, tuple(range(1, len(shape))))
    each = build.broadcast(build.iota(DType.I32, count), shape, (0,))
    return [build.select(build.eq(here, each), build.full(shape, 1, type_.dtype), 0)]


def _constants(name: str, *arrays: Array) -> Function:
    with Builder() as builder:
        return builder.function(
            f"{name}_pattern", [], [build.constant(array.astype(np.int32)) for array in arrays]
        )
