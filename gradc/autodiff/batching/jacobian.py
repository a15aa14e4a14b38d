"""Jacobians: forward or reverse mode on all unit seeds at once, as an axis of the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from gradc.autodiff.batching import batch
from gradc.autodiff.batching.compressed import compressed
from gradc.autodiff.forward import jvp
from gradc.autodiff.parameters import parameters
from gradc.autodiff.reverse import vjp
from gradc.autodiff.terms.leaves import by_terms
from gradc.sparsity.seeds import Seeds, Terms
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import Size, at_least
from gradc_ir.core.types import DType, Type
from gradc_ir.graphs.subgraph import drop_results

# Of so many columns fewer rows, which take reverse mode, may have a kernel of their own.
_FEW_COLUMNS = 32

Blocks: TypeAlias = dict[tuple[int, int], Value]  # by the result and the parameter


def jacobian(
    function: Function, wrt: Sequence[int], mode: str | Seeds | Terms = "auto"
) -> Function:
    """Return the function of the Jacobians of every float result by every parameter in ``wrt``.

    The new function has the same parameters; its results are, for each result r in order and each
    parameter w of ``wrt`` in order, an array of r's shape followed by w's shape, of w's dtype.
    ``mode`` is ``"forward"`` (one tangent an input element), ``"reverse"`` (one cotangent a result
    element), or ``"auto"``: forward where inputs are not more than results. Where only the sizes
    of a call decide that, the function holds both and chooses between them as it is called, so
    what it computes is the same as with these sizes static. With seeds it is of one parameter, see
    :func:`~gradc.autodiff.batching.compressed.compressed`; with terms, too, see
    :func:`~gradc.autodiff.terms.leaves.by_terms`.
    """
    if isinstance(mode, Seeds):
        return compressed(function, wrt[0], mode)
    if isinstance(mode, Terms):
        return by_terms(function, wrt[0], mode)
    results = _results_of(function)
    inputs, outputs = _counts(function, wrt)
    if mode == "forward" or (mode == "auto" and at_least(outputs, inputs)):
        return _by(_by_columns, function, wrt, results)
    if mode == "reverse" or at_least(inputs, outputs + 1):
        return _by(_by_rows, function, wrt, results)
    forward = _by(_by_columns, function, wrt, results)
    reverse = _by(_by_rows, function, wrt, results)
    with Builder() as builder:
        params = parameters(function.param_types)
        fewer = build.ge(build.size_value(outputs), build.size_value(inputs))
        found = build.cond(fewer, forward, reverse, params)
        return _named(builder, function, params, found)


def rows_of_forward(function: Function, wrt: Sequence[int]) -> tuple[Size, int] | None:
    """Return how many rows there are, and from how many on the mode is forward, if there are few.

    None where the sizes of a call do not decide it, or where many a number of rows is for reverse.
    """
    inputs, outputs = _counts(function, wrt)
    if isinstance(outputs, int) or not isinstance(inputs, int) or inputs > _FEW_COLUMNS:
        return None
    return None if at_least(outputs, inputs) else (outputs, inputs)


def _results_of(function: Function) -> list[int]:
    return [i for i, type_ in enumerate(function.result_types) if type_.dtype.is_float]


def _counts(function: Function, wrt: Sequence[int]) -> tuple[Size, Size]:
    """Return how many elements what is differentiated by has, and how many the results."""
    inputs = sum((function.param_types[i].count for i in wrt), start=0)
    outputs = sum((function.result_types[i].count for i in _results_of(function)), start=0)
    return inputs, outputs


def _by(
    made: Callable[..., Blocks], function: Function, wrt: Sequence[int], results: list[int]
) -> Function:
    with Builder() as builder:
        params = parameters(function.param_types)
        blocks = made(function, params, wrt, results)
        return _named(builder, function, params, [blocks[r, w] for r in results for w in wrt])


def _named(
    builder: Builder, function: Function, params: list[Value], found: Sequence[Value]
) -> Function:
    return builder.function(
        function.name, params, found, names=function.names, location=function.location
    )


def unit_seeds(type_: Type) -> Value:
    """Return all unit arrays of a type, one a row: shape ``(count, *shape)``."""
    count = type_.count
    numbers = build.iota(DType.I64, count)
    rows = build.broadcast(numbers, (count, count), (0,))
    columns = build.broadcast(numbers, (count, count), (1,))
    ones = build.full((count, count), 1, type_.dtype)
    unit = build.select(build.eq(rows, columns), ones, 0)
    return build.reshape(unit, (count, *type_.shape))


def _by_columns(
    function: Function, params: list[Value], wrt: Sequence[int], results: list[int]
) -> Blocks:
    blocks: Blocks = {}
    for w in wrt:
        made = _at_once(
            function, partial(jvp, wrt=[w], apart=True), function.param_types[w], params
        )
        for r, tangents in zip(results, made):
            last = build.transpose(tangents, (*range(1, tangents.type.rank), 0))
            shape = function.result_types[r].shape + function.param_types[w].shape
            # as in reverse mode, where a cotangent has the dtype of its parameter
            blocks[r, w] = build.cast(build.reshape(last, shape), function.param_types[w].dtype)
    return blocks


def _by_rows(
    function: Function, params: list[Value], wrt: Sequence[int], results: list[int]
) -> Blocks:
    blocks: Blocks = {}
    for r in results:
        pull = partial(vjp, wrt=wrt, seeds=[r], apart=True)
        made = _at_once(function, pull, function.result_types[r], params)
        for w, rows in zip(wrt, made):
            shape = function.result_types[r].shape + function.param_types[w].shape
            blocks[r, w] = build.reshape(rows, shape)
    return blocks


def _at_once(
    function: Function, derivative: Callable[..., Function], type_: Type, params: list[Value]
) -> Sequence[Value]:
    """Return what a derivative of all unit seeds of a type makes, without the results before it."""
    seeds = unit_seeds(type_)
    count: Size = seeds.type.shape[0]
    made = derivative(function, units=count != 1)  # the one seed of a number has no zeros
    beside = drop_results(made, len(function.results))
    wide = batch(beside, [False] * len(params) + [True], count)
    return build.active().inline(wide, [*params, seeds])
