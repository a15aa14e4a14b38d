"""np.einsum as a fixed sequence of binary contractions, chosen at trace time."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.by_name import number
from gradc.tracing.core.as_tracer import as_tracer
from gradc.tracing.core.promote import unify
from gradc.tracing.core.source import shape_error
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import Tracer, make, make_view
from gradc.tracing.core.views import Element, Permuted
from gradc.tracing.numpy.linalg.products import LETTERS, contracted, in_one_dtype, summed_alone
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType
from gradc_ir.errors import ShapeError

# What a symbolic size counts as when the order of contractions is chosen.
_TYPICAL = 64


@numpy_function("einsum", out=99, computes=True)
def einsum(subscripts: Any, *operands: Any, optimize: Any = True) -> Tracer:
    """Record ``np.einsum`` in both its forms; ``optimize`` is accepted and changes nothing."""
    if not isinstance(subscripts, str):
        subscripts, operands = _as_text(subscripts, *operands)
    tracers = [as_tracer(operand) for operand in operands]
    inputs, result = _parsed(subscripts.replace(" ", ""), tracers)
    _check_sizes(subscripts, inputs, tracers)
    if len(tracers) == 1 and tracers[0].known is None and set(inputs[0]) == set(result):
        return _rearranged(tracers[0], inputs[0], result)
    terms = [_diagonals(value, labels) for value, labels in zip(in_one_dtype(*tracers), inputs)]
    while len(terms) > 1:
        i, j = _next_pair(terms, result)
        y, right = terms.pop(max(i, j))
        x, left = terms.pop(min(i, j))
        wanted = result + "".join(labels for _, labels in terms)
        kept = "".join(dict.fromkeys(label for label in left + right if label in wanted))
        kept = result if not terms else kept
        terms.append((contracted(x, y, left, right, kept), kept))
    value, labels = summed_alone(*terms[0], result)
    return make(
        running(),
        build.transpose(value, tuple(labels.index(label) for label in result)),
        contiguous=len(result) < 2,
    )


def _as_text(*arguments: Any) -> tuple[str, tuple[Any, ...]]:
    """Return the form with text of ``einsum(x, [0, 1], y, [1, 2], [0, 2])``."""
    pairs = list(zip(arguments[::2], arguments[1::2]))
    texts = ["".join(map(_letter, labels)) for _, labels in pairs]
    text = ",".join(texts)
    if len(arguments) % 2:
        text += "->" + "".join(map(_letter, arguments[-1]))
    return text, tuple(operand for operand, _ in pairs)


def _letter(label: Any) -> str:
    if label is Ellipsis:
        return "..."
    if not isinstance(label, int | np.integer) or not 0 <= label < len(LETTERS):
        raise shape_error(
            f"np.einsum: {label!r} is no label",
            help='write np.einsum("ij,jk->ik", x, y), or give each operand a list of integers '
            f"from 0 to {len(LETTERS) - 1}",
        )
    return LETTERS[label]


def _parsed(text: str, tracers: list[Tracer]) -> tuple[list[str], str]:
    """Return the labels of each operand and of the result, ellipses replaced by fresh labels."""
    arguments, arrow, result = text.partition("->")
    inputs = arguments.split(",")
    if len(inputs) != len(tracers):
        raise _wrong(text, f"{len(inputs)} subscripts for {len(tracers)} operands")
    used = set(text)
    fresh = [letter for letter in LETTERS if letter not in used]
    widest = 0
    for position, (labels, tracer) in enumerate(zip(inputs, tracers)):
        if "..." in labels:
            count = tracer.type.rank - len(labels.replace("...", ""))
            if count < 0:
                raise _wrong(text, f"{labels} does not fit {tracer.type}")
            widest = max(widest, count)
            hidden = "".join(fresh[:count][::-1])
            inputs[position] = labels.replace("...", hidden)
        if len(inputs[position]) != tracer.type.rank:
            raise _wrong(text, f"{labels} does not fit {tracer.type}")
    rest = "".join(fresh[:widest][::-1])
    if not arrow:
        named = arguments.replace("...", "").replace(",", "")
        once = sorted(label for label in set(named) if named.count(label) == 1)
        result = ("..." if widest else "") + "".join(once)
    result = result.replace("...", rest)
    everything = set("".join(inputs))
    if not everything <= set(LETTERS) or not set(result) <= everything:
        raise _wrong(text, "a label of the result is in no operand, or is no letter")
    if len(set(result)) != len(result):
        raise _wrong(text, "a label is repeated in the result")
    return inputs, result


def _wrong(text: str, reason: str) -> ShapeError:
    return shape_error(f'np.einsum("{text}"): {reason}')


def _check_sizes(text: str, inputs: list[str], tracers: list[Tracer]) -> None:
    sizes: dict[str, Size] = {}
    for labels, tracer in zip(inputs, tracers):
        for label, size in zip(labels, tracer.type.shape):
            have = sizes.setdefault(label, size)
            if have == 1:
                sizes[label] = size
            elif size != 1:
                unify(have, size, lambda label=label, have=have, size=size: _wrong(  # type: ignore[misc]
                    text, f"the sizes of {label} differ ({have} and {size})"
                ))  # fmt: skip


def _rearranged(x: Tracer, labels: str, result: str) -> Tracer:
    """Return the view NumPy gives where nothing is summed: diagonals, axes in another order."""
    while axes := _repeated(x.type.shape, labels):
        size = x.type.shape[axes[0]]
        rest = tuple(n for axis, n in enumerate(x.type.shape) if axis not in axes)
        indices = (build.iota(DType.I64, size),) * len(axes)
        x = make_view(x, Element(indices, axes), (size, *rest))
        labels = _once_in_front(labels, axes)
    order = tuple(labels.index(label) for label in result)
    return make_view(x, Permuted(order), tuple(x.type.shape[axis] for axis in order))


def _diagonals(x: Value, labels: str) -> tuple[Value, str]:
    """Take the diagonal of axes with the same label."""
    while axes := _repeated(x.type.shape, labels):
        indices = [build.iota(DType.I64, x.type.shape[axes[0]])] * len(axes)
        x = build.gather(x, indices, axes)
        labels = _once_in_front(labels, axes)
    return x, labels


def _repeated(shape: tuple[Size, ...], labels: str) -> tuple[int, ...]:
    """Return the axes of the first label that is repeated, none when all are different."""
    for label in labels:
        axes = tuple(axis for axis, other in enumerate(labels) if other == label)
        if len({shape[axis] for axis in axes}) > 1:
            raise _wrong(labels, f"the sizes of the repeated label {label} differ")
        if len(axes) > 1:
            return axes
    return ()


def _once_in_front(labels: str, axes: tuple[int, ...]) -> str:
    return labels[axes[0]] + "".join(a for axis, a in enumerate(labels) if axis not in axes)


def _next_pair(terms: list[tuple[Value, str]], result: str) -> tuple[int, int]:
    """Return the two terms to contract next, in the order NumPy's greedy path takes them."""
    if len(terms) == 2:
        return 0, 1
    shapes = [
        tuple(size if isinstance(size, int) else _TYPICAL for size in value.type.shape)
        for value, _ in terms
    ]
    stand_ins = [np.broadcast_to(np.float64(0), shape) for shape in shapes]
    text = ",".join(labels for _, labels in terms) + "->" + result
    path = np.einsum_path(text, *stand_ins, optimize=("greedy", 2**60))[0]
    first = path[1]
    return (first[0], first[1]) if len(first) > 1 else (0, 1)


@numpy_function("einsum_path", value_only=True)
def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: Any = False) -> Any:
    """Record ``np.einsum_path``, for which shapes are enough."""
    plain = [_of_same_shape(operand) for operand in operands]
    return np.einsum_path(*plain, optimize=optimize, einsum_call=einsum_call)


def _of_same_shape(operand: Any) -> Any:
    if not isinstance(operand, Tracer):
        return operand
    return np.broadcast_to(0.0, [number(size, "np.einsum_path") for size in operand.shape])  # type: ignore[attr-defined]
