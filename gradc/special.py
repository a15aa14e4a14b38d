"""Functions that NumPy lacks or computes carelessly; for traced arrays and plain ones alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc_ir.op import TABLE
from gradc_ir.types import dtype_of

# Ufuncs of scipy.special that a traced array may meet, and what they are here.
UFUNCS = {
    "expit": "sigmoid",
    "log_expit": "log_sigmoid",
    "logit": "logit",
    "erf": "erf",
    "erfc": "erfc",
    "ndtr": "ndtr",
    "xlogy": "xlogy",
    "xlog1py": "xlog1py",
    "entr": "entr",
}


def _is_traced(*values: Any) -> bool:
    from gradc.tracing import state
    from gradc.tracing.arrays import contains_unknown

    return state.current() is not None and any(map(contains_unknown, values))


def _elementwise(op: str, *operands: Any) -> Any:
    """Apply an op to arrays of floats: recorded, or by its reference in NumPy."""
    if not _is_traced(*operands):
        from gradc.tracing.arrays import plain_nest

        arrays = [np.asarray(plain_nest(operand)) for operand in operands]
        weak = [x if isinstance(x, float | int) else a.dtype for x, a in zip(operands, arrays)]
        dtype = dtype_of(np.result_type(*weak)).numpy
        if dtype.kind != "f":
            dtype = np.dtype(np.float64)
        reference = TABLE[op].reference
        assert reference is not None
        result = reference(*np.broadcast_arrays(*(array.astype(dtype) for array in arrays)))
        return _as_numpy_gives(result)
    from gradc.tracing.recorded import record_floats

    return record_floats(op, operands)


def _as_numpy_gives(result: Any) -> Any:
    """Return a NumPy number for 0-d results; a tracer of a known array inside a trace."""
    from gradc.tracing import state

    array = np.asarray(result)
    if not array.ndim:
        return array[()]
    if state.current() is not None:
        from gradc.tracing.dispatch import wrap_known

        return wrap_known(array, [])
    return array


def softplus(x: Any) -> Any:
    """Return ``log(1 + exp(x))`` without overflow; any shape, float dtype kept."""
    return _elementwise("softplus", x)


def sigmoid(x: Any) -> Any:
    """Return ``1 / (1 + exp(-x))``, accurate on both sides; any shape, float dtype kept."""
    return _elementwise("sigmoid", x)


def log_sigmoid(x: Any) -> Any:
    """Return ``log(sigmoid(x)) = -softplus(-x)``; any shape, float dtype kept."""
    return -softplus(-_array(x))


def logit(p: Any) -> Any:
    """Return ``log(p / (1 - p))``, the inverse of sigmoid, as ``log(p) - log1p(-p)``."""
    p = _array(p)
    return _numpy("log", p) - _numpy("log1p", -p)


def log1mexp(x: Any) -> Any:
    """Return ``log(1 - exp(x))`` for negative x, accurate for small and large ones.

    The switch at ``-log(2)`` is from M. Maechler, *Accurately computing log(1 - exp(-|a|))* (2012).
    """
    return _elementwise("log1mexp", x)


def erf(x: Any) -> Any:
    """Return the error function; any shape, float dtype kept."""
    return _elementwise("erf", x)


def erfc(x: Any) -> Any:
    """Return ``1 - erf(x)``, accurate for large x; any shape, float dtype kept."""
    return _elementwise("erfc", x)


def ndtr(x: Any) -> Any:
    """Return the distribution function of the standard normal, ``erfc(-x / sqrt(2)) / 2``."""
    return 0.5 * erfc(-_array(x) * 0.7071067811865476)


def xlogy(x: Any, y: Any) -> Any:
    """Return ``x * log(y)``, 0 where x is 0 and y is not nan."""
    x, y = _array(x), _array(y)
    return _times_log(x, y, _numpy("log", y))


def xlog1py(x: Any, y: Any) -> Any:
    """Return ``x * log(1 + y)``, 0 where x is 0 and y is not nan."""
    x, y = _array(x), _array(y)
    return _times_log(x, y, _numpy("log1p", y))


def entr(x: Any) -> Any:
    """Return ``-x * log(x)``, 0 at 0 and -inf for negative x."""
    x = _array(x)
    return _numpy("where", x < 0, -np.inf, -xlogy(x, x))


def _times_log(x: Any, y: Any, log: Any) -> Any:
    flat = _numpy("logical_and", x == 0, y == y)
    return _numpy("where", flat, 0.0, x * log)


def logaddexp(x: Any, y: Any) -> Any:
    """Return ``log(exp(x) + exp(y))`` without overflow; shapes broadcast."""
    return _elementwise("logaddexp", x, y)


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return ``log(sum(exp(x)))`` over axes, all by default, without overflow.

    Parameters
    ----------
    x: an array of any shape; integers are taken as float64.
    axis: None, a position, or a tuple of them.
    keepdims: keep the axes with length 1.
    """
    if _is_traced(x):
        from gradc.tracing.recorded import record_logsumexp

        return record_logsumexp(x, axis, keepdims)
    from gradc.tracing.reductions import axes_of

    array = np.asarray(_array(x))
    axes = axes_of(axis, array.ndim)
    reference = TABLE["logsumexp"].reference
    assert reference is not None
    result = reference(array, axes=axes) if axes else array
    return _as_numpy_gives(np.expand_dims(result, axes) if keepdims else result)


def softmax(x: Any, axis: Any = None) -> Any:
    """Return ``exp(x) / sum(exp(x))`` over axes, all by default, without overflow."""
    return _numpy("exp", log_softmax(x, axis))


def log_softmax(x: Any, axis: Any = None) -> Any:
    """Return ``x - logsumexp(x)`` over axes, all by default."""
    x = _array(x)
    return x - logsumexp(x, axis, keepdims=True)


def _array(x: Any) -> Any:
    """Return x as a float array, traced or not."""
    if _is_traced(x):
        from gradc.tracing.recorded import as_float

        return as_float(x)
    from gradc.tracing.arrays import plain_nest

    array = np.asarray(plain_nest(x))
    dtype = dtype_of(array.dtype)
    return array if dtype.is_float else array.astype(np.float64)


def _numpy(name: str, *operands: Any) -> Any:
    from gradc.tracing.numpy_map import call

    with np.errstate(all="ignore"):
        return call(name, *operands)


__all__ = [
    "log1mexp",
    "log_sigmoid",
    "log_softmax",
    "logaddexp",
    "logit",
    "logsumexp",
    "sigmoid",
    "softmax",
    "softplus",
]
