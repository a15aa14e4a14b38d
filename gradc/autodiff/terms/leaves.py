"""The arrays of coefficients that a Jacobian is read from, and of which element each is a part."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff.forward import jvp
from gradc.autodiff.open_calls import OpenCalls
from gradc.autodiff.parameters import parameters
from gradc.autodiff.terms.flow import Flow
from gradc.autodiff.terms.maps import open_maps
from gradc.autodiff.terms.side_by_side import side_by_side
from gradc.autodiff.terms.term import Term, Unsupported
from gradc.autodiff.terms.writes import open_writes
from gradc.sparsity.runs import Runs
from gradc.sparsity.seeds import Terms
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType, Type
from gradc_ir.graphs.subgraph import chosen_results
from gradc_ir.passes import Canonicalize


class OtherTerms(Exception):
    """The terms of a function are not those that are asked for."""


class Part(NamedTuple):
    """Coefficients of one term: places in a function of indices.

    Parameters
    ----------
    leaf: the array that has them, by its place among the results of the other function.
    rows, columns: of each its row and its column, counted from 1; 0 where there is none.
    at: where it is in the leaf.
    """

    leaf: int
    rows: Value
    columns: Value
    at: Value


class Leaves(NamedTuple):
    """Where all coefficients of a Jacobian are.

    Parameters
    ----------
    function: of the differentiated function's parameters, to arrays without repetitions.
    indices: of the same parameters, where the parts are of; integers alone are read.
    parts: of it.
    kind: a text that is the same for graphs whose leaves and parts are alike.
    work: how many elements were computed for the coefficients.
    elements: how many a pass would compute.
    scales: of the function of indices, the constants that coefficients were multiplied by.
    """

    function: Function
    indices: Function
    parts: tuple[Part, ...]
    kind: str
    work: Size
    elements: Size
    scales: tuple[Value, ...] = ()


def leaves(function: Function, wrt: int) -> Leaves:
    """Return where the coefficients of the Jacobian of the first result by a parameter are.

    Raises Unsupported where the tangent passes an op of which no terms are known, and what
    :func:`~gradc.autodiff.forward.jvp` raises.
    """
    pushed = OpenCalls()(jvp(function, [wrt], [0], apart=True))
    pushed = Canonicalize()(open_maps(open_writes(pushed)))
    result = pushed.results[-1]
    with Builder() as builder:
        params = parameters(function.param_types)
        flow = Flow(pushed, pushed.params[-1], params)
        terms = flow.run(result)
        numbers = build.add(build.iota(DType.I64, result.type.count), 1)
        rows = [term.read(build.reshape(numbers, result.type.shape)) for term in terms]
        factors = [term.filled(result.type.dtype) for term in terms]
        columns = [term.counted() for term in terms]
        found = builder.function(
            function.name,
            params,
            [*factors, *rows, *columns, *flow.scales],
            names=function.names,
            location=function.location,
        )
    return _taken_apart(found, terms, flow)


def _taken_apart(found: Function, terms: Sequence[Term], flow: Flow) -> Leaves:
    """Return the leaves of coefficients that are simplified together."""
    found = Canonicalize()(found)
    count = len(terms)
    with Builder() as builder:
        params = parameters(found.param_types)
        made = builder.inline(found, params)
        arrays: dict[Value, int] = {}
        parts, kind = [], []
        scales = made[3 * count :]
        for i in range(count):
            factor, rows, columns = made[i : 3 * count : count]
            at = build.reshape(build.iota(DType.I64, factor.type.count), factor.type.shape)
            leaf, at, moves = _source(factor, at)
            place = arrays.setdefault(leaf, len(arrays))
            parts.append(Part(place, rows, columns, at))
            placings = [placing.node.op.name for placing in terms[i].placings]
            kind.append(f"{place} {leaf.type.rank} {' '.join(moves)}: {' '.join(placings)}")
        function = builder.function(found.name, params, list(arrays), found.names, found.location)
        values = [value for part in parts for value in part[1:]]
        values += scales
        indices = builder.function(f"{found.name}_indices", params, values, found.names)
    scales = indices.results[len(values) - len(scales) :]
    whole = "; ".join(kind)
    return Leaves(function, indices, tuple(parts), whole, flow.work, flow.elements, tuple(scales))


def _source(x: Value, at: Value) -> tuple[Value, Value, list[str]]:
    """Return what a value repeats or moves about, and of each element its place there."""
    moves = []
    while x.op.name in ("broadcast", "reshape", "transpose"):
        inner = x.operands[0]
        moves.append(x.op.name)
        # where the elements of the moved array stand in the one that is moved
        places = build.reshape(build.iota(DType.I64, inner.type.count), inner.type.shape)
        attributes = x.node.attributes
        match x.op.name:
            case "broadcast":
                places = build.broadcast(places, attributes["shape"], attributes["axes"])
            case "reshape":
                places = build.reshape(places, attributes["shape"])
            case _:
                places = build.transpose(places, attributes["permutation"])
        flat = build.reshape(places, (x.type.count,))
        at = build.gather(flat, [at], (0,))
        x = inner
    return x, at, moves


def by_terms(function: Function, wrt: int, asked: Terms) -> Function:
    """Return the function of some elements of the Jacobian of its first result by a parameter.

    Parameters: the function's; for each element the place of a coefficient among a zero and those
    leaves that are used, one after another; where elements are sums of several, the places of
    those after the first, and to which elements they are added. These are i32, or i64 where they
    are long. Elements of runs need none of them. The result is the elements, of the parameter's
    dtype.

    Raises OtherTerms where its terms are not those asked for.
    """
    try:
        found = leaves(function, wrt)
    except Unsupported:
        raise OtherTerms from None
    if found.kind != asked.kind:
        raise OtherTerms
    dtype = function.param_types[wrt].dtype
    if asked.runs is not None:
        return _in_runs(function, chosen_results(found.function, asked.used), asked.runs, dtype)
    counts = [asked.elements, *[asked.more] * 2 * (asked.more != 0)]
    places = DType.I64 if asked.are_long else DType.I32
    fixed = asked.fixed
    with Builder() as builder:
        params = parameters(function.param_types)
        if fixed is not None:
            given = [build.constant(array) for array in fixed.arrays(asked.are_long)]
        else:
            given = parameters([Type(places, (count,)) for count in counts], len(params))
        arrays = builder.inline(chosen_results(found.function, asked.used), params)
        flat = [build.cast(build.reshape(one, (one.type.count,)), dtype) for one in arrays]
        whole = build.concatenate([build.full((1,), 0, dtype), *flat], 0)
        values = build.gather(whole, [given[0]], (0,))
        if len(given) > 1:
            more = build.gather(whole, [given[1]], (0,))
            values = build.scatter_add(values, more, [given[2]], (0,))
        return builder.function(
            function.name,
            params if fixed is not None else [*params, *given],
            [values],
            names=(*function.names, *("places", "further", "targets")[: len(given)]),
            location=function.location,
        )


def _in_runs(function: Function, leaves: Function, runs: Runs, dtype: DType) -> Function:
    """Return the function of elements that are slices of leaves."""
    if tuple(type_.count for type_ in leaves.result_types) != runs.lengths:
        raise OtherTerms
    with Builder() as builder:
        params = parameters(function.param_types)
        arrays = builder.inline(leaves, params)
        flat = [build.cast(build.reshape(one, (one.type.count,)), dtype) for one in arrays]
        values = side_by_side(runs.runs, flat, dtype)
        return builder.function(function.name, params, [values], function.names, function.location)
