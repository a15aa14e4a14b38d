"""Which elements of an operand a node of control flow reads, as a graph.

The cotangent of an element that is never read is a zero that stays zero through inf and nan. Where
a body reads an operand by elements and windows only, a run of the node beside its reverse mode
notes them in an array of bools. It is made when the mask is needed, and needs of the values what
the indices depend on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradc.autodiff import active as activity
from gradc.autodiff.masks import Mask
from gradc.derivatives.control.layout import arranged, with_more_params
from gradc.derivatives.registry import Site
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.graph import Function, Value
from gradc_ir.types import DType

Masks = dict[int, Value]  # by the position of an operand


def mask_of_reads(site: Site, position: int) -> Mask | None:
    """Return where a node reads an operand, None where it is read as a whole."""
    name, attributes = site.op.name, site.attributes
    if not _reads_parts(name, attributes, position):
        return None
    lines = build.active().here

    def read() -> Value:
        with build.active().at(lines):
            nowhere = build.full(site.operands[position].type.shape, False, DType.BOOL)
            return _noted(name, site.operands, attributes, {position: nowhere})[1][position]

    return Mask(build=read)


def _reads_parts(name: str, attributes: Mapping[str, Any], position: int) -> bool:
    """Whether derivatives by an operand go through elements and windows of it only."""
    if name in ("gather", "slice"):
        return True
    if name in ("scan", "while") and position < _before(name, attributes):
        return True
    return name in _BODIES and all(
        inner is not None and _function_reads_parts(body, inner)
        for body, inner in _bodies(name, attributes, position)
    )


def _function_reads_parts(function: Function, position: int) -> bool:
    param = function.params[position]
    return param not in function.results and all(
        _reads_parts(node.op.name, node.attributes, i)
        for node in function.nodes
        for i, operand in enumerate(node.operands)
        if operand is param and activity.passes(node)
    )


_BODIES = {
    "scan": ("body",),
    "while": ("body",),
    "cond": ("then", "otherwise"),
    "checkpoint": ("body",),
}


def _before(name: str, attributes: Mapping[str, Any]) -> int:
    """Return how many operands come before those of the body."""
    if name == "scan":
        return int(attributes["counted"])
    if name == "while":
        return int(attributes["condition_consts"])
    return int(name == "cond")


def _bodies(
    name: str, attributes: Mapping[str, Any], position: int
) -> list[tuple[Function, int | None]]:
    """Return bodies, and which parameter an operand is there; None for carries and rows."""
    inner: int | None = position - _before(name, attributes)
    consts = {"scan": "consts", "while": "body_consts"}.get(name)
    if consts is not None and position - _before(name, attributes) >= attributes[consts]:
        inner = None
    return [(attributes[key], inner) for key in _BODIES[name]]


def _noting(function: Function, positions: Sequence[int]) -> Function:
    """Return the function that takes a mask more for each position, and returns it with its reads.

    Parameters: the function's, then the masks. Results: the function's, then the masks.
    """
    with Builder() as builder:
        params = [builder.param(i, type_) for i, type_ in enumerate(function.param_types)]
        new = dict(zip(function.params, params))
        masks: dict[Value, Value] = {}
        more = []
        for i, position in enumerate(positions):
            param = function.params[position]
            more.append(builder.param(len(params) + i, param.type.with_dtype(DType.BOOL)))
            masks[param] = more[-1]
        for node in function.body:
            with builder.at(function.locations.get(node, ())):
                given = {i: masks[x] for i, x in enumerate(node.operands) if x in masks}
                if not given or not activity.passes(node):
                    builder.copy(node, new)
                    continue
                operands = [new[operand] for operand in node.operands]
                results, noted = _noted(node.op.name, operands, node.attributes, given)
                new.update(zip(node.results, results))
                for i, mask in noted.items():
                    before, start = masks[node.operands[i]], given[i]
                    masks[node.operands[i]] = (
                        mask if before is start else build.logical_or(before, mask)
                    )
        ends = [new[result] for result in function.results]
        ends += [masks[function.params[position]] for position in positions]
        return builder.function(function.name, params + more, ends, location=function.location)


def _noted(
    name: str, operands: Sequence[Value], attributes: Mapping[str, Any], masks: Masks
) -> tuple[Sequence[Value], Masks]:
    """Return a node's results, and the masks of its operands with what it reads."""
    if name == "gather":
        x, *indices = operands
        found = build.gather(x, indices, attributes["axes"])
        here = build.full(found.type.shape, True, DType.BOOL)
        return [found], {0: build.scatter_set(masks[0], here, indices, attributes["axes"])}
    if name == "slice":
        starts, shape, steps = (attributes[key] for key in ("starts", "shape", "steps"))
        found = build.slice(operands[0], starts, shape, steps)
        here = build.full(shape, True, DType.BOOL)
        return [found], {0: build.set_slice(masks[0], here, starts, steps)}
    before = _before(name, attributes)
    held = [i for i in masks if i >= before]
    inner = [i - before for i in held]
    more = [masks[i] for i in held]
    bodies = [_noting(attributes[key], inner) for key in _BODIES[name]]
    if name == "scan":
        made, noted = _scan(operands, attributes, bodies[0], more)
    elif name == "while":
        made, noted = _while(operands, attributes, bodies[0], more)
    else:
        if name == "cond":
            pred, *given = operands
            both = build.cond(pred, bodies[0], bodies[1], [*given, *more])
        else:
            both = build.checkpoint(bodies[0], [*operands, *more])
        count = len(both) - len(more)
        made, noted = both[:count], both[count:]
    return made, {**masks, **dict(zip(held, noted))}


def _scan(
    operands: Sequence[Value], attributes: Mapping[str, Any], body: Function, masks: list[Value]
) -> tuple[Sequence[Value], Sequence[Value]]:
    first, count = int(attributes["counted"]), len(masks)
    carries = attributes["carries"]
    split = first + attributes["consts"]
    end = split + carries
    found = build.scan(
        _masks_last(body, end - first, carries, count),
        operands[first:split],
        [*operands[split:end], *masks],
        operands[end:],
        length=attributes["length"],
        reverse=attributes["reverse"],
        count=operands[0] if first else None,
    )
    return [*found[:carries], *found[carries + count :]], found[carries : carries + count]


def _while(
    operands: Sequence[Value], attributes: Mapping[str, Any], body: Function, masks: list[Value]
) -> tuple[Sequence[Value], Sequence[Value]]:
    first, count = attributes["condition_consts"], len(masks)
    split = first + attributes["body_consts"]
    carries = len(operands) - split
    found = build.while_loop(
        with_more_params(attributes["condition"], [mask.type for mask in masks]),
        _masks_last(body, len(operands) - first, carries, count),
        operands[:first],
        operands[first:split],
        [*operands[split:], *masks],
        length=attributes["length"],
    )
    return [*found[:carries], *found[carries + count :]], found[carries : carries + count]


def _masks_last(body: Function, before_rows: int, carries: int, count: int) -> Function:
    """Return the body with its masks as its last carries."""
    known, results = len(body.params) - count, len(body.results) - count
    return arranged(
        body,
        [*range(before_rows), *range(known, known + count), *range(before_rows, known)],
        [*range(carries), *range(results, results + count), *range(carries, results)],
    )
