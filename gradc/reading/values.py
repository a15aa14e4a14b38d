"""From values of a graph to terms: each op by what it means, repeated axes left out.

What has no notation of its own stands as the op itself, with all its axes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from gradc.reading.terms import (
    ONE,
    ZERO,
    Axes,
    Term,
    add,
    multiply,
    number,
    scaled,
    spread,
    union,
)
from gradc_ir.core.graph import Node
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType, Type
from gradc_ir.ops.linalg import condition_of, parse_spec

# What is read as what it holds: it changes no number.
_TRANSPARENT = frozenset({"stop_gradient", "exactly", "fence"})
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<="}
_LOGIC = {"logical_and": "&", "logical_or": "|", "logical_xor": "^"}


def read(node: Node, operands: list[Term]) -> Term:
    """Return the only value of a node, of what its operands are."""
    name = node.op.name
    if name in _TRANSPARENT:
        return operands[0]
    special = _READ.get(name)
    if special is not None:
        return special(node, operands)
    if node.op.is_elementwise:
        if name in _COMPARISONS:
            return spread("compare", operands, _COMPARISONS[name])
        if name in _LOGIC:
            return spread("compare", operands, _LOGIC[name])
        return spread("call", operands, name)
    return opaque(node, operands)


def opaque(node: Node, operands: list[Term]) -> Term:
    """Return a value as the op it is made by, of its whole operands."""
    types = [operand.type for operand in node.operands]
    parts = tuple([whole(x, type_) for x, type_ in zip(operands, types)])
    attributes = tuple(node.attributes.items())
    axes = tuple(range(node.results[0].type.rank)) if len(node.results) == 1 else ()
    return Term("op", parts, (node.op.name, attributes), axes)


def whole(term: Term, type_: Type) -> Term:
    """Return a term with all axes of its value, those of size 1 and the repeated ones too."""
    missing = [axis for axis in range(type_.rank) if axis not in term.axes]
    if not missing:
        return term
    axes = tuple(range(type_.rank))
    if term.head == "number":
        return Term("full", (term,), (type_.shape, type_.dtype), axes)
    if term.axes and all(type_.shape[axis] == 1 for axis in missing):
        keys = tuple([None if axis in missing else ":" for axis in axes])
        return Term("index", (term,), keys, axes)
    return Term("expand", (aligned(term, axes),), type_.shape, axes)


def aligned(term: Term, axes: Axes) -> Term:
    """Return a term whose array is broadcast against one that has these axes."""
    present = [axis in term.axes for axis in axes]
    while present and not present[0]:
        present.pop(0)  # what is missing in front is added by NumPy
    if all(present):
        return term
    return Term("index", (term,), tuple([":" if has else None for has in present]), term.axes)


# -- arithmetic ------------------------------------------------------------------------------------


def _power(node: Node, operands: list[Term]) -> Term:
    base, exponent = operands
    value = exponent.detail if exponent.head == "number" else None
    if isinstance(value, Fraction) and value.denominator == 1 and abs(value) <= 100:
        return multiply([(base, int(value))]) if value else ONE
    return spread("power", operands)


def _cast(node: Node, operands: list[Term]) -> Term:
    before, after = node.operands[0].type.dtype, node.results[0].type.dtype
    if before is DType.BOOL:
        return spread("where", (operands[0], ONE, ZERO))
    if after is DType.BOOL:
        return spread("call", operands, "not_equal_zero")
    if before.is_float and not after.is_float:
        return spread("call", operands, "truncate")
    return operands[0]


def _constant(node: Node, operands: list[Term]) -> Term:
    array = node.attributes["value"].array
    if array.ndim == 0:
        return number(array[()])
    return Term("array", detail=node.attributes["value"], axes=tuple(range(array.ndim)))


# -- axes ------------------------------------------------------------------------------------------


def _broadcast(node: Node, operands: list[Term]) -> Term:
    (x,) = operands
    places = node.attributes["axes"]
    return _placed(x, tuple([places[axis] for axis in x.axes]))


def _placed(x: Term, axes: Axes) -> Term:
    """Return a term whose axes, in its own order, are called these in the value."""
    order = sorted(range(len(axes)), key=lambda i: axes[i])
    if order == list(range(len(axes))):
        return x.with_axes(axes)
    return Term("permute", (x,), tuple(order), tuple(sorted(axes)))


def _transpose(node: Node, operands: list[Term]) -> Term:
    (x,) = operands
    place = {old: new for new, old in enumerate(node.attributes["permutation"])}
    return _placed(x, tuple([place[axis] for axis in x.axes]))


def _reshape(node: Node, operands: list[Term]) -> Term:
    (x,) = operands
    before, after = node.operands[0].type, node.results[0].type
    kept = [axis for axis, size in enumerate(before.shape) if size != 1]
    made = [axis for axis, size in enumerate(after.shape) if size != 1]
    if [before.shape[axis] for axis in kept] == [after.shape[axis] for axis in made]:
        place = dict(zip(kept, made))
        lone = [axis for axis in x.axes if axis not in place]
        if lone:  # of size 1, but there
            keys = tuple([("at", 0) if axis in lone else ":" for axis in x.axes])
            x = Term("index", (x,), keys, tuple([a for a in x.axes if a not in lone]))
        return x.with_axes(tuple([place[axis] for axis in x.axes]))
    shape = tuple([after.shape[axis] for axis in made])
    return Term("reshape", (whole(x, before),), shape, tuple(made))


def _slice(node: Node, operands: list[Term]) -> Term:
    (x,) = operands
    starts, steps = node.attributes["starts"], node.attributes["steps"]
    before, after = node.operands[0].type.shape, node.results[0].type.shape
    keys: list[Any] = []
    for axis in x.axes:
        if after[axis] == 1:
            keys.append(("at", starts[axis]))
        else:
            keys.append(window_key(starts[axis], after[axis], steps[axis], before[axis]))
    if all(key == ":" for key in keys):
        return x
    axes = tuple([axis for axis in x.axes if after[axis] != 1])
    return Term("index", (x,), tuple(keys), axes)


def window_key(start: Size, size: Size, step: int, whole: Size) -> object:
    """Return the key of a window along an axis."""
    if size == whole and step == 1:
        return ":"
    stop = start + (size - 1) * step + (1 if step > 0 else -1)
    return "range", start, stop, step, whole


def _concatenate(node: Node, operands: list[Term]) -> Term:
    axis = node.attributes["axis"]
    types = [operand.type for operand in node.operands]
    axes = tuple(sorted({*union(operands), axis}))
    lone = [axis not in x.axes and type_.shape[axis] == 1 for x, type_ in zip(operands, types)]
    rest = tuple([each for each in axes if each != axis])
    if all(lone):
        parts = [_filled(x, rest, type_) for x, type_ in zip(operands, types)]
        return Term("stack", tuple(parts), axes.index(axis), axes)
    parts = [_filled(x, axes, type_) for x, type_ in zip(operands, types)]
    return Term("concatenate", tuple(parts), axes.index(axis), axes)


def _filled(term: Term, axes: Axes, type_: Type) -> Term:
    """Return a term with all of some axes."""
    missing = [axis for axis in axes if axis not in term.axes]
    if not missing:
        return term
    shape = tuple([type_.shape[axis] for axis in axes])
    if term.head == "number":
        return Term("full", (term,), (shape, type_.dtype), axes)
    if term.axes and all(type_.shape[axis] == 1 for axis in missing):
        keys = tuple([None if axis in missing else ":" for axis in axes])
        return Term("index", (term,), keys, axes)
    return Term("expand", (aligned(term, axes),), shape, axes)


# -- sums along axes -------------------------------------------------------------------------------


def _reduce(node: Node, operands: list[Term]) -> Term:
    (x,) = operands
    over, shape = node.attributes["axes"], node.operands[0].type.shape
    if node.op.name == "reduce_sum" and x.head == "product":
        # what is the same along the axes stands before the sum
        coefficient, powers = x.detail
        factors = list(zip(x.parts, powers))
        outside = [f for f in factors if set(over).isdisjoint(f[0].axes)]
        if coefficient != 1 or outside:
            total = _reduced("reduce_sum", multiply([f for f in factors if f not in outside]),
                             shape, over)  # fmt: skip
            moved = [(_left(part, over), power) for part, power in outside]
            return multiply([(number(coefficient), 1), *moved, (total, 1)])
    name = node.op.name
    if node.operands[0].type.dtype is DType.BOOL:
        name = {"reduce_max": "any", "reduce_min": "all"}[name]
    return _reduced(name, x, shape, over)


def _left(term: Term, over: Axes) -> Term:
    """Return a term of what is left of a value without some axes."""
    axes = [axis for axis in term.axes if axis not in over]
    return term.with_axes(tuple([axis - sum(gone < axis for gone in over) for axis in axes]))


def _reduced(name: str, x: Term, shape: Sequence[Size], over: Axes) -> Term:
    """Return a reduction of a term over axes of a value of some shape."""
    along = [axis for axis in over if axis in x.axes]
    term = x
    if along:
        places = tuple([x.axes.index(axis) for axis in along])
        kept = tuple([axis for axis in x.axes if axis not in along])
        term = Term("reduce", (x,), (name, places if kept else None), kept)
    elif name == "norm":
        term = spread("call", (x,), "abs")
    times = [number(s) if isinstance(s, int) else Term("size", detail=s)
             for s in (shape[axis] for axis in over if axis not in along) if s != 1]  # fmt: skip
    for count in times:
        term = _repeated(name, term, count)
    return _left(term, over)


def _repeated(name: str, term: Term, count: Term) -> Term:
    """Return what a reduction makes of a term that is repeated so many times."""
    match name:
        case "reduce_sum":
            return multiply([(count, 1), (term, 1)])
        case "reduce_prod":
            return spread("power", (term, count))
        case "logsumexp":
            return add([(1, term), (1, spread("call", (count,), "log"))])
        case "norm":
            return multiply([(spread("call", (count,), "sqrt"), 1), (term, 1)])
    return term


def _contract(node: Node, operands: list[Term]) -> Term:
    spec = node.attributes["spec"]
    if condition_of(spec) is not None:
        return opaque(node, operands)
    left, right, result = parse_spec(spec)
    sizes = {**dict(zip(left, node.operands[0].type.shape)),
             **dict(zip(right, node.operands[1].type.shape))}  # fmt: skip
    x, y = operands
    labels = ["".join(of[axis] for axis in term.axes) for of, term in ((left, x), (right, y))]
    axes = tuple([i for i, label in enumerate(result) if label in labels[0] + labels[1]])
    made = "".join(result[axis] for axis in axes)
    summed = set(labels[0] + labels[1]) - set(result)
    if not summed:
        parts = [
            _placed(term, tuple([result.index(label) for label in own]))
            for term, own in zip(operands, labels)
        ]
        term = multiply([(parts[0], 1), (parts[1], 1)])
    elif not labels[0] or not labels[1]:
        # a number times a sum
        scale, (array, own) = (x, (y, labels[1])) if not labels[0] else (y, (x, labels[0]))
        kept = [i for i, label in enumerate(own) if label not in summed]
        places = tuple([i for i, label in enumerate(own) if label in summed])
        total = Term("reduce", (array,), ("reduce_sum", places if kept else None),
                     tuple(kept))  # fmt: skip
        place = tuple([result.index(own[i]) for i in kept])
        term = multiply([(scale, 1), (_placed(total, place), 1)])
    else:
        term = Term("contract", (x, y), (labels[0], labels[1], made), axes)
    absent = set(left + right) - set(result) - set(labels[0]) - set(labels[1])
    counts = [sizes[label] for label in sorted(absent) if sizes[label] != 1]
    return multiply([(term, 1), *((_size(count), 1) for count in counts)])


def _size(size: Size) -> Term:
    return number(size) if isinstance(size, int) else Term("size", detail=size)


# -- indices ---------------------------------------------------------------------------------------


def _gather(node: Node, operands: list[Term]) -> Term:
    x, *indices = operands
    axes, rank = node.attributes["axes"], node.operands[1].type.rank
    used = [(axis, index) for axis, index in zip(axes, indices) if axis in x.axes]
    rest = [axis for axis in range(node.operands[0].type.rank) if axis not in axes]
    kept = [axis for axis in x.axes if axis not in axes]
    places = tuple([rank + rest.index(axis) for axis in kept])
    if not used:
        return x.with_axes(places)
    along = union(index for _, index in used)
    order = tuple([x.axes.index(axis) for axis, _ in used] + [x.axes.index(axis) for axis in kept])
    if order != tuple(range(len(order))):
        x = Term("permute", (x,), order, x.axes)
    return Term("gather", (x, *[index for _, index in used]), None, (*along, *places))


def _select(node: Node, operands: list[Term]) -> Term:
    condition, x, y = operands
    if condition.head == "call" and condition.detail == "logical_not":
        condition, x, y = condition.parts[0], y, x
    return x if x == y else spread("where", (condition, x, y))


# -- functions that only machines have -------------------------------------------------------------


def _call(name: str, *parts: Term) -> Term:
    return spread("call", parts, name)


def _sigmoid_derivative(node: Node, operands: list[Term]) -> Term:
    coefficient, rest = scaled(operands[0])
    if rest is not None and coefficient == 2:
        # as the slope of tanh has it
        slope = add([(1, ONE), (-1, multiply([(_call("tanh", rest), 2)]))])
        return multiply([(slope, 1), (number(4), -1)])
    value = _call("sigmoid", operands[0])
    return multiply([(value, 1), (add([(1, ONE), (-1, value)]), 1)])


_READ: Mapping[str, Callable[[Node, list[Term]], Term]] = {
    "neg": lambda node, x: add([(-1, x[0])]),
    "add": lambda node, x: add([(1, x[0]), (1, x[1])]),
    "sub": lambda node, x: add([(1, x[0]), (-1, x[1])]),
    "mul": lambda node, x: multiply([(x[0], 1), (x[1], 1)]),
    "div": lambda node, x: multiply([(x[0], 1), (x[1], -1)]),
    "power": _power,
    "cast": _cast,
    "constant": _constant,
    "iota": lambda node, x: Term("arange", detail=node.attributes["size"], axes=(0,)),
    "size": lambda node, x: _size(node.attributes["size"]),
    "broadcast": _broadcast,
    "transpose": _transpose,
    "reshape": _reshape,
    "slice": _slice,
    "concatenate": _concatenate,
    "select": _select,
    "exp_product": lambda node, x: _call("exp", multiply([(x[0], 1), (x[1], 1)])),
    "direction_cosine": lambda node, x: multiply([(x[0], 1), (_call("hypot", *x), -1)]),
    "sigmoid_derivative": _sigmoid_derivative,
    # what it is, wherever that is finite
    "recover": lambda node, x: _call("recover", x[node.attributes["result"]]),
    "gather": _gather,
    "contract": _contract,
    **dict.fromkeys(
        ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "logsumexp", "norm"), _reduce
    ),
}
