"""Products with NumPy's signatures: dot, matmul, outer, inner, vdot, tensordot, as contractions."""

from __future__ import annotations

from typing import Any

from gradc.tracing.building.axes import position
from gradc.tracing.building.by_name import numpy
from gradc.tracing.core.as_tracer import as_tracer
from gradc.tracing.core.promote import common_dtype_of, shape_mismatch, unify
from gradc.tracing.core.source import shape_error
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import Tracer, make, read
from gradc.tracing.numpy.shape.shaping import ravel
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def contracted(x: Value, y: Value, left: str, right: str, result: str) -> Value:
    """Contract two values; labels of size 1 in one operand only broadcast; bools are any-and."""
    x, left = _without_stretched(x, left, y, right)
    y, right = _without_stretched(y, right, x, left)
    # a label that one operand has and the result lacks is summed there
    x, left = summed_alone(x, left, right + result)
    y, right = summed_alone(y, right, left + result)
    labels = f"{left},{right}->{result}"
    if x.type.dtype is DType.BOOL:
        counts = build.contract(build.cast(x, DType.I64), build.cast(y, DType.I64), labels)
        return build.ne(counts, 0)
    return build.contract(x, y, labels)


def summed_alone(x: Value, labels: str, wanted: str) -> tuple[Value, str]:
    """Sum the axes whose labels nothing else wants."""
    axes = [axis for axis, label in enumerate(labels) if label not in wanted]
    if not axes:
        return x, labels
    reduce = build.reduce_max if x.type.dtype is DType.BOOL else build.reduce_sum
    return reduce(x, axes), "".join(a for a in labels if a in wanted)


def _without_stretched(x: Value, labels: str, y: Value, others: str) -> tuple[Value, str]:
    sizes = dict(zip(others, y.type.shape))
    keep = [
        axis
        for axis, label in enumerate(labels)
        if not (x.type.shape[axis] == 1 and sizes.get(label, 1) != 1)
    ]
    if len(keep) == len(labels):
        return x, labels
    shape = tuple(x.type.shape[axis] for axis in keep)
    return build.reshape(x, shape), "".join(labels[axis] for axis in keep)


def in_one_dtype(*operands: Tracer) -> list[Value]:
    """Return the operands' values in their common dtype."""
    dtype = common_dtype_of(operands)
    return [build.cast(read(operand), dtype) for operand in operands]


def _product(x: Tracer, y: Tracer, left: str, right: str, result: str) -> Tracer:
    a, b = in_one_dtype(x, y)
    return make(running(), contracted(a, b, left, right, result))


@numpy_function("matmul", out=2, computes=True)
@numpy_function("linalg.matmul", computes=True)
def matmul(x1: Any, x2: Any) -> Tracer:
    """Record ``np.matmul``: 1-D, 2-D and batched operands."""
    x, y = as_tracer(x1), as_tracer(x2)
    if not x.type.shape or not y.type.shape:
        raise shape_mismatch("np.matmul", [x, y], "matmul does not take numbers", "write {0} * {1}")
    inner_y = y.type.shape[-2] if y.type.rank > 1 else y.type.shape[0]
    _check_inner("np.matmul", x, y, x.type.shape[-1], inner_y)
    ranks = x.type.rank, y.type.rank
    batch = max(ranks[0] - 2, ranks[1] - 2, 0)
    names = LETTERS[3 : 3 + batch]
    left = "a" if ranks[0] == 1 else names[batch - (ranks[0] - 2) :] + "ba"
    right = "a" if ranks[1] == 1 else names[batch - (ranks[1] - 2) :] + "ac"
    for label in set(left) & set(right) & set(names):
        a = x.type.shape[left.index(label)]
        b = y.type.shape[right.index(label)]
        if 1 not in (a, b):
            unify(a, b, lambda a=a, b=b: shape_mismatch(  # type: ignore[misc]
                "np.matmul", [x, y], f"the leading sizes differ ({a} and {b})"
            ))  # fmt: skip
    result = names + ("b" if ranks[0] > 1 else "") + ("c" if ranks[1] > 1 else "")
    return _product(x, y, left, right, result)


def _check_inner(name: str, x: Tracer, y: Tracer, left: Size, right: Size) -> None:
    entries = "entries" if y.type.rank == 1 else "rows"
    columns = "entry" if x.type.rank == 1 else "column"
    cure = f"{{1}} needs {left} {entries}, one per {columns} of {{0}}"
    unify(
        left,
        right,
        lambda: shape_mismatch(name, [x, y], f"the inner sizes differ ({left} and {right})", cure),
    )


@numpy_function("dot", out=2, computes=True)
def dot(a: Any, b: Any) -> Any:
    """Record ``np.dot``: a product of numbers, or over a's last and b's second last axis."""
    x, y = as_tracer(a), as_tracer(b)
    if not x.type.shape or not y.type.shape:
        # np.dot makes arrays of Python's numbers, which then do not yield to the other's dtype
        return numpy.multiply(_strong(x), _strong(y))
    if x.type.rank <= 2 and y.type.rank <= 2:
        return matmul(x, y)
    axis = max(y.type.rank - 2, 0)
    _check_inner("np.dot", x, y, x.type.shape[-1], y.type.shape[axis])
    return tensordot(x, y, ((x.type.rank - 1,), (axis,)))


def _strong(x: Tracer) -> Tracer:
    return make(running(), read(x)) if x._weak is not None or x.forms else x


@numpy_function("outer", out=2)
@numpy_function("linalg.outer")
def outer(a: Any, b: Any) -> Tracer:
    """Record ``np.outer``."""
    x, y = ravel(a), ravel(b)
    return _product(x, y, "a", "b", "ab")


@numpy_function("inner", computes=True)
def inner(a: Any, b: Any) -> Any:
    """Record ``np.inner``: the sum over the last axes."""
    x, y = as_tracer(a), as_tracer(b)
    if not x.type.shape or not y.type.shape:
        return dot(x, y)
    _check_inner("np.inner", x, y, x.type.shape[-1], y.type.shape[-1])
    return tensordot(x, y, ((-1,), (-1,)))


@numpy_function("vdot", computes=True)
def vdot(a: Any, b: Any) -> Tracer:
    """Record ``np.vdot``: the sum of products of all elements."""
    return matmul(ravel(a), ravel(b))


@numpy_function("linalg.tensordot", "tensordot", computes=True)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Tracer:
    """Record ``np.tensordot``."""
    x, y = as_tracer(a), as_tracer(b)
    ranks = x.type.rank, y.type.rank
    if isinstance(axes, int):
        pairs = [(ranks[0] - axes + i, i) for i in range(axes)]
    else:
        first, second = ((e,) if isinstance(e, int) else tuple(e) for e in axes)
        if len(first) != len(second):
            raise shape_error("np.tensordot: axes has two lists of different lengths")
        pairs = [(position(i, ranks[0]), position(j, ranks[1])) for i, j in zip(first, second)]
    left = LETTERS[: ranks[0]]
    right = list(LETTERS[ranks[0] : ranks[0] + ranks[1]])
    for i, j in pairs:
        p, q = x.type.shape[i], y.type.shape[j]
        unify(p, q, lambda p=p, q=q: shape_mismatch(  # type: ignore[misc]
            "np.tensordot", [x, y], f"the summed sizes differ ({p} and {q})"
        ))  # fmt: skip
        right[j] = left[i]
    summed = {left[i] for i, _ in pairs}
    result = "".join(label for label in left + "".join(right) if label not in summed)
    return _product(x, y, left, "".join(right), result)
