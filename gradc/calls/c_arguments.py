"""Arguments and results as C has them: in the order a person wrote, by the names they wrote.

Python finds the entries of a dict by their keys, and a graph has them sorted. C has positions
alone: there an order that nobody wrote is a wrong number waiting. So it is that of the spec, or of
the dicts a function was called with; of the fields of a dataclass or namedtuple; and of the dicts
that it returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradc.arguments import pytree
from gradc.calls.preconditions import TracedLike
from gradc.calls.signature import Bound
from gradc.requests.request import Request
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function


class Written(NamedTuple):
    """The parameters and results of a final function in C: their positions, and results' names."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    names: tuple[str, ...]


def written(bound: Bound, traced: TracedLike, request: Request, function: Function) -> Written:
    """Return how C passes what a request makes of a traced function.

    Parameters
    ----------
    bound: the arguments that the function was traced with.
    function: the final function, whose results are named in its own order.
    """
    leaves = _leaves(bound)
    rank = {leaf: position for position, leaf in enumerate(leaves)}
    wrt = _by_argument(bound, request.wrt, rank)
    order = pytree.written(traced.out_tree)
    called = _result_names(traced, {*function.names, *function.size_symbols})
    floats = [i for i, type_ in enumerate(traced.function.result_types) if type_.dtype.is_float]
    heads = [floats.index(i) for i in order if i in floats]
    head_names = [called[i] for i in floats]
    paths = [_inner(function.names[leaf]) for leaf in request.wrt]
    own = len(traced.function.params)
    inputs = [*leaves, *range(len(leaves), own)]
    more: Sequence[int] = {"jvp": wrt, "hvp": wrt, "vjp": heads}.get(request.of, ())
    inputs += [own + position for position in more]
    by_wrt = [f"g_{path}" for path in paths]
    values: tuple[Sequence[int], Sequence[str]] = ((), ())
    if request.of in ("value", "value_and_grad", "jvp", "vjp"):
        values = (order, called)
    rest: tuple[Sequence[int], Sequence[str]]
    match request.of:
        case "value":
            rest = ((), ())
        case "jvp":
            rest = (heads, [f"d{name}" for name in head_names])
        case "hvp":
            rest = (wrt, [f"h_{path}" for path in paths])
        case "jacobian":
            rest = _blocks(heads, head_names, wrt, paths, "d{}_d{}")
        case "hessian":
            rest = _blocks(wrt, paths, wrt, paths, f"d2{head_names[0]}_d{{}}_d{{}}")
        case _:
            rest = (wrt, by_wrt)
    outputs = [*values[0], *(len(values[1]) + position for position in rest[0])]
    return Written(tuple(inputs), tuple(outputs), (*values[1], *rest[1]))


def _leaves(bound: Bound) -> list[int]:
    """Return the leaves in the order in which they were written."""
    return [
        span.start + position
        for span, structure in zip(bound.spans, bound.structure)
        for position in ((0,) if structure is None else pytree.written(structure))
    ]


def _by_argument(bound: Bound, wrt: Sequence[int], rank: dict[int, int]) -> list[int]:
    """Return positions in ``wrt``: its arguments in their order, of each the leaves as written."""
    owner = {leaf: i for i, span in enumerate(bound.spans) for leaf in span}
    first: dict[int, int] = {}
    for position, leaf in enumerate(wrt):
        first.setdefault(owner.get(leaf, leaf), position)
    return sorted(
        range(len(wrt)),
        key=lambda i: (first[owner.get(wrt[i], wrt[i])], rank.get(wrt[i], wrt[i])),
    )


def _result_names(traced: TracedLike, taken: Iterable[str]) -> list[str]:
    """Return names of the leaves of the value: their keys and fields, else ``y``, ``y0`` …"""
    free = next((name for name in ("y", "value", "result") if name not in taken), "y")
    nest = pytree.unflatten(traced.out_tree, range(traced.out_tree.leaves))
    return [_inner(path, free) for path in pytree.paths(nest)]


def _inner(path: str, free: str = "y") -> str:
    """Return a path that begins with a position, or is none, as one that begins with a name."""
    if not path:
        return free
    if path.startswith("["):
        position, _, rest = path[1:].partition("]")
        return f"{free}{position}{rest}"
    return path


def _blocks(
    rows: Sequence[int],
    row_names: Sequence[str],
    columns: Sequence[int],
    column_names: Sequence[str],
    text: str,
) -> tuple[list[int], list[str]]:
    """Return order and names of the blocks of a matrix, row by row."""
    width = len(columns)
    order = [row * width + column for row in rows for column in columns]
    return order, [text.format(row, column) for row in row_names for column in column_names]
