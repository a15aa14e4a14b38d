"""Summaries of samples in scipy.stats: standard scores, means of other kinds, moments, entropy."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc import special
from gradc.special.recording import floats, numpy
from gradc.tracing.building.by_name import array
from gradc.tracing.registry.scipy_function import scipy_function


def _centered(a: Any, axis: Any) -> Any:
    return a - numpy("mean", a, axis=axis, keepdims=axis is not None)


def _central(a: Any, order: int, axis: Any) -> Any:
    return numpy("mean", numpy("power", _centered(a, axis), order), axis=axis)


def _average(a: Any, axis: Any, dtype: Any, weights: Any) -> Any:
    a = a if dtype is None else array(a).astype(dtype)
    return numpy("average", a, axis=axis, weights=weights)


def _count(a: Any, axis: Any) -> Any:
    return numpy("sum", numpy("ones_like", a), axis=axis)


def _shares(a: Any, axis: Any) -> Any:
    a = floats(a)
    return a / numpy("sum", a, axis=axis, keepdims=True)


@scipy_function("stats.zscore")
def zscore(a: Any, axis: Any = 0, ddof: int = 0) -> Any:
    """Record ``scipy.stats.zscore``: distances from the mean in standard deviations."""
    a = floats(a)
    spread = numpy("std", a, axis=axis, ddof=ddof, keepdims=axis is not None)
    return _centered(a, axis) / spread


@scipy_function("stats.gmean")
def gmean(a: Any, axis: Any = 0, dtype: Any = None, weights: Any = None) -> Any:
    """Record ``scipy.stats.gmean``, the geometric mean."""
    return numpy("exp", _average(numpy("log", floats(a)), axis, dtype, weights))


@scipy_function("stats.hmean")
def hmean(a: Any, axis: Any = 0, dtype: Any = None, *, weights: Any = None) -> Any:
    """Record ``scipy.stats.hmean``, the harmonic mean."""
    return 1.0 / _average(1.0 / floats(a), axis, dtype, weights)


@scipy_function("stats.sem")
def sem(a: Any, axis: Any = 0, ddof: int = 1) -> Any:
    """Record ``scipy.stats.sem``, the standard error of the mean."""
    a = array(floats(a))
    count = _count(a, axis)
    return numpy("std", a, axis=axis, ddof=ddof) / numpy("sqrt", count)


@scipy_function("stats.skew")
def skew(a: Any, axis: Any = 0, bias: bool = True) -> Any:
    """Record ``scipy.stats.skew``: the third central moment, in standard deviations."""
    a = floats(a)
    found = _central(a, 3, axis) / numpy("power", _central(a, 2, axis), 1.5)
    if bias:
        return found
    n = _count(a, axis)
    return numpy("sqrt", n * (n - 1.0)) / (n - 2.0) * found


@scipy_function("stats.kurtosis")
def kurtosis(a: Any, axis: Any = 0, fisher: bool = True, bias: bool = True) -> Any:
    """Record ``scipy.stats.kurtosis``: the fourth central moment, in variances squared."""
    a = floats(a)
    variance = _central(a, 2, axis)
    found = _central(a, 4, axis) / (variance * variance)
    if not bias:
        n = _count(a, axis)
        scale = (n - 1.0) / ((n - 2.0) * (n - 3.0))
        found = scale * ((n + 1.0) * found - 3.0 * (n - 1.0)) + 3.0
    return found - 3.0 if fisher else found


@scipy_function("stats.entropy")
def entropy(pk: Any, qk: Any = None, base: Any = None, axis: Any = 0) -> Any:
    """Record ``scipy.stats.entropy`` of shares, which are made to add up to 1."""
    shares = _shares(pk, axis)
    terms = special.entr(shares) if qk is None else special.rel_entr(shares, _shares(qk, axis))
    found = numpy("sum", terms, axis=axis)
    return found if base is None else found / np.log(base)
